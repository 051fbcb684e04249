//! `slowhand cc list`: what there is to load.

use crate::exit::{print_document, print_text};
use crate::host::table::aligned;
use linux::bpf::cc::{ControllerName, Coupled, missing};
use serde::Serialize;
use std::process::ExitCode;

/// Show the controllers that this program brings, and whether this kernel takes them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document (schema slowhand.cc-list/1).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    /// What this kernel lacks; nothing if it takes them.
    missing: Option<String>,
    controllers: Vec<Listed>,
}

#[derive(Debug, Serialize)]
struct Listed {
    /// What `load` calls it.
    id: &'static str,
    /// What the kernel calls it, unless it is given another name.
    name: String,
    about: &'static str,
}

/// 1 when this kernel takes none.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let document = document();
    if args.json {
        print_document(&document)?;
    } else {
        print_text(&text(&document))?;
    }
    Ok(match document.missing {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    })
}

fn document() -> Document {
    let listed = |coupled: Coupled| Listed {
        id: coupled.id(),
        name: ControllerName::of(coupled).to_string(),
        about: coupled.about(),
    };
    Document {
        schema: "slowhand.cc-list/1",
        missing: missing().map(|missing| missing.to_string()),
        controllers: Coupled::ALL.map(listed).into(),
    }
}

fn text(document: &Document) -> String {
    let head = ["NAME", "IN THE KERNEL", "WHAT IT DOES"]
        .map(str::to_owned)
        .to_vec();
    let row = |listed: &Listed| vec![listed.id.to_owned(), listed.name.clone(), listed.about.to_owned()];
    let rows: Vec<Vec<String>> = std::iter::once(head)
        .chain(document.controllers.iter().map(row))
        .collect();
    let verdict = match &document.missing {
        None => "this kernel takes them\n".to_owned(),
        Some(missing) => format!("{missing}\n"),
    };
    aligned(&rows) + &verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_lacks_is_told_last() {
        let document = Document {
            missing: Some("this kernel has no BTF".to_owned()),
            ..document()
        };
        let text = text(&document);
        assert!(text.contains("balia  slow_balia"), "{text}");
        assert!(text.ends_with("this kernel has no BTF\n"), "{text}");
    }
}

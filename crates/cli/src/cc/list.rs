//! `slowhand cc list`: what there is to load.

use linux::bpf::cc::{ControllerName, Coupled, missing};
use serde::Serialize;
use show::Table;
use show::exit::{print_document, print_text};
use show::terminal;
use std::process::ExitCode;

/// List the congestion controllers of slowhand, and whether this kernel can load them.
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
        print_text(&text(&document, terminal::columns()))?;
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

fn text(document: &Document, width: usize) -> String {
    let mut table = Table::new(&["NAME", "IN THE KERNEL", "WHAT IT DOES"]);
    for listed in &document.controllers {
        table.row([listed.id, &listed.name, listed.about]);
    }
    let verdict = match &document.missing {
        None => "this kernel can load them\n".to_owned(),
        Some(missing) => format!("{missing}\n"),
    };
    table.fitted(width) + &verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_kernel_feature_is_the_last_line() {
        let document = Document {
            missing: Some("this kernel has no BTF".to_owned()),
            ..document()
        };
        let text = text(&document, usize::MAX);
        assert!(text.contains("balia  slow_balia"), "{text}");
        assert!(text.ends_with("this kernel has no BTF\n"), "{text}");
    }
}

//! `slowhand cc unload`: takes pinned controllers out of the kernel.

use super::Place;
use linux::bpf::cc::{self, ControllerName};
use serde::Serialize;
use show::exit::{self, Refused};
use std::process::ExitCode;

/// Take pinned controllers out of the kernel.
///
/// Sockets that use one keep it until they close; no new one can choose it. New sockets of a namespace whose
/// default it is begin with it until the
/// namespace is given another (sysctl net.ipv4.tcp_congestion_control).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sudo slowhand cc unload lia")]
pub struct Args {
    /// Which: what `load` or what the kernel calls them.
    #[arg(value_name = "NAME", required = true, value_parser = super::kernel_name)]
    names: Vec<ControllerName>,

    #[command(flatten)]
    place: Place,

    /// Print one JSON document (schema slowhand.cc-unload/1).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Document<'d> {
    schema: &'static str,
    unloaded: Vec<&'d str>,
}

/// Unloads all of them or, if one is not there, none.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let pins = args.place.pins();
    let pinned = pins
        .names()
        .map_err(|error| Refused::because(format!("{}: {error}: run as root", pins.dir().display())))?;
    if let Some(name) = args.names.iter().find(|name| !pinned.contains(name)) {
        let absent = cc::UnloadError::NotPinned {
            name: name.clone(),
            dir: pins.dir().to_owned(),
        };
        return Err(Refused::because(absent));
    }
    for name in &args.names {
        cc::unload(&pins, name)?;
    }
    exit::print(told(args)?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn told(args: &Args) -> anyhow::Result<String> {
    if args.json {
        let document = Document {
            schema: "slowhand.cc-unload/1",
            unloaded: args.names.iter().map(ControllerName::as_str).collect(),
        };
        return Ok(serde_json::to_string_pretty(&document)? + "\n");
    }
    let line =
        |name: &ControllerName| format!("{name} is unloaded; sockets that use it keep it until they close\n");
    Ok(args.names.iter().map(line).collect())
}

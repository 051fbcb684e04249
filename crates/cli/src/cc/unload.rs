//! `slowhand cc unload`: takes pinned controllers out of the kernel.

use super::Place;
use linux::bpf::cc::{self, ControllerName};
use serde::Serialize;
use show::exit::{self, Refused};
use std::process::ExitCode;

/// Unload pinned controllers from the kernel.
///
/// Sockets that use the controller keep it until they close, and no other socket can select it. If it is the
/// default of a namespace, new sockets still start with it until the default is changed (sysctl
/// net.ipv4.tcp_congestion_control).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sudo slowhand cc unload lia")]
pub struct Args {
    /// Controllers to unload, by the name that `load` takes or the name in the kernel.
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
        .map_err(|error| Refused::because(format!("{}: {error}; run as root", pins.dir().display())))?;
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
    if args.json {
        exit::print_document(&Document {
            schema: "slowhand.cc-unload/1",
            unloaded: args.names.iter().map(ControllerName::as_str).collect(),
        })?;
    } else {
        let line = |name: &ControllerName| {
            format!("unloaded {name}; sockets that use it keep it until they close\n")
        };
        exit::print_text(&args.names.iter().map(line).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

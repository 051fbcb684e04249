//! `slowhand cc load`: gives the kernel a controller.

use super::Place;
use crate::exit::{self, Refused};
use anyhow::Context as _;
use linux::bpf::cc::{Controller, ControllerName, Coupled};
use nix::sys::signal::{SigSet, Signal};
use serde::Serialize;
use std::process::ExitCode;

/// Give the kernel a controller, until this command ends or, with --pin, until it is unloaded.
///
/// Sockets that use a controller keep it until they close, also when it has gone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sudo slowhand cc load lia
  sudo slowhand cc load balia --pin
  sudo slowhand cc load cla --name cla_test")]
pub struct Args {
    /// Which: lia, olia, balia or cla.
    #[arg(value_name = "NAME", value_parser = super::coupled)]
    coupled: Coupled,

    /// What the kernel should call it, instead of slow_NAME: 1 to 15 letters, digits, `_` or `-`.
    #[arg(long = "name", value_name = "KERNEL-NAME")]
    name: Option<ControllerName>,

    /// Let it outlive this command, until `slowhand cc unload` or the next boot.
    #[arg(long)]
    pin: bool,

    #[command(flatten)]
    place: Place,

    /// Print one JSON document (schema slowhand.cc-load/1) once it is loaded.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Document<'d> {
    schema: &'static str,
    id: &'static str,
    name: &'d str,
    pinned: bool,
}

/// Loads; without a pin, stays until a signal.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let name = args
        .name
        .clone()
        .unwrap_or_else(|| ControllerName::of(args.coupled));
    // Before anything is loaded, so that no signal ends us in between.
    let signals: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect();
    signals.thread_block().context("blocking signals")?;
    let controller = Controller::load(args.coupled, &name).map_err(refused)?;
    if args.pin {
        controller.pin(&args.place.pins()).map_err(refused)?;
        exit::print(told(args, &name)?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    exit::print(told(args, &name)?.as_bytes())?;
    signals.wait().context("waiting for the end")?;
    drop(controller);
    Ok(ExitCode::SUCCESS)
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> anyhow::Error {
    Refused::because(format!("{:#}", anyhow::Error::new(error)))
}

fn told(args: &Args, name: &ControllerName) -> anyhow::Result<String> {
    if args.json {
        let document = Document {
            schema: "slowhand.cc-load/1",
            id: args.coupled.id(),
            name: name.as_str(),
            pinned: args.pin,
        };
        return Ok(serde_json::to_string_pretty(&document)? + "\n");
    }
    let stays = if args.pin {
        format!("until `slowhand cc unload {name}`")
    } else {
        "until this command ends".to_owned()
    };
    Ok(format!(
        "{name} is loaded {stays}; new connections of this namespace use it after\n  sysctl -w net.ipv4.tcp_congestion_control={name}\n"
    ))
}

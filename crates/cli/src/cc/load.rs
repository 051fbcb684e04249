//! `slowhand cc load`: gives the kernel a controller.

use super::Place;
use anyhow::Context as _;
use linux::bpf::cc::{AddressEnd, Controller, ControllerName, Coupled};
use linux::cla::{Advisor, Heard, Listener};
use linux::netns::Netns;
use nix::sys::signal::{SigSet, Signal};
use serde::Serialize;
use show::exit::{self, Refused};
use show::tell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Load a controller into the kernel until this command ends or, with --pin, until `slowhand cc unload`.
///
/// Sockets that use the controller keep it until they close. A namespace whose default it is keeps it until
/// the default is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sudo slowhand cc load lia
  sudo slowhand cc load balia --pin
  sudo slowhand cc load cla --name cla_test")]
pub struct Args {
    /// Controller to load: lia, olia, balia or cla.
    #[arg(value_name = "NAME", value_parser = super::coupled)]
    coupled: Coupled,

    /// Name in the kernel, 1 to 15 letters, digits, `_` or `-` [default: slow_NAME].
    #[arg(long = "name", value_name = "KERNEL-NAME")]
    name: Option<ControllerName>,

    /// Keep the controller loaded after this command ends, until `slowhand cc unload` or the next boot.
    #[arg(long)]
    pin: bool,

    /// With cla: receive signal reports on this UDP address from mobile hosts that have the same key, and
    /// adjust the congestion windows of connections to them.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        requires = "key_file",
        conflicts_with = "pin"
    )]
    listen: Option<SocketAddr>,

    /// File with the key of the reports: 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
    #[arg(long, value_name = "FILE", requires = "listen")]
    key_file: Option<PathBuf>,

    #[command(flatten)]
    place: Place,

    /// Print one JSON document (schema slowhand.cc-load/1) once the controller is loaded.
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
    signals.thread_block().context("cannot block signals")?;
    let controller = Controller::load(args.coupled, &name).map_err(refused)?;
    if args.pin {
        controller.pin(&args.place.pins()).map_err(refused)?;
        report(args, &name)?;
        return Ok(ExitCode::SUCCESS);
    }
    let controller = Arc::new(controller);
    let listener = listener(args, &controller)?;
    report(args, &name)?;
    signals.wait().context("cannot wait for a signal")?;
    if let Some(listener) = listener {
        tell!("{}", summary(&listener.heard()));
    }
    Ok(ExitCode::SUCCESS)
}

fn listener(args: &Args, controller: &Arc<Controller>) -> anyhow::Result<Option<Listener>> {
    let (Some(address), Some(path)) = (args.listen, &args.key_file) else {
        return Ok(None);
    };
    let key = host::report_key::read(path).map_err(Refused::because)?;
    let advisor = Advisor::new(Arc::clone(controller), AddressEnd::Remote).map_err(refused)?;
    let here = Netns::current().map_err(refused)?;
    Ok(Some(
        Listener::start(&here, address, key, advisor).map_err(refused)?,
    ))
}

/// Summary of the received reports, as text.
fn summary(heard: &Heard) -> String {
    format!(
        "received {} reports and set {} windows; dropped {} forged, {} stale and {} replayed reports; {} reports could not be applied",
        heard.followed, heard.orders, heard.forged, heard.stale, heard.replayed, heard.failed
    )
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> anyhow::Error {
    Refused::because(exit::sentence(&anyhow::Error::new(error)))
}

/// Prints that the controller is loaded, and how to use it.
fn report(args: &Args, name: &ControllerName) -> anyhow::Result<()> {
    if args.json {
        return exit::print_document(&Document {
            schema: "slowhand.cc-load/1",
            id: args.coupled.id(),
            name: name.as_str(),
            pinned: args.pin,
        });
    }
    let stays = if args.pin {
        format!("until `slowhand cc unload {name}`")
    } else {
        "until this command ends".to_owned()
    };
    exit::print_text(&format!(
        "{name} is loaded {stays}; to use it for new connections of this namespace, run\n  sysctl -w net.ipv4.tcp_congestion_control={name}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_every_counter() {
        let heard = Heard {
            followed: 11,
            handed_off: 3,
            forged: 12,
            stale: 13,
            replayed: 14,
            orders: 15,
            failed: 16,
        };
        assert_eq!(
            summary(&heard),
            "received 11 reports and set 15 windows; dropped 12 forged, 13 stale and 14 replayed reports; 16 reports could not be applied"
        );
    }
}

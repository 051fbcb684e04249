//! `slowhand cc`: coupled congestion controllers for MPTCP, as BPF programs for the running kernel.

mod list;
mod load;
mod status;
mod unload;

use linux::bpf::cc::{ControllerName, Coupled, Pins};
use std::path::PathBuf;
use std::process::ExitCode;

/// Load, unload and inspect coupled congestion controllers for MPTCP.
///
/// Two subflows through one bottleneck take the share of two TCP connections, unless a controller couples
/// their windows. Upstream Linux has no such controller.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A controller acts on the sender: on this host for uploads, on the server for downloads. After loading it, select it by name:
with sysctl net.ipv4.tcp_congestion_control for new connections of a namespace, or with TCP_CONGESTION for one socket.

Examples:
  slowhand cc list
  sudo slowhand cc load lia
  sudo slowhand cc load olia --pin
  sudo slowhand cc load cla --listen 0.0.0.0:7391 --key-file /etc/slowhand/report.key
  sudo slowhand cc status
  sudo slowhand cc unload olia")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the congestion controllers of slowhand, and whether this kernel can load them.
    List(list::Args),
    /// Load a controller into the kernel until this command ends or, with --pin, until `slowhand cc unload`.
    Load(load::Args),
    /// Unload a pinned controller from the kernel.
    Unload(unload::Args),
    /// Show the loaded controllers, and which one each connection of this namespace uses.
    Status(status::Args),
}

/// Where controllers are pinned.
#[derive(Debug, clap::Args)]
struct Place {
    /// Directory of pinned controllers, on a BPF file system.
    #[arg(long, value_name = "DIR", default_value = "/sys/fs/bpf/slowhand/cc")]
    dir: PathBuf,
}

impl Place {
    fn pins(&self) -> Pins {
        Pins::at(&self.dir)
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::List(args) => list::run(args),
        Verb::Load(args) => load::run(args),
        Verb::Unload(args) => unload::run(args),
        Verb::Status(args) => status::run(args),
    }
}

/// The controller of this short name.
fn coupled(id: &str) -> Result<Coupled, String> {
    Coupled::from_id(id).ok_or_else(|| {
        let known = Coupled::ALL.map(Coupled::id).join(", ");
        format!("no such controller; use one of {known}")
    })
}

/// A short name stands for the kernel's.
fn kernel_name(name: &str) -> Result<ControllerName, String> {
    match Coupled::from_id(name) {
        Some(coupled) => Ok(ControllerName::of(coupled)),
        None => name
            .parse()
            .map_err(|error: linux::bpf::cc::NameError| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_maps_to_the_prefixed_kernel_name() {
        assert_eq!(kernel_name("lia").unwrap().as_str(), "slow_lia");
        assert_eq!(kernel_name("slow_lia_7").unwrap().as_str(), "slow_lia_7");
        assert!(kernel_name("../lia").unwrap_err().contains("1 to 15"));
        assert!(coupled("vegas").unwrap_err().contains("lia, olia, balia, cla"));
    }
}

//! The command line of `slowhand up`, and of `slowhandd`, which it becomes.

use crate::log;
use crate::place::Place;
use std::path::PathBuf;

/// Keep this host's connections alive over all its links, until stopped.
///
/// Runs in the foreground, and notifies a service manager when it is ready. When it stops, it restores
/// everything it changed. After a crash, the next start does so.
#[derive(Debug, clap::Args)]
#[command(after_help = concat!(
    "\
Examples:
  sudo slowhand up
  sudo slowhand up --config ./slowhand.toml
  sudo slowhand up --cc lia
  sudo slowhand up --record ./walk.record

Rights: CAP_NET_ADMIN and CAP_NET_RAW, and CAP_BPF and CAP_PERFMON to limit windows and queues of running connections. `slowhand doctor` lists
what is missing. If it says that slowhand cannot work, this command refuses with the same message. One daemon runs in a network namespace.

The daemon listens on no network. In the runtime directory are two Unix sockets: control.sock for root (`down`, `reload`), and status.sock, which answers
every user's `status` and `why`. It sends probes to hosts in use, to the links' resolvers, and to the URL of the portal check or the
portals that networks announce. `probe = false` turns all but the first off. SECURITY.md names each kind, and how often.

Configuration files that others can write to, and a key that others can read, are refused.

Connections that fall back to plain TCP, because the server or a middlebox does not support MPTCP, are left alone, unless the configuration
limits what their servers may have in flight (fallback_window_bytes).

The handover policies choose by beacons, and `cla` sets windows by the signal. Both are known of access points with which an interface is
associated. Where a driver counts no beacons, the policies use the first WiFi link with a carrier and an address.

The log is on standard error: each decision, change of the default route and failure, with the link and the connection. UDP flows of [networks]
are logged when they move, and at `debug` when they begin. Under systemd, lines have the priorities of the journal. --log and SLOWHAND_LOG
choose the levels in the syntax of EnvFilter (tracing-subscriber): `debug` adds every action, and `trace` everything the daemon measures.

The configuration. Every key is optional, except a link's interface and kind:
",
    include_str!("config/example.toml")
))]
pub struct Args {
    /// Configuration file; `conf.d/*.toml` beside it is read too. Default: /etc/slowhand/slowhand.toml. If
    /// there is none, every adapter is used by its kind.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Congestion controller of new connections, instead of the configuration's: one of the kernel's, or lia,
    /// olia, balia or cla, which are loaded while the daemon runs.
    #[arg(long, value_name = "NAME")]
    pub cc: Option<String>,

    /// Record what the engine is told and what it asks for in this new file, for `slowhand replay`. Links
    /// have their configured names there. Payload, IP addresses and networks' names are not recorded.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Record the hardware addresses of other people's stations as they are. Otherwise they are random ones,
    /// which are others in each run of the daemon.
    #[arg(long, requires = "record")]
    pub plain: bool,

    /// Its directories.
    #[command(flatten)]
    pub place: Place,
}

/// Keep this host's connections alive over all its links, until stopped. `slowhand up` becomes this program.
#[derive(Debug, clap::Parser)]
#[command(name = "slowhandd", version)]
pub struct Daemon {
    /// As for `slowhand up`.
    #[command(flatten)]
    pub args: Args,

    /// What it logs.
    #[command(flatten)]
    pub log: log::Options,
}

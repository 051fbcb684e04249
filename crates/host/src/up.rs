//! The command line of `slowhand up`, and of `slowhandd`, which it becomes.

use crate::place::Place;
use std::path::PathBuf;

/// Keep this host's connections alive over all its links, until stopped.
///
/// Runs in the foreground (a service manager is told when it is ready). Everything it changes is put back
/// when it stops, and
/// after a crash when it starts again.
#[derive(Debug, clap::Args)]
#[command(after_help = concat!(
    "\
Examples:
  sudo slowhand up
  sudo slowhand up --config ./slowhand.toml
  sudo slowhand up --cc lia

Rights: CAP_NET_ADMIN and CAP_NET_RAW; CAP_BPF and CAP_PERFMON to bound windows and queues of running connections. `slowhand doctor` says what is
missing; where it says that slowhand cannot work, this command refuses in the same words. One daemon runs in a network namespace.

Listens on no network. In the runtime directory are two Unix sockets: control.sock for root (`down`), and status.sock, on which every user may
ask `status` and `why`. What it sends by itself goes to hosts in use, to the links' resolvers and to the URL of the portal check; `probe = false`
ends the last two. SECURITY.md names each kind, and how often.

Configuration files that others can write to, and a key that others can read, are refused.

Connections that fall back to plain TCP, because the server or something on the way does not speak MPTCP, are left alone, unless the
configuration says how much their servers may have in flight (fallback_window_bytes).

The configuration, of which every key but a link's interface and kind may be left out:
",
    include_str!("config/example.toml")
))]
pub struct Args {
    /// Configuration file; `conf.d/*.toml` beside it is read too. Left out: /etc/slowhand/slowhand.toml, and
    /// where there is none, every adapter is
    /// used by its kind.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Send new connections with this congestion controller instead of the configuration's: one of the
    /// kernel's, or lia, olia, balia or
    /// cla, which are loaded for as long as the daemon runs.
    #[arg(long, value_name = "NAME")]
    pub cc: Option<String>,

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
}

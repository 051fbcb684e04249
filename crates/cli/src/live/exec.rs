//! `slowhand exec -- CMD`: runs an unmodified program whose TCP sockets become MPTCP ones.
//! With `--network`, its UDP sockets also get a mark by which the daemon knows the wanted link.
//!
//! This process becomes the program, so that its process number, signals and exit code are the program's.

use super::supervised::change_sockets;
use host::control::{Done, NetworksChange, Question, ask};
use host::place::Place;
use linux::daemon::wish;
use linux::seccomp::{self, Sockets};
use show::exit::Refused;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Run a program whose TCP connections use MPTCP, without changing it.
///
/// Its TCP sockets over IPv4 and IPv6 become MPTCP ones, also in the programs that it starts and in static
/// ones. Servers without MPTCP get plain TCP, as always. The way is a seccomp filter with a supervisor, and
/// needs no rights. For users other than root, setuid programs such as sudo gain no rights below it. If
/// somebody kills the supervisor, these programs can open no further TCP sockets.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand exec -- curl -O https://example.org/big
  slowhand exec -- ssh server
  sudo slowhand exec --network phone -- sudo -u me linphone")]
pub struct Args {
    /// Let its UDP flows use this link while it is there. Needs root, a running daemon and [networks] in the
    /// configuration. TCP connections use all links as always. Start the program again after the daemon has
    /// restarted or reloaded.
    #[arg(long, value_name = "LINK")]
    network: Option<String>,

    #[command(flatten)]
    place: Place,

    /// The program and its arguments.
    #[arg(
        value_name = "CMD",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}

/// Becomes the program. Returns only if that fails.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    seccomp::check().map_err(|error| {
        Refused::because(format!(
            "this kernel makes no MPTCP sockets ({error}); `slowhand doctor` says how to change that"
        ))
    })?;
    let mark = args
        .network
        .as_ref()
        .map(|network| wished(network, &args.place))
        .transpose()?;
    change_sockets(mark.map_or(Sockets::Mptcp, Sockets::Marked))?;
    tracing::debug!("TCP sockets become MPTCP ones by a seccomp filter");
    let [program, arguments @ ..] = &args.command[..] else {
        return Err(Refused::because("name a program to run"));
    };
    let error = Command::new(program).args(arguments).exec();
    let program = program.display();
    Err(Refused::because(format!("{program}: cannot be run ({error})")))
}

/// Asks the daemon for this network. Returns the mark of sockets that use it.
fn wished(network: &str, place: &Place) -> anyhow::Result<u32> {
    let mark = wish(network);
    seccomp::check_marks(mark).map_err(|error| {
        Refused::because(format!(
            "only root may choose networks for programs ({error}); run as root: \
             sudo slowhand exec --network {network} -- sudo -u NAME CMD"
        ))
    })?;
    let network = network.to_owned();
    let question = Question::Networks {
        change: NetworksChange::Wish { network },
    };
    let _: Done = ask(place, question).map_err(Refused::because)?;
    Ok(mark)
}

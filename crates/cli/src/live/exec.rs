//! `slowhand exec -- CMD`: runs an unmodified program whose TCP sockets become MPTCP ones.
//!
//! This process becomes the program, so that its process number, signals and exit code are the program's. The
//! supervisor that answers its `socket` calls is a process of its own, without a terminal. It ends with the
//! last program that the command has started.

use linux::seccomp;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, chdir, dup2_stderr, dup2_stdin, dup2_stdout, fork, setsid};
use show::exit::Refused;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
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
  slowhand exec -- ssh server")]
pub struct Args {
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
    let ours = supervised()?;
    let calls = seccomp::install().map_err(Refused::because)?;
    hand_over(&ours, &calls)?;
    drop((ours, calls));
    tracing::debug!("TCP sockets become MPTCP ones by a seccomp filter");
    let [program, arguments @ ..] = &args.command[..] else {
        return Err(Refused::because("name a program to run"));
    };
    let error = Command::new(program).args(arguments).exec();
    let program = program.display();
    Err(Refused::because(format!("{program}: cannot be run ({error})")))
}

/// Starts the supervisor. Returns the socket on which it waits for the calls.
fn supervised() -> anyhow::Result<OwnedFd> {
    let (ours, theirs) = socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        SockFlag::SOCK_CLOEXEC,
    )?;
    // The program must not get a child that it does not know, so the supervisor is no child of this process.
    // SAFETY: no other thread runs at this point.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            waitpid(child, None)?;
            Ok(ours)
        }
        ForkResult::Child => {
            drop(ours);
            // SAFETY: as above.
            let outcome = match unsafe { fork() } {
                Ok(ForkResult::Child) => supervise(&theirs),
                Ok(ForkResult::Parent { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            };
            // Nothing of the command may run twice.
            std::process::exit(i32::from(outcome.is_err()))
        }
    }
}

/// Hands the calls over, and waits until the supervisor has them.
fn hand_over(supervisor: &OwnedFd, calls: &OwnedFd) -> anyhow::Result<()> {
    let descriptors = [calls.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    let word = [IoSlice::new(b"calls")];
    sendmsg::<()>(
        supervisor.as_raw_fd(),
        &word,
        &rights,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    let mut answer = [0; 8];
    let length = nix::unistd::read(supervisor, &mut answer)?;
    anyhow::ensure!(length > 0, "the supervisor has ended; run the command again");
    Ok(())
}

fn supervise(program: &OwnedFd) -> io::Result<()> {
    let calls = received(program)?;
    // Its signals, its directory and its pipes are the program's, and end with it.
    setsid()?;
    chdir("/")?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    nix::unistd::write(program, b"ready")?;
    close_all_but(&calls)?;
    seccomp::serve(calls.as_fd())
}

fn received(program: &OwnedFd) -> io::Result<OwnedFd> {
    let mut word = [0; 8];
    let mut space = nix::cmsg_space!([i32; 1]);
    let mut slices = [IoSliceMut::new(&mut word)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(program.as_raw_fd(), &mut slices, Some(&mut space), flags)?;
    let descriptors = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmRights(descriptors) => descriptors.first().copied(),
        _ => None,
    });
    // SAFETY: it was just received, and nobody else owns it.
    let owned = descriptors.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) });
    owned.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Closes what was inherited: a pipe that stays open here would seem to be still in use.
fn close_all_but(kept: &OwnedFd) -> io::Result<()> {
    let kept = kept.as_raw_fd().cast_unsigned();
    for (first, last) in [(3, kept - 1), (kept + 1, u32::MAX)] {
        // SAFETY: no pointers. Descriptors that are still owned here are not used any more.
        if first <= last && unsafe { nix::libc::close_range(first, last, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

//! Puts a supervisor beside this process that changes the sockets of the programs that it starts.
//!
//! The supervisor that answers the `socket` calls is a process of its own, without a terminal. It ends with
//! the last of these programs.
//!
//! # Checked by
//! `tests/exec.rs`; `tests/host/portal.rs`.

use linux::seccomp::{self, Sockets};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, chdir, dup2_stderr, dup2_stdin, dup2_stdout, fork, setsid};
use show::exit::Refused;
use std::fs::OpenOptions;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};

/// Changes the sockets that this process and those that it starts open from now on. Call it before any thread
/// is started.
///
/// # Errors
/// If the kernel has no supervisors, or this process has one already.
pub fn change_sockets(sockets: Sockets) -> anyhow::Result<()> {
    let ours = start(sockets)?;
    let calls = seccomp::install(sockets).map_err(Refused::because)?;
    hand_over(&ours, &calls)
}

/// Starts the supervisor. Returns the socket on which it waits for the calls.
fn start(sockets: Sockets) -> anyhow::Result<OwnedFd> {
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
                Ok(ForkResult::Child) => supervise(&theirs, sockets),
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

fn supervise(program: &OwnedFd, sockets: Sockets) -> io::Result<()> {
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
    seccomp::serve(calls.as_fd(), sockets)
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

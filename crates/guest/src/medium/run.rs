//! The loop: the kernel's messages, the clock, and signals of the script.
//!
//! Time is the guest's monotonic clock. A late wake-up loses nothing: every event happens at its due time.
//!
//! # Checked by
//! `tests/wifi.rs` in the guest.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use units::Instant;

use crate::air::Air;
use crate::floor::Floor;
use crate::hwsim::{self, Event};
use crate::netlink::{Message, Requests, Socket, messages};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The scenario.
    scenario: PathBuf,
    /// File for what happens on the air.
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
}

/// The number of the request to be the medium.
const REGISTRATION: u32 = 1;
/// Above the daemon, whose world this is.
const PRIORITY: i32 = 10;
/// Every message of the kernel is smaller.
const DATAGRAM: usize = 64 << 10;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let plan = scenario::load(&args.scenario, &[])?;
    let floor = Floor::new(&plan).with_context(|| args.scenario.display().to_string())?;
    let truth =
        File::create_new(&args.truth).with_context(|| format!("cannot create {}", args.truth.display()))?;
    let wanted = SigSet::from_iter([Signal::SIGUSR1, Signal::SIGTERM]);
    wanted.thread_block()?;
    let signals = SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    be_punctual().context("cannot run ahead of other processes; run as root")?;
    let (socket, family) = registered()?;
    let mut air = Air::new(family, floor, plan.seed, BufWriter::new(truth), now()?);
    println!("registered");
    std::io::stdout().flush()?;
    let mut refused = 0;
    let mut buffer = vec![0; DATAGRAM];
    loop {
        air.run(now()?);
        socket
            .send(air.requests())
            .context("cannot tell the kernel what became of frames")?;
        while let Some(datagram) = socket
            .receive(&mut buffer)
            .context("the kernel's frames were lost")?
        {
            for message in messages(datagram) {
                match message {
                    Message::Reply { error, .. } => refused += u64::from(error != 0),
                    Message::Command { command, attributes } => {
                        let Some(event) = Event::read(command, attributes) else {
                            continue;
                        };
                        let now = now()?;
                        air.run(now);
                        air.hear(now, event)?;
                    }
                }
            }
        }
        while let Some(signal) = signals.read_signal()? {
            if signal.ssi_signo == Signal::SIGUSR1 as u32 {
                air.begin(now()?);
            } else {
                return air.finish(now()?, refused).context("cannot write the truth");
            }
        }
        let wait = air.due().since(now()?);
        let mut waited = [
            PollFd::new(socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        ];
        ppoll(&mut waited, Some(TimeSpec::from_duration(wait)), None)?;
    }
}

/// Runs ahead of ordinary processes, and wakes up when asked to: by default, a sleep may take 50 µs longer,
/// which is the time of several slots.
fn be_punctual() -> std::io::Result<()> {
    set_timerslack(1)?;
    let priority = nix::libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: the kernel only reads the parameter, which outlives the call.
    if unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_FIFO, &raw const priority) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

fn now() -> nix::Result<Instant> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(Instant::from_nanos(
        std::time::Duration::from(time).as_nanos() as u64
    ))
}

/// A socket to which the kernel gives every frame, and the family's number.
fn registered() -> anyhow::Result<(Socket, u16)> {
    let socket = Socket::open().context("cannot open a socket of generic netlink")?;
    let family = socket
        .family(hwsim::FAMILY)
        .context("cannot ask for families of netlink")?;
    let family = family.context("the kernel has no mac80211_hwsim; load the module first")?;
    let mut requests = Requests::default();
    hwsim::register(&mut requests, family, REGISTRATION);
    socket
        .send(&mut requests)
        .context("cannot register with the kernel")?;
    // The kernel handles a request within `send`. Frames may follow at once, after the reply.
    let mut buffer = [0; 4096];
    let Some(datagram) = socket.receive(&mut buffer)? else {
        bail!("the kernel did not reply to the registration");
    };
    let first = messages(datagram).next();
    let Some(Message::Reply { number, error }) = first else {
        bail!("the kernel replied to the registration with something else: {first:?}");
    };
    ensure!(
        number == REGISTRATION && error == 0,
        "the kernel refused the registration (error {error})"
    );
    Ok((socket, family))
}

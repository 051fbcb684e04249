//! The links of a run in real time: one thread carries packets between TUN devices as `links` decides.
//!
//! Each link has a TUN device in the namespace of the client, or of another host, and one in the server's.
//! The thread reads what the kernel sends on either device and hands it to [`links::Network`] with the time.
//! It writes the packet to the other device when the model releases it. It runs at `SCHED_FIFO`, sleeps with
//! nanosecond precision, and allocates nothing per packet. The result states how late packets leave.
//!
//! # Sources
//! - `sched(7)`, `epoll_pwait2(2)`, `Documentation/networking/tuntap.rst`.
//!
//! # Where we differ, and why
//! 1. From netem: one thread sees all links of a run, so links can share a medium. What happened to each
//!    packet is known exactly.
//! 2. Under load, departures within [`Tuning::bundle`] are batched, as a network card coalesces its
//!    interrupts: one system call for several packets. The lateness that this adds is measured and stated. A
//!    lone packet leaves on time.
//! 3. Segments of one TCP burst that leave together are delivered as one burst, as a card with GRO delivers
//!    them.
//!
//! # What was measured
//! 4 links × 250 Mb/s, 20 ms, one MPTCP download (`examples/saturate.rs`), on two cores that compilers kept
//! busy at a load of 8 to 10:
//!
//! | | goodput, Mb/s | emulator, cores | p99 of lateness |
//! |---|---|---|---|
//! | as it is: bursts uncut, bundles of 100 µs | 911–919 | 0.50–0.61 | 0.2–0.4 ms |
//! | every segment a packet of its own (no TSO) | 884–889 | 0.72 | 4–5 ms |
//! | and finished checksums (no offload at all) | 883–892 | 0.71–0.77 | 3–4 ms |
//! | bundles of 50 µs | 916 | 0.65 | 0.1 ms |
//! | bundles of 200 µs | 919 | 0.46 | 0.3–0.6 ms |
//!
//! Nearly three quarters of the thread's time is the kernel's TCP, which receives inside our writes. A tenth
//! is waiting, a tenth reading, a tenth the models and our own code.
//!
//! # Checked by
//! `tests/emulator.rs`: rate, delay, loss, CE, NAT and faults, on the real kernel; the bench `emulator`.

mod background;
mod core;
mod faults;
mod flow;
mod histogram;
mod outlet;
mod report;
mod wait;

pub use crate::hosts::Port;
pub use background::Background;
pub use faults::FaultRecord;
pub use histogram::Lateness;
pub use report::{LinkSample, Losses, Marks, Report};

use crate::clock::Clock;
use crate::frame::Nat;
use crate::monitor::Feed;
use links::{Input, LinkId, LinkState, Network, RadioSlot, Scheduled};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use thiserror::Error;
use trace::LatenessUs;
use units::{Bytes, Dbm, Duration, Instant};
use wait::{Waiter, Waker};

/// What an emulator needs to start.
#[derive(Debug)]
pub struct Setup {
    /// The clock that it follows.
    pub clock: Clock,
    /// The link models.
    pub network: Network,
    /// The devices of every link, in the network's order.
    pub ports: Vec<Port>,
    /// Counts the models' own traffic that has arrived.
    pub background: Background,
    /// Receives the frames that the client's radios hear.
    pub monitor: Option<Feed>,
    /// Steps at fixed times, in addition to commands.
    pub schedule: Vec<Scheduled>,
    /// How it works.
    pub tuning: Tuning,
}

/// How the emulator works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Departures closer together than this leave together.
    pub bundle: Duration,
    /// Time between two samples.
    pub sample_every: Duration,
    /// Whether to ask for real-time scheduling.
    pub realtime: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            bundle: Duration::from_micros(100),
            sample_every: Duration::from_millis(100),
            realtime: true,
        }
    }
}

/// What the emulator reports to the rest of the lab.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The client heard a beacon.
    Beacon {
        /// When.
        at: Instant,
        /// Of which access point.
        link: LinkId,
        /// How strong.
        signal: Dbm,
    },
    /// A link changed its state towards the client.
    State {
        /// When.
        at: Instant,
        /// Which.
        link: LinkId,
        /// What it is now.
        state: LinkState,
    },
    /// The client's radio is here now.
    Moved {
        /// When.
        at: Instant,
        /// Where.
        position: links::Position,
    },
    /// A fault was applied.
    Fault {
        /// When.
        at: Instant,
        /// To which link.
        link: LinkId,
        /// What.
        fault: links::Fault,
    },
    /// A fault dropped its first packet.
    Effect {
        /// When.
        at: Instant,
        /// Of which link.
        link: LinkId,
        /// What.
        fault: links::Fault,
    },
    /// The client's single radio has arrived on another channel.
    Turned {
        /// When.
        at: Instant,
        /// The channel.
        channel: u8,
    },
    /// The cycle of the client's single radio is over.
    CycleEnded {
        /// When.
        at: Instant,
        /// Bytes of IP packets that the client has received so far, per link.
        received: Vec<Bytes>,
    },
    /// The link will hand out a different address next.
    Renew {
        /// When.
        at: Instant,
        /// Which.
        link: LinkId,
    },
    /// A periodic sample: what the links have carried since the start.
    Sample {
        /// When.
        at: Instant,
        /// One per link of the client.
        links: Vec<LinkSample>,
        /// Payload delivered so far, for each flow that the models carry without a kernel.
        background: Vec<u64>,
        /// Lateness of packets since the last sample.
        lateness: LatenessUs,
    },
}

/// Why an emulator could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The kernel cannot wait with nanosecond precision.
    #[error("this kernel lacks epoll_pwait2; the lab needs Linux 5.11 or later")]
    NoPreciseWait,
    /// No epoll or eventfd.
    #[error("cannot wait for the links' devices; check the limit `ulimit -n`")]
    Wait(#[source] io::Error),
    /// No thread.
    #[error("cannot start a thread; check the limit `ulimit -u`")]
    Thread(#[source] io::Error),
    /// The number of device pairs differs from the network's number of links.
    #[error("the network has {links} links and {ports} pairs of devices; give each link one pair")]
    Ports {
        /// Number of the network's links.
        links: usize,
        /// Given.
        ports: usize,
    },
}

/// A command to a running emulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// An input of its network: associate, leave.
    Input(Input),
    /// Turns that the client's single radio takes from now on.
    TakeTurns(Vec<RadioSlot>),
    /// Sets the address translation of this link, from now on.
    Translate(LinkId, Option<Nat>),
}

/// Gives commands to a running emulator.
#[derive(Debug, Clone)]
pub struct Commands {
    queue: Sender<Command>,
    waker: Waker,
}

impl Commands {
    /// Executes the command at once. Has no effect when the emulator has stopped.
    pub fn send(&self, command: Command) {
        if self.queue.send(command).is_ok() {
            self.waker.wake();
        }
    }
}

/// A running emulator; stops when dropped.
#[derive(Debug)]
pub struct Emulator {
    thread: Option<JoinHandle<Report>>,
    commands: Commands,
    stop: Arc<AtomicBool>,
}

impl Emulator {
    /// Starts the thread. It calls `tell` for every event; `tell` runs on that thread and must not block.
    pub fn start(setup: Setup, tell: impl FnMut(Event) + Send + 'static) -> Result<Self, StartError> {
        let (queue, incoming) = channel();
        let commands = Commands {
            queue,
            waker: Waker::new().map_err(StartError::Wait)?,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let lines = core::Lines {
            waiter: waiter(&setup.ports, &commands.waker)?,
            waker: commands.waker.clone(),
            commands: incoming,
            tell: Box::new(tell),
            stop: Arc::clone(&stop),
        };
        let core = core::Core::new(setup, lines);
        let thread = std::thread::Builder::new().name("lab-links".into());
        let thread = thread.spawn(move || core.run()).map_err(StartError::Thread)?;
        Ok(Self {
            thread: Some(thread),
            commands,
            stop,
        })
    }

    /// The handle that sends commands to this emulator.
    pub const fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Stops the thread and returns its report. The devices are closed, which removes them.
    pub fn finish(mut self) -> Report {
        let thread = self
            .thread
            .take()
            .expect("only `finish` takes the thread, and it consumes the emulator");
        self.halt();
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn halt(&self) {
        self.stop.store(true, Ordering::Release);
        self.commands.waker.wake();
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.halt();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Watches the waker and both devices of every link, in the order in which `core` numbers them.
fn waiter(ports: &[Port], waker: &Waker) -> Result<Waiter, StartError> {
    let waiter = Waiter::new()?;
    for (index, port) in ports.iter().enumerate() {
        let token = 2 * index as u64;
        waiter.watch_fd(&port.client, token)?;
        waiter.watch_fd(&port.server, token + 1)?;
    }
    waiter.watch_fd(waker, core::WAKER)?;
    Ok(waiter)
}

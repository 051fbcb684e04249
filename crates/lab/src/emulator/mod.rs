//! The links of a run in real time: one thread that carries packets between TUN devices as `links` decides.
//!
//! Each link has a TUN device in the client's namespace and one in the server's. The thread reads what the kernel sends on either,
//! hands it to [`links::Network`] with the time, and writes it to the other one when the model lets go of it. It runs at
//! `SCHED_FIFO`, sleeps to the nanosecond, and touches no allocator per packet. How late each packet leaves is part of the result.
//!
//! # Sources
//! - `sched(7)`, `epoll_pwait2(2)`, `Documentation/networking/tuntap.rst`.
//!
//! # Where we differ, and why
//! 1. From netem: one thread sees all links of a run, so links can share a medium; and what a packet met is known exactly.
//! 2. Departures under load are bundled within [`Tuning::bundle`], as a network card bundles its interrupts: one system call for
//!    several packets, at a lateness that is measured and stated. A lone packet leaves on time.
//! 3. Segments of one TCP burst that leave together are delivered as one burst, as a card with GRO delivers them.
//!
//! # What was measured
//! 4 links × 250 Mb/s, 20 ms, one MPTCP download (`examples/saturate.rs`), two cores that compilers kept busy at a load of 8 to 10:
//!
//! | | goodput, Mb/s | emulator, cores | p99 of lateness |
//! |---|---|---|---|
//! | as it is: bursts uncut, bundles of 100 µs | 911–919 | 0.50–0.61 | 0.2–0.4 ms |
//! | every segment a packet of its own (no TSO) | 884–889 | 0.72 | 4–5 ms |
//! | and finished checksums (no offload at all) | 883–892 | 0.71–0.77 | 3–4 ms |
//! | bundles of 50 µs | 916 | 0.65 | 0.1 ms |
//! | bundles of 200 µs | 919 | 0.46 | 0.3–0.6 ms |
//!
//! Nearly three quarters of the thread's time is the kernel's TCP, which receives inside our writes; a tenth is waiting, a tenth
//! reading, a tenth the models and ourselves.
//!
//! # Checked by
//! `tests/emulator.rs`: rate, delay, loss, CE, NAT, faults, on the real kernel; the bench `emulator`.

mod background;
mod busiest;
mod core;
mod faults;
mod flow;
mod histogram;
mod outlet;
mod report;
mod wait;

pub use crate::hosts::Port;
pub use background::Background;
pub use faults::{FaultRecord, Scheduled, Step, Whom};
pub use histogram::Lateness;
pub use report::{LinkSample, Losses, Marks, Report};

use crate::clock::Clock;
use crate::frame::Nat;
use crate::monitor::Feed;
use links::{Input, LinkId, LinkState, Network};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use thiserror::Error;
use trace::LatenessUs;
use units::{Dbm, Duration, Instant};
use wait::{Waiter, Waker};

/// What an emulator is made of.
#[derive(Debug)]
pub struct Setup {
    /// Whose time it follows.
    pub clock: Clock,
    /// The models.
    pub network: Network,
    /// The devices of every link, in the network's order.
    pub ports: Vec<Port>,
    /// What of the models' own traffic has arrived.
    pub background: Background,
    /// Where frames that the client's radios hear are shown.
    pub monitor: Option<Feed>,
    /// What happens when, besides commands.
    pub schedule: Vec<Scheduled>,
    /// How it works.
    pub tuning: Tuning,
}

/// How the emulator works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Departures closer together than this leave together.
    pub bundle: Duration,
    /// How often a sample is told.
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

/// Something that the rest of the lab should know.
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
    /// A fault swallowed its first packet.
    Effect {
        /// When.
        at: Instant,
        /// Of which link.
        link: LinkId,
        /// What.
        fault: links::Fault,
    },
    /// The link's next address is to be another one.
    Renew {
        /// When.
        at: Instant,
        /// Which.
        link: LinkId,
    },
    /// What the links have carried since the start.
    Sample {
        /// When.
        at: Instant,
        /// One per link.
        links: Vec<LinkSample>,
        /// Payload that has arrived of each flow that the models carry by themselves.
        background: Vec<u64>,
        /// How late packets were since the last sample.
        lateness: LatenessUs,
    },
}

/// Why an emulator could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The kernel does not wait to the nanosecond.
    #[error("this kernel lacks epoll_pwait2; the lab needs Linux 5.11 or later")]
    NoPreciseWait,
    /// No epoll or eventfd.
    #[error("preparing to wait for the links' devices; see `ulimit -n`")]
    Wait(#[source] io::Error),
    /// No thread.
    #[error("no thread could be started; see `ulimit -u`")]
    Thread(#[source] io::Error),
    /// The network has another number of links.
    #[error("the network has {links} links and {ports} pairs of devices; it needs one pair per link")]
    Ports {
        /// Of the network.
        links: usize,
        /// Given.
        ports: usize,
    },
}

/// What a running emulator can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// An input of its network: associate, leave.
    Input(Input),
    /// From now on this link translates so.
    Translate(LinkId, Option<Nat>),
}

/// Gives commands to a running emulator.
#[derive(Debug, Clone)]
pub struct Commands {
    queue: Sender<Command>,
    waker: Waker,
}

impl Commands {
    /// Carried out at once. Without effect when the emulator has stopped.
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
    /// Starts the thread. What happens is told to `tell`, which is called on that thread and must not wait.
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

    /// For giving it inputs.
    pub const fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Stops the thread and tells what it did. The devices are closed, and with that gone.
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

/// Watches both devices of every link, in the order in which `core` numbers them, and the waker.
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

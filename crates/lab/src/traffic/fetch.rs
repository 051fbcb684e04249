//! A file that a flow fetches in blocks, over one connection for each link or peer. Each has its own thread.
//!
//! # Sources
//! - juggler §6.2.2: a thread for each access point fetches one block after the other.
//! - juggler §6.2.3: peers are assigned to access points.
//!
//! # Where we differ, and why
//! 1. [`blocks::Blocks`] has those of the choice of blocks, which is the same in virtual time.
//! 2. All peers are the one server.
//! 3. A connection without a block waits until the file is complete: another one may lose its block.
//!
//! # Checked by
//! `traffic::tests` (real connections); `tests/blocks.rs` (links of a scenario).

use super::assigned::Answer;
use super::client::{Bound, Connection, Left, Outcome, Place, Reporter, Task, Tell, TransferError, Via};
use super::content::fill;
use super::order::{Order, write_range};
use super::received::lock;
use super::silence::Silence;
use super::socket::{Moved, read};
use blocks::Blocks;
use policy::LinkId;
use policy::flow::FlowId;
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use trace::FlowMeter;
use units::{Duration, Instant};

const BUFFER: usize = 64 * 1024;
/// How often a connection without a block asks for one.
const IDLE: Duration = Duration::from_millis(5);

/// What all connections of the flow share.
struct File<'a> {
    blocks: Blocks,
    meter: FlowMeter,
    teller: Reporter<'a>,
    connections: u32,
    broken: Vec<String>,
    /// Whether all bytes so far were those of the file.
    intact: bool,
    /// When the last block was complete.
    complete: Option<Instant>,
    /// Whether a lane has failed. The others then end, too.
    failed: bool,
}

/// One lane of the flow.
struct Lane<'f, 'a> {
    index: usize,
    task: Task,
    place: Place,
    /// What the engine calls the connection to its peer.
    flow: Option<FlowId>,
    file: &'f Mutex<File<'a>>,
    patience: Duration,
    /// What arrives, and what should arrive.
    buffer: Vec<u8>,
    expected: Vec<u8>,
}

pub(super) fn run(task: &Task, places: &[Place], tell: Tell<'_>) -> Result<Outcome, TransferError> {
    let begin = task.clock.now();
    let lanes: Vec<LinkId> = places.iter().map(Place::link).collect();
    let blocks = Blocks::of(task.work, &lanes).expect("only flows with blocks have several places");
    let file = Mutex::new(File {
        blocks,
        meter: FlowMeter::new(task.name.clone(), begin),
        teller: Reporter::new(tell),
        connections: 0,
        broken: Vec::new(),
        intact: true,
        complete: None,
        failed: false,
    });
    std::thread::scope(|scope| {
        let start = |(index, place)| {
            let lane = Lane::new(index, task, place, &file);
            let thread = std::thread::Builder::new().name("lab-lane".into());
            let started = thread.spawn_scoped(scope, move || lane.run());
            started.map_err(|error| {
                lock(&file).failed = true;
                TransferError::Thread(error)
            })
        };
        let lanes: Vec<_> = places.iter().enumerate().map(start).collect();
        lanes.into_iter().try_for_each(|lane| joined(lane?))
    })?;
    let file = file.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(file.finish(task))
}

/// What a thread returned.
fn joined(lane: ScopedJoinHandle<'_, Result<(), TransferError>>) -> Result<(), TransferError> {
    lane.join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Place {
    /// The link of a stripe's lane. The lanes of a swarm are all alike.
    const fn link(&self) -> LinkId {
        match self {
            Self::Link(bound) => bound.link,
            Self::Peer { .. } => LinkId(0),
        }
    }
}

impl<'f, 'a> Lane<'f, 'a> {
    fn new(index: usize, task: &Task, place: &Place, file: &'f Mutex<File<'a>>) -> Self {
        Self {
            index,
            task: task.clone(),
            place: place.clone(),
            flow: None,
            file,
            patience: blocks::patience(task.work),
            buffer: vec![0; BUFFER],
            expected: vec![0; BUFFER],
        }
    }

    fn is_over(&self) -> bool {
        let file = lock(self.file);
        self.task.is_over() || file.complete.is_some() || file.failed
    }

    fn run(mut self) -> Result<(), TransferError> {
        let result = self.fetch_blocks();
        if result.is_err() {
            lock(self.file).failed = true;
        }
        self.forget();
        result
    }

    fn fetch_blocks(&mut self) -> Result<(), TransferError> {
        while !self.is_over() {
            let Some(bound) = self.usable() else {
                std::thread::sleep(IDLE);
                continue;
            };
            self.task.server = bound.server;
            self.task.via = Via::Tcp {
                device: bound.device,
                usable: Arc::clone(&bound.usable),
            };
            let wanted = || bound.usable.load(Ordering::Relaxed) && !self.is_over() && !self.is_ended();
            if let Some(connection) = self.task.connect_while(wanted)? {
                self.follow(connection);
                lock(self.file).blocks.lost(self.index);
            }
        }
        Ok(())
    }

    /// Where the next connection goes, if it can begin now.
    fn usable(&mut self) -> Option<Bound> {
        let bound = match &self.place {
            Place::Link(bound) => bound.clone(),
            Place::Peer {
                peer,
                links,
                assigned,
            } => {
                let flow = *self.flow.get_or_insert_with(|| assigned.begin(*peer));
                match assigned.of(flow) {
                    Answer::On(link) => links.iter().find(|bound| bound.link == link)?.clone(),
                    Answer::Pending => return None,
                    Answer::Ended => {
                        self.forget();
                        return None;
                    }
                }
            }
        };
        bound.usable.load(Ordering::Relaxed).then_some(bound)
    }

    /// Tells the engine that its connection is over. The next one gets another number.
    fn forget(&mut self) {
        if let (Place::Peer { assigned, .. }, Some(flow)) = (&self.place, self.flow.take()) {
            assigned.end(flow);
        }
    }

    /// Whether the engine has ended the connection.
    fn is_ended(&self) -> bool {
        match (&self.place, self.flow) {
            (Place::Peer { assigned, .. }, Some(flow)) => assigned.of(flow) == Answer::Ended,
            _ => false,
        }
    }

    /// Fetches blocks over this connection until it is lost, or none are left.
    fn follow(&mut self, (mut stream, watching): Connection) {
        lock(self.file).connections += 1;
        let seed = self.task.seed;
        let mut result = (Order::Ranges { seed }).write(&mut stream).map(|()| Left::Done);
        while matches!(result, Ok(Left::Done)) && !self.is_over() && !self.is_ended() {
            let range = lock(self.file).request(&self.task, self.index);
            match range {
                Some(range) => result = self.fetch(&mut stream, range),
                None => std::thread::sleep(IDLE),
            }
        }
        if let Err(error) = result {
            self.broke(&error);
        }
        // The kernel discards its counters when a connection is shut down.
        drop(watching);
        // The peer may already be gone.
        let _ = stream.shutdown(Shutdown::Both);
    }

    /// Requests this part of the file, and reads it.
    fn fetch(&mut self, stream: &mut TcpStream, range: Range<u64>) -> std::io::Result<Left> {
        write_range(stream, &range)?;
        let mut silence = Silence::lasting(self.patience, self.task.clock.now());
        let mut at = range.start;
        while at < range.end {
            let most = BUFFER.min((range.end - at) as usize);
            let moved = read(stream, &mut self.buffer[..most]);
            // Data that the kernel still holds after the end of the run was not read in time.
            if self.task.is_over() || self.is_ended() {
                return Ok(Left::Again);
            }
            let now = self.task.clock.now();
            match moved {
                Moved::Bytes(bytes) => {
                    silence.end(now);
                    self.take(at, bytes);
                    at += bytes as u64;
                }
                // Another lane can fetch the rest, even if this link does not come back.
                Moved::Nothing if silence.of_peer(now, stream) => return Ok(Left::Again),
                Moved::Nothing => {}
                Moved::End => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Moved::Broken(error) => return Err(error),
            }
        }
        Ok(Left::Done)
    }

    fn take(&mut self, offset: u64, bytes: usize) {
        fill(self.task.seed, offset, &mut self.expected[..bytes]);
        let is_right = self.expected[..bytes] == self.buffer[..bytes];
        lock(self.file).take(&self.task, self.index, bytes as u64, is_right);
    }

    fn broke(&self, error: &std::io::Error) {
        let why = format!("at {}: {error}", self.task.clock.now());
        lock(self.file).broken.push(why);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The clock is read by whoever has the lock, so that times are in order.
impl File<'_> {
    fn request(&mut self, task: &Task, lane: usize) -> Option<Range<u64>> {
        self.blocks.request(task.clock.now(), lane)
    }

    fn take(&mut self, task: &Task, lane: usize, bytes: u64, is_right: bool) {
        let now = task.clock.now();
        self.intact &= is_right;
        let stall = self.meter.read(now, bytes);
        self.blocks.read(now, lane, bytes);
        self.teller.stall(now, stall);
        self.teller.bytes(now, self.meter.bytes().get());
        if self.blocks.is_complete() {
            self.complete.get_or_insert(now);
        }
    }

    fn finish(mut self, task: &Task) -> Outcome {
        let until = task.clock.now().min(task.until);
        let ended = self.complete.unwrap_or(until);
        let stall = self.meter.end(ended);
        self.teller.stall(ended, stall);
        Outcome {
            intact: self.intact && (self.complete.is_some() || task.is_over()),
            meter: self.meter,
            connections: self.connections,
            broken: self.broken,
            requests: Vec::new(),
            unanswered: Vec::new(),
            blocks: Some(self.blocks),
            ended,
        }
    }
}

//! A source that sends all it can and pauses, in turns, on one connection, in either direction.
//!
//! # Where we differ, and why
//! 1. The first turn begins when the sender's application has the connection: a client that sends when it has
//!    connected, a server that sends when it has read the order. In virtual time it is when the handshake is
//!    complete, and with a relay when the relay has confirmed.
//! 2. A write that waits for room may last into the pause, by [`GLANCE`] at most.
//! 3. Unlike a transfer without turns, plain TCP does not connect again after a silence, as in virtual time:
//!    a client cannot tell a dead link from a pause.
//! 4. A connection that breaks ends the flow, as with requests. Virtual time opens another one. The rest of
//!    the run counts as time without goodput, and as a stall if data was awaited.
//!
//! # Checked by
//! `received::tests` (what counts as a stall); `traffic::tests` (real connections); `slowhand`'s
//! `tests/on_off.rs` against virtual time.

use super::client::{Connection, Outcome, Reporter, Task, Tell, TransferError};
use super::order::Order;
use super::received::{Received, lock};
use super::sending::Sending;
use super::server::Server;
use super::socket::{GLANCE, Moved, read};
use super::upload::is_intact;
use crate::clock::Clock;
use scenario::OnOff;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use trace::FlowMeter;

const CHUNK: usize = 64 * 1024;
const BUFFER: usize = 256 * 1024;

/// The sending end of a flow.
pub(super) struct Source<'s> {
    /// Seed of the content.
    pub(super) seed: u64,
    pub(super) turns: OnOff,
    pub(super) clock: Clock,
    /// Where the receiver counts.
    pub(super) received: &'s Mutex<Received>,
}

impl Source<'_> {
    /// Writes in turns, the first of which begins now, while `lasts` returns true.
    ///
    /// # Errors
    /// The connection broke.
    pub(super) fn write(&self, stream: &mut TcpStream, mut lasts: impl FnMut() -> bool) -> io::Result<()> {
        let began = self.clock.now();
        let mut buffer = vec![0; CHUNK];
        let (mut content, mut was_on) = (Sending::new(self.seed, 0, &mut buffer), true);
        while lasts() {
            let (is_on, left) = self.turns.at(self.clock.now().since(began));
            if is_on != was_on {
                self.turn(is_on, content.offset());
                was_on = is_on;
            }
            if !is_on {
                std::thread::sleep(left.min(GLANCE));
                continue;
            }
            content.write(stream, || u64::MAX)?;
        }
        Ok(())
    }

    /// Tells the receiver that the source sends again, or pauses after this many bytes.
    fn turn(&self, is_on: bool, written: u64) {
        let mut received = lock(self.received);
        // Under the lock, so that the receiver's times are in order.
        let now = self.clock.now();
        match is_on {
            true => received.resume(now),
            false => received.pause(now, written),
        }
    }
}

/// The client's end of a flow.
struct InTurns<'a> {
    task: &'a Task,
    turns: OnOff,
    received: Arc<Mutex<Received>>,
    teller: Reporter<'a>,
}

/// Runs a flow in which the client sends (`up`) or the server does, until the run ends.
pub(super) fn run(
    task: &Task,
    server: &Server,
    (up, turns): (bool, OnOff),
    tell: Tell<'_>,
) -> Result<Outcome, TransferError> {
    let now = task.clock.now();
    let mut flow = InTurns {
        task,
        turns,
        received: server.expect(task.seed, FlowMeter::new(task.name.clone(), now), task.until),
        teller: Reporter::new(tell),
    };
    let (mut broken, mut connections) = (Vec::new(), 0);
    if let Some(connection) = task.connect()? {
        connections = 1;
        let moved = match up {
            true => flow.send(connection),
            false => flow.receive(connection),
        };
        if let Err(error) = moved {
            broken.push(format!("at {}: {error}", task.clock.now()));
        }
    }
    Ok(flow.finish(connections, broken))
}

impl InTurns<'_> {
    /// Sends until the run ends. Then closing discards what the kernel still holds.
    fn send(&mut self, (mut stream, _watching): Connection) -> io::Result<()> {
        let task = self.task;
        let id = task.seed;
        Order::Up { id, resumes: false }.write(&mut stream)?;
        let received = Arc::clone(&self.received);
        let source = Source {
            seed: task.seed,
            turns: self.turns,
            clock: task.clock,
            received: &received,
        };
        source.write(&mut stream, || {
            self.tell();
            !task.is_over()
        })
    }

    fn receive(&mut self, (mut stream, watching): Connection) -> io::Result<()> {
        let task = self.task;
        let order = Order::Turns {
            seed: task.seed,
            turns: self.turns,
        };
        order.write(&mut stream)?;
        let mut buffer = vec![0; BUFFER];
        loop {
            let moved = read(&mut stream, &mut buffer);
            // Data that the kernel still holds after the end of the run was not read in time.
            if task.is_over() {
                break;
            }
            match moved {
                Moved::Bytes(bytes) => self.take(&buffer[..bytes]),
                Moved::Nothing => {}
                Moved::End => return Err(io::ErrorKind::UnexpectedEof.into()),
                Moved::Broken(error) => return Err(error),
            }
            self.tell();
        }
        // The kernel discards its counters when a connection is shut down.
        drop(watching);
        // The peer may already be gone.
        let _ = stream.shutdown(Shutdown::Both);
        Ok(())
    }

    fn take(&self, bytes: &[u8]) {
        let mut received = lock(&self.received);
        // Under the lock, so that the source's turns are in order with it.
        received.take(self.task.clock.now(), bytes);
    }

    /// Reports what has been read, and the stalls that have ended.
    fn tell(&mut self) {
        let (now, bytes, stalls) = {
            let mut received = lock(&self.received);
            let stalls = std::mem::take(&mut received.stalls);
            (self.task.clock.now(), received.meter.bytes().get(), stalls)
        };
        self.teller.bytes(now, bytes);
        for stall in stalls {
            self.teller.stall(stall.to, Some(stall));
        }
    }

    fn finish(mut self, connections: u32, broken: Vec<String>) -> Outcome {
        self.tell();
        let ended = match broken.is_empty() {
            true => self.task.clock.now().min(self.task.until),
            false => self.task.until,
        };
        let mut received = lock(&self.received);
        let stall = received.meter.end(ended);
        self.teller.stall(ended, stall);
        Outcome {
            // The end of the run cuts off what is in flight.
            intact: is_intact(&received, self.task.seed, received.length),
            meter: received.meter.clone(),
            connections,
            broken,
            requests: Vec::new(),
            unanswered: Vec::new(),
            blocks: None,
            ended,
        }
    }
}

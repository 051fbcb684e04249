//! Bytes from the client. Only bytes that the server's application reads count.

use super::client::{Left, Outcome, Reporter, Task, Tell, TransferError};
use super::content::digest;
use super::order::Order;
use super::received::{Received, lock};
use super::sending::Sending;
use super::server::{DRAIN, Server};
use super::silence::Silence;
use super::socket::{Moved, read};
use crate::pace::Pace;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use trace::FlowMeter;
use units::{Bitrate, Bytes, Duration, Instant};

const CHUNK: usize = 64 * 1024;

struct Upload<'a> {
    task: &'a Task,
    end: u64,
    pace: Pace,
    received: Arc<Mutex<Received>>,
    teller: Reporter<'a>,
    connections: u32,
    broken: Vec<String>,
}

pub(super) fn run(
    task: &Task,
    server: &Server,
    size: Option<Bytes>,
    limit: Option<Bitrate>,
    tell: Tell<'_>,
) -> Result<Outcome, TransferError> {
    let now = task.clock.now();
    let mut upload = Upload {
        task,
        end: size.map_or(u64::MAX, Bytes::get),
        pace: Pace::new(now, limit.map_or(0, |limit| limit.as_bps() / 8)),
        received: server.expect(task.seed, FlowMeter::new(task.name.clone(), now), task.until),
        teller: Reporter::new(tell),
        connections: 0,
        broken: Vec::new(),
    };
    let mut ended = now;
    while let Some((mut stream, _watching)) = task.connect()? {
        let mut silence = Silence::new(task.clock.now());
        let left = upload.follow(&mut stream, &mut silence);
        ended = task.clock.now().min(task.until);
        if matches!(left, Left::Done) && matches!(upload.drain(&stream, &mut silence), Left::Done) {
            break;
        }
    }
    Ok(upload.finish(ended))
}

impl Upload<'_> {
    fn follow(&mut self, stream: &mut TcpStream, silence: &mut Silence) -> Left {
        self.connections += 1;
        let from = self.begin(stream, silence);
        let left = from.and_then(|from| match from {
            Some(from) => self.send(stream, from, silence),
            None => Ok(Left::Again),
        });
        left.unwrap_or_else(|error| {
            self.broken.push(format!("at {}: {error}", self.task.clock.now()));
            std::thread::sleep(std::time::Duration::from_millis(20));
            Left::Again
        })
    }

    /// Sends the order and learns the offset to send from; `None` if the reply took too long.
    fn begin(&self, stream: &mut TcpStream, silence: &mut Silence) -> std::io::Result<Option<u64>> {
        let resumes = self.connections > 1;
        let id = self.task.seed;
        Order::Up { id, resumes }.write(stream)?;
        let (mut from, mut come) = ([0; 8], 0);
        while resumes && come < from.len() {
            match read(stream, &mut from[come..]) {
                Moved::Bytes(bytes) => come += bytes,
                Moved::Nothing if self.task.is_over() || self.is_silent(silence, stream) => return Ok(None),
                Moved::Nothing => {}
                Moved::End => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Moved::Broken(error) => return Err(error),
            }
        }
        Ok(Some(u64::from_le_bytes(from)))
    }

    fn send(&mut self, stream: &mut TcpStream, from: u64, silence: &mut Silence) -> std::io::Result<Left> {
        let mut buffer = vec![0; CHUNK];
        let mut content = Sending::new(self.task.seed, from, &mut buffer);
        while !self.task.is_over() && content.offset() < self.end {
            let left = self.end - content.offset();
            content.write(stream, || self.pace.wait(self.task.clock, CHUNK as u64).min(left))?;
            if self.is_silent(silence, stream) {
                return Ok(Left::Again);
            }
            self.tell();
        }
        Ok(Left::Done)
    }

    /// Whether plain TCP should reconnect.
    fn is_silent(&self, silence: &mut Silence, stream: &TcpStream) -> bool {
        let now = self.task.clock.now();
        self.task.should_reconnect() && silence.of_acknowledgements(now, stream)
    }

    fn tell(&mut self) {
        let now = self.task.clock.now();
        let (bytes, stalls) = {
            let mut received = lock(&self.received);
            (received.meter.bytes().get(), std::mem::take(&mut received.stalls))
        };
        self.teller.bytes(now, bytes);
        stalls
            .into_iter()
            .for_each(|stall| self.teller.stall(stall.to, Some(stall)));
    }

    /// Waits until the server has read everything, so that it can be checked. A timed run has been measured
    /// by then.
    fn drain(&self, stream: &TcpStream, silence: &mut Silence) -> Left {
        // The peer may already be gone.
        let _ = stream.shutdown(Shutdown::Write);
        let limit = self.task.clock.now() + DRAIN;
        // A transfer of a given size is not over before it has arrived.
        let limit = if self.end == u64::MAX {
            limit
        } else {
            limit.max(self.task.until)
        };
        while !lock(&self.received).complete && self.task.clock.now() < limit {
            if !self.task.is_over() && self.is_silent(silence, stream) {
                return Left::Again;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Left::Done
    }

    fn finish(mut self, ended: Instant) -> Outcome {
        self.tell();
        let mut received = lock(&self.received);
        let ended = if received.complete && self.end != u64::MAX {
            self.task.clock.now().min(self.task.until)
        } else {
            ended
        };
        let stall = received.meter.end(ended);
        self.teller.stall(ended, stall);
        // Data that the end of the run cut off may be short, but not wrong.
        let cut_off = self.end == u64::MAX || self.task.is_over();
        let size = if cut_off { received.length } else { self.end };
        Outcome {
            intact: is_intact(&received, self.task.seed, size),
            meter: received.meter.clone(),
            connections: self.connections,
            broken: self.broken,
            requests: Vec::new(),
            unanswered: Vec::new(),
            blocks: None,
            ended,
        }
    }
}

/// Whether the server has read this many bytes, and each is as it was sent.
pub(super) fn is_intact(received: &Received, seed: u64, size: u64) -> bool {
    received.length == size && received.digest() == digest(seed, size)
}

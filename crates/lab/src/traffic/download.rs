//! Bytes to the client.

use super::client::{Connection, Left, Outcome, Reporter, Task, Tell, TransferError};
use super::content::digest;
use super::order::Order;
use super::silence::Silence;
use super::socket::{Moved, read};
use sha2::{Digest as _, Sha256};
use std::net::Shutdown;
use trace::FlowMeter;
use units::{Bitrate, Bytes, Duration, Instant};

const BUFFER: usize = 256 * 1024;

struct Download<'a> {
    task: &'a Task,
    end: u64,
    bytes_per_s: u64,
    meter: FlowMeter,
    hash: Sha256,
    teller: Reporter<'a>,
    connections: u32,
    broken: Vec<String>,
}

pub(super) fn run(
    task: &Task,
    size: Option<Bytes>,
    limit: Option<Bitrate>,
    tell: Tell<'_>,
) -> Result<Outcome, TransferError> {
    let mut download = Download {
        task,
        end: size.map_or(u64::MAX, Bytes::get),
        bytes_per_s: limit.map_or(0, |limit| limit.as_bps() / 8),
        meter: FlowMeter::new(task.name.clone(), task.clock.now()),
        hash: Sha256::new(),
        teller: Reporter::new(tell),
        connections: 0,
        broken: Vec::new(),
    };
    let mut buffer = vec![0; BUFFER];
    while let Some(connection) = task.connect()? {
        if matches!(download.follow(connection, &mut buffer), Left::Done) {
            break;
        }
    }
    Ok(download.finish())
}

impl Download<'_> {
    fn order(&self) -> Order {
        Order::Down {
            seed: self.task.seed,
            offset: self.meter.bytes().get(),
            end: self.end,
            bytes_per_s: self.bytes_per_s,
        }
    }

    fn follow(&mut self, (mut stream, watching): Connection, buffer: &mut [u8]) -> Left {
        self.connections += 1;
        if let Err(error) = self.order().write(&mut stream) {
            return self.broke(&error);
        }
        let mut silence = Silence::new(self.task.clock.now());
        loop {
            let moved = read(&mut stream, buffer);
            let now = self.task.clock.now();
            // Data that the kernel still holds after the end of the run was not read in time.
            if self.task.is_over() {
                break;
            }
            match moved {
                Moved::Bytes(bytes) => {
                    silence.end(now);
                    self.take(now, &buffer[..bytes]);
                }
                Moved::Nothing => {
                    if silence.of_peer(now, &stream) && self.task.should_reconnect() {
                        return Left::Again;
                    }
                }
                Moved::End if self.meter.bytes().get() >= self.end => break,
                Moved::End => return self.broke(&std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
                Moved::Broken(error) => return self.broke(&error),
            }
        }
        // The kernel discards its counters when a connection is shut down.
        drop(watching);
        // The peer may already be gone.
        let _ = stream.shutdown(Shutdown::Both);
        Left::Done
    }

    fn take(&mut self, now: Instant, bytes: &[u8]) {
        let stall = self.meter.read(now, bytes.len() as u64);
        self.hash.update(bytes);
        self.teller.stall(now, stall);
        self.teller.bytes(now, self.meter.bytes().get());
    }

    fn broke(&mut self, error: &std::io::Error) -> Left {
        self.broken.push(format!("at {}: {error}", self.task.clock.now()));
        std::thread::sleep(Duration::from_millis(20));
        Left::Again
    }

    fn finish(mut self) -> Outcome {
        let ended = self.task.clock.now().min(self.task.until);
        let stall = self.meter.end(ended);
        self.teller.stall(ended, stall);
        let received: super::Digest = self.hash.finalize().into();
        let length = self.meter.bytes().get();
        let whole = self.end == u64::MAX || length == self.end || self.task.is_over();
        Outcome {
            intact: whole && received == digest(self.task.seed, length),
            meter: self.meter,
            connections: self.connections,
            broken: self.broken,
            requests: Vec::new(),
            unanswered: Vec::new(),
            blocks: None,
            ended,
        }
    }
}

//! Small requests, each answered, on one connection.

use super::client::{Outcome, Task, Tell, Teller, TransferError};
use super::content::digest;
use super::order::Order;
use super::socket::{Moved, read, write};
use sha2::{Digest as _, Sha256};
use std::net::TcpStream;
use trace::{FlowMeter, Stall};
use units::{Bytes, Duration, Instant};

struct Requests<'a> {
    task: &'a Task,
    reply: u64,
    meter: FlowMeter,
    hash: Sha256,
    answered: Vec<Stall>,
    teller: Teller<'a>,
}

pub(super) fn run(
    task: &Task,
    every: Duration,
    request: Bytes,
    reply: Bytes,
    tell: Tell<'_>,
) -> Result<Outcome, TransferError> {
    let mut requests = Requests {
        task,
        reply: reply.get(),
        meter: FlowMeter::new(task.name.clone(), task.clock.now()),
        hash: Sha256::new(),
        answered: Vec::new(),
        teller: Teller::new(tell),
    };
    let (mut broken, mut connections) = (Vec::new(), 0);
    if let Some((mut stream, _watching)) = task.connect()? {
        connections = 1;
        if let Err(error) = requests.converse(&mut stream, every, request) {
            broken.push(format!("at {}: {error}", task.clock.now()));
        }
    }
    Ok(requests.finish(connections, broken))
}

impl Requests<'_> {
    fn converse(&mut self, stream: &mut TcpStream, every: Duration, request: Bytes) -> std::io::Result<()> {
        let order = Order::Answer {
            seed: self.task.seed,
            request: request.get(),
            reply: self.reply,
        };
        order.write(stream)?;
        let body = vec![0; request.get() as usize];
        let mut due = self.task.clock.now();
        while !self.task.is_over() {
            let now = self.task.clock.now();
            if now < due {
                std::thread::sleep(due.since(now).min(Duration::from_millis(20)));
                continue;
            }
            due += every;
            self.ask(stream, &body)?;
            due = due.max(self.task.clock.now());
        }
        Ok(())
    }

    fn ask(&mut self, stream: &mut TcpStream, body: &[u8]) -> std::io::Result<()> {
        let asked = self.task.clock.now();
        self.meter.requested(asked);
        let mut sent = 0;
        while sent < body.len() && !self.task.is_over() {
            match write(stream, &body[sent..]) {
                Moved::Bytes(bytes) => sent += bytes,
                Moved::Nothing => {}
                Moved::End => return Err(std::io::ErrorKind::BrokenPipe.into()),
                Moved::Broken(error) => return Err(error),
            }
        }
        self.hear(stream, asked)
    }

    fn hear(&mut self, stream: &mut TcpStream, asked: Instant) -> std::io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        let mut left = self.reply;
        while left > 0 && !self.task.is_over() {
            let most = left.min(buffer.len() as u64) as usize;
            match read(stream, &mut buffer[..most]) {
                Moved::Bytes(bytes) => {
                    left -= bytes as u64;
                    self.take(&buffer[..bytes]);
                }
                Moved::Nothing => {}
                Moved::End => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Moved::Broken(error) => return Err(error),
            }
        }
        if left == 0 {
            let now = self.task.clock.now();
            self.answered.push(Stall { from: asked, to: now });
            let stall = self.meter.replied(now);
            self.teller.stall(now, stall);
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) {
        let now = self.task.clock.now();
        let stall = self.meter.read(now, bytes.len() as u64);
        self.hash.update(bytes);
        self.teller.stall(now, stall);
        self.teller.bytes(now, self.meter.bytes().get());
    }

    fn finish(mut self, connections: u32, broken: Vec<String>) -> Outcome {
        let ended = self.task.clock.now().min(self.task.until);
        let stall = self.meter.end(ended);
        self.teller.stall(ended, stall);
        let received: super::Digest = self.hash.finalize().into();
        Outcome {
            intact: received == digest(self.task.seed, self.meter.bytes().get()),
            meter: self.meter,
            connections,
            broken,
            requests: self.answered,
            ended,
        }
    }
}

//! Small requests, each answered, on one connection.
//!
//! # Where we differ, and why
//! 1. A client that waits for each reply sends least often while replies are slow, and then measures too
//!    little of just that time. So the schedule stays fixed. A request that becomes due while the previous
//!    one is unanswered is written as soon as that is answered. Its time counts from when it was due.
//! 2. Requests unanswered at the end of the run are reported too, with how long they had been due by then:
//!    they would have taken longer.
//!
//! # Checked by
//! `tests` below; `traffic::tests` (real connections).

use super::client::{Outcome, Reporter, Task, Tell, TransferError};
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
    schedule: Schedule,
    teller: Reporter<'a>,
}

/// When requests are due, independent of the replies to earlier ones.
struct Schedule {
    every: Duration,
    due: Instant,
    /// Start of the wait for the request that is unanswered.
    waiting: Option<Instant>,
    /// When the latest request was answered.
    free_since: Instant,
}

impl Schedule {
    const fn new(now: Instant, every: Duration) -> Self {
        Self {
            every,
            due: now,
            waiting: None,
            free_since: now,
        }
    }

    /// Whether a request is due; the caller then writes it.
    fn next(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let was_busy = self.free_since > self.due;
        self.waiting = Some(if was_busy { self.due } else { now });
        self.due += self.every;
        true
    }

    fn answered(&mut self, now: Instant) -> Option<Stall> {
        self.free_since = now;
        self.waiting.take().map(|from| Stall { from, to: now })
    }

    /// The unanswered request, and those that became due behind it.
    fn unanswered(&self, end: Instant) -> Vec<Stall> {
        let Some(first) = self.waiting else {
            return Vec::new();
        };
        let behind = std::iter::successors(Some(self.due), |&due| Some(due + self.every));
        let all = std::iter::once(first).chain(behind);
        all.take_while(|&from| from < end)
            .map(|from| Stall { from, to: end })
            .collect()
    }
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
        schedule: Schedule::new(task.clock.now(), every),
        teller: Reporter::new(tell),
    };
    let (mut broken, mut connections) = (Vec::new(), 0);
    if let Some((mut stream, _watching)) = task.connect()? {
        connections = 1;
        requests.schedule = Schedule::new(task.clock.now(), every);
        if let Err(error) = requests.converse(&mut stream, request) {
            broken.push(format!("at {}: {error}", task.clock.now()));
        }
    }
    Ok(requests.finish(connections, broken))
}

impl Requests<'_> {
    fn converse(&mut self, stream: &mut TcpStream, request: Bytes) -> std::io::Result<()> {
        let order = Order::Answer {
            seed: self.task.seed,
            request: request.get(),
            reply: self.reply,
        };
        order.write(stream)?;
        let body = vec![0; request.get() as usize];
        while !self.task.is_over() {
            let now = self.task.clock.now();
            if self.schedule.next(now) {
                self.ask(stream, &body)?;
            } else {
                std::thread::sleep(self.schedule.due.since(now).min(Duration::from_millis(20)));
            }
        }
        Ok(())
    }

    fn ask(&mut self, stream: &mut TcpStream, body: &[u8]) -> std::io::Result<()> {
        self.meter.requested(self.task.clock.now());
        let mut sent = 0;
        while sent < body.len() && !self.task.is_over() {
            match write(stream, &body[sent..]) {
                Moved::Bytes(bytes) => sent += bytes,
                Moved::Nothing => {}
                Moved::End => return Err(std::io::ErrorKind::BrokenPipe.into()),
                Moved::Broken(error) => return Err(error),
            }
        }
        self.hear(stream)
    }

    fn hear(&mut self, stream: &mut TcpStream) -> std::io::Result<()> {
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
            self.answered.extend(self.schedule.answered(now));
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
            unanswered: self.schedule.unanswered(ended),
            blocks: None,
            requests: self.answered,
            ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(200);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn millis(stalls: &[Stall]) -> Vec<(u64, u64)> {
        let of = |stall: &Stall| (stall.from.as_millis(), stall.to.as_millis());
        stalls.iter().map(of).collect()
    }

    #[test]
    fn a_request_on_an_idle_connection_is_timed_from_its_write() {
        let mut schedule = Schedule::new(at(1_000), EVERY);
        assert!(schedule.next(at(1_000)));
        assert_eq!(millis(schedule.answered(at(1_050)).as_slice()), [(1_000, 1_050)]);
        assert!(!schedule.next(at(1_199)));
        assert!(schedule.next(at(1_203)), "the thread woke up late");
        assert_eq!(millis(schedule.answered(at(1_250)).as_slice()), [(1_203, 1_250)]);
        assert!(
            !schedule.next(at(1_399)) && schedule.next(at(1_400)),
            "the schedule stays"
        );
    }

    #[test]
    fn requests_behind_a_late_reply_are_timed_from_their_schedule() {
        let mut schedule = Schedule::new(at(0), EVERY);
        let mut took = Vec::new();
        assert!(schedule.next(at(0)));
        took.extend(schedule.answered(at(700)));
        for answered in [720, 740, 760] {
            assert!(schedule.next(at(answered - 20)));
            took.extend(schedule.answered(at(answered)));
        }
        assert_eq!(millis(&took), [(0, 700), (200, 720), (400, 740), (600, 760)]);
        assert!(!schedule.next(at(799)) && schedule.next(at(800)));
    }

    #[test]
    fn pending_and_queued_requests_are_reported_at_the_end() {
        let mut schedule = Schedule::new(at(0), EVERY);
        assert_eq!(schedule.unanswered(at(100)), []);
        assert!(schedule.next(at(0)));
        assert_eq!(
            millis(&schedule.unanswered(at(500))),
            [(0, 500), (200, 500), (400, 500)]
        );
        schedule.answered(at(500));
        assert_eq!(schedule.unanswered(at(500)), []);
    }
}

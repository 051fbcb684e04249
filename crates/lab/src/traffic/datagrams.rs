//! UDP between the client and the server over one link: saturated, or one datagram per interval. There are no
//! replies.
//!
//! The client's end is bound to the link's interface. It sends hellos until the server has received one. The
//! server then knows the client's address behind the link's address translation. After that, the sender sends
//! until the run ends.
//!
//! # Where we differ, and why
//! 1. "Saturated" is a rate: that of the first bottleneck behind the sender, whose queue it keeps full. A
//!    kernel has no call for "send when there is room on the air".
//! 2. The receiver polls a thousand times a second instead of waiting. Otherwise the thread that carries
//!    packets would have to wake it for each one.
//! 3. A sender that is more than a burst behind its rate skips the rest: it does not make up for time in
//!    which it did not run.
//!
//! # Checked by
//! `tests` of this module's parent; `slowhand`'s `tests/both_worlds.rs` against virtual time.

use super::client::{Outcome, Reporter, Task, Tell, TransferError, Via};
use super::server::Server;
use scenario::{Pace, Way};
use socket2::SockRef;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration as Wall;
use trace::FlowMeter;
use units::{Bytes, Duration, Instant};

/// Sender and receiver wake this often.
const GRAIN: Wall = Wall::from_millis(1);
/// Most datagrams sent at once.
const BURST: u64 = 64;
/// Time between hellos that were not received.
const PATIENCE: Wall = Wall::from_millis(20);
/// Length of the mark with which every datagram of a flow begins.
const MARK: usize = 8;
const LONGEST: usize = 65_536;
/// Receive buffer for what arrives between two polls; the host may allow less.
const ROOM: usize = 4 << 20;

/// The two ends.
struct Ends {
    client: UdpSocket,
    server: UdpSocket,
}

pub(super) fn run(
    task: &Task,
    server: &Server,
    (way, pace, payload): (Way, Pace, Bytes),
    tell: Tell<'_>,
) -> Result<Outcome, TransferError> {
    let ends = Ends::open(task, server).map_err(TransferError::Prepare)?;
    let mut meter = FlowMeter::new(task.name.clone(), task.clock.now()).sent_every(task.work.interval());
    let mut intact = true;
    if ends.meet(task).map_err(TransferError::Prepare)? {
        let (from, to) = match way {
            Way::Up => (&ends.client, &ends.server),
            Way::Down | Way::Everyone => (&ends.server, &ends.client),
        };
        prepare(to).map_err(TransferError::Prepare)?;
        let datagram = content(task.seed, payload);
        let mut teller = Reporter::new(tell);
        std::thread::scope(|scope| {
            scope.spawn(|| send(task, from, &datagram, interval(pace)));
            intact = receive(task, to, &datagram, &mut meter, &mut teller);
        });
    }
    let ended = task.clock.now().min(task.until);
    if let Some(stall) = meter.end(ended) {
        Reporter::new(tell).stall(ended, Some(stall));
    }
    Ok(Outcome {
        meter,
        intact,
        connections: 0,
        broken: Vec::new(),
        requests: Vec::new(),
        unanswered: Vec::new(),
        blocks: None,
        ended,
    })
}

impl Ends {
    fn open(task: &Task, server: &Server) -> io::Result<Self> {
        let client = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        if let Via::Udp { device } = &task.via {
            SockRef::from(&client).bind_device(Some(device.as_bytes()))?;
        }
        let server = server.datagrams()?;
        for end in [&client, &server] {
            end.set_read_timeout(Some(PATIENCE))?;
        }
        Ok(Self { client, server })
    }

    /// Waits until each end knows the other's address; `false`: the run was over first.
    fn meet(&self, task: &Task) -> io::Result<bool> {
        let (hello, there) = (task.seed.to_be_bytes(), self.server.local_addr()?);
        let mut heard = [0; MARK];
        while !task.is_over() {
            // Without a route or an address, no hello can arrive.
            if self.client.send_to(&hello, there).is_err() {
                std::thread::sleep(PATIENCE);
                continue;
            }
            if let Ok((_, from)) = self.server.recv_from(&mut heard)
                && heard == hello
            {
                self.server.connect(from)?;
                self.client.connect(there)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Prepares a receiver that polls.
fn prepare(receiver: &UdpSocket) -> io::Result<()> {
    SockRef::from(receiver).set_recv_buffer_size(ROOM)?;
    receiver.set_nonblocking(true)
}

fn content(seed: u64, payload: Bytes) -> Vec<u8> {
    let mark = seed.wrapping_add(1).to_be_bytes();
    let length = (payload.get() as usize).min(LONGEST);
    mark.iter().copied().cycle().take(length).collect()
}

fn interval(pace: Pace) -> Duration {
    match pace {
        Pace::Every(interval) => interval,
        // The caller that starts a flow knows the rate of its link. Without that: as fast as the grain
        // allows.
        Pace::Saturated => Duration::from_micros(10),
    }
}

fn send(task: &Task, socket: &UdpSocket, datagram: &[u8], interval: Duration) {
    let begun = task.clock.now();
    let mut sent = 0;
    while !task.is_over() {
        let due = (task.clock.now().since(begun).as_nanos() / interval.as_nanos().max(1)) as u64 + 1;
        sent = sent.max(due.saturating_sub(BURST));
        while sent < due {
            // Datagrams that do not fit into the device are lost there, as on the air.
            let _ = socket.send(datagram);
            sent += 1;
        }
        std::thread::sleep(GRAIN);
    }
}

/// Receives datagrams. Returns whether all of them arrived as they were sent.
fn receive(
    task: &Task,
    socket: &UdpSocket,
    datagram: &[u8],
    meter: &mut FlowMeter,
    teller: &mut Reporter<'_>,
) -> bool {
    let (mut buffer, mut intact) = (vec![0; LONGEST], true);
    while !task.is_over() {
        let Ok(length) = socket.recv(&mut buffer) else {
            std::thread::sleep(GRAIN);
            continue;
        };
        let now: Instant = task.clock.now();
        if now >= task.until || buffer[..length] == task.seed.to_be_bytes() {
            continue;
        }
        intact &= buffer[..length] == *datagram;
        let stall = meter.read(now, length as u64);
        teller.stall(now, stall);
        teller.bytes(now, meter.bytes().get());
    }
    intact
}

/// A socket for the server's end of one flow.
pub(super) fn at_server(address: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind((address.ip(), 0))
}

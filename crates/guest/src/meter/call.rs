//! A call: packets to a server that returns each with the address from which it came.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Time between two packets.
const EVERY: Duration = Duration::from_millis(10);
/// The longest address as text.
const LONGEST: usize = 64;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address and port of the server.
    address: SocketAddr,
    /// Packets to send, one every 10 ms.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    packets: u32,
    /// Terminate this process in the middle of the call.
    #[arg(long, value_name = "PID", requires = "after")]
    terminate: Option<i32>,
    /// Terminate it after this many packets.
    #[arg(long, value_name = "NUMBER", requires = "terminate")]
    after: Option<u32>,
    /// Have a second call from this address of the host at the same time.
    #[arg(long, value_name = "ADDRESS")]
    beside: Option<IpAddr>,
}

/// What is known of one call.
#[derive(Debug)]
struct Call {
    sent: u32,
    received: u32,
    /// When the last reply came.
    last: Option<Instant>,
    /// The longest time between two replies.
    gap: Duration,
    /// This host's address as the server saw it: with the first reply, and with the last one.
    seen: Option<(String, String)>,
}

impl Call {
    const fn new() -> Self {
        Self {
            sent: 0,
            received: 0,
            last: None,
            gap: Duration::ZERO,
            seen: None,
        }
    }

    /// Takes in a reply.
    fn take(&mut self, now: Instant, reply: &str) {
        self.wait(now);
        self.last = Some(now);
        self.received += 1;
        match &mut self.seen {
            Some((_, last)) => reply.clone_into(last),
            None => self.seen = Some((reply.to_owned(), reply.to_owned())),
        }
    }

    /// No reply has come between the last one and now. The wait for the first one is not a gap.
    fn wait(&mut self, now: Instant) {
        let silent = self.last.map(|last| now.saturating_duration_since(last));
        self.gap = self.gap.max(silent.unwrap_or_default());
    }

    fn report(&self) -> Value {
        let (first, last) = self.seen.clone().unzip();
        json!({
            "sent": self.sent,
            "received": self.received,
            "longest_gap_ms": (self.gap.as_secs_f64() * 1e4).round() / 10.0,
            "first_from": first,
            "last_from": last,
        })
    }
}

/// Answers each packet with the address it came from, as long as the process lives.
pub fn echo(address: SocketAddr) -> anyhow::Result<()> {
    let socket = bound(address)?;
    let mut packet = [0; LONGEST];
    loop {
        let (_, from) = socket.recv_from(&mut packet).context("cannot receive")?;
        // The way back may be cut.
        let _ = socket.send_to(from.ip().to_string().as_bytes(), from);
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let any: SocketAddr = match args.address {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    let own = connected(any, args.address)?;
    let beside = args
        .beside
        .map(|address| connected((address, 0).into(), args.address))
        .transpose()?;
    let fault = args.after.zip(args.terminate);
    let (call, beside) = std::thread::scope(|scope| {
        let beside = beside.map(|socket| scope.spawn(move || talk(&socket, args.packets, None)));
        let call = talk(&own, args.packets, fault);
        let beside = beside.map(|thread| thread.join().expect("a thread that cannot panic"));
        (call, beside)
    });
    let mut report = call?.report();
    if let Some(beside) = beside {
        report["beside"] = beside?.report();
    }
    println!("{report}");
    Ok(())
}

fn bound(address: SocketAddr) -> anyhow::Result<UdpSocket> {
    UdpSocket::bind(address).with_context(|| format!("cannot bind {address}; is the address on this host?"))
}

fn connected(from: SocketAddr, to: SocketAddr) -> anyhow::Result<UdpSocket> {
    let socket = bound(from)?;
    socket
        .connect(to)
        .with_context(|| format!("there is no way from {from} to {to}"))?;
    Ok(socket)
}

/// Sends these packets, and terminates a process after some of them.
fn talk(socket: &UdpSocket, packets: u32, fault: Option<(u32, i32)>) -> anyhow::Result<Call> {
    let began = Instant::now();
    let mut call = Call::new();
    for number in 0..packets {
        // While its link is away, the kernel refuses.
        call.sent += u32::from(socket.send(b"?").is_ok());
        listen(socket, began + EVERY * (number + 1), &mut call)?;
        if let Some((after, pid)) = fault
            && number + 1 == after
        {
            kill(Pid::from_raw(pid), Signal::SIGTERM)
                .with_context(|| format!("cannot terminate process {pid}"))?;
        }
    }
    call.wait(Instant::now());
    Ok(call)
}

/// Takes in replies until a time.
fn listen(socket: &UdpSocket, until: Instant, call: &mut Call) -> io::Result<()> {
    let mut packet = [0; LONGEST];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        // A link that is away refuses, too.
        if let Ok(length) = socket.recv(&mut packet) {
            call.take(Instant::now(), &String::from_utf8_lossy(&packet[..length]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_between_two_replies_or_lasts_until_the_end() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut call = Call::new();
        call.wait(at(500));
        for (ms, from) in [(900, "10.0.1.7"), (910, "10.0.1.7"), (990, "10.0.2.7")] {
            call.take(at(ms), from);
        }
        assert_eq!(call.report()["longest_gap_ms"], 80.0);
        call.wait(at(1_200));
        let report = call.report();
        assert_eq!(report["longest_gap_ms"], 210.0);
        assert_eq!(
            (&report["first_from"], &report["last_from"]),
            (&json!("10.0.1.7"), &json!("10.0.2.7"))
        );
        assert_eq!(report["received"], 3);
    }

    #[test]
    fn a_call_has_as_many_replies_as_packets() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        drop(server);
        std::thread::spawn(move || echo(address));
        let socket = connected(([127, 0, 0, 1], 0).into(), address).unwrap();
        // Until the server has begun.
        while talk(&socket, 1, None).unwrap().received == 0 {}
        let call = talk(&socket, 5, None).unwrap();
        assert!(call.sent == 5 && call.received >= 5, "{call:?}");
        assert_eq!(call.report()["last_from"], "127.0.0.1");
    }
}

//! Receives a file, and measures the longest time between two reads.

use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Bytes of one read.
const BUFFER: usize = 64 * 1024;
/// A connection is broken if it is silent for this long.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address and port of the server.
    address: SocketAddr,
    /// Terminate this process in the middle of the transfer.
    #[arg(long, value_name = "PID", requires = "after")]
    terminate: Option<i32>,
    /// Terminate it after this many bytes.
    #[arg(long, value_name = "BYTES", requires = "terminate")]
    after: Option<u64>,
}

/// What is known of a transfer.
struct Meter {
    began: Instant,
    read: Instant,
    bytes: u64,
    hash: Sha256,
    gap: Duration,
    /// Bytes received when the longest gap began.
    gap_at: u64,
}

impl Meter {
    fn new(now: Instant) -> Self {
        Self {
            began: now,
            read: now,
            bytes: 0,
            hash: Sha256::new(),
            gap: Duration::ZERO,
            gap_at: 0,
        }
    }

    /// Takes in what one read returned. The wait for the first bytes is not a gap.
    fn take(&mut self, now: Instant, content: &[u8]) {
        let gap = now.saturating_duration_since(self.read);
        if self.bytes > 0 && gap > self.gap {
            (self.gap, self.gap_at) = (gap, self.bytes);
        }
        self.read = now;
        self.bytes += content.len() as u64;
        self.hash.update(content);
    }

    fn report(self) -> Value {
        let hash: String = self
            .hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let ms = |duration: Duration| (duration.as_secs_f64() * 1e4).round() / 10.0;
        json!({
            "bytes": self.bytes,
            "sha256": hash,
            "duration_ms": ms(self.read.saturating_duration_since(self.began)),
            "longest_gap_ms": ms(self.gap),
            "longest_gap_at_bytes": self.gap_at,
        })
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let socket = crate::mptcp(args.address)
        .context("cannot open an MPTCP socket; check `sysctl net.mptcp.enabled`")?;
    socket
        .connect(&args.address.into())
        .with_context(|| format!("cannot connect to {}", args.address))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut stream = TcpStream::from(socket);
    let mut meter = Meter::new(Instant::now());
    let mut fault = args.after.zip(args.terminate);
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = stream.read(&mut buffer).context("the connection broke")?;
        if read == 0 {
            break;
        }
        meter.take(Instant::now(), &buffer[..read]);
        if let Some((after, pid)) = fault
            && meter.bytes >= after
        {
            kill(Pid::from_raw(pid), Signal::SIGTERM)
                .with_context(|| format!("cannot terminate process {pid}"))?;
            fault = None;
        }
    }
    anyhow::ensure!(
        fault.is_none(),
        "the transfer ended after {} bytes, before the fault; make it longer",
        meter.bytes
    );
    println!("{}", meter.report());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_between_two_reads() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut meter = Meter::new(began);
        for (ms, content) in [(900, "ab"), (910, "c"), (960, "d"), (970, "e")] {
            meter.take(at(ms), content.as_bytes());
        }
        let report = meter.report();
        assert_eq!(report["bytes"], 5);
        assert_eq!(report["longest_gap_ms"], 50.0);
        assert_eq!(report["longest_gap_at_bytes"], 3);
        assert_eq!(report["duration_ms"], 970.0);
        let abcde = "36bbe50ed96841d10443bcb670d6554f0a34b761be67ec9c4a8ad2c0c44ca42c";
        assert_eq!(report["sha256"], abcde);
    }
}

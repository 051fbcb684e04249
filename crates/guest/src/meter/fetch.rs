//! Receives a file, and measures the longest time between two reads.

use std::io::{ErrorKind, Read as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
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
    /// Leave after this many seconds.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Write the bytes of every 100 ms into this file, as JSON Lines.
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
}

/// Time between two samples.
const SAMPLE: Duration = Duration::from_millis(100);

/// What is known of a transfer.
struct Meter {
    began: Instant,
    read: Instant,
    bytes: u64,
    hash: Sha256,
    gap: Duration,
    /// Bytes received when the longest gap began.
    gap_at: u64,
    /// Bytes of every [`SAMPLE`] since the beginning.
    samples: Vec<u64>,
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
            samples: Vec::new(),
        }
    }

    /// Takes in what one read returned. The wait for the first bytes is not a gap.
    fn take(&mut self, now: Instant, content: &[u8]) {
        let gap = now.saturating_duration_since(self.read);
        if self.bytes > 0 && gap > self.gap {
            (self.gap, self.gap_at) = (gap, self.bytes);
        }
        self.read = now;
        let place = now.saturating_duration_since(self.began).as_nanos() / SAMPLE.as_nanos();
        self.samples.resize(self.samples.len().max(place as usize + 1), 0);
        self.samples[place as usize] += content.len() as u64;
        self.bytes += content.len() as u64;
        self.hash.update(content);
    }

    /// One line a sample, with the clock's time at its beginning. `began`: that of the connection.
    fn sampled(&self, began: Duration) -> String {
        let lines = self.samples.iter().zip(0_u32..).map(|(bytes, place)| {
            let t_s = (began + SAMPLE * place).as_secs_f64();
            format!("{}\n", json!({"t_s": t_s, "bytes": bytes}))
        });
        lines.collect()
    }

    /// Ends what the client leaves early: a gap may last until now.
    fn leave(&mut self, now: Instant) {
        let bytes = self.bytes;
        self.take(now, &[]);
        self.bytes = bytes;
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
    let clock = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?);
    let mut meter = Meter::new(Instant::now());
    let until = args
        .seconds
        .map(|seconds| meter.began + Duration::from_secs(seconds));
    let mut fault = args.after.zip(args.terminate);
    let mut buffer = vec![0; BUFFER];
    loop {
        if let Some(until) = until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                meter.leave(Instant::now());
                break;
            }
            stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        }
        let read = match stream.read(&mut buffer) {
            Err(error) if until.is_some() && error.kind() == ErrorKind::WouldBlock => continue,
            read => read.context("the connection broke")?,
        };
        if read == 0 {
            anyhow::ensure!(until.is_none(), "the file was too short for this many seconds");
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
    if let Some(path) = &args.samples {
        let written = std::fs::write(path, meter.sampled(clock));
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
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
        let samples = meter.sampled(Duration::from_secs(7));
        assert_eq!(samples.lines().count(), 10);
        assert_eq!(samples.lines().last(), Some("{\"bytes\":5,\"t_s\":7.9}"));
        meter.leave(at(1_000));
        let report = meter.report();
        assert_eq!(report["bytes"], 5);
        assert_eq!(report["longest_gap_ms"], 50.0);
        assert_eq!(report["longest_gap_at_bytes"], 3);
        assert_eq!(report["duration_ms"], 1_000.0);
        let abcde = "36bbe50ed96841d10443bcb670d6554f0a34b761be67ec9c4a8ad2c0c44ca42c";
        assert_eq!(report["sha256"], abcde);
    }
}

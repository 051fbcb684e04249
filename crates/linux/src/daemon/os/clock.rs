//! The engine's time, derived from the kernel's clocks.
//!
//! # Where we differ, and why
//! CLOCK_MONOTONIC stops while the host is suspended, so no timer of the engine fires because of a night in
//! suspend. But every round-trip time and every silence measured across a suspend would be too short.
//! [`Clock::slept`] detects suspends by the difference to CLOCK_BOOTTIME, so that everything is checked
//! again.

use units::{Duration, Instant};

/// Reading two clocks one after the other differs by less than this, even on a busy host.
const SUSPENDED: Duration = Duration::from_millis(200);

/// Reads the engine's time: nanoseconds of CLOCK_MONOTONIC since an agreed zero.
#[derive(Debug)]
pub(crate) struct Clock {
    epoch_ns: u64,
    asleep: Duration,
}

impl Clock {
    pub(crate) fn new(epoch_ns: u64) -> Self {
        Self {
            epoch_ns,
            asleep: asleep(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(nanos(libc::CLOCK_MONOTONIC).saturating_sub(self.epoch_ns))
    }

    /// How long the host was suspended since the last call, if it was.
    pub(crate) fn slept(&mut self) -> Option<Duration> {
        let before = std::mem::replace(&mut self.asleep, asleep());
        let slept = self.asleep.saturating_sub(before);
        (slept > SUSPENDED).then_some(slept)
    }
}

/// CLOCK_MONOTONIC now, in nanoseconds. Serves as zero for
/// [`Setup::epoch_ns`](crate::daemon::Setup::epoch_ns).
pub fn monotonic_ns() -> u64 {
    nanos(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    Duration::from_nanos(nanos(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// Time in suspend since boot.
fn asleep() -> Duration {
    let awake = nanos(libc::CLOCK_MONOTONIC);
    Duration::from_nanos(nanos(libc::CLOCK_BOOTTIME).saturating_sub(awake))
}

fn nanos(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is live and of the right type; these clocks exist on every Linux that has
    // `epoll_pwait2`.
    let rc = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(rc, 0, "clock {clock} cannot be read");
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_starts_at_the_epoch_and_advances() {
        let clock = Clock::new(monotonic_ns());
        let first = clock.now();
        assert!(first.as_nanos() < 60_000_000_000, "{first}");
        assert!(clock.now() >= first);
    }

    #[test]
    fn an_epoch_in_the_future_reads_zero() {
        assert_eq!(Clock::new(u64::MAX).now(), Instant::ZERO);
    }

    #[test]
    fn a_host_that_stays_awake_has_not_slept() {
        let mut clock = Clock::new(0);
        assert_eq!(clock.slept(), None);
    }
}

//! The clock of a run: nanoseconds of `CLOCK_MONOTONIC` since its epoch.

use units::{Duration, Instant};

/// Tells the time of one run. Every thread of the run has a copy, so their records share one time base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    epoch_ns: u64,
}

impl Clock {
    /// Time zero is now.
    pub fn start() -> Self {
        Self {
            epoch_ns: monotonic_ns(),
        }
    }

    /// Puts time zero this far ahead, so that everything can be prepared until then.
    pub fn starting_in(delay: Duration) -> Self {
        Self {
            epoch_ns: monotonic_ns() + delay.as_nanos() as u64,
        }
    }

    /// Sleeps until time zero.
    pub fn wait_for_zero(self) {
        std::thread::sleep(Duration::from_nanos(self.epoch_ns.saturating_sub(monotonic_ns())));
    }

    /// Time since zero; zero before it.
    pub fn now(self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.epoch_ns))
    }

    /// `CLOCK_MONOTONIC` at time zero, in nanoseconds.
    pub const fn epoch_ns(self) -> u64 {
        self.epoch_ns
    }
}

fn monotonic_ns() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// CPU time that the calling thread has used, in nanoseconds, work of the kernel on its behalf included.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec to write to, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

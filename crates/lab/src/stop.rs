//! Ending a run cleanly at any moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells everything that has a copy to end. Setting it is allowed in a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// Creates one that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets it.
    pub fn stop(&self) {
        self.flag.store(true, Ordering::Release);
    }

    /// Whether it is set.
    pub fn is_stopped(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    /// The flag itself, for code that keeps only that.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

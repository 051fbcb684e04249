//! Ending a run cleanly at any moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks everything that was given a copy to end. Setting it is allowed in a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// Nobody has been asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks.
    pub fn stop(&self) {
        self.flag.store(true, Ordering::Release);
    }

    /// Whether it was asked.
    pub fn is_stopped(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    /// For those who keep a flag only.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

//! Runs as commands ask for them: their seeds, several of them side by side in the lab, and how a signal
//! ends them.

pub mod batch;
pub mod interrupt;
pub mod seed;

//! Runs as commands ask for them: their seeds, several of them side by side in the lab, their progress, and
//! how a signal ends them.

pub mod batch;
pub mod interrupt;
pub mod progress;
pub mod seed;

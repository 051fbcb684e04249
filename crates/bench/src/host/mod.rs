//! Benchmarks of a whole host: its links die, return, fade or idle, its flows move, its user walks, its
//! daemon starts and stops.

pub mod dead_idle;
pub mod fade;
pub mod networks;
pub mod networks_cuts;
pub mod networks_load;
pub mod removals;
pub mod resume;
pub mod stall;
pub mod up_down;
pub mod walk;

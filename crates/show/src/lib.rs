//! What the programs print and write, and their exit codes.

#![deny(clippy::print_stderr)]

/// Prints a line on standard error. If its reader has gone, nothing stops, least of all `up`.
#[macro_export]
macro_rules! tell {
    ($($line:tt)*) => { $crate::exit::tell(format_args!($($line)*)) };
}

pub mod exit;
pub mod output;
pub mod paint;
mod table;
pub mod terminal;

pub use table::{Cell, Table};

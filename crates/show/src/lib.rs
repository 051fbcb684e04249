//! What the programs print and write, and the exit codes with which they end.

#![deny(clippy::print_stderr)]

/// A line on standard error. Whoever reads there may have gone: that stops nothing, least of all `up`.
#[macro_export]
macro_rules! tell {
    ($($line:tt)*) => { $crate::exit::tell(format_args!($($line)*)) };
}

pub mod exit;
pub mod output;
mod table;
pub mod terminal;

pub use table::Table;

//! Redirects connections of programs to an agent: a table of nftables that ends with the process that owns
//! it.
//!
//! # Checked by
//! `tests` of `rules`; `slowhandd`'s `tests/relay` and `lab`'s `tests/relay.rs`: real connections.

mod owner;
mod rules;

pub use owner::{Table, TableError};
pub use rules::{check, table};

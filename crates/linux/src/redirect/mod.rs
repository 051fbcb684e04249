//! Redirects connections of programs to an agent: the rules of a table for [`crate::nft`].
//!
//! # Checked by
//! `tests` of `rules`; `slowhandd`'s `tests/relay` and `lab`'s `tests/relay.rs`: real connections.

mod rules;

pub use rules::{CHAIN, check, table};

//! Code that the daemon (`slowhandd`) shares with the commands that talk to it.
//!
//! The configuration and the directories of a host, the questions and answers on the daemon's sockets,
//! the command line of `slowhand up`, and the log.

#![deny(clippy::print_stderr)]

pub mod config;
pub mod control;
pub mod doctor;
pub mod document;
pub mod log;
pub mod place;
pub mod report_key;
pub mod trusted;
pub mod up;

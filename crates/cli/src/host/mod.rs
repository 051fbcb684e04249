//! Verbs for a live host: the daemon on its own interfaces, and what can be asked of it.

mod config;
mod control;
mod document;
mod keys;
mod log;
mod needs;
mod notify;
mod place;
mod problem;
mod server;
pub mod trusted;

pub mod doctor;
pub mod down;
pub mod status;
pub mod up;
pub mod why;

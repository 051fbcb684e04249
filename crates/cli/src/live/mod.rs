//! Verbs for a live host: the daemon on its own interfaces, and queries to it.

pub mod doctor;
pub mod down;
pub mod exec;
pub mod meet;
pub mod networks;
pub mod other_program;
pub mod reload;
pub mod status;
pub mod supervised;
pub mod top;
pub mod why;

//! The brain of slowhand. It decides; worlds act. No clock, no I/O, no randomness of its own.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod engine;
mod io;

pub use engine::{Config, Engine, Policy};
pub use io::{
    Action, ConnEvent, ConnId, ConnSample, Input, JoinFailure, LinkEvent, LinkId, LinkKind, LinkSpec, Note,
    Role, SubflowEvent, SubflowId, SubflowSample, Verb,
};

//! `slowhand bench`: measures the figures that the README quotes, each as its declaration says, with the
//! spread of its trials.
//!
//! [`catalogue`] declares every benchmark, and [`command`] runs what the user asks for.

#![deny(clippy::print_stderr)]

mod air;
mod beside;
mod both_worlds;
pub mod catalogue;
mod cla_steps;
pub mod command;
mod coupled;
mod dead_idle;
pub mod declaration;
mod emulator;
mod engine;
mod estimator;
mod fade;
mod gap;
mod lab_tcp;
mod links;
mod plans;
mod removals;
mod resume;
mod stall;
mod table;
mod trial;
mod up_down;
mod walk;
mod window;

pub use command::{Args, names, run};

//! One file for each policy: in which order the rooms below are asked.
//!
//! In goes the state. Out come the actions of everything that the strategy calls. `slowhand` is the product, all others are baselines.
//! `omniscient` and `energy_schedule` are the arithmetic of two baselines, which `foresight` and `thrift` apply to what is known.

pub mod energy_schedule;
pub(crate) mod foresight;
pub(crate) mod handover;
pub(crate) mod kernel;
pub mod omniscient;
pub(crate) mod slowhand;
pub(crate) mod steered;
pub(crate) mod thrift;

//! One file per policy: the order in which it calls the other rooms.
//!
//! The input is the state. The output is the actions of everything that the strategy calls. `slowhand` is the
//! product, and all others are baselines. `amendments` has the order in which policies amend the ranked list
//! of links. `omniscient` and `energy_schedule` are the arithmetic of two baselines. `foresight` and `thrift`
//! apply it.

mod amendments;
pub mod energy_schedule;
pub(crate) mod foresight;
pub(crate) mod handover;
pub(crate) mod kernel;
pub mod omniscient;
pub(crate) mod slowhand;
pub(crate) mod steered;
pub(crate) mod thrift;

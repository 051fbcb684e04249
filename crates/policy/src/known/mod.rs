//! The engine's state: links, connections with their subflows, and the table that holds both.
//!
//! Inputs go in, and figures come out, after `estimate` has processed what was measured. `state` takes
//! inputs, and its methods queue actions, which are the only way to act. `path` is one link, with
//! its `air`, `cost`, `doubt`, `portals`, `hosts`, `suspicion` and `watches`. `conn` is one connection, with
//! its `traffic`, `remotes` and `renewals`. Nothing here decides.

pub(crate) mod air;
pub(crate) mod change;
pub(crate) mod conn;
pub(crate) mod cost;
pub(crate) mod doubt;
pub(crate) mod facts;
pub(crate) mod hosts;
pub(crate) mod path;
pub(crate) mod portals;
pub(crate) mod remotes;
pub(crate) mod renewals;
pub(crate) mod state;
pub(crate) mod suspicion;
pub(crate) mod traffic;
pub(crate) mod tuning;
pub(crate) mod watches;

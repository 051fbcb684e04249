//! Everything the engine knows: links, connections with their subflows, and the state that holds both.
//!
//! In go inputs. Out come numbers: what was measured has gone through `estimate`.
//! `state` takes inputs in, and its verbs are the only way to act: each queues at most one action.
//! `path` is one link, with its `air`, `cost`, `doubt`, `portals`, `hosts`, `suspicion` and `watches`.
//! `conn` is one connection, with its `traffic` and `renewals`. Nothing here decides.

pub(crate) mod air;
pub(crate) mod change;
pub(crate) mod conn;
pub(crate) mod cost;
pub(crate) mod doubt;
pub(crate) mod facts;
pub(crate) mod hosts;
pub(crate) mod path;
pub(crate) mod portals;
pub(crate) mod renewals;
pub(crate) mod state;
pub(crate) mod suspicion;
pub(crate) mod traffic;
pub(crate) mod watches;

//! Everything the engine knows: links, connections with their subflows, and the state that holds both.
//!
//! Inputs go in. What was measured goes through `estimate`, so that the rooms above find numbers and no raw counters.
//! They read this state and act only through its verbs, each of which queues one action.
//! Nothing here decides: a decision needs `alive`, `choose`, `subflow`, `queue`, `wifi`, `flow` or `strategy`.

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

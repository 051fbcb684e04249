//! Connections and subflows: their known state, and what the daemon waits for.
//!
//! In: what other rooms have heard and done. Out: answers, and the deadlines of what is waited for
//! (`wake_at`). Bookkeeping only: nothing here talks to the kernel. [`book`] has connections and subflows,
//! [`remotes`] the addresses of peers. [`joins`] and [`priorities`] have what the kernel has not confirmed
//! yet. [`address_ids`] has the identifiers of addresses. [`names`] converts between the kernel's names and
//! the engine's.

pub(crate) mod address_ids;
pub(crate) mod book;
pub(crate) mod joins;
pub(crate) mod motion;
pub(crate) mod names;
pub(crate) mod priorities;
pub(crate) mod remotes;

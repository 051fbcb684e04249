//! Connections and subflows: what is known of them, and what the daemon waits for.
//!
//! In: what other rooms have heard and done. Out: answers, and the times at which waiting ends (`wake_at`).
//! Bookkeeping only: nothing here talks to the kernel. [`book`] has connections and subflows, [`joins`] and [`priorities`]
//! what the kernel has not confirmed yet, [`address_ids`] the identifiers of addresses, [`names`] what both sides call them.

pub(crate) mod address_ids;
pub(crate) mod book;
pub(crate) mod joins;
pub(crate) mod motion;
pub(crate) mod names;
pub(crate) mod priorities;

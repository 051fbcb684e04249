//! Which subflows a connection has.
//!
//! In goes the list of wanted links from `choose`. Out come joins, changes of backup, and ends of subflows.
//! `membership` joins and ends, `farewell` ends an empty subflow without a retransmission of everything, `renewal` replaces one
//! whose backlog would delay lost data.

pub(crate) mod farewell;
pub(crate) mod membership;
pub(crate) mod renewal;

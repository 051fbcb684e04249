//! Which subflows a connection has.
//!
//! In goes the list of wanted links from `choose`. Out come joins, changes of backup, and ends of subflows.
//! `membership` joins and ends. `farewell` ends an empty subflow so that the peer has little to retransmit.
//! `renewal` replaces a subflow whose backlog would delay lost data.

pub(crate) mod farewell;
pub(crate) mod membership;
pub(crate) mod renewal;

//! Which subflows a connection has.
//!
//! The input is the list of wanted links from `choose`. The outputs are joins, changes of backup, and closed
//! subflows. `membership` joins and closes. `farewell` closes an empty subflow so that the peer has little to
//! retransmit. `renewal` replaces a subflow whose backlog would delay lost data.

pub(crate) mod farewell;
pub(crate) mod membership;
pub(crate) mod renewal;
mod tuning;

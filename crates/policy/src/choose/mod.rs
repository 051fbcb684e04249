//! Which links to use, which to keep as backups, and on which new connections start.
//!
//! The input is the known links. The output is a list of wanted links, best first. `rank` makes it.
//! `overflow` and `audition` change it for all connections, `low_traffic` and `slow_links` for one. `cost`
//! refuses links that the user does not want to pay for or does not trust. `routes` sets default routes.
//! `departures` leaves access points that have faded.

pub(crate) mod audition;
pub(crate) mod cost;
pub(crate) mod departures;
pub(crate) mod low_traffic;
pub(crate) mod overflow;
pub(crate) mod rank;
pub(crate) mod routes;
pub(crate) mod slow_links;
mod tuning;

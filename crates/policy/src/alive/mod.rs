//! Which links still lead anywhere.
//!
//! In go the silence of subflows, hosts that do not reply, and the results of checks. Out come probes and
//! checks, and a verdict for each link: alive, doubted, dead, or held out. `silence` watches links that carry
//! data, `reserves` watches backups, `idle` with `suspicion` watches links without connections, and `portal`
//! finds captive portals.

pub(crate) mod idle;
pub(crate) mod portal;
pub(crate) mod reserves;
pub(crate) mod silence;
mod suspicion;

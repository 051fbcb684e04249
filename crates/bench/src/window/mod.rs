//! `window-…`: what it costs to bound how far ahead the server may queue, and what it gains when a link dies.
//!
//! Stock is the policy `mptcp`, ours is `slowhand`: the same plan, seed and controller, in turn. Every figure
//! is per controller. If a trial fails, its pair is run again with another seed ([`together`]).
//!
//! | file | benchmarks |
//! |---|---|
//! | `cut` | `window-equal`, `-bdp`, `-long`, `-deep`, `-thin`, `-upload`, `-lossy`: goodput, stall at cut |
//! | `worse` | `window-never-worse`: nothing is cut |
//! | `mistakes` | `window-false`: paths removed although they delivered |
//! | `request` | `window-request`: small requests beside a download |
//! | `step` | `window-step`: a link whose rate halves and doubles |
//! | `cost` | `window-cost`: processor time of the daemon and its programs |
//! | `levers` | `window-levers`: goodput and stall with each way to bound windows |
//! | `mixes` | `window-mixes`: links drawn at random |
//! | `in_virtual_time` | `window-mixes-sim`: such links in virtual time |

mod connect;
mod cost;
mod cut;
mod drawn;
pub(crate) mod figures;
mod in_virtual_time;
mod lever;
mod levers;
mod mistakes;
mod mixes;
mod request;
mod rows;
mod step;
mod together;
mod worse;

pub use cost::run as cost;
pub use cut::{bdp, deep, equal, long, lossy, thin, upload};
pub use in_virtual_time::run as in_virtual_time;
pub use levers::run as levers;
pub use mistakes::run as mistakes;
pub(crate) use mixes::mixed_plan;
pub use mixes::run as mixes;
pub use request::run as request;
pub use step::run as step;
pub use worse::run as worse;

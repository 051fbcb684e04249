//! What is done to connections: subflows joined, demoted, ended and withdrawn, limits set, connections left alone.
//!
//! In: what the engine asks for, and what `hear` has found. Out: commands to the kernel, in order, and facts for the
//! engine. [`conns`] owns it all; [`join`], [`priority`], [`farewell`] and [`limits`] act, [`life`] says how a
//! connection begins and ends, [`cla`] tells controllers where signals go.

pub(crate) mod cla;
pub(crate) mod conns;
pub(crate) mod error;
pub(crate) mod farewell;
pub(crate) mod join;
pub(crate) mod life;
pub(crate) mod limits;
pub(crate) mod priority;

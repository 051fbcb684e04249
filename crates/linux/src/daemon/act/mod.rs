//! Acts on connections: joins, demotes, ends and withdraws subflows, sets limits, leaves connections alone.
//!
//! In: the engine's actions, and what `hear` has found. Out: commands to the kernel, in order, and facts for
//! the engine. [`conns`] owns the state. [`join`], [`priority`], [`farewell`] and [`limits`] act. [`life`]
//! handles the beginning and end of a connection. [`cla`] passes signal trends to congestion controllers.

pub(crate) mod cla;
pub(crate) mod conns;
pub(crate) mod error;
pub(crate) mod farewell;
pub(crate) mod join;
pub(crate) mod life;
pub(crate) mod limits;
pub(crate) mod priority;

//! What is done to connections: subflows joined, demoted, ended and withdrawn, limits set, connections left alone.
//!
//! In: what the engine asks for, and what `hear` found. Out: commands to the kernel, in order, and facts for the engine.

pub(crate) mod acts;
pub(crate) mod cla;
pub(crate) mod farewell;

//! What a recording says of itself before its first entry.

use crate::bytes::{Malformed, Reader};
use crate::codec::{Codec, structs};
use policy::Config;
use units::Instant;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// What was recorded, in words for people: scenario, world, policy.
    pub about: String,
    /// The seed of the run that told the engine all this. The engine itself takes none.
    pub seed: Option<u64>,
    /// Whether each poll has its actions as text, besides the digests.
    pub texts: bool,
    /// How the engine was built.
    pub config: Config,
    /// The engine's time when the recording began, on the clock of its world.
    pub start: Instant,
}

structs! {
    Header { about, seed, texts, config, start }
}

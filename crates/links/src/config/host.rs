//! Hosts other than the client that use its links.
//!
//! # Checked by
//! `tests/hosts.rs`; `lab`'s `tests/walkers.rs`.

use alloc::string::String;
use alloc::vec::Vec;

use super::{NetworkConfig, Radio, Thresholds};
use crate::LinkId;

/// A host beside the client. It has a radio of its own on each channel that it uses. Over an access point,
/// its packets share the air, the access point's queue and the backhaul with those of the client. Over a cell
/// or a cable, they share the bottleneck and its queue.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherHost {
    /// Its name.
    pub name: String,
    /// Its radio, where it begins.
    pub radio: Radio,
    /// Its sensing thresholds, and when it sends RTS.
    pub thresholds: Thresholds,
    /// The links that it uses.
    pub links: Vec<LinkId>,
}

/// A link of another host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OtherLink<'c> {
    /// Its number.
    pub id: LinkId,
    /// The host.
    pub host: &'c OtherHost,
    /// Its index in [`NetworkConfig::hosts`].
    pub of: u16,
    /// The link of the network that it shares.
    pub through: LinkId,
}

impl NetworkConfig {
    /// The links of other hosts. Their numbers follow those of [`NetworkConfig::links`], host by host.
    pub fn other_links(&self) -> impl Iterator<Item = OtherLink<'_>> {
        let shared = self
            .hosts
            .iter()
            .zip(0..)
            .flat_map(|(host, of)| host.links.iter().map(move |&through| (host, of, through)));
        let ids = (self.links.len() as u16..).map(LinkId);
        ids.zip(shared).map(|(id, (host, of, through))| OtherLink {
            id,
            host,
            of,
            through,
        })
    }
}

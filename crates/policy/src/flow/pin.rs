//! Keeps each flow on the network on which it started.
//!
//! # Sources
//! - juggler §3.1: the application's choice, otherwise the network now active on the radio. §3.4: none before
//!   it is configured. A flow never moves, since its peer knows it by its address.
//!
//! # Where we differ, and why
//! 1. If the requested network is not configured (the paper is silent), the request is not granted later. The
//!    flow starts on the active one, as without a request.
//!
//! # Checked by
//! `flow::tests`.

use crate::io::{FlowId, LinkId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

/// More flows than any host has open: limits memory.
pub const MOST: usize = 65_536;

/// Why a flow was not assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignError {
    /// Neither the requested network nor the active one is configured.
    NoNetwork,
    /// The flow's network is gone, and so is the flow.
    Gone,
    /// 65,536 flows are open.
    TooMany,
}

impl fmt::Display for AssignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoNetwork => "no network has an address yet; hold the packet until one has",
            Self::Gone => "the network on which this flow began is gone; end the flow, so that the application opens another",
            Self::TooMany => "65,536 flows are open; report the closed ones",
        })
    }
}

impl core::error::Error for AssignError {}

/// The flows and their networks.
#[derive(Debug, Clone, Default)]
pub struct Pins {
    /// `None` if its network is gone.
    flows: BTreeMap<FlowId, Option<LinkId>>,
}

impl Pins {
    /// No flows yet.
    pub const fn new() -> Self {
        Self {
            flows: BTreeMap::new(),
        }
    }

    /// The network for a packet of this flow. The first packet chooses it: the requested network, otherwise
    /// the active one, if it is configured.
    ///
    /// # Errors
    /// See [`AssignError`]. Nothing is chosen then.
    pub fn network(
        &mut self,
        flow: FlowId,
        wish: Option<LinkId>,
        active: Option<LinkId>,
        configured: &[LinkId],
    ) -> Result<LinkId, AssignError> {
        if let Some(pinned) = self.flows.get(&flow) {
            return pinned.ok_or(AssignError::Gone);
        }
        if self.flows.len() >= MOST {
            return Err(AssignError::TooMany);
        }
        let network = [wish, active]
            .into_iter()
            .flatten()
            .find(|network| configured.contains(network))
            .ok_or(AssignError::NoNetwork)?;
        self.flows.insert(flow, Some(network));
        Ok(network)
    }

    /// The network of an open flow.
    pub fn of(&self, flow: FlowId) -> Option<LinkId> {
        self.flows.get(&flow).copied().flatten()
    }

    /// Moves an open flow, or one that waited for a network.
    pub fn moved(&mut self, flow: FlowId, network: LinkId) {
        if self.flows.len() < MOST || self.flows.contains_key(&flow) {
            self.flows.insert(flow, Some(network));
        }
    }

    /// Removes a closed flow.
    pub fn closed(&mut self, flow: FlowId) {
        self.flows.remove(&flow);
    }

    /// Removes a network. Its flows are not moved, but appended to `lost`.
    pub fn gone(&mut self, network: LinkId, lost: &mut Vec<FlowId>) {
        let pinned = |(_, pinned): &(&FlowId, &mut Option<LinkId>)| **pinned == Some(network);
        lost.extend(self.flows.iter_mut().filter(pinned).map(|(flow, pinned)| {
            *pinned = None;
            *flow
        }));
    }

    /// Whether no flow is open.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// The number of flows on this network.
    pub fn count(&self, network: LinkId) -> usize {
        self.flows
            .values()
            .filter(|pinned| **pinned == Some(network))
            .count()
    }
}

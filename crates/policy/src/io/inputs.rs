//! Inputs: everything that a world can report.

use super::connections::ConnEvent;
use super::flows::FlowEvent;
use super::ids::{ConnId, FlowId, LinkId, RadioId, SubflowId};
use super::links::{LinkEvent, Trust};
use super::radios::RadioEvent;
use super::subflows::SubflowEvent;

/// One fact about the world. Invalid facts, and late ones about a link or subflow that is gone, are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// About a link.
    Link(LinkId, LinkEvent),
    /// About a connection.
    Conn(ConnId, ConnEvent),
    /// About a subflow.
    Subflow(SubflowId, SubflowEvent),
    /// About a radio that cannot listen to all of its links at once.
    Radio(RadioId, RadioEvent),
    /// About a flow that cannot use several links.
    Flow(FlowId, FlowEvent),
    /// Whether the user allows networks of this kind. At the start, only known ones are allowed.
    Allow(Trust, bool),
    /// This host was suspended and is awake again. The engine's time stood still meanwhile, so replies to
    /// earlier probes may have been lost.
    Resumed,
}

//! Everything that a world can report.

use super::connections::ConnEvent;
use super::flows::FlowEvent;
use super::ids::{ConnId, FlowId, LinkId, RadioId, SubflowId};
use super::links::{LinkEvent, Trust};
use super::radios::RadioEvent;
use super::subflows::SubflowEvent;

/// One fact about the world. A bad or late fact (about a link or subflow that is gone) is ignored.
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
    /// Whether the user lets us use networks of this kind. At the beginning: known ones only.
    Allow(Trust, bool),
    /// This host was suspended and is awake again. The engine's time stood still meanwhile, and what was
    /// asked before may have been answered to nobody.
    Resumed,
}

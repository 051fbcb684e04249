//! Connections whose link the engine assigns: it hears of each before that is opened, and its answers are
//! carried out.
//!
//! # Sources
//! - `policy::flow`: a peer's connection stays on its link, and is ended when that is gone.
//!
//! # Where we differ, and why
//! 1. The application opens another connection to the same peer at once.
//!
//! # Checked by
//! `tests/blocks.rs`.

use super::act::ActError;
use super::flows::Owner;
use super::lane::Peer;
use super::world::World;
use policy::flow::FlowId;
use policy::{FlowEvent, Input, LinkId, Wish};

impl World<'_> {
    /// Tells the engine of connections that need a link.
    pub(super) fn ask_for_links(&mut self) {
        while let Some((flow, peer)) = self.flows.unheard(self.now) {
            self.tell(Input::Flow(flow, FlowEvent::Began(Wish::Peer(peer))));
        }
    }

    /// Binds a connection to its link.
    pub(super) fn assign(&mut self, flow: FlowId, link: LinkId) -> Result<(), ActError> {
        let Owner { flow, lane } = self.flows.called(flow).ok_or(ActError::NoConnection)?;
        self.flows.all[flow].lanes[lane].over = Some(links::LinkId(link.0));
        Ok(())
    }

    /// Ends a connection whose network is gone. Its application opens another one.
    pub(super) fn end_flow(&mut self, flow: FlowId) -> Result<(), ActError> {
        let owner = self.flows.called(flow).ok_or(ActError::NoConnection)?;
        let (host, now) = (self.flows.all[owner.flow].host, self.now);
        if let Some(conn) = self.flows.leave(owner) {
            self.opener(host)
                .act(now, conn, |connection, out| connection.abort(now, out));
        }
        let lane = &mut self.flows.all[owner.flow].lanes[owner.lane];
        lane.over = None;
        lane.peer = lane.peer.map(|peer| Peer { flow: None, ..peer });
        self.tell(Input::Flow(flow, FlowEvent::Ended));
        Ok(())
    }
}

//! The client's single radio ([`radio::SingleRadio`]) on hosts in virtual time.
//!
//! # Checked by
//! `tests/single_radio.rs`.

use super::world::World;
use links::{Input as Wish, LinkState, RadioReport};
use policy::LinkId;
use policy::slot::Slot;
use radio::{Order, SingleRadio};
use units::Bytes;

impl World<'_> {
    /// Reports the radio, and lets it search.
    pub(super) fn begin_turns(&mut self) {
        self.with_radio(SingleRadio::begin);
    }

    /// Lets the radio repeat the engine's cycle.
    pub(super) fn take_turns(&mut self, slots: &[Slot]) {
        let received = self.received();
        self.with_radio(|radio| radio.take_turns(slots, |link| received[usize::from(link.0)]));
    }

    /// Joins an access point.
    pub(super) fn associate(&mut self, link: LinkId) {
        let arrived = self.carrier.carried()[usize::from(link.0)].down;
        match &mut self.single {
            Some(_) => self.with_radio(|radio| radio.associate(link, arrived)),
            None => self.join_air(link),
        }
    }

    /// Handles the state of an association.
    pub(super) fn served_is(&mut self, link: LinkId, state: LinkState) {
        let now = self.now;
        self.with_radio(|radio| radio.state(now, link, state));
    }

    /// The radio need not visit this access point any longer.
    pub(super) fn stop_serving(&mut self, link: LinkId) {
        self.with_radio(|radio| radio.stop_serving(link));
    }

    /// Handles a report of the radio.
    pub(super) fn radio_reports(&mut self, report: RadioReport) {
        let (now, received) = (self.now, self.received());
        self.with_radio(|radio| radio.reports(now, report, |link| received[usize::from(link.0)]));
    }

    /// Bytes that the client has received so far, per link.
    fn received(&self) -> Vec<Bytes> {
        let links = self.carrier.carried().iter();
        links.map(|carried| carried.down).collect()
    }

    fn join_air(&mut self, link: LinkId) {
        let link = links::LinkId(link.0);
        self.carrier.handle(self.now, Wish::Associate(link));
    }

    /// Lets the radio work, and carries out its orders.
    fn with_radio(&mut self, work: impl FnOnce(&mut SingleRadio)) {
        let Some(radio) = &mut self.single else { return };
        work(radio);
        while let Some(order) = self.single.as_mut().and_then(SingleRadio::next_order) {
            match order {
                Order::Tell(fact) => self.tell(fact),
                Order::TakeTurns(turns) => self.carrier.take_turns(self.now, &turns),
                Order::Associate(link) => self.join_air(link),
            }
        }
    }
}

//! Access points are joined and left as the daemons ask. The client has a radio on each channel, or a single
//! one that takes turns ([`radio::SingleRadio`]). What other hosts ask for passes through.
//!
//! # Where we differ, and why
//! 1. Reports of the radio reach the daemon, and its plans the radio, within a few milliseconds, not at once.
//!    A late plan begins the cycle again. While the radio still says farewell or changes its channel, that
//!    costs nothing. If it need not change, its first slot is longer by the delay.
//! 2. Frames that come before the daemon knows of an absence count that absence as loss. They appear on the
//!    monitor some milliseconds late, so that this is rare.
//!
//! # Checked by
//! `tests/single_radio.rs`.

use crate::emulator::{Command, Commands};
use links::{Input, LinkState, RadioReport};
use linux::daemon::{Association, InletSender};
use policy::LinkId;
use policy::slot::Slot;
use radio::{Order, SingleRadio};
use scenario::Plan;
use units::{Bytes, Instant};

/// What joins and leaves access points.
pub(super) struct Turns {
    /// `None`: a radio on each channel.
    radio: Option<SingleRadio>,
    /// Bytes that the client has received, per link, as last reported.
    received: Vec<Bytes>,
    daemon: InletSender,
    links: Commands,
}

impl Turns {
    pub(super) fn new(plan: &Plan, daemon: InletSender, links: Commands) -> Self {
        Self {
            radio: SingleRadio::new(plan),
            received: vec![Bytes::ZERO; plan.links.len()],
            daemon,
            links,
        }
    }

    /// Reports a single radio to the daemon, and lets it search.
    pub(super) fn begin(&mut self) {
        self.with_radio(SingleRadio::begin);
    }

    /// Carries out a request of the daemon.
    pub(super) fn asked(&mut self, association: Association) {
        match association {
            // The links of other hosts follow those of the client.
            Association::Join(link) => match self.received.get(usize::from(link.0)).copied() {
                Some(arrived) if self.radio.is_some() => {
                    self.with_radio(|radio| radio.associate(link, arrived));
                }
                _ => self.join(link),
            },
            Association::Leave(link) => {
                self.command(Input::Leave(links::LinkId(link.0)));
                self.with_radio(|radio| radio.stop_serving(link));
            }
        }
    }

    /// Divides the single radio's time as the daemon asks.
    pub(super) fn divided(&mut self, slots: &[Slot]) {
        let received = self.received.clone();
        self.with_radio(|radio| radio.take_turns(slots, |link| received[usize::from(link.0)]));
    }

    /// Handles the state of an association.
    pub(super) fn state(&mut self, now: Instant, link: links::LinkId, state: LinkState) {
        self.with_radio(|radio| radio.state(now, LinkId(link.0), state));
    }

    /// The single radio has arrived on another channel.
    pub(super) fn turned(&mut self, now: Instant, channel: u8) {
        self.reported(now, RadioReport::Turned { channel });
    }

    /// The cycle of the single radio is over.
    pub(super) fn cycle_ended(&mut self, now: Instant, received: &[Bytes]) {
        self.received.copy_from_slice(received);
        self.reported(now, RadioReport::CycleEnded);
    }

    fn reported(&mut self, now: Instant, report: RadioReport) {
        let received = self.received.clone();
        self.with_radio(|radio| radio.reports(now, report, |link| received[usize::from(link.0)]));
    }

    /// Lets a single radio work, and carries out its orders.
    fn with_radio(&mut self, work: impl FnOnce(&mut SingleRadio)) {
        let Some(radio) = &mut self.radio else { return };
        work(radio);
        while let Some(order) = self.radio.as_mut().and_then(SingleRadio::next_order) {
            match order {
                // A daemon that has ended needs no input. The reason why it ended is reported elsewhere.
                Order::Tell(fact) => drop(self.daemon.send(fact)),
                Order::TakeTurns(turns) => self.links.send(Command::TakeTurns(turns)),
                Order::Associate(link) => self.join(link),
            }
        }
    }

    fn join(&self, link: LinkId) {
        self.command(Input::Associate(links::LinkId(link.0)));
    }

    fn command(&self, input: Input) {
        self.links.send(Command::Input(input));
    }
}

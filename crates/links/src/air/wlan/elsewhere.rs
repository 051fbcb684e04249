//! Packets that a client would send while its radio is on another channel. They wait at the client until the
//! radio is back.
//!
//! # Sources
//! - Linux `net/mac80211/offchannel.c`, `ieee80211_offchannel_stop_vifs`: queues stop before a radio leaves
//!   its channel and wake on its return.
//!
//! # Where we differ, and why
//! 1. The limit is the size of the radio's queue, in addition to the packets in it. Packets beyond it are
//!    dropped at the tail.
//!
//! # Checked by
//! `tests`, `scan_tests`.

use alloc::collections::VecDeque;
use units::Instant;

use super::super::io::{Destination, Input};
use super::message::{Message, Tag};
use super::radio::State;
use super::{Frame, InterfaceId, Load, Wlan};
use crate::DropReason;

/// Packets that wait for a radio, in order.
#[derive(Debug)]
pub(super) struct Kept {
    room: usize,
    packets: VecDeque<(Tag, Load)>,
}

impl Kept {
    pub(super) const fn new(room: usize) -> Self {
        Self {
            room,
            packets: VecDeque::new(),
        }
    }
}

impl Wlan {
    /// Whether a packet that an interface sends now would go out on the wrong channel.
    pub(super) fn is_elsewhere(&self, place: usize) -> bool {
        let of = &self.interfaces[place];
        let client = &self.clients[of.client];
        let meets = |ap: usize| client.meets(&self.access_points[ap]);
        client.is_under_way() || of.ap.is_some_and(|ap| !meets(ap))
    }

    /// Queues a packet until the radio is back.
    pub(super) fn keep_up(&mut self, now: Instant, tag: Tag, load: Load) {
        let kept = &mut self.clients[self.interfaces[tag.interface].client].kept;
        if kept.packets.len() < kept.room {
            let token = tag.token;
            kept.packets.push_back((tag, Load { token, ..load }));
        } else {
            self.lose(now, tag, DropReason::QueueFull);
        }
    }

    /// Moves packets from the radio's queue to the waiting ones: those for the access points of the channel
    /// that the radio leaves. A radio that falls asleep stays on its channel and keeps its queue.
    pub(super) fn take_back(&mut self, now: Instant, client: usize) {
        if self.clients[client].state == State::Dozing {
            return;
        }
        let station = self.clients[client].station;
        for place in self.members_here(client) {
            if let Some(ap) = self.interfaces[place].ap {
                let ap = self.access_points[ap].station;
                self.air.handle(now, Input::Withdraw(station, ap));
            }
        }
    }

    /// Sends the packets that waited for the radio to be on a channel.
    pub(super) fn send_kept(&mut self, now: Instant, client: usize) {
        let waiting = core::mem::take(&mut self.clients[client].kept.packets);
        for (tag, load) in waiting {
            let of = &self.interfaces[tag.interface];
            match of.ap.filter(|_| of.is_associated()) {
                None => self.lose(now, tag, DropReason::Detached),
                Some(_) if self.is_elsewhere(tag.interface) => self.keep_up(now, tag, load),
                Some(_) if tag.message == Message::Data => {
                    self.send_up(now, InterfaceId(tag.interface), load);
                }
                Some(ap) => {
                    let frame = Frame {
                        bytes: load.bytes,
                        ..Frame::default()
                    };
                    let to = Destination::Station(self.access_points[ap].station);
                    self.say(now, self.clients[client].station, to, tag, frame);
                }
            }
        }
    }

    /// Drops the packets that wait for an association that is over.
    pub(super) fn drop_held_of(&mut self, now: Instant, place: usize) {
        let client = self.interfaces[place].client;
        let waiting = core::mem::take(&mut self.clients[client].kept.packets);
        for (tag, load) in waiting {
            if tag.interface == place {
                self.lose(now, tag, DropReason::Detached);
            } else {
                self.clients[client].kept.packets.push_back((tag, load));
            }
        }
    }
}

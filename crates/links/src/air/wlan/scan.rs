//! Scanning for access points: a radio turns to one channel after the other and listens, or sends a probe
//! request.
//!
//! # Sources
//! - IEEE 802.11-2020 §11.1.4.2.1 (passive scanning: the radio listens to each channel for at most a maximum
//!   time).
//! - IEEE 802.11-2020 §11.1.4.3.2 (active scanning: a delay, then a probe request; on to the next channel
//!   after the minimum time if nothing is heard, otherwise after the maximum time).
//! - Linux `net/mac80211/scan.c`: dwell times. The radio tells the access points of its own channel that it
//!   sleeps, so that they buffer its packets.
//! - Nicholson, Wolchok and Noble 2010 (Juggler), §3.3: the same, and the cost of a channel switch.
//! - Mishra, Shin and Arbaugh 2003: probing takes most of a hand-off.
//!
//! # Where we differ, and why
//! 1. A channel counts as empty if no beacon and no probe response was heard. The standard goes by whether
//!    the medium was busy at all.
//! 2. Times count from when the probe request is queued. On a busy channel it may go out later, or on the
//!    next channel.
//! 3. A radio with several associations scans once for all of them.
//!
//! # Checked by
//! `scan_tests`.

use alloc::vec::Vec;
use units::{Duration, Instant};

use super::super::io::{Destination, StationId};
use super::config::ScanWay;
use super::message::{Message, Tag};
use super::radio::State;
use super::{Frame, Wlan, WlanOutput};

/// State of a scan.
#[derive(Debug)]
pub(super) struct Search {
    /// Channel to return to.
    home: u8,
    /// Whether it sleeps once it is back.
    pub(super) sleeps: bool,
    /// Whether an access point was heard on this channel.
    heard: bool,
    found: Vec<StationId>,
}

impl Search {
    pub(super) const fn new(home: u8) -> Self {
        Self {
            home,
            sleeps: false,
            heard: false,
            found: Vec::new(),
        }
    }
}

impl Wlan {
    pub(super) fn scan(&mut self, now: Instant, station: StationId) {
        if let Some(client) = self.client_at(station) {
            self.start_scan(now, client);
        }
    }

    /// Begins a scan, unless the radio is busy with another channel.
    pub(super) fn start_scan(&mut self, now: Instant, client: usize) {
        let of = &mut self.clients[client];
        let sleeps = matches!(of.state, State::Dozing | State::Listening);
        if of.scan.is_none() || !(sleeps || of.state == State::Still) {
            return;
        }
        of.search = Search {
            sleeps,
            ..Search::new(of.channel)
        };
        if sleeps {
            // Its access points know already that it sleeps.
            self.hop(now, client, 0);
        } else {
            self.say_farewell(now, client, State::Parting);
        }
    }

    /// Channel of a step; after the last one, the radio's own.
    fn channel_of_leg(&self, client: usize, leg: usize) -> u8 {
        let of = &self.clients[client];
        let channels = of.scan.as_ref().map_or(&[][..], |scan| &scan.channels);
        channels.get(leg).copied().unwrap_or(of.search.home)
    }

    /// Switches to the channel of a step. This takes no time if the radio is there already.
    pub(super) fn hop(&mut self, now: Instant, client: usize, leg: usize) {
        let of = &self.clients[client];
        let stays = self.channel_of_leg(client, leg) == of.channel;
        let cost = if stays { Duration::ZERO } else { of.switch };
        self.tune(now, client, None);
        self.enter_state(client, State::Hopping(leg), Some(now + cost));
        if leg == 0 {
            self.take_back(now, client);
        }
    }

    /// Starts a step once the radio is on its channel.
    pub(super) fn land(&mut self, now: Instant, client: usize, leg: usize) {
        let channel = self.channel_of_leg(client, leg);
        self.tune(now, client, Some(channel));
        let of = &mut self.clients[client];
        of.channel = channel;
        of.search.heard = false;
        let way = of.scan.as_ref().filter(|scan| leg < scan.channels.len());
        match way.map(|scan| scan.way) {
            None => self.come_home(now, client),
            Some(ScanWay::Passive { dwell }) => {
                let state = State::Searching { leg, stays: true };
                self.enter_state(client, state, Some(now + dwell));
            }
            Some(ScanWay::Active { delay, .. }) => {
                self.enter_state(client, State::Hushed(leg), Some(now + delay));
            }
        }
    }

    /// Broadcasts a probe request on the channel.
    pub(super) fn ask_around(&mut self, now: Instant, client: usize, leg: usize) {
        let of = &self.clients[client];
        let Some(ScanWay::Active { least, .. }) = of.scan.as_ref().map(|scan| scan.way) else {
            return;
        };
        let (station, place) = (of.station, of.interfaces.start);
        let frame = Frame {
            bytes: Message::ProbeRequest.bytes(),
            first: true,
            ..Frame::default()
        };
        let tag = Tag::new(Message::ProbeRequest, place, 0);
        self.enter_state(client, State::Searching { leg, stays: false }, Some(now + least));
        self.say(now, station, Destination::Everyone, tag, frame);
    }

    /// Leaves the channel at the end of its time, unless somebody was heard there and more may follow.
    pub(super) fn search_is_over(&mut self, now: Instant, client: usize, leg: usize, stayed: bool) {
        let of = &self.clients[client];
        let more = match of.scan.as_ref().map(|scan| scan.way) {
            Some(ScanWay::Active { least, most, .. }) if !stayed && of.search.heard => {
                most.checked_sub(least)
            }
            _ => None,
        };
        match more.filter(|more| !more.is_zero()) {
            Some(more) => {
                self.enter_state(client, State::Searching { leg, stays: true }, Some(now + more));
            }
            None => self.hop(now, client, leg + 1),
        }
    }

    /// Notes that a radio has heard an access point, for the scan and for the interfaces that want to join
    /// it.
    pub(super) fn find(&mut self, now: Instant, client: usize, from: StationId) {
        let ap = self.access_point_at(from);
        for place in self.clients[client].interfaces.clone() {
            let of = &mut self.interfaces[place];
            of.heard |= of.ap == ap;
        }
        let of = &mut self.clients[client];
        if !of.searches() {
            return;
        }
        of.search.heard = true;
        if !of.search.found.contains(&from) {
            of.search.found.push(from);
            let client = of.station;
            self.tell(now, WlanOutput::Found { client, from });
        }
    }

    /// Ends the scan once the radio is back on its own channel.
    fn come_home(&mut self, now: Instant, client: usize) {
        let of = &self.clients[client];
        let (station, places) = (of.station, of.interfaces.clone());
        if of.search.sleeps {
            // Its access points assume that it sleeps.
            self.enter_state(client, State::Yawning, None);
            self.go(now, client);
            self.send_kept(now, client);
        } else {
            self.enter_state(client, State::Still, None);
            self.greet(now, client);
            self.send_kept(now, client);
        }
        self.tell(now, WlanOutput::Scanned(station));
        places.for_each(|place| self.scan_is_over(now, place));
    }
}

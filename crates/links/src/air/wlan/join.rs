//! One association: scanning, authentication, association, an address, and how its loss is detected.
//!
//! # Sources
//! - Linux 6.6 `net/mac80211/mlme.c`: seven missed beacons (`beacon_loss_count`) make the client probe its
//!   access point. A driver that reports acknowledgements probes with null frames. One that is given up is
//!   followed by the next at once (`ieee80211_sta_work`). `max_probe_tries` is 5,
//!   `IEEE80211_CONNECTION_IDLE_TIME` is 30 s.
//! - The same file, `ieee80211_sta_reset_conn_monitor`, and `status.c`, `ieee80211_tx_status_ext`: an
//!   acknowledgement of any frame, or a frame to the client alone, ends the probing.
//!
//! # Where we differ, and why
//! 1. An acknowledgement or a frame to the client alone also restarts the count of missed beacons. In
//!    mac80211 it would end the probing that the count leads to.
//! 2. Five null frames are tried, not two (`max_nullfunc_tries`), and each until it is acknowledged or given
//!    up, not for 500 ms (`probe_wait_ms`). Among 500 saturated stations most attempts collide, and a frame
//!    takes about 2 s to be given up. Its loss says little about the access point there. Where nobody else
//!    sends, five frames are given up within 0.1 s.
//!
//! # Checked by
//! `tests`; `crates/sim/tests/crowd.rs`.

use units::{Duration, Instant};

use super::super::io::{Destination, Fate, Input, Packet, StationId};
use super::message::{Message, Tag};
use super::{Aid, Frame, InterfaceId, Load, Timer, Wlan, WlanOutput};
use crate::wifi::Join;
use crate::{Direction, DropReason, LinkState};

/// Number of null frames given up in a row after which the access point is gone.
const PROBES: u32 = 5;
/// Time without a sign of the access point after which it is gone, even if no null frame was given up.
const IDLE: Duration = Duration::from_secs(30);
/// Interval between checks whether a radio that sleeps or is on another channel is back.
const ABSENT: Duration = Duration::from_millis(20);
/// Cap of the doubling DHCP retry interval, as a multiple of the first one.
const PATIENCE: u32 = 16;

#[derive(Debug)]
pub(super) struct Interface {
    pub(super) client: usize,
    /// How long joining takes if the access point says nothing else.
    own: Join,
    pub(super) join: Join,
    /// Index of the access point that it belongs to or wants to join.
    pub(super) ap: Option<usize>,
    /// Its association identifier at the access point.
    pub(super) aid: Option<Aid>,
    phase: Phase,
    /// When its current wait ends.
    until: Option<Instant>,
    /// Its wait has ended while its radio was away.
    late: bool,
    /// Whether it has heard the access point since it began to scan.
    pub(super) heard: bool,
    /// Latest sign of the access point: a beacon, an acknowledgement, or a frame to this client alone.
    alive: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Out,
    Scanning {
        tries: u32,
    },
    Authenticating {
        tries: u32,
    },
    Associating {
        tries: u32,
    },
    Addressing {
        offered: bool,
        wait: Duration,
    },
    /// Up. `probes`: null frames sent since the access point fell silent.
    In {
        probes: u32,
    },
}

impl Interface {
    pub(super) const fn new(client: usize, config: Join) -> Self {
        Self {
            client,
            own: config,
            join: config,
            ap: None,
            aid: None,
            phase: Phase::Out,
            until: None,
            late: false,
            heard: false,
            alive: Instant::ZERO,
        }
    }

    pub(super) const fn state(&self) -> LinkState {
        match self.phase {
            Phase::Out => LinkState::Down,
            Phase::Scanning { .. } | Phase::Authenticating { .. } | Phase::Associating { .. } => {
                LinkState::Joining
            }
            Phase::Addressing { .. } => LinkState::Carrier,
            Phase::In { .. } => LinkState::Up,
        }
    }

    pub(super) const fn is_associated(&self) -> bool {
        matches!(self.phase, Phase::Addressing { .. } | Phase::In { .. })
    }

    pub(super) const fn is_scanning(&self) -> bool {
        matches!(self.phase, Phase::Scanning { .. })
    }
}

impl Wlan {
    pub(super) fn associate(&mut self, now: Instant, interface: InterfaceId, ap: StationId) {
        let place = interface.0;
        let ap = self.access_point_at(ap);
        let client = self.interfaces[place].client;
        let taken = self.interfaces.iter().enumerate().any(|(other, of)| {
            other != place && of.client == client && of.ap == ap && of.phase != Phase::Out
        });
        let in_reach = |ap: usize| self.clients[client].reaches(self.access_points[ap].channel);
        if !ap.is_some_and(in_reach) || taken || self.interfaces[place].phase != Phase::Out {
            return;
        }
        let of = &mut self.interfaces[place];
        of.ap = ap;
        of.join = ap.and_then(|ap| self.access_points[ap].join).unwrap_or(of.own);
        if !self.looks_around(place) {
            self.turn_to_channel_of(now, place);
        }
        self.enter_phase(now, place, Phase::Scanning { tries: 1 });
    }

    /// Sets up an association that existed before the start, without frames on the air.
    pub fn admit(&mut self, interface: InterfaceId, ap: StationId) {
        let (place, now) = (interface.0, Instant::ZERO);
        let Some(ap) = self.access_point_at(ap) else {
            return;
        };
        let Some(aid) = self.access_points[ap].admit(now, place) else {
            return;
        };
        let of = &mut self.interfaces[place];
        (of.ap, of.aid) = (Some(ap), Some(aid));
        of.join = self.access_points[ap].join.unwrap_or(of.own);
        self.turn_to_channel_of(now, place);
        self.begin_up(now, place);
    }

    /// Is up from the start.
    fn begin_up(&mut self, now: Instant, place: usize) {
        let of = &mut self.interfaces[place];
        (of.phase, of.alive) = (Phase::In { probes: 0 }, now);
        let silence = of.ap.and_then(|ap| self.access_points[ap].silence());
        self.wait_until(place, silence.map(|silence| now + silence));
    }

    /// Whether it finds its access point by scanning all channels of its plan.
    fn looks_around(&self, place: usize) -> bool {
        let client = &self.clients[self.interfaces[place].client];
        client.scan.is_some() && client.has_no_plan()
    }

    pub(super) fn leave(&mut self, now: Instant, interface: InterfaceId) {
        if self.interfaces[interface.0].is_associated() {
            self.say_up(now, interface.0, Message::Deauthentication, false);
        }
        self.enter_phase(now, interface.0, Phase::Out);
    }

    /// Ends an association whose access point is gone, after the driver was told.
    pub(super) fn lose_association(&mut self, now: Instant, place: usize) {
        self.enter_phase(now, place, Phase::Out);
    }

    fn enter_phase(&mut self, now: Instant, place: usize, phase: Phase) {
        let looks_around = self.looks_around(place);
        let of = &mut self.interfaces[place];
        let before = of.state();
        of.phase = phase;
        let wait = match phase {
            Phase::Out => None,
            Phase::Scanning { .. } if looks_around => Some(ABSENT),
            Phase::Scanning { .. } => Some(of.join.scan),
            Phase::Authenticating { .. } | Phase::Associating { .. } => Some(of.join.retry),
            Phase::Addressing { wait, .. } => Some(wait),
            Phase::In { probes: 0 } => of.ap.and_then(|ap| self.access_points[ap].silence()),
            Phase::In { .. } => Some(IDLE.saturating_sub(now.since(of.alive))),
        };
        let of = &mut self.interfaces[place];
        if matches!(phase, Phase::Scanning { .. }) {
            of.heard = false;
        }
        let after = of.state();
        self.wait_until(place, wait.map(|wait| now + wait));
        match phase {
            Phase::Out => self.drop_held_of(now, place),
            Phase::In { probes: 0 } => self.interfaces[place].alive = now,
            Phase::Scanning { .. } if looks_around => self.start_scan(now, self.interfaces[place].client),
            Phase::Scanning { .. } => self.say_up(now, place, Message::ProbeRequest, false),
            Phase::Authenticating { .. } => self.say_up(now, place, Message::Authenticate, false),
            Phase::Associating { .. } => self.say_up(now, place, Message::Associate, false),
            Phase::Addressing { offered: false, .. } => self.say_up(now, place, Message::DhcpDiscover, false),
            Phase::Addressing { offered: true, .. } => self.say_up(now, place, Message::DhcpRequest, false),
            Phase::In { .. } => self.ask(now, place),
        }
        if before != after {
            self.tell(now, WlanOutput::State(InterfaceId(place), after));
        }
    }

    /// Probes an access point with a null frame, which it acknowledges if it is there. A sleeping client
    /// continues to sleep.
    fn ask(&mut self, now: Instant, place: usize) {
        let client = self.interfaces[place].client;
        let asleep = self.clients[client].dozes();
        self.wake_to_send(now, client);
        self.say_up(now, place, Message::Null, asleep);
    }

    fn wait_until(&mut self, place: usize, until: Option<Instant>) {
        self.interfaces[place].until = until;
        if let Some(until) = until {
            self.timers.insert((until, Timer::Interface(place as u16)));
        }
    }

    /// Ends waits, now that a radio is back: those that were over while it was away, and those for answers
    /// that it has missed, because nobody buffers them. Their own times may be multiples of a cycle of slots,
    /// and would then always find it away.
    pub(super) fn end_waits_of_returned(&mut self, now: Instant, client: usize) {
        for place in self.clients[client].interfaces.clone() {
            let of = &self.interfaces[place];
            let has_missed = matches!(of.phase, Phase::Authenticating { .. } | Phase::Associating { .. });
            if (of.late || has_missed) && !self.is_away(place) {
                self.wait_until(place, Some(now));
            }
        }
    }

    /// Handles an overdue answer, or too many missed beacons.
    pub(super) fn wait_is_over(&mut self, now: Instant, place: usize) {
        let of = &self.interfaces[place];
        if of.until.is_none_or(|until| until > now) {
            return;
        }
        if of.is_scanning() && self.looks_around(place) {
            // The end of the scan gives the result. If the radio could not leave its channel, the scan has
            // not begun: try again.
            let client = of.client;
            self.wait_until(place, Some(now + ABSENT));
            return self.start_scan(now, client);
        }
        let (most, heard) = (of.join.attempts, of.heard);
        let late = self.is_away(place) && of.phase != Phase::Out;
        self.interfaces[place].late = late;
        if late {
            self.wait_until(place, Some(now + ABSENT));
            return;
        }
        let of = &self.interfaces[place];
        let phase = match of.phase {
            Phase::Out => return,
            Phase::Scanning { .. } if heard => self.begin_to_join(now, place),
            Phase::Scanning { tries } if tries < most => Phase::Scanning { tries: tries + 1 },
            Phase::Authenticating { tries } if tries < most => Phase::Authenticating { tries: tries + 1 },
            Phase::Associating { tries } if tries < most => Phase::Associating { tries: tries + 1 },
            Phase::Addressing { offered, wait } => Phase::Addressing {
                offered,
                wait: (wait * 2).min(of.join.dhcp_retry * PATIENCE),
            },
            Phase::In { .. } => return self.miss_beacons(now, place),
            _ => Phase::Out,
        };
        self.enter_phase(now, place, phase);
    }

    /// The first step after the scan has found the access point. In an ad hoc network it is also the last:
    /// no frame is needed, and addresses are fixed.
    fn begin_to_join(&mut self, now: Instant, place: usize) -> Phase {
        let ap = self.interfaces[place].ap;
        let peer = ap.filter(|&ap| self.access_points[ap].ad_hoc);
        match peer.and_then(|ap| self.access_points[ap].admit(now, place)) {
            Some(aid) => {
                self.interfaces[place].aid = Some(aid);
                Phase::In { probes: 0 }
            }
            None => Phase::Authenticating { tries: 1 },
        }
    }

    /// Handles the end of a scan. If the access point was found, joins it on its channel. Otherwise scans
    /// again, or stops after the last attempt.
    pub(super) fn scan_is_over(&mut self, now: Instant, place: usize) {
        let of = &self.interfaces[place];
        let (most, heard) = (of.join.attempts, of.heard);
        let phase = match of.phase {
            Phase::Scanning { .. } if heard => self.begin_to_join(now, place),
            Phase::Scanning { tries } if tries < most => Phase::Scanning { tries: tries + 1 },
            Phase::Scanning { .. } => Phase::Out,
            _ => return,
        };
        if heard {
            self.turn_to_channel_of(now, place);
        }
        self.enter_phase(now, place, phase);
    }

    /// Handles a frame that a client's radio has received.
    pub(super) fn client_receives(
        &mut self,
        now: Instant,
        station: StationId,
        from: StationId,
        tag: Tag,
        packet: Packet,
    ) {
        let Some(client) = self.client_at(station) else {
            return;
        };
        if tag.message == Message::Beacon {
            self.tell(
                now,
                WlanOutput::Beacon {
                    client: station,
                    from,
                },
            );
            self.find(now, client, from);
            self.beacon_is_heard(now, client, from, tag.token);
            return;
        }
        let place = tag.interface;
        if self.interfaces[place].client != client {
            return;
        }
        if tag.message == Message::ProbeResponse {
            self.find(now, client, from);
        }
        let ap = self.access_point_at(from);
        if self.interfaces[place].ap != ap {
            return;
        }
        self.keep(now, place);
        let of = &mut self.interfaces[place];
        let phase = match (tag.message, of.phase) {
            (Message::Authenticated, Phase::Authenticating { .. }) => Phase::Associating { tries: 1 },
            (Message::Associated, Phase::Associating { .. }) => {
                of.aid = Aid::new(tag.token as u16);
                Phase::Addressing {
                    offered: false,
                    wait: of.join.dhcp_retry,
                }
            }
            (Message::DhcpOffer, Phase::Addressing { offered: false, .. }) => Phase::Addressing {
                offered: true,
                wait: of.join.dhcp_retry,
            },
            (Message::DhcpAck, Phase::Addressing { offered: true, .. }) => Phase::In { probes: 0 },
            (Message::Deauthentication, _) => Phase::Out,
            // From an access point that has not noticed yet that this client is gone.
            (Message::Data, _) if !of.is_associated() => return self.lose(now, tag, DropReason::Detached),
            (Message::Data, _) => {
                self.deliver(now, tag, Direction::Down);
                self.polled(now, place, packet.more);
                return;
            }
            _ => return,
        };
        self.enter_phase(now, place, phase);
    }

    fn beacon_is_heard(&mut self, now: Instant, client: usize, from: StationId, beacon: u64) {
        let ap = self.access_point_at(from);
        for place in self.clients[client].interfaces.clone() {
            if self.interfaces[place].ap == ap {
                self.keep(now, place);
            }
        }
        self.wake_for_traffic(now, client, ap, beacon);
    }

    /// Records a sign of the access point, and ends the probing that it answers. The count of missed beacons
    /// restarts when its time is up, because signs may come with every frame.
    pub(super) fn keep(&mut self, now: Instant, place: usize) {
        let of = &mut self.interfaces[place];
        of.alive = now;
        if let Phase::In { probes: 1.. } = of.phase {
            self.enter_phase(now, place, Phase::In { probes: 0 });
        }
    }

    /// Probes an access point that was silent for seven beacons. Ends the association if it was silent for
    /// too long.
    fn miss_beacons(&mut self, now: Instant, place: usize) {
        let of = &self.interfaces[place];
        let silence = of.ap.and_then(|ap| self.access_points[ap].silence());
        let silence = silence.unwrap_or(IDLE);
        if now < of.alive + silence {
            self.wait_until(place, Some(of.alive + silence));
        } else if now < of.alive + IDLE {
            self.enter_phase(now, place, Phase::In { probes: 1 });
        } else {
            self.give_up(now, place);
        }
    }

    fn give_up(&mut self, now: Instant, place: usize) {
        self.say_up(now, place, Message::Deauthentication, false);
        self.enter_phase(now, place, Phase::Out);
    }

    /// Handles the fate of a null frame: perhaps a probe, or the announcement that the client sleeps.
    pub(super) fn null_is_done(&mut self, now: Instant, place: usize, asleep: bool, fate: Fate) {
        if let Phase::In { probes: probes @ 1.. } = self.interfaces[place].phase {
            match fate {
                Fate::GivenUp if probes < PROBES => {
                    self.enter_phase(now, place, Phase::In { probes: probes + 1 });
                }
                Fate::GivenUp => self.give_up(now, place),
                // The radio has left the channel: it probes again once it is back.
                Fate::Withdrawn | Fate::QueueFull | Fate::Dropped => {
                    self.interfaces[place].phase = Phase::In { probes: 0 };
                    self.wait_until(place, Some(now + ABSENT));
                }
                Fate::Acknowledged | Fate::Unknown => {}
            }
        }
        self.farewell_is_said(now, self.interfaces[place].client, asleep);
    }

    /// Sends a packet of a client.
    pub(super) fn send_up(&mut self, now: Instant, interface: InterfaceId, load: Load) {
        let tag = Tag::new(Message::Data, interface.0, load.token);
        let of = &self.interfaces[interface.0];
        match of.ap.filter(|_| of.is_associated()) {
            None => self.lose(now, tag, DropReason::Detached),
            Some(_) if self.is_elsewhere(interface.0) => self.keep_up(now, tag, load),
            Some(ap) => {
                let asleep = self.clients[of.client].dozes();
                self.wake_to_send(now, of.client);
                let frame = Frame {
                    bytes: load.bytes,
                    flow: load.flow,
                    asleep,
                    ..Frame::default()
                };
                let to = Destination::Station(self.access_points[ap].station);
                let from = self.clients[self.interfaces[interface.0].client].station;
                self.say(now, from, to, tag, frame);
            }
        }
    }

    /// Sends a frame from a client to its access point. It goes before all data, unless it is data itself, or
    /// the frame after which the client sleeps.
    pub(super) fn say_up(&mut self, now: Instant, place: usize, message: Message, asleep: bool) {
        let of = &self.interfaces[place];
        let Some(ap) = of.ap else {
            return;
        };
        let to = if message == Message::ProbeRequest {
            Destination::Everyone
        } else {
            Destination::Station(self.access_points[ap].station)
        };
        let frame = Frame {
            bytes: message.bytes(),
            first: match message {
                Message::Null => !self.clients[of.client].is_going_to_sleep(),
                _ => message.goes_first(),
            },
            asleep,
            ..Frame::default()
        };
        let says = match message {
            Message::PsPoll => of.aid.map_or(0, Aid::get),
            _ => 0,
        };
        let from = self.clients[of.client].station;
        self.say(now, from, to, Tag::new(message, place, says.into()), frame);
    }

    /// Tunes an interface's client to the channel of the access point to join, unless a slot plan decides the
    /// channel.
    fn turn_to_channel_of(&mut self, now: Instant, place: usize) {
        let of = &self.interfaces[place];
        let (Some(ap), client) = (of.ap, &self.clients[of.client]) else {
            return;
        };
        let (station, channel) = (client.station, self.access_points[ap].channel);
        if client.has_no_plan() && client.channel != channel {
            self.clients[of.client].channel = channel;
            self.air.handle(now, Input::Tune(station, Some(channel)));
        }
    }
}

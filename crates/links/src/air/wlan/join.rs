//! One association: scanning, authentication, association, an address, and how its end is noticed.

use units::{Duration, Instant};

use super::super::io::{Destination, Input, Packet, StationId};
use super::message::{Message, Tag};
use super::{Aid, Frame, InterfaceId, Load, Timer, Wlan, WlanOutput};
use crate::wifi::Join;
use crate::{Direction, DropReason, LinkState};

/// Beacons that may be missed in a row before the access point is asked.
const MISSED: u32 = 7;
/// The frame that asks is given so long to be answered.
const PROBE_WAIT: Duration = Duration::from_millis(100);
/// A radio that is on another channel, or sleeps, is asked again after this time whether it is back.
const ABSENT: Duration = Duration::from_millis(20);
/// DHCP's repetitions double up to so many times the first.
const PATIENCE: u32 = 16;

#[derive(Debug)]
pub(super) struct Interface {
    pub(super) client: usize,
    /// How long its client's joining takes where the access point says nothing else.
    own: Join,
    pub(super) join: Join,
    /// The access point that it belongs to or wants to join, as its place among them.
    pub(super) ap: Option<usize>,
    /// What the access point calls it.
    pub(super) aid: Option<Aid>,
    phase: Phase,
    /// When its wait is over.
    until: Option<Instant>,
    /// It has heard the access point since it began to scan.
    pub(super) heard: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Out,
    Scanning { tries: u32 },
    Authenticating { tries: u32 },
    Associating { tries: u32 },
    Addressing { offered: bool, wait: Duration },
    In { asked: bool },
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
            heard: false,
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

    /// An association that was made before the start: nothing of it is on the air.
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
        self.keep(now, place);
    }

    /// Whether it finds its access point by looking on all channels of its plan.
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

    /// The access point is gone, and the driver was told.
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
            Phase::In { asked: true } => Some(PROBE_WAIT),
            Phase::In { asked: false } => of.ap.map(|ap| self.access_points[ap].beacon * (MISSED + 1)),
        };
        let of = &mut self.interfaces[place];
        if matches!(phase, Phase::Scanning { .. }) {
            of.heard = false;
        }
        let after = of.state();
        self.wait_until(place, wait.map(|wait| now + wait));
        match phase {
            Phase::Out => self.drop_held_of(now, place),
            Phase::In { asked: false } => {}
            Phase::Scanning { .. } if looks_around => self.start_scan(now, self.interfaces[place].client),
            Phase::Scanning { .. } => self.say_up(now, place, Message::ProbeRequest, false),
            Phase::Authenticating { .. } => self.say_up(now, place, Message::Authenticate, false),
            Phase::Associating { .. } => self.say_up(now, place, Message::Associate, false),
            Phase::Addressing { offered: false, .. } => self.say_up(now, place, Message::DhcpDiscover, false),
            Phase::Addressing { offered: true, .. } => self.say_up(now, place, Message::DhcpRequest, false),
            Phase::In { asked: true } => self.ask(now, place),
        }
        if before != after {
            self.tell(now, WlanOutput::State(InterfaceId(place), after));
        }
    }

    /// Asks an access point whether it is there: a frame without contents, which it acknowledges if it is. Who sleeps sleeps on.
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

    /// An answer is overdue, or too many beacons were missed.
    pub(super) fn wait_is_over(&mut self, now: Instant, place: usize) {
        let of = &self.interfaces[place];
        if of.until.is_none_or(|until| until > now) {
            return;
        }
        if of.is_scanning() && self.looks_around(place) {
            // What it looks for is told when the scan is over; it has not begun if the radio could not turn away.
            let client = of.client;
            self.wait_until(place, Some(now + ABSENT));
            return self.start_scan(now, client);
        }
        let (most, heard) = (of.join.attempts, of.heard);
        if self.is_away(place) && of.phase != Phase::Out {
            self.wait_until(place, Some(now + ABSENT));
            return;
        }
        let phase = match of.phase {
            Phase::Out => return,
            Phase::Scanning { .. } if heard => Phase::Authenticating { tries: 1 },
            Phase::Scanning { tries } if tries < most => Phase::Scanning { tries: tries + 1 },
            Phase::Authenticating { tries } if tries < most => Phase::Authenticating { tries: tries + 1 },
            Phase::Associating { tries } if tries < most => Phase::Associating { tries: tries + 1 },
            Phase::Addressing { offered, wait } => Phase::Addressing {
                offered,
                wait: (wait * 2).min(of.join.dhcp_retry * PATIENCE),
            },
            Phase::In { asked: false } => Phase::In { asked: true },
            Phase::In { asked: true } => {
                self.say_up(now, place, Message::Deauthentication, false);
                Phase::Out
            }
            _ => Phase::Out,
        };
        self.enter_phase(now, place, phase);
    }

    /// A radio has looked on all channels: who has been found is joined, on its channel; otherwise another time, or not at all.
    pub(super) fn scan_is_over(&mut self, now: Instant, place: usize) {
        let of = &self.interfaces[place];
        let (most, heard) = (of.join.attempts, of.heard);
        let phase = match of.phase {
            Phase::Scanning { .. } if heard => Phase::Authenticating { tries: 1 },
            Phase::Scanning { tries } if tries < most => Phase::Scanning { tries: tries + 1 },
            Phase::Scanning { .. } => Phase::Out,
            _ => return,
        };
        if heard {
            self.turn_to_channel_of(now, place);
        }
        self.enter_phase(now, place, phase);
    }

    /// A client's radio has received a frame.
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
        let of = &mut self.interfaces[place];
        if of.ap != ap {
            return;
        }
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
            (Message::DhcpAck, Phase::Addressing { offered: true, .. }) => Phase::In { asked: false },
            (Message::Deauthentication, _) => Phase::Out,
            // What comes from an access point that has not noticed yet that it is gone.
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
            let of = &mut self.interfaces[place];
            if of.ap != ap {
                continue;
            }
            if matches!(of.phase, Phase::In { .. }) {
                self.keep(now, place);
            }
        }
        self.wake_for_traffic(now, client, ap, beacon);
    }

    /// The access point is there: count its beacons anew.
    fn keep(&mut self, now: Instant, place: usize) {
        let of = &mut self.interfaces[place];
        of.phase = Phase::In { asked: false };
        let wait = of.ap.map(|ap| self.access_points[ap].beacon * (MISSED + 1));
        self.wait_until(place, wait.map(|wait| now + wait));
    }

    /// A frame without contents is done with: an access point that was asked has answered, or is gone.
    pub(super) fn null_is_done(&mut self, now: Instant, place: usize, asleep: bool, lost: bool) {
        let asked = matches!(self.interfaces[place].phase, Phase::In { asked: true });
        if asked && !lost {
            self.keep(now, place);
        }
        self.farewell_is_said(now, self.interfaces[place].client, asleep);
    }

    /// A packet leaves a client.
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

    /// A frame from a client to its access point; before all data, unless it is data itself, or the frame after which it sleeps.
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

    /// An interface's client turns to the channel of the access point that it wants to join, unless a plan says where it is.
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

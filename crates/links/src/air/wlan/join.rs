//! One association: scanning, authentication, association, an address, and how its loss is detected.

use units::{Duration, Instant};

use super::super::io::{Destination, Input, Packet, StationId};
use super::message::{Message, Tag};
use super::{Aid, Frame, InterfaceId, Load, Timer, Wlan, WlanOutput};
use crate::wifi::Join;
use crate::{Direction, DropReason, LinkState};

/// Number of beacons missed in a row before the client probes its access point.
const MISSED: u32 = 7;
/// How long the client waits for an answer to that probe.
const PROBE_WAIT: Duration = Duration::from_millis(100);
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
    /// Whether it has heard the access point since it began to scan.
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
        self.keep(now, place);
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

    /// Handles the end of a scan. If the access point was found, joins it on its channel. Otherwise scans
    /// again, or stops after the last attempt.
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

    /// Confirms that the access point is there: restarts the count of missed beacons.
    fn keep(&mut self, now: Instant, place: usize) {
        let of = &mut self.interfaces[place];
        of.phase = Phase::In { asked: false };
        let wait = of.ap.map(|ap| self.access_points[ap].beacon * (MISSED + 1));
        self.wait_until(place, wait.map(|wait| now + wait));
    }

    /// Handles the fate of a null frame: a probed access point has answered, or is gone.
    pub(super) fn null_is_done(&mut self, now: Instant, place: usize, asleep: bool, lost: bool) {
        let asked = matches!(self.interfaces[place].phase, Phase::In { asked: true });
        if asked && !lost {
            self.keep(now, place);
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

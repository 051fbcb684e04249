//! Steering in the engine: passes the measurements of each channel's access points to [`crate::steer`], and
//! its orders to the world.
//!
//! # Sources
//! - nsdi15 §5.2: marks on every access point that is clearly worse than the best of its channel. FatVAP,
//!   juggler: one at a time.
//!
//! # Where we differ, and why
//! 1. A channel is steered only if frames of one of its access points were measured. Signals alone give only
//!    a guess at the difference between access points, which selection already uses.
//! 2. A client cannot see whether a sender has more to send. Connections count as wanting more while anything
//!    arrives, and the closed loop undoes what gained nothing.
//! 3. A doubted access point stays in the comparison, since a doubt lasts a round trip and rarely proves
//!    death. Without it, a poor one would be the channel's best, and would get data that delays the rest.
//! 4. If no survey reports how busy the air is, it is computed from our own packets.
//!
//! # Checked by
//! `tests/engine_steering.rs`; `steer`'s own tests.

use crate::choose::rank::{Use, Want, is_fading};
use crate::estimate::phy::Phy;
use crate::io::reason::{Choice, Steer};
use crate::io::{LinkId, Role, Verb};
use crate::known::air::expected_packet_time;
use crate::known::path::Path;
use crate::known::state::State;
use crate::wifi::steer::{AccessPoint, Form, Marking, OnOff, Order, Reading, Steering, Step};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration, Instant, Ratio};

/// Interval between ticks.
const EVERY: Duration = Duration::from_millis(100);
/// Payload of a full packet.
const PAYLOAD: Bytes = Bytes::new(1_448);

/// The way of steering that a channel gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Marking(Form),
    OnOff,
    ClosedLoop,
}

/// The channels that are steered.
#[derive(Debug)]
pub(crate) struct Channels {
    way: Way,
    channels: BTreeMap<u16, Steering>,
    verdicts: BTreeMap<LinkId, Verdict>,
    next: Instant,
    points: Vec<AccessPoint>,
    steps: Vec<Step>,
}

/// The orders in force for an access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Verdict {
    backup: bool,
    because: Option<Steer>,
}

impl Way {
    fn begin(self) -> Steering {
        match self {
            Self::Marking(form) => Steering::Marking(Marking::new(form)),
            Self::OnOff => Steering::OnOff(OnOff::default()),
            Self::ClosedLoop => Steering::default(),
        }
    }
}

impl Channels {
    pub(crate) const fn new(way: Way) -> Self {
        Self {
            way,
            channels: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            next: Instant::ZERO,
            points: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Steers every channel, ten times a second.
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) {
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        let steered = steered(state);
        self.release(state, &steered);
        self.channels.retain(|channel, _| steered.contains(channel));
        for channel in steered {
            self.look_at(now, state, channel);
        }
    }

    /// Removes the marks of access points that are not steered.
    fn release(&mut self, state: &mut State, steered: &[u16]) {
        let held = |link: &LinkId| {
            state.paths.get(link).is_some_and(|path| {
                is_steerable(path) && path.spec.channel.is_some_and(|at| steered.contains(&at))
            })
        };
        let gone: Vec<LinkId> = self.verdicts.keys().copied().filter(|link| !held(link)).collect();
        for link in gone {
            self.verdicts.remove(&link);
            state.mark(link, |marks| marks.steering = Ratio::ZERO);
        }
    }

    fn look_at(&mut self, now: Instant, state: &mut State, channel: u16) {
        self.points.clear();
        let members = state
            .paths
            .iter()
            .filter(|(_, path)| path.spec.channel == Some(channel) && is_steerable(path));
        for (&link, path) in members {
            self.points.extend(point(now, state, link, path));
        }
        let wanting = self.points.iter().any(|point| point.goodput > Bitrate::ZERO);
        let reading = Reading {
            points: &self.points,
            busy: busy(state, channel, &self.points),
            wanting,
        };
        let steering = self.channels.entry(channel).or_insert_with(|| self.way.begin());
        steering.look(now, &reading, &mut self.steps);
        for point in &self.points {
            self.verdicts.entry(point.link).or_insert(Verdict {
                backup: point.backup,
                because: None,
            });
        }
        for at in 0..self.steps.len() {
            self.take(state, self.steps[at]);
        }
        self.steps.clear();
    }

    fn take(&mut self, state: &mut State, step: Step) {
        let Some(verdict) = self.verdicts.get_mut(&step.link) else {
            return;
        };
        verdict.because = Some(step.because);
        match step.order {
            Order::Backup(backup) => verdict.backup = backup,
            Order::Mark(rate) => {
                state.mark(step.link, |marks| marks.steering = rate);
                state.remark(None, Some(step.link), Verb::Mark, Choice::Steer(step.because));
            }
        }
    }

    /// Whether a link that is not dead is in use on the channel of this one, by order.
    fn has_efficient(&self, state: &State, other: &Path) -> bool {
        let usable = |link: &LinkId| {
            let path = state.paths.get(link);
            path.is_some_and(|path| path.spec.channel == other.spec.channel && is_steerable(path))
        };
        let mut verdicts = self.verdicts.iter();
        verdicts.any(|(link, verdict)| !verdict.backup && usable(link))
    }

    /// Applies the orders to what was wanted. A link that is about to fade, or has another role, is not
    /// promoted.
    pub(crate) fn apply(&self, state: &State, wants: &mut [Want]) {
        for want in wants {
            let path = &state.paths[&want.link];
            let Some(verdict) = self.verdicts.get(&want.link) else {
                continue;
            };
            let Some(because) = verdict.because else { continue };
            if want.because == Choice::LastResort && !self.has_efficient(state, path) {
                continue;
            }
            let purpose = if verdict.backup {
                Use::Warm
            } else if path.spec.role == Role::Primary && !is_fading(path) {
                Use::Active
            } else {
                continue;
            };
            (want.purpose, want.because) = (purpose, Choice::Steer(because));
        }
    }
}

/// Whether the link itself may be steered. A doubted link is, until probes prove that it is dead.
fn is_steerable(path: &Path) -> bool {
    path.is_wifi() && path.is_candidate()
}

/// Channels on which a packet time was measured.
fn steered(state: &State) -> Vec<u16> {
    let measured = |path: &&Path| {
        let air = path.air.as_ref();
        is_steerable(path) && air.is_some_and(|air| air.view.packet_time.is_some())
    };
    let mut channels: Vec<u16> = state
        .paths
        .values()
        .filter(measured)
        .filter_map(|path| path.spec.channel)
        .collect();
    channels.sort_unstable();
    channels.dedup();
    channels
}

/// The measurements of an access point over which a connection has a subflow.
fn point(now: Instant, state: &State, link: LinkId, path: &Path) -> Option<AccessPoint> {
    let (mut goodput, mut rtt, mut backup, mut joined) = (Bitrate::ZERO, Duration::ZERO, true, false);
    for subflow in state.conns.values().flat_map(|conn| conn.over(link)) {
        joined = true;
        goodput = goodput + subflow.arrivals.rate(now);
        rtt = rtt.max(subflow.sample.srtt);
        backup &= subflow.backup;
    }
    let base_rtt = path.rtt();
    Some(AccessPoint {
        link,
        packet_time: packet_time(path).filter(|_| joined)?,
        goodput,
        rtt: rtt.max(base_rtt),
        base_rtt,
        backup,
    })
}

/// Airtime of a packet: as measured, or as expected from the signal.
fn packet_time(path: &Path) -> Option<Duration> {
    let measured = path.air.as_ref().and_then(|air| air.view.packet_time);
    let expected = || {
        let phy = path.phy.unwrap_or(Phy::of_channel(path.spec.channel));
        expected_packet_time(phy, path.signal.mean()?)
    };
    measured.or_else(expected)
}

/// How busy the air is.
fn busy(state: &State, channel: u16, points: &[AccessPoint]) -> Ratio {
    let members = state
        .paths
        .values()
        .filter(|path| path.spec.channel == Some(channel));
    let surveyed = members.filter_map(|path| path.air.as_ref()?.view.taken).max();
    surveyed.unwrap_or_else(|| {
        let shares = points.iter().map(|point| {
            point.goodput.as_bps() as f64 / PAYLOAD.per(point.packet_time).as_bps().max(1) as f64
        });
        Ratio::clamped(shares.sum())
    })
}

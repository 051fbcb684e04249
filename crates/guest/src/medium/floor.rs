//! Where radios are, and what their signals lose on the way: a scenario's access points and its client.
//!
//! Radio 0 is the client's. Access points follow in the order of the file.
//!
//! # Sources
//! - `links::wifi`: path loss, noise, and the loss of frames at an SNR.
//!
//! # Where we differ, and why
//! 1. What this medium cannot carry out is refused: see [`PlanError`]. Flows are the script's business, and
//!    the script gets the wires behind the access points from `wifi-medium wires`.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` in the guest.

use links::wifi::{ErrorModel, Propagation, Wall, frame_loss};
use links::{Position, QueueLimit};
use scenario::{AccessPoint, Effect, FaultTarget, LinkKind, Plan, Walker, Way, models};
use thiserror::Error;
use units::wifi::{ACK_BYTES, Standard};
use units::{Bitrate, Db, Dbm, Duration, Ratio};

use crate::hwsim::Radio;

/// The kernel forgets frames when more than 200 of a radio wait.
pub const QUEUE: usize = 180;

/// A scenario that this medium cannot play.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// No access point, no walker, or several walkers.
    #[error("the box needs an access point and exactly one walker, called client; see docs/wifi-box.md")]
    Cast,
    /// A link that is no access point.
    #[error("{0} is no access point; the box has access points only, so remove it")]
    Link(String),
    /// Something of an access point.
    #[error("{name}: the box has no {what}; remove it")]
    AccessPoint {
        /// Its name.
        name: String,
        /// What there is not.
        what: &'static str,
    },
    /// A fault.
    #[error(
        "the box carries out the faults `blackhole` and `fade` of a named access point, and no others; kill hostapd in the script instead"
    )]
    Fault,
    /// Something else of the scenario.
    #[error("the box has no {0}; remove it")]
    Other(&'static str),
}

/// An access point as the medium knows it.
#[derive(Debug, Clone)]
pub struct Ap {
    /// Its name.
    pub name: String,
    /// Its channel number.
    pub channel: u8,
    position: Position,
    power: Dbm,
    propagation: Propagation,
    /// Frames that wait for the air, in each direction.
    pub queue: usize,
    /// Loss of data frames beside those that the signal costs: from it, and to it.
    losses: [Ratio; 2],
    attenuation: Db,
    blackhole: bool,
}

/// The floor at one moment.
#[derive(Debug)]
pub struct Floor {
    /// The access points; number 0 has radio 1.
    pub aps: Vec<Ap>,
    walls: Vec<Wall>,
    client: Walker,
    here: Position,
    /// Effects that are still to come, last first.
    effects: Vec<(Duration, usize, Effect)>,
}

/// The chance that an attempt fails, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Odds {
    /// The frame is lost.
    pub frame: Ratio,
    /// Its acknowledgement is lost.
    pub ack: Ratio,
}

impl Floor {
    /// The floor of a plan at its beginning.
    pub fn new(plan: &Plan) -> Result<Self, PlanError> {
        let [client] = &plan.walkers[..] else {
            return Err(PlanError::Cast);
        };
        check(plan, client)?;
        let mut aps = Vec::new();
        for (link, config) in plan.links.iter().enumerate() {
            let LinkKind::Wifi(ap) = &config.kind else {
                return Err(PlanError::Link(config.name.clone()));
            };
            let extra = |way| {
                let mut losses = plan.losses.iter();
                losses
                    .find(|loss| loss.link == link && loss.way == way)
                    .map_or(Ratio::ZERO, |loss| loss.share)
            };
            aps.push(access_point(
                &config.name,
                ap,
                [extra(Way::Down), extra(Way::Up)],
            )?);
        }
        if aps.is_empty() || aps.len() >= usize::from(Radio::MAX) {
            return Err(PlanError::Cast);
        }
        Ok(Self {
            aps,
            walls: plan.place.walls.iter().map(models::wall).collect(),
            here: models::position(client.position(Duration::ZERO)),
            client: client.clone(),
            effects: effects(plan)?,
        })
    }

    /// Moves to this time of the scenario.
    pub fn advance(&mut self, time: Duration) {
        self.here = models::position(self.client.position(time));
        while let Some((_, ap, effect)) = self.effects.pop_if(|(at, ..)| *at <= time) {
            match effect {
                Effect::Blackhole(on) => self.aps[ap].blackhole = on,
                Effect::Attenuation(loss) => self.aps[ap].attenuation = loss,
                Effect::Down(_) | Effect::Rate { .. } | Effect::NewAddress => {}
            }
        }
    }

    /// All radios.
    pub fn radios(&self) -> std::ops::RangeInclusive<Radio> {
        0..=self.aps.len() as Radio
    }

    /// The access point with this radio.
    pub fn ap(&self, radio: Radio) -> Option<&Ap> {
        self.aps.get(usize::from(radio).checked_sub(1)?)
    }

    /// Frames that may wait at a radio for one receiver.
    pub fn queue(&self, radio: Radio) -> usize {
        let of_client = || self.aps.iter().map(|ap| ap.queue).max();
        self.ap(radio)
            .map(|ap| ap.queue)
            .or_else(of_client)
            .unwrap_or(QUEUE)
    }

    /// The power of a radio's signal at another.
    pub fn signal(&self, from: Radio, to: Radio) -> Dbm {
        let place = |radio| self.ap(radio).map_or(self.here, |ap| ap.position);
        let power = self.ap(from).map_or(self.client.tx_power, |ap| ap.power);
        let faded = |radio| self.ap(radio).map_or(Db::default(), |ap| ap.attenuation);
        let way = self
            .propagation(from, to)
            .loss(place(from), place(to), &self.walls);
        power - way - faded(from) - faded(to)
    }

    /// The chances of an attempt between two radios, with a frame of this many bytes. `data`: it is a data
    /// frame.
    pub fn odds(
        &self,
        from: Radio,
        to: Radio,
        (phy, rate): (Standard, Bitrate),
        bytes: u32,
        data: bool,
    ) -> Odds {
        let silent = |radio| self.ap(radio).is_some_and(|ap| ap.blackhole);
        if silent(from) || silent(to) {
            return Odds {
                frame: Ratio::ONE,
                ack: Ratio::ONE,
            };
        }
        let snr = |from, to| self.propagation(from, to).snr(self.signal(from, to));
        let by_signal = frame_loss(phy, rate, snr(from, to), bytes);
        let extra = match (self.ap(from), self.ap(to)) {
            (Some(ap), None) if data => ap.losses[0],
            (None, Some(ap)) if data => ap.losses[1],
            _ => Ratio::ZERO,
        };
        let gets_through = by_signal.complement().as_f64() * extra.complement().as_f64();
        Odds {
            frame: Ratio::clamped(1.0 - gets_through),
            ack: frame_loss(phy, phy.ack_rate(rate), snr(to, from), ACK_BYTES),
        }
    }

    /// Signals between an access point and the client follow the access point's settings.
    fn propagation(&self, from: Radio, to: Radio) -> &Propagation {
        let ap = self.ap(from).or_else(|| self.ap(to));
        &ap.unwrap_or(&self.aps[0]).propagation
    }
}

fn access_point(name: &str, ap: &AccessPoint, losses: [Ratio; 2]) -> Result<Ap, PlanError> {
    let refuse = |what| {
        let name = name.to_owned();
        Err(PlanError::AccessPoint { name, what })
    };
    let propagation = models::propagation(&ap.propagation);
    let queue = match models::queue(ap.queue).limit {
        QueueLimit::Packets(packets) => QUEUE.min(packets as usize),
        _ => return refuse("queue that is not counted in packets"),
    };
    let missing = [
        (propagation.shadowing.is_some(), "shadowing"),
        (propagation.fading.is_some(), "fading"),
        (
            propagation.error_model != ErrorModel::Nist,
            "error model beside nist",
        ),
        (ap.ht.is_some(), "802.11n"),
        (ap.standard == Standard::B, "802.11b"),
        (ap.fq_codel, "FQ-CoDel at the access point"),
        (ap.turn.is_some(), "weighted medium"),
        (
            ap.thresholds != scenario::Thresholds::default(),
            "RTS and sensing thresholds",
        ),
        (
            !matches!(ap.rate, scenario::RateControl::Auto),
            "rate control beside the kernel's",
        ),
        (!ap.management, "access point without management frames"),
        (ap.join != scenario::Join::default(), "durations of joining"),
    ];
    if let Some((_, what)) = missing.into_iter().find(|(has, _)| *has) {
        return refuse(what);
    }
    Ok(Ap {
        name: name.to_owned(),
        channel: ap.channel,
        position: models::position(ap.at),
        power: ap.tx_power,
        propagation,
        queue,
        losses,
        attenuation: Db::default(),
        blackhole: false,
    })
}

fn check(plan: &Plan, client: &Walker) -> Result<(), PlanError> {
    let missing = [
        (!plan.place.noises.is_empty(), "noise"),
        (plan.rules != scenario::Rules::default(), "[air]"),
        (plan.medium != scenario::Medium::Dcf, "medium beside dcf"),
        (plan.uses_v6(), "IPv6"),
        (client.power_save, "power saving of the client"),
        (client.rate.is_some(), "rate of the client"),
    ];
    match missing.into_iter().find(|(has, _)| *has) {
        Some((_, what)) => Err(PlanError::Other(what)),
        None => Ok(()),
    }
}

/// The faults, last first.
fn effects(plan: &Plan) -> Result<Vec<(Duration, usize, Effect)>, PlanError> {
    let mut effects = Vec::new();
    for event in plan.timeline(plan.seed) {
        match (event.whom, event.effect) {
            (FaultTarget::Link(ap), Effect::Blackhole(_) | Effect::Attenuation(_)) => {
                effects.push((event.at, ap, event.effect));
            }
            _ => return Err(PlanError::Fault),
        }
    }
    effects.reverse();
    Ok(effects)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The plan of two access points, 10 m and 60 m from where the client begins, with more of the file.
    pub fn plan(more: &str) -> Plan {
        let text = format!(
            "sentence = \"For a test.\"\nduration_s = 10\n[aps.near]\nat_m = [10, 0]\nchannel = 6\n\
             backhaul = {{ rate_mbps = 12, rtt_ms = 10 }}\n[aps.far]\nat_m = [60, 0]\nchannel = 6\n\
             tx_power_dbm = 8\nbackhaul = {{ rate_mbps = 20, rtt_ms = 20 }}\n\
             [walkers.client]\nway = [{{ at_m = [0, 0], t_s = 0 }}, {{ at_m = [50, 0], t_s = 10 }}]\n\
             [flows.download]\ndirection = \"down\"\n{more}"
        );
        let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        scenario::parse("test.toml", text.as_bytes(), &[], &files).unwrap_or_else(|error| panic!("{error}"))
    }

    const FAST: (Standard, Bitrate) = (Standard::G, Bitrate::from_mbps(54));

    #[test]
    fn the_signal_follows_the_walk() {
        let mut floor = Floor::new(&plan("")).unwrap();
        // 20 dBm − 39.74 dB − 30 dB.
        assert_eq!(floor.signal(1, 0), Dbm::from_mbm(-4_974));
        let far = floor.signal(2, 0);
        floor.advance(Duration::from_secs(10));
        assert_eq!(floor.signal(2, 0), Dbm::from_mbm(-4_974 - 1_200));
        assert!(floor.signal(2, 0) > far);
        // The client sends at 15 dBm.
        assert_eq!(floor.signal(0, 2), Dbm::from_mbm(-4_974 - 500));
    }

    #[test]
    fn losses_count_for_data_in_their_direction() {
        let floor = Floor::new(&plan(
            "[[losses]]\nfrom = \"near\"\nto = \"client\"\npercent = 20\n",
        ))
        .unwrap();
        let lost = |from, to, data| floor.odds(from, to, FAST, 1_500, data).frame.as_f64();
        assert!((lost(1, 0, true) - 0.2).abs() < 1e-3, "{}", lost(1, 0, true));
        assert!(lost(1, 0, false) < 1e-3 && lost(0, 1, true) < 1e-3);
        // At 60 m and 8 dBm, 54 Mb/s does not get through.
        assert!(lost(2, 0, true) > 0.99);
    }

    #[test]
    fn faults_come_in_their_time() {
        let mut floor = Floor::new(&plan(
            "[[faults]]\nat_s = 2\nfor_s = 3\nlink = \"near\"\nkind = \"blackhole\"\n",
        ))
        .unwrap();
        let mut lost_at = |secs| {
            floor.advance(Duration::from_secs(secs));
            floor.odds(1, 0, FAST, 100, true).frame == Ratio::ONE
        };
        assert_eq!([1, 2, 4, 5].map(&mut lost_at), [false, true, true, false]);
    }

    #[test]
    fn what_the_medium_cannot_play_is_refused() {
        let cable = "[cables.dsl]\nrate_mbps = 10\nrtt_ms = 20\n";
        assert_eq!(
            Floor::new(&plan(cable)).unwrap_err(),
            PlanError::Link("dsl".into())
        );
        let down = "[[faults]]\nat_s = 2\nlink = \"near\"\nkind = \"down\"\n";
        assert_eq!(Floor::new(&plan(down)).unwrap_err(), PlanError::Fault);
        let noise = "[noises.oven]\nat_m = [6, 1]\nchannel = 6\n";
        assert_eq!(Floor::new(&plan(noise)).unwrap_err(), PlanError::Other("noise"));
        let fading = "[place]\nfading = { coherence_ms = 20 }\n";
        assert!(matches!(
            Floor::new(&plan(fading)),
            Err(PlanError::AccessPoint { what: "fading", .. })
        ));
    }
}

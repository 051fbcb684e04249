//! Flows that the models of the air carry without a host: broadcasts, and the datagrams of walkers that have
//! none. On the air they are like all others.
//!
//! # Where we differ, and why
//! 1. The wire behind the access point is a rate, without a queue. Upstream datagrams end at the access
//!    point.

use super::hosts::has_host;
use super::{position, thresholds};
use crate::plan::{AccessPoint, Flow, LinkKind, Pace, Plan, Transport, Walker, Way, Work};
use links::{Background, BackgroundFlow, BackgroundWay, LinkId, OtherStation};
use units::{Bitrate, Bytes, Duration};

/// Headers of UDP and IPv4.
const HEADERS: Bytes = Bytes::new(28);

/// The flows that the models carry without a host, each with its index in the plan.
pub fn background_flows(plan: &Plan) -> impl Iterator<Item = (usize, &Flow)> {
    let all = plan.flows.iter().enumerate();
    all.filter(|(_, flow)| sent(plan, flow).is_some())
}

/// The access point of such a flow: an index in [`Plan::links`]. `None`: it is no such flow.
pub fn background_link(plan: &Plan, flow: &Flow) -> Option<usize> {
    sent(plan, flow).map(|sent| sent.over)
}

/// Datagrams of such a flow.
struct Sent<'p> {
    over: usize,
    ap: &'p AccessPoint,
    way: Way,
    pace: Pace,
    bytes: Bytes,
}

fn sent<'p>(plan: &'p Plan, flow: &Flow) -> Option<Sent<'p>> {
    let (Transport::Udp { over }, Work::Datagrams { way, pace, payload }) = (flow.transport, flow.work)
    else {
        return None;
    };
    let LinkKind::Wifi(ap) = &plan.links[over].kind else {
        return None;
    };
    let sends_itself = flow.by == 0 || has_host(plan, flow.by);
    (way == Way::Everyone || !sends_itself).then_some(Sent {
        over,
        ap,
        way,
        pace,
        bytes: payload + HEADERS,
    })
}

/// The stations of walkers with such flows. Each has a radio on each of its channels.
#[derive(Debug, Default)]
struct Stations {
    /// The walker, an index in [`Plan::walkers`], and the channel.
    known: Vec<(usize, u8)>,
}

impl Stations {
    /// The number of a walker's station on a channel, and whether it is new.
    fn number(&mut self, by: usize, channel: u8) -> (usize, bool) {
        let known = self.known.iter().position(|other| *other == (by, channel));
        let is_new = known.is_none();
        self.known.extend(is_new.then_some((by, channel)));
        (known.unwrap_or(self.known.len() - 1), is_new)
    }
}

/// The walker of each of [`Background::stations`]: an index in [`Plan::walkers`].
pub(super) fn station_owners(plan: &Plan) -> Vec<usize> {
    let mut stations = Stations::default();
    for (_, flow) in background_flows(plan) {
        if let Some(sent) = sent(plan, flow).filter(|sent| sent.way != Way::Everyone) {
            stations.number(flow.by, sent.ap.channel);
        }
    }
    stations.known.into_iter().map(|(by, _)| by).collect()
}

/// All flows without a host, in the form of the models. The stations of their walkers are where they begin.
pub fn background(plan: &Plan) -> Background {
    let mut background = Background::default();
    let mut stations = Stations::default();
    for (_, flow) in background_flows(plan) {
        let Some(sent) = sent(plan, flow) else { continue };
        let mut station = || {
            let (number, is_new) = stations.number(flow.by, sent.ap.channel);
            if is_new {
                let other = other(&plan.walkers[flow.by], sent.over);
                background.stations.push(other);
            }
            number
        };
        let way = match sent.way {
            Way::Down => BackgroundWay::Down(station()),
            Way::Up => BackgroundWay::Up(station()),
            Way::Everyone => BackgroundWay::Everyone,
        };
        background.flows.push(BackgroundFlow {
            link: LinkId(sent.over as u16),
            way,
            bytes: sent.bytes.get() as u32,
            every: sent.every(),
            start: flow.start + sent.delay(),
        });
    }
    background
}

impl Sent<'_> {
    /// Time between two datagrams at the access point: at least what the wire behind it needs for one.
    fn every(&self) -> Option<Duration> {
        let own = match self.pace {
            Pace::Saturated => None,
            Pace::Every(interval) => Some(interval),
        };
        let least = self.ap.backhaul.down.time_for(self.bytes);
        if self.way != Way::Down || self.ap.backhaul.down >= self.fastest() {
            return own;
        }
        own.max(least)
    }

    /// The highest rate of the standard of the flow's access point.
    fn fastest(&self) -> Bitrate {
        let ht = self.ap.ht.and_then(|ht| {
            let mode = units::wifi::ht::Mode::new(ht.streams * 8 - 1, ht.width, ht.guard)?;
            Some(mode.rate())
        });
        let rates = self.ap.standard.rates_kbps().iter().max();
        let legacy = rates.map_or(0, |&kbps| u64::from(kbps));
        ht.unwrap_or(Bitrate::from_kbps(legacy))
    }

    /// Delay on the wire.
    fn delay(&self) -> Duration {
        match self.way {
            Way::Down => self.ap.backhaul.rtt / 2,
            Way::Up | Way::Everyone => Duration::ZERO,
        }
    }
}

/// A station on the channel of that link's access point.
fn other(walker: &Walker, link: usize) -> OtherStation {
    OtherStation {
        name: walker.name.clone(),
        position: position(walker.position(Duration::ZERO)),
        power: walker.tx_power,
        thresholds: thresholds(walker.thresholds),
        link: LinkId(link as u16),
    }
}

//! Flows that the models carry without a kernel: broadcasts, and the datagrams of walkers that have no host
//! (`walkers`). No kernel of the lab sends or receives them. On the air they are like all others.
//!
//! # Where we differ, and why
//! 1. A walker with such a flow stands still: the lab moves the client only.
//! 2. The wire behind the access point is a rate, as in virtual time: it has no queue. Upstream datagrams end
//!    at the access point.
//! 3. If programs replace the scenario's flows (`--shell`), these flows stay, so that the client shares the
//!    air.
//!
//! # Checked by
//! `tests`; `links`' `exact::background`; `cli`'s `tests/both_worlds.rs`.

use super::network::PlanError;
use super::walkers;
use crate::emulator;
use links::{Background, BackgroundFlow, BackgroundWay, LinkId, OtherStation};
use scenario::{AccessPoint, Flow, LinkKind, Pace, Plan, Transport, Walker, Way, Work, models};
use trace::FlowMeter;
use units::{Bytes, Duration, Instant};

/// Headers of UDP and IPv4.
const HEADERS: Bytes = Bytes::new(28);

/// The flows that the models carry without a kernel, each with its index in the plan.
pub(super) fn flows(plan: &Plan) -> impl Iterator<Item = (usize, &Flow)> {
    let all = plan.flows.iter().enumerate();
    all.filter(|(_, flow)| sent(plan, flow).is_some())
}

/// Whether a flow is one of them.
pub(super) fn has(plan: &Plan, flow: &Flow) -> bool {
    sent(plan, flow).is_some()
}

/// The link that carries such a flow.
pub(super) fn link<'p>(plan: &'p Plan, flow: &Flow) -> &'p str {
    sent(plan, flow).map_or("", |sent| &plan.links[sent.over].name)
}

/// The meters of these flows.
pub(super) fn meters(plan: &Plan) -> emulator::Background {
    let meter = |(_, flow): (usize, &Flow)| FlowMeter::new(&flow.name, Instant::ZERO + flow.start);
    emulator::Background::new(flows(plan).map(meter).collect(), Instant::ZERO + plan.duration)
}

/// What such a flow sends.
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
    let has_kernel = flow.by == 0 || walkers::has_host(plan, flow.by);
    (way == Way::Everyone || !has_kernel).then_some(Sent {
        over,
        ap,
        way,
        pace,
        bytes: payload + HEADERS,
    })
}

/// All of these flows, in the form of the models.
pub(super) fn background(plan: &Plan) -> Result<Background, PlanError> {
    let mut background = Background::default();
    let mut known = Vec::new();
    for (_, flow) in flows(plan) {
        let Some(sent) = sent(plan, flow) else { continue };
        let mut station = || {
            let key = (flow.by, sent.ap.channel);
            let place = known.iter().position(|other| *other == key);
            place.map_or_else(
                || {
                    known.push(key);
                    background
                        .stations
                        .push(other(&plan.walkers[flow.by], sent.over)?);
                    Ok(known.len() - 1)
                },
                Ok::<_, PlanError>,
            )
        };
        let way = match sent.way {
            Way::Down => BackgroundWay::Down(station()?),
            Way::Up => BackgroundWay::Up(station()?),
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
    Ok(background)
}

impl Sent<'_> {
    /// Time between datagrams at the access point: not faster than the wire behind it.
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

    /// The highest rate of its air.
    fn fastest(&self) -> units::Bitrate {
        let ht = self.ap.ht.and_then(|ht| {
            let mode = units::wifi::ht::Mode::new(ht.streams * 8 - 1, ht.width, ht.guard)?;
            Some(mode.rate())
        });
        let rates = self.ap.standard.rates_kbps().iter().max();
        let legacy = rates.map_or(0, |&kbps| u64::from(kbps));
        ht.unwrap_or(units::Bitrate::from_kbps(legacy))
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
fn other(walker: &Walker, link: usize) -> Result<OtherStation, PlanError> {
    if walkers::walks(walker) {
        return Err(PlanError::Walks(walker.name.clone()));
    }
    Ok(OtherStation {
        name: walker.name.clone(),
        position: models::position(walker.position(Duration::ZERO)),
        power: walker.tx_power,
        thresholds: models::thresholds(walker.thresholds),
        link: LinkId(link as u16),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::network_config;
    use links::Medium;

    fn plan(guard: &str, flows: &str) -> Plan {
        let text = format!(
            "sentence = \"x\"\nduration_s = 9\n[aps.hall]\nat_m = [3, 0]\nstandard = \"a\"\nchannel = 36\n\
             backhaul = {{ rate_mbps = 12, rtt_ms = 20 }}\n[walkers.client]\nat_m = [0, 0]\n[walkers.guard]\n{guard}\n{flows}"
        );
        let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
        scenario::parse("x.toml", text.as_bytes(), &[], &no_files).unwrap()
    }

    fn flow(name: &str, keys: &str) -> String {
        format!("[flows.{name}]\ntransport = \"udp\"\nover = \"hall\"\n{keys}\n")
    }

    #[test]
    fn other_walkers_and_broadcast_traffic_is_modelled() {
        let flows = [
            flow("own", "direction = \"down\""),
            flow("down", "by = \"guard\"\ndirection = \"down\""),
            flow(
                "up",
                "by = \"guard\"\ndirection = \"up\"\nlimit_mbps = 1.176\nstart_s = 2",
            ),
            flow(
                "probe",
                "direction = \"everyone\"\nevery_ms = 100\npayload_bytes = 100",
            ),
        ];
        let plan = plan("at_m = [9, 0]", &flows.concat());
        let names: Vec<&str> = super::flows(&plan).map(|(_, flow)| flow.name.as_str()).collect();
        assert_eq!(names, ["down", "up", "probe"]);
        let config = network_config(&plan, 1).unwrap();
        assert_eq!(config.medium, Medium::Frames);
        let background = &config.background;
        assert_eq!(background.stations.len(), 1, "one radio for both");
        assert_eq!(background.stations[0].position.x_mm, 9_000);
        let ways: Vec<BackgroundWay> = background.flows.iter().map(|flow| flow.way).collect();
        assert_eq!(
            ways,
            [
                BackgroundWay::Down(0),
                BackgroundWay::Up(0),
                BackgroundWay::Everyone
            ]
        );
        // 1,498 bytes at the wire's 12 Mb/s, half a round trip late; 1,470 bytes at the flow's own pace.
        let down = &background.flows[0];
        assert_eq!(
            (down.every, down.start),
            (Some(Duration::from_nanos(998_667)), Duration::from_millis(10))
        );
        let up = &background.flows[1];
        assert_eq!(
            (up.every, up.start),
            (Some(Duration::from_millis(10)), Duration::from_secs(2))
        );
        assert_eq!(background.flows[2].bytes, 128);
        assert!(links::Network::new(1, config).is_ok());
    }

    #[test]
    fn other_walkers_may_not_move() {
        let walk = "way = [{ at_m = [0, 0], t_s = 0 }, { at_m = [9, 0], t_s = 9 }]";
        let plan = plan(walk, &flow("up", "by = \"guard\"\ndirection = \"up\""));
        let error = network_config(&plan, 1).unwrap_err();
        let message = plan.spots.say(error.about(), &error);
        assert!(
            message.starts_with("x.toml:10:10: `guard` moves") && message.contains("--world sim"),
            "{message}"
        );
    }
}

//! What the client's radios spend on what the links carry.
//!
//! # Sources
//! - `policy::estimate::energy`, set `mobisys2012` (Huang et al. 2012): the one that has LTE.
//!
//! # Where we differ, and why
//! 1. One radio for each WiFi channel, however many access points share it, and a modem for each cellular link; cables cost nothing.
//! 2. Only data counts: beacons, scans and joining cost the same under every policy that joins.
//! 3. The tail that follows the last byte belongs to the run.
//!
//! # Checked by
//! `tests`.

use crate::emulator::LinkSample;
use policy::estimate::energy::{Energy, Meter, Set, Step, Technology};
use scenario::{LinkKind, Plan};
use units::{Bytes, Instant};

/// A radio of the client.
#[derive(Debug)]
struct Radio {
    links: Vec<usize>,
    up: Bytes,
    down: Bytes,
    meter: Meter,
}

/// All of them, told every 100 ms what the links have carried.
#[derive(Debug)]
pub(super) struct Radios {
    radios: Vec<Radio>,
    last: Instant,
}

impl Radios {
    /// The radios that a plan's links need.
    pub(super) fn of(plan: &Plan) -> Self {
        let links = plan.links.iter().enumerate();
        let mut channels: Vec<(Option<u8>, Technology, Vec<usize>)> = Vec::new();
        for (index, link) in links {
            let (channel, technology) = match &link.kind {
                LinkKind::Cable(_) => continue,
                LinkKind::Cell(_) => (None, Technology::Lte),
                LinkKind::Wifi(ap) => (Some(ap.channel), Technology::Wifi),
            };
            let shared = channels
                .iter_mut()
                .find(|(known, ..)| channel.is_some() && *known == channel);
            match shared {
                Some((.., members)) => members.push(index),
                None => channels.push((channel, technology, vec![index])),
            }
        }
        let radio = |(_, technology, links)| {
            let (up, down) = (Bytes::ZERO, Bytes::ZERO);
            let meter = Meter::new(Set::Mobisys2012.radio(technology)?);
            Some(Radio {
                links,
                up,
                down,
                meter,
            })
        };
        Self {
            radios: channels.into_iter().filter_map(radio).collect(),
            last: Instant::ZERO,
        }
    }

    /// The links have carried so much since the start.
    pub(super) fn carried(&mut self, at: Instant, links: &[LinkSample]) {
        let lasts = at.since(self.last);
        if lasts.is_zero() {
            return;
        }
        self.last = at;
        for radio in &mut self.radios {
            let up: Bytes = radio.links.iter().map(|link| links[*link].up).sum();
            let down: Bytes = radio.links.iter().map(|link| links[*link].down).sum();
            radio.meter.step(&Step {
                lasts,
                down: (down - radio.down).per(lasts),
                up: (up - radio.up).per(lasts),
                signal: None,
            });
            (radio.up, radio.down) = (up, down);
        }
    }

    /// Everything spent, in joules; 0 where there is no radio.
    pub(super) fn joules(&self) -> f64 {
        let spent = self.radios.iter().map(|radio| radio.meter.settled());
        spent
            .fold(Energy::ZERO, |sum, of_one| sum + of_one)
            .as_joules_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let text = "sentence = \"x\"\nduration_s = 1\n\
            [aps.near]\nat_m = [0, 0]\nchannel = 6\nbackhaul = { rate_mbps = 9, rtt_ms = 9 }\n\
            [aps.far]\nat_m = [9, 0]\nchannel = 6\nbackhaul = { rate_mbps = 9, rtt_ms = 9 }\n\
            [cells.lte]\nrate_mbps = 9\nrtt_ms = 9\n[cables.desk]\nrate_mbps = 9\nrtt_ms = 9\n\
            [walkers.client]\nat_m = [0, 0]\n[flows.f]\ndirection = \"down\"\n";
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        scenario::parse("energy.toml", text.as_bytes(), &[], &no_files).unwrap()
    }

    fn down(megabytes: [u64; 4]) -> Vec<LinkSample> {
        let sample = |megabytes| LinkSample {
            down: Bytes::new(megabytes * 1_000_000),
            ..LinkSample::default()
        };
        megabytes.map(sample).into()
    }

    #[test]
    fn access_points_of_a_channel_are_one_radio_and_a_cable_is_none() {
        let radios = Radios::of(&plan());
        let links: Vec<&[usize]> = radios.radios.iter().map(|radio| &radio.links[..]).collect();
        assert_eq!(links, [&[0, 1][..], &[2]]);
    }

    #[test]
    fn a_second_of_wifi_costs_what_the_paper_says() {
        let mut radios = Radios::of(&plan());
        // 1 MB over each access point and 1 MB over the cable in 1 s: 16 Mb/s on the air.
        radios.carried(Instant::from_secs(1), &down([1, 1, 0, 1]));
        // 133 mW + 137 mW per Mb/s, a promotion of 79 ms at 124 mW and a tail of 240 ms at 119 mW.
        let expected = 0.133 + 16.0 * 0.137 + 0.124 * 0.079 + 0.119 * 0.240;
        assert!((radios.joules() - expected).abs() < 1e-6, "{}", radios.joules());
    }

    #[test]
    fn the_cellular_tail_makes_a_short_burst_dear() {
        let mut radios = Radios::of(&plan());
        radios.carried(Instant::from_millis(100), &down([0, 0, 0, 1]));
        assert_eq!(radios.joules(), 0.0, "a cable costs nothing");
        radios.carried(Instant::from_millis(200), &down([0, 0, 1, 1]));
        assert!(
            radios.joules() > 12.0,
            "{}: the tail alone is 12.3 J",
            radios.joules()
        );
        assert_eq!(radios.last, Instant::from_millis(200));
    }
}

//! Energy that a client's radios spend on the traffic of its links.
//!
//! # Sources
//! - [`super`]'s set `mobisys2012` (Huang et al. 2012): the one that has LTE.
//!
//! # Where we differ, and why
//! 1. There is one radio per WiFi channel, however many access points share it, and one LTE modem per
//!    cellular link. Cables cost nothing.
//! 2. Only data counts: beacons, scans and joining cost the same under every policy that joins.
//! 3. The tail after the last byte belongs to the run.
//! 4. An idle radio costs nothing. A WiFi radio that saves power sleeps at once after its data: it has no
//!    tail. Its wakes for beacons cost nothing.
//!
//! # Checked by
//! `tests` below. `sim`'s `tests/play.rs`: a run of the virtual world.

use super::{Energy, Meter, Set, Step, Technology};
use crate::io::LinkKind;
use alloc::vec::Vec;
use units::{Bytes, Duration, Instant};

/// Bytes that a link has carried for the client since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// IP bytes from the client.
    pub up: Bytes,
    /// IP bytes to the client.
    pub down: Bytes,
}

/// One radio of the client.
#[derive(Debug, Clone)]
struct Radio {
    links: Vec<usize>,
    before: Carried,
    meter: Meter,
}

/// All radios of the client. The caller reports the links' counters every 100 ms.
#[derive(Debug, Clone)]
pub struct Radios {
    radios: Vec<Radio>,
    last: Instant,
}

impl Radios {
    /// The radios that links of these kinds need. The number is an access point's channel. `sleeps`: WiFi
    /// radios save power.
    pub fn of(links: impl IntoIterator<Item = (LinkKind, Option<u16>)>, sleeps: bool) -> Self {
        let mut channels: Vec<(Option<u16>, Technology, Vec<usize>)> = Vec::new();
        for (index, (kind, channel)) in links.into_iter().enumerate() {
            let technology = match kind {
                LinkKind::Cable => continue,
                LinkKind::Cellular => Technology::Lte,
                LinkKind::Wifi => Technology::Wifi,
            };
            let shared = channels
                .iter_mut()
                .find(|(known, ..)| channel.is_some() && *known == channel);
            match shared {
                Some((.., members)) => members.push(index),
                None => channels.push((channel, technology, [index].into())),
            }
        }
        let radio = |(_, technology, links)| {
            let mut radio = Set::Mobisys2012.radio(technology)?;
            if sleeps && technology == Technology::Wifi {
                radio = radio.with_tail(Duration::ZERO);
            }
            Some(Radio {
                links,
                before: Carried::default(),
                meter: Meter::new(radio),
            })
        };
        Self {
            radios: channels.into_iter().filter_map(radio).collect(),
            last: Instant::ZERO,
        }
    }

    /// What the radio of this link draws. `None` if it has none.
    pub fn of_link(&self, link: usize) -> Option<super::Radio> {
        let radio = self.radios.iter().find(|radio| radio.links.contains(&link))?;
        Some(radio.meter.radio())
    }

    /// Takes in the bytes that each link has carried since the start.
    pub fn carried(&mut self, at: Instant, links: &[Carried]) {
        let lasts = at.since(self.last);
        if lasts.is_zero() {
            return;
        }
        self.last = at;
        for radio in &mut self.radios {
            let now = Carried {
                up: radio.links.iter().map(|link| links[*link].up).sum(),
                down: radio.links.iter().map(|link| links[*link].down).sum(),
            };
            radio.meter.step(&Step {
                lasts,
                down: (now.down - radio.before.down).per(lasts),
                up: (now.up - radio.before.up).per(lasts),
                signal: None,
            });
            radio.before = now;
        }
    }

    /// Total energy spent, including the tails still to come. Zero without a radio.
    pub fn settled(&self) -> Energy {
        let spent = self.radios.iter().map(|radio| radio.meter.settled());
        spent.fold(Energy::ZERO, |sum, of_one| sum + of_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two access points on one channel, a modem and a cable.
    fn radios() -> Radios {
        let ap = (LinkKind::Wifi, Some(6));
        Radios::of(
            [ap, ap, (LinkKind::Cellular, None), (LinkKind::Cable, None)],
            false,
        )
    }

    #[test]
    fn a_radio_that_saves_power_has_no_tail() {
        let one_byte = |sleeps| {
            let mut radios = Radios::of([(LinkKind::Wifi, Some(6))], sleeps);
            let carried = Carried {
                down: Bytes::new(1),
                ..Carried::default()
            };
            radios.carried(Instant::from_millis(100), &[carried]);
            radios.settled().as_joules_f64()
        };
        // The tail is 119 mW for 240 ms.
        assert!((one_byte(false) - one_byte(true) - 0.028_56).abs() < 1e-9);
    }

    fn down(megabytes: [u64; 4]) -> [Carried; 4] {
        megabytes.map(|megabytes| Carried {
            down: Bytes::new(megabytes * 1_000_000),
            ..Carried::default()
        })
    }

    fn joules(radios: &Radios) -> f64 {
        radios.settled().as_joules_f64()
    }

    #[test]
    fn access_points_of_a_channel_are_one_radio_and_a_cable_is_none() {
        let radios = radios();
        let links: Vec<&[usize]> = radios.radios.iter().map(|radio| &radio.links[..]).collect();
        assert_eq!(links, [&[0, 1][..], &[2]]);
        let draws = [0, 1, 2, 3].map(|link| radios.of_link(link));
        let of = |technology| Set::Mobisys2012.radio(technology);
        let [wifi, lte] = [Technology::Wifi, Technology::Lte].map(of);
        assert_eq!(draws, [wifi, wifi, lte, None]);
    }

    #[test]
    fn a_second_of_wifi_costs_what_the_paper_says() {
        let mut radios = radios();
        // 1 MB over each access point and 1 MB over the cable in 1 s: 16 Mb/s on the air.
        radios.carried(Instant::from_secs(1), &down([1, 1, 0, 1]));
        // 133 mW + 137 mW per Mb/s, a promotion of 79 ms at 124 mW and a tail of 240 ms at 119 mW.
        let expected = 0.133 + 16.0 * 0.137 + 0.124 * 0.079 + 0.119 * 0.240;
        assert!((joules(&radios) - expected).abs() < 1e-6, "{}", joules(&radios));
    }

    #[test]
    fn the_cellular_tail_makes_a_short_burst_dear() {
        let mut radios = radios();
        radios.carried(Instant::from_millis(100), &down([0, 0, 0, 1]));
        assert_eq!(joules(&radios), 0.0, "a cable costs nothing");
        radios.carried(Instant::from_millis(200), &down([0, 0, 1, 1]));
        assert!(
            joules(&radios) > 12.0,
            "{}: the tail alone is 12.3 J",
            joules(&radios)
        );
        assert_eq!(radios.last, Instant::from_millis(200));
    }
}

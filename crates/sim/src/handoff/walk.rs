//! Configuration of a run: two links, a hand-off between them, and the sender.

use crate::tcp::{Config, ConfigError};
use std::fmt;
use thiserror::Error;
use units::{Bitrate, Duration};

/// Limits of a link's rate.
const LEAST_RATE: Bitrate = Bitrate::from_kbps(10);
const MOST_RATE: Bitrate = Bitrate::from_mbps(1_000);
/// Largest RTT of a link, in s.
const MOST_RTT_S: u64 = 10;
/// Largest gap between two access points, in s.
const MOST_GAP_S: u64 = 600;

/// Path through one access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Rate of the access point, IPv4 and TCP headers included: 10 kb/s to 1 Gb/s.
    pub rate: Bitrate,
    /// RTT without queueing, at most 10 s.
    pub rtt: Duration,
}

/// One of the two access points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The one that the client leaves.
    First,
    /// The one that the client joins.
    Second,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Second => "second",
        })
    }
}

/// What happens to segments on their way to the access point that the client left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// They are lost.
    Lost,
    /// They are held and forwarded to the second access point once the client is there.
    Forwarded,
}

/// How the client moves between the access points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandOff {
    /// Time that the client is at neither access point, varied by up to a quarter. At most 10 minutes.
    pub gap: Duration,
    /// What happens to queued segments.
    pub left: Left,
    /// The sender is told 2 s in advance that the path fades.
    pub foreseen: bool,
}

/// The part of a run that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// From 2.5 s before the client leaves the first access point to 2.5 s after it reaches the second. The
    /// times are the same without a hand-off.
    AroundTheHandOff,
    /// The first 2.5 s of the connection.
    TheBeginning,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walk {
    /// Links before and after the hand-off.
    pub links: [Link; 2],
    /// `None`: the client stays at the first access point.
    pub hand_off: Option<HandOff>,
    /// The part that is measured.
    pub watched: Watched,
    /// Configuration of the sender.
    pub sender: Config,
    /// Seed of all random values: the time of the hand-off, the length of its gap, and the noise.
    pub seed: u64,
}

impl Walk {
    /// Checks that the walk can be run.
    pub fn check(&self) -> Result<(), WalkError> {
        for (place, link) in [Place::First, Place::Second].into_iter().zip(self.links) {
            link.check(place)?;
        }
        let gap = self.hand_off.map_or(Duration::ZERO, |how| how.gap);
        if gap > Duration::from_secs(MOST_GAP_S) {
            return Err(WalkError::Gap(gap));
        }
        self.sender.check().map_err(WalkError::Sender)
    }
}

impl Link {
    fn check(self, place: Place) -> Result<(), WalkError> {
        let Self { rate, rtt } = self;
        if rate < LEAST_RATE || rate > MOST_RATE {
            return Err(WalkError::Rate { place, rate });
        }
        if rtt > Duration::from_secs(MOST_RTT_S) {
            return Err(WalkError::RoundTrip { place, rtt });
        }
        Ok(())
    }
}

/// Why a walk cannot be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WalkError {
    /// A rate below the minimum, or too high to simulate segment by segment.
    #[error("the {place} link has a rate of {rate}; give it {LEAST_RATE} to {MOST_RATE}")]
    Rate {
        /// The access point.
        place: Place,
        /// Its rate.
        rate: Bitrate,
    },
    /// An RTT above the maximum.
    #[error("the {place} link has a round trip of {rtt:?}; give it at most {MOST_RTT_S} s")]
    RoundTrip {
        /// The access point.
        place: Place,
        /// Its RTT.
        rtt: Duration,
    },
    /// A gap above the maximum. No connection survives it.
    #[error("a gap of {0:?} between the access points; give it at most {MOST_GAP_S} s")]
    Gap(Duration),
    /// An invalid sender.
    #[error(transparent)]
    Sender(#[from] ConfigError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handoff::play;
    use policy::cc::Controller;

    const WALK: Walk = Walk {
        links: [Link {
            rate: Bitrate::from_mbps(20),
            rtt: Duration::from_millis(20),
        }; 2],
        hand_off: Some(HandOff {
            gap: Duration::from_millis(50),
            left: Left::Lost,
            foreseen: true,
        }),
        watched: Watched::AroundTheHandOff,
        sender: Config::new(Controller::Reno),
        seed: 1,
    };

    fn with(place: usize, link: Link) -> Walk {
        let mut links = WALK.links;
        links[place] = link;
        Walk { links, ..WALK }
    }

    #[test]
    fn links_out_of_range_are_rejected() {
        let [link, _] = WALK.links;
        for rate in [Bitrate::ZERO, Bitrate::from_bps(9_999), Bitrate::from_mbps(1_001)] {
            let place = Place::Second;
            let refused = play(&with(1, Link { rate, ..link }));
            assert_eq!(refused, Err(WalkError::Rate { place, rate }));
        }
        let rtt = Duration::from_secs(11);
        let place = Place::First;
        let refused = play(&with(0, Link { rtt, ..link }));
        assert_eq!(refused, Err(WalkError::RoundTrip { place, rtt }));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "the first link has a round trip of 11s; give it at most 10 s"
        );
    }

    #[test]
    fn long_gaps_and_senders_without_a_window_are_rejected() {
        let gap = Duration::MAX;
        let hand_off = WALK.hand_off.map(|how| HandOff { gap, ..how });
        assert_eq!(play(&Walk { hand_off, ..WALK }), Err(WalkError::Gap(gap)));
        let sender = Config {
            initial_window: 0,
            ..WALK.sender
        };
        let refused = Err(WalkError::Sender(ConfigError::InitialWindow(0)));
        assert_eq!(play(&Walk { sender, ..WALK }), refused);
    }

    #[test]
    fn links_at_the_limits_can_be_run() {
        let limits = [
            (LEAST_RATE, Duration::ZERO),
            (LEAST_RATE, Duration::from_secs(MOST_RTT_S)),
            (MOST_RATE, Duration::ZERO),
        ];
        for (rate, rtt) in limits {
            for place in [0, 1] {
                let played = play(&with(place, Link { rate, rtt }));
                assert!(played.is_ok_and(|outcome| outcome.sent > 0), "{rate}, {rtt:?}");
            }
        }
    }
}

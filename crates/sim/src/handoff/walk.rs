//! What is played: two links, a hand-off between them, and who sends.

use crate::tcp::{Config, ConfigError};
use std::fmt;
use thiserror::Error;
use units::{Bitrate, Duration};

/// Of a link's rate.
const LEAST_RATE: Bitrate = Bitrate::from_kbps(10);
const MOST_RATE: Bitrate = Bitrate::from_mbps(1_000);
/// Of a link's round trip.
const MOST_RTT_S: u64 = 10;
/// Of the time between two access points.
const MOST_GAP_S: u64 = 600;

/// A path over one access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// What its access point sends, headers of IPv4 and TCP included: 10 kb/s to 1 Gb/s.
    pub rate: Bitrate,
    /// Its round trip without queue, at most 10 s.
    pub rtt: Duration,
}

/// Which of the two access points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The one that is left.
    First,
    /// The one that is reached.
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

/// What becomes of what is on its way to the access point that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It is lost.
    Lost,
    /// It is held, and the next access point gets it once the client is there.
    Forwarded,
}

/// How the client goes from one to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandOff {
    /// For so long the client is at neither, up to a quarter less or more; at most 10 minutes.
    pub gap: Duration,
    /// What becomes of what waits.
    pub left: Left,
    /// The sender is told 2 s before that the path fades.
    pub foreseen: bool,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// From 2.5 s before the first access point is left, or would be, to 2.5 s after the second is reached, or would be.
    AroundTheHandOff,
    /// The first 2.5 s of the connection.
    TheBeginning,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walk {
    /// From one access point to another.
    pub links: [Link; 2],
    /// `None`: the client stays at the first.
    pub hand_off: Option<HandOff>,
    /// What of it is told.
    pub watched: Watched,
    /// Who sends.
    pub sender: Config,
    /// Of everything that is drawn: when the hand-off is, how long its gap, and the noise.
    pub seed: u64,
}

impl Walk {
    /// Whether it can be played.
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

/// Why a walk cannot be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WalkError {
    /// A link carries nothing, or more than is worth simulating segment by segment.
    #[error("the {place} link has a rate of {rate}; give it {LEAST_RATE} to {MOST_RATE}")]
    Rate {
        /// Which.
        place: Place,
        /// Its rate.
        rate: Bitrate,
    },
    /// No path is so long.
    #[error("the {place} link has a round trip of {rtt:?}; give it at most {MOST_RTT_S} s")]
    RoundTrip {
        /// Which.
        place: Place,
        /// Its round trip.
        rtt: Duration,
    },
    /// No connection outlives it.
    #[error("a gap of {0:?} between the access points; give it at most {MOST_GAP_S} s")]
    Gap(Duration),
    /// There is no such sender.
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
    fn what_no_link_is_is_refused() {
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
    fn gaps_without_end_and_senders_without_a_window_are_refused() {
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
    fn links_at_the_limits_are_played() {
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

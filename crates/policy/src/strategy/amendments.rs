//! The order in which policies amend the ranked list of links.
//!
//! `choose::rank` makes the list, best link first. Each amendment may change the purpose or position of
//! links, and gives its reason. A later one overrules an earlier one. The last reason is the one reported.
//!
//! | policy | for all connections, in this order | for one connection, the first that applies |
//! |---|---|---|
//! | `slowhand` | overflow, steering, trial | low traffic, slow links |
//! | `slowhand-no-window` | overflow, steering, trial | |
//! | one access point at a time | steering | |
//!
//! The other policies do not amend what they want.
//!
//! | amendment | changes |
//! |---|---|
//! | overflow | promotes secondaries while the primaries are full |
//! | steering | demotes or promotes access points of one channel by their airtime |
//! | trial | puts one untested link first, where the peer takes no more subflows |
//! | low traffic | demotes all links but the one with the lowest latency |
//! | slow links | demotes links that cause head-of-line blocking |
//!
//! # Sources
//! - None of its own. Each amendment has them.
//!
//! # Where we differ, and why
//! 1. Steering comes after overflow, so that it can demote a secondary, too. The trial comes last: its link
//!    must be first in the list, whatever the others want.
//! 2. Low traffic comes before slow links. With low traffic, no link is slow: nothing waits for it.
//!
//! # Checked by
//! `tests`: the order, and that ARCHITECTURE.md has it.

use crate::choose::audition::Audition;
use crate::choose::overflow::Overflow;
use crate::choose::rank::Want;
use crate::choose::{low_traffic, slow_links};
use crate::io::ConnId;
use crate::known::state::State;
use crate::wifi::steering::{Channels, Way};
use alloc::vec;
use alloc::vec::Vec;
use units::Instant;

/// An amendment for all connections, with its state.
#[derive(Debug)]
enum Amendment {
    Overflow(Overflow),
    Steering(Channels),
    Trial(Audition),
}

/// An amendment for one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exception {
    LowTraffic,
    SlowLinks,
}

/// For one connection: the first that applies decides.
const EXCEPTIONS: [Exception; 2] = [Exception::LowTraffic, Exception::SlowLinks];

/// The amendments of a policy for all connections, in order.
#[derive(Debug)]
pub(crate) struct Amendments(Vec<Amendment>);

impl Amendments {
    /// The amendments of `slowhand`.
    pub(crate) fn of_slowhand() -> Self {
        Self(vec![
            Amendment::Overflow(Overflow::default()),
            Amendment::Steering(Channels::new(Way::ClosedLoop)),
            Amendment::Trial(Audition::default()),
        ])
    }

    /// The amendments of the policies with one access point at a time.
    pub(crate) fn of_one_at_a_time() -> Self {
        Self(vec![Amendment::Steering(Channels::new(Way::OnOff))])
    }

    /// Amends what all connections want.
    pub(crate) fn apply(&mut self, now: Instant, state: &mut State, wants: &mut Vec<Want>) {
        for amendment in &mut self.0 {
            match amendment {
                Amendment::Overflow(overflow) => overflow.apply(now, state, wants),
                Amendment::Steering(channels) => {
                    channels.look(now, state);
                    channels.apply(state, wants);
                }
                Amendment::Trial(audition) => audition.look(now, state, wants),
            }
        }
    }
}

/// What one connection wants, if that differs from what all want.
pub(crate) fn for_one(now: Instant, state: &mut State, conn: ConnId, wants: &[Want]) -> Option<Vec<Want>> {
    EXCEPTIONS.into_iter().find_map(|exception| match exception {
        Exception::LowTraffic => low_traffic::on_quickest(now, state, conn, wants),
        Exception::SlowLinks => slow_links::without_slow(now, state, conn, wants),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCHITECTURE: &str = include_str!("../../../../ARCHITECTURE.md");

    fn names(amendments: &Amendments) -> Vec<&'static str> {
        let name = |amendment: &Amendment| match amendment {
            Amendment::Overflow(_) => "overflow",
            Amendment::Steering(_) => "steering",
            Amendment::Trial(_) => "trial",
        };
        amendments.0.iter().map(name).collect()
    }

    #[test]
    fn the_order_is_the_documented_one() {
        let exceptions = EXCEPTIONS.map(|exception| match exception {
            Exception::LowTraffic => "low traffic",
            Exception::SlowLinks => "slow links",
        });
        let for_all = names(&Amendments::of_slowhand()).join(", ");
        let row = std::format!("| `slowhand` | {for_all} | {} |", exceptions.join(", "));
        assert!(ARCHITECTURE.contains(&row), "ARCHITECTURE.md lacks {row}");
        assert_eq!(names(&Amendments::of_one_at_a_time()), ["steering"]);
    }
}

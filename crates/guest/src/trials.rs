//! The trials of this project: scripts that run in the guest, by name.
//!
//! Each one writes its figures to `/share/figures.json`: one JSON object whose keys [docs/wifi-box.md]
//! explains. It fails with an exit code other than 0 if it could not measure them.
//!
//! [docs/wifi-box.md]: ../../../docs/wifi-box.md

use serde_json::Value;

/// A trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Its script.
    pub script: &'static str,
    /// Built programs of this project that it runs.
    pub programs: &'static [&'static str],
    /// The scenario of its medium. `None`: the kernel's own medium, which delivers every frame at once.
    pub scenario: Option<&'static str>,
    /// Its main figure.
    pub figure: Figure,
}

/// A figure of a trial, in the guest's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// What it is.
    pub name: &'static str,
    /// Where it is in the figures, as a JSON pointer.
    pub pointer: &'static str,
    /// What the median of several runs must not exceed.
    pub at_most: Option<f64>,
}

const GAP: Figure = Figure {
    name: "longest gap, ms",
    pointer: "/download/longest_gap_ms",
    at_most: None,
};

const RETRIES: Figure = Figure {
    name: "retries that the monitor heard, against lost first attempts, points",
    pointer: "/retries/worst_points",
    at_most: Some(1.0),
};

const ESTIMATES: Figure = Figure {
    name: "mean error of the loss that slowhand knows, points",
    pointer: "/estimates/windows/mean",
    at_most: Some(2.0),
};

/// Every trial.
pub const TRIALS: [Trial; 40] = [
    Trial {
        name: "kernel-alone",
        about: "two access points over one radio, an MPTCP download, one access point killed: Linux alone",
        script: include_str!("../guest/trials/kernel-alone.sh"),
        programs: &["wifi-meter"],
        scenario: None,
        figure: GAP,
    },
    Trial {
        name: "slowhand",
        about: "the same with `slowhand up`",
        script: include_str!("../guest/trials/slowhand.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            at_most: Some(150.0),
            ..GAP
        },
    },
    Trial {
        name: "loss-alone",
        about: "two access points on one air, which loses 20 % of one's frames and 40 % of the other's: Linux alone",
        script: include_str!("../guest/trials/loss-alone.sh"),
        programs: &["wifi-meter", "wifi-medium"],
        scenario: Some(LOSS),
        figure: RETRIES,
    },
    Trial {
        name: "loss-slowhand",
        about: "the same with `slowhand up`, whose estimates are compared with what the air has lost",
        script: include_str!("../guest/trials/loss-slowhand.sh"),
        programs: &["wifi-meter", "wifi-medium", "slowhand", "slowhandd"],
        scenario: Some(LOSS),
        figure: RETRIES,
    },
    Trial {
        name: "estimates-g",
        about: "`slowhand up` on 802.11g that loses 0 to 60 % of the frames: its estimates against the truth",
        script: include_str!("../guest/trials/estimates.sh"),
        programs: &["wifi-meter", "wifi-medium", "slowhand", "slowhandd"],
        scenario: Some(include_str!("../guest/trials/estimates-g.toml")),
        figure: ESTIMATES,
    },
    Trial {
        name: "estimates-a",
        about: "`slowhand up` on 802.11a that loses 0 to 60 % of the frames: its estimates against the truth",
        script: include_str!("../guest/trials/estimates.sh"),
        programs: &["wifi-meter", "wifi-medium", "slowhand", "slowhandd"],
        scenario: Some(include_str!("../guest/trials/estimates-a.toml")),
        figure: ESTIMATES,
    },
    Trial {
        name: "walk-alone",
        about: "a walk past three access points on one air, an MPTCP download: Linux alone",
        script: include_str!("../guest/trials/walk-alone.sh"),
        programs: &["wifi-meter", "wifi-medium"],
        scenario: Some(WALK),
        figure: GAP,
    },
    Trial {
        name: "walk-slowhand",
        about: "the same with `slowhand up`",
        script: include_str!("../guest/trials/walk-slowhand.sh"),
        programs: &["wifi-meter", "wifi-medium", "slowhand", "slowhandd"],
        scenario: Some(WALK),
        figure: Figure {
            at_most: Some(300.0),
            ..GAP
        },
    },
    Trial {
        name: "joins-walk",
        about: "the same: `slowhand up` joins the three by itself, and no attempt may fail",
        script: include_str!("../guest/trials/joins-walk.sh"),
        programs: &["wifi-meter", "wifi-medium", "slowhand", "slowhandd"],
        scenario: Some(WALK),
        figure: Figure {
            at_most: Some(300.0),
            ..GAP
        },
    },
    Trial {
        name: "joins-fades",
        about: "the same, and 20 s longer: the first access point fades, is drained and is left",
        script: include_str!("../guest/trials/joins-fades.sh"),
        programs: &["wifi-meter", "wifi-medium", "slowhand", "slowhandd"],
        scenario: Some(WALK),
        figure: Figure {
            name: "time until it is left, s",
            pointer: "/left_s",
            at_most: None,
        },
    },
    Trial {
        name: "moves-alone",
        about: "a walk from an access point to one of another channel, over one radio: Linux alone",
        script: include_str!("../guest/trials/moves-alone.sh"),
        programs: &["wifi-meter", "wifi-medium"],
        scenario: Some(MOVES),
        figure: GAP,
    },
    Trial {
        name: "joins-moves",
        about: "the same: `slowhand up` looks at other channels, and moves while it still has the first one",
        script: include_str!("../guest/trials/joins-moves.sh"),
        programs: &["wifi-meter", "wifi-medium", "slowhand", "slowhandd"],
        scenario: Some(MOVES),
        figure: GAP,
    },
    Trial {
        name: "marks",
        about: "`slowhand up`, four downloads at once: marks asked for, against packets received with CE",
        script: include_str!("../guest/trials/marks.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "packets received with CE over marks asked for, distance from 1",
            pointer: "/error",
            at_most: Some(0.01),
        },
    },
    Trial {
        name: "joins",
        about: "`slowhand up` joins the two by itself; afterwards it is stopped and killed",
        script: include_str!("../guest/trials/joins.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            at_most: Some(150.0),
            ..GAP
        },
    },
    Trial {
        name: "joins-four",
        about: "`slowhand up` joins four, one with WPA3, and refuses an impostor and a wrong key",
        script: include_str!("../guest/trials/joins-four.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            at_most: Some(150.0),
            ..GAP
        },
    },
    Trial {
        name: "joins-closed",
        about: "`slowhand up` joins two, one of which lets nothing through, and then has a captive portal",
        script: include_str!("../guest/trials/joins-closed.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time from the opening of the portal until its access point is used, s",
            pointer: "/returns_s/portal",
            at_most: Some(40.0),
        },
    },
    Trial {
        name: "joins-portal",
        about: "`slowhand up` joins two that announce a captive portal by DHCP, one of which is closed",
        script: include_str!("../guest/trials/joins-portal.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time from the opening of the portal until its access point is used, s",
            pointer: "/returns_s/portal",
            at_most: Some(40.0),
        },
    },
    Trial {
        name: "joins-beside",
        about: "`slowhand up` beside NetworkManager, which has the user's connection over the same radio",
        script: include_str!("../guest/trials/joins-beside.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "lost pings of the user's connection",
            pointer: "/users_connection/lost",
            at_most: Some(0.0),
        },
    },
    Trial {
        name: "joins-iwd",
        about: "`slowhand up` beside iwd, which has the user's connection over the same radio",
        script: include_str!("../guest/trials/joins-iwd.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "lost pings of the user's connection",
            pointer: "/users_connection/lost",
            at_most: Some(0.0),
        },
    },
    Trial {
        name: "joins-login",
        about: "`slowhand up` joins a hidden network, one with a login, an open one and one with WPA2 and WPA3",
        script: include_str!("../guest/trials/joins-login.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time until all are joined, s",
            pointer: "/joined_s",
            at_most: None,
        },
    },
    Trial {
        name: "joins-campus",
        about: "`slowhand up` joins two whose logins check a certificate, and gives an impostor no password",
        script: include_str!("../guest/trials/joins-campus.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time until both are joined, s",
            pointer: "/joined_s",
            at_most: None,
        },
    },
    Trial {
        name: "joins-channels",
        about: "`slowhand up` over a radio that serves two channels at once, with an access point on each",
        script: include_str!("../guest/trials/joins-channels.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: GAP,
    },
    Trial {
        name: "joins-elsewhere",
        about: "`slowhand up` over a radio for one channel at a time: its access point goes, and another channel has one",
        script: include_str!("../guest/trials/joins-elsewhere.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "longest gap, ms",
            pointer: "/elsewhere/longest_gap_ms",
            at_most: Some(3_000.0),
        },
    },
    Trial {
        name: "scan-cost",
        about: "what a scan and a visit to another channel cost the flows of an association: Linux alone",
        script: include_str!("../guest/trials/scan-cost.sh"),
        programs: &[],
        scenario: None,
        figure: Figure {
            name: "longest round trip during a visit of 30 ms, ms",
            pointer: "/visit/down/longest_ms",
            at_most: None,
        },
    },
    Trial {
        name: "joins-dark",
        about: "`slowhand up` joins two; one goes dark without a deauthentication, and comes back",
        script: include_str!("../guest/trials/joins-dark.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            at_most: Some(200.0),
            ..GAP
        },
    },
    Trial {
        name: "joins-new",
        about: "`slowhand up` downloads over one access point; a second one appears, goes, and comes back",
        script: include_str!("../guest/trials/joins-new.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time from the first beacon of a new access point to a subflow over it, s",
            pointer: "/new_s",
            at_most: Some(3.0),
        },
    },
    Trial {
        name: "joins-switch",
        about: "`slowhand up`; three protected access points change their channel, then one alone during a download",
        script: include_str!("../guest/trials/joins-switch.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: GAP,
    },
    Trial {
        name: "joins-radios",
        about: "`slowhand up` joins over one radio beside the user's connection over another; `handover-warm`",
        script: include_str!("../guest/trials/joins-radios.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            at_most: Some(150.0),
            ..GAP
        },
    },
    Trial {
        name: "joins-call",
        about: "`slowhand up` joins two; a UDP flow of `[networks]` while its access point goes dark, and is killed",
        script: include_str!("../guest/trials/joins-call.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "longest gap in replies, one access point dark, ms",
            pointer: "/dark/longest_gap_ms",
            at_most: Some(200.0),
        },
    },
    Trial {
        name: "joins-faults",
        about: "`slowhand up` has joined two; its supplicant, radio, clock and channel change",
        script: include_str!("../guest/trials/joins-faults.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time from the release of a blocked radio until both carry packets, s",
            pointer: "/returns_s/rfkill",
            at_most: None,
        },
    },
    Trial {
        name: "joins-addresses",
        about: "`slowhand up` joins access points with silent, wrong and equal DHCP servers, and a taken address",
        script: include_str!("../guest/trials/joins-addresses.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "declined addresses",
            pointer: "/declined",
            at_most: None,
        },
    },
    Trial {
        name: "joins-policies",
        about: "`slowhand up` under each policy that it accepts, with one network",
        script: include_str!("../guest/trials/joins-policies.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "policies under which it was not used",
            pointer: "/unused",
            at_most: Some(0.0),
        },
    },
    Trial {
        name: "joins-no-monitor",
        about: "`slowhand up` joins two over a radio whose driver refuses a monitor interface; one is killed",
        script: include_str!("../guest/trials/joins-no-monitor.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            at_most: Some(150.0),
            ..GAP
        },
    },
    Trial {
        name: "joins-harm",
        about: "`slowhand up` on a host with a cable, rules and a container: where packets go, as without it",
        script: include_str!("../guest/trials/joins-harm.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "lost pings of the container",
            pointer: "/container/lost",
            at_most: Some(0.0),
        },
    },
    Trial {
        name: "joins-leases",
        about: "`slowhand up`; two routers give one address; leases are renewed, refused, and run out",
        script: include_str!("../guest/trials/joins-leases.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: GAP,
    },
    Trial {
        name: "joins-v6",
        about: "`slowhand up` joins two access points that give IPv6 addresses alone",
        script: include_str!("../guest/trials/joins-v6.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            at_most: Some(150.0),
            ..GAP
        },
    },
    Trial {
        name: "joins-crowded",
        about: "`slowhand up` while the driver refuses a second interface, and after it allows one",
        script: include_str!("../guest/trials/joins-crowded.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time from a second free place until both carry packets, s",
            pointer: "/returns_s/both",
            at_most: Some(10.0),
        },
    },
    Trial {
        name: "joins-takeover",
        about: "`slowhand up` where the driver allows one station, which NetworkManager has: it takes its place",
        script: include_str!("../guest/trials/joins-takeover.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time from the loss of one access point until the other one carries packets, s",
            pointer: "/takes_s/other",
            at_most: Some(6.0),
        },
    },
    Trial {
        name: "joins-unit",
        about: "systemd starts, reloads, restarts and stops slowhand by its unit, which joins two; one is killed",
        script: include_str!("../guest/trials/joins-unit.sh"),
        programs: &["wifi-meter", "slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "time that a stop takes, s",
            pointer: "/unit_s/stopped",
            at_most: Some(1.0),
        },
    },
    Trial {
        name: "joins-again",
        about: "fifty times up and down, and twenty times `kill -9` at a random moment of joining",
        script: include_str!("../guest/trials/joins-again.sh"),
        programs: &["slowhand", "slowhandd"],
        scenario: None,
        figure: Figure {
            name: "rounds in which something was joined",
            pointer: "/joined",
            at_most: None,
        },
    },
];

const LOSS: &str = include_str!("../guest/trials/loss.toml");
const WALK: &str = include_str!("../guest/trials/walk.toml");
const MOVES: &str = include_str!("../guest/trials/moves.toml");

/// The trial of this name.
pub fn named(name: &str) -> Option<&'static Trial> {
    TRIALS.iter().find(|trial| trial.name == name)
}

/// The median of a figure over several runs, with its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The least value.
    pub least: f64,
    /// The median; of an even number of runs, the greater middle one.
    pub median: f64,
    /// The greatest value.
    pub most: f64,
}

impl Figure {
    /// Its spread over the figures of several runs. `None` if there are none, or if one lacks it.
    pub fn spread(&self, runs: &[Value]) -> Option<Spread> {
        let values: Option<Vec<f64>> = runs
            .iter()
            .map(|run| run.pointer(self.pointer)?.as_f64())
            .collect();
        let mut values = values.filter(|values| !values.is_empty())?;
        values.sort_by(f64::total_cmp);
        Some(Spread {
            least: values[0],
            median: values[values.len() / 2],
            most: values[values.len() - 1],
        })
    }

    /// Whether a spread is as it must be.
    pub fn holds(&self, spread: Spread) -> bool {
        self.at_most.is_none_or(|most| spread.median <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const AT_MOST_TWO: Figure = Figure {
        name: "",
        pointer: "/a/b",
        at_most: Some(2.0),
    };

    #[test]
    fn the_median_decides() {
        let runs = [3.0, 1.0, 2.0].map(|value| json!({"a": {"b": value}}));
        let spread = AT_MOST_TWO.spread(&runs).unwrap();
        let expected = Spread {
            least: 1.0,
            median: 2.0,
            most: 3.0,
        };
        assert_eq!(spread, expected);
        assert!(AT_MOST_TWO.holds(spread));
        assert!(!AT_MOST_TWO.holds(Spread {
            median: 2.1,
            ..spread
        }));
    }

    #[test]
    fn a_run_without_the_figure_has_no_spread() {
        let runs = [json!({"a": {"b": 1}}), json!({"a": 1})];
        assert_eq!(AT_MOST_TWO.spread(&runs), None);
        assert_eq!(AT_MOST_TWO.spread(&[]), None);
    }
}

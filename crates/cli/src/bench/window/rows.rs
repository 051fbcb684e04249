//! The sets of links, and what can be known of them beforehand.

use scenario::{Change, Fault, LaneRate, Link, LinkKind, Plan, Target, Window, Work};
use units::{Bitrate, Duration};

use super::connect;
use crate::bench::plans;

/// When a link is cut, drawn by the seed: so long after the first flow was to connect. However late that does so, it is 12 to 17 s after it.
const CUT: Window = Window {
    from: Duration::from_secs(12).saturating_add(connect::LATEST),
    to: Duration::from_secs(17),
};

/// What is left of a run after its cut: the gap may begin up to 3 s after it.
const AFTER_CUT: Duration = Duration::from_secs(5);

/// Payload of a full packet: 1500 B less the headers of IPv4 and of TCP with timestamps.
pub const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;

/// A set of links and what is moved over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its name, as in `slowhand bench NAME`.
    pub name: &'static str,
    text: &'static str,
}

/// A row whose scenario has its name.
macro_rules! row {
    ($name:literal) => {
        Row {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        }
    };
}

/// Three equal links with ordinary queues.
pub const EQUAL: Row = row!("window-equal");
/// Three equal links with short queues.
pub const BDP: Row = row!("window-bdp");
/// A fast link and a long one.
pub const LONG: Row = row!("window-long");
/// A link behind a buffer of a second.
pub const DEEP: Row = row!("window-deep");
/// A thin link beside two fast ones.
pub const THIN: Row = row!("window-thin");
/// The client sends.
pub const UPLOAD: Row = row!("window-upload");
/// A link that loses and delays.
pub const LOSSY: Row = row!("window-lossy");

/// All of them.
pub const ALL: [Row; 7] = [EQUAL, BDP, LONG, DEEP, THIN, UPLOAD, LOSSY];

impl Row {
    /// The plan, with this controller at the sender and nothing cut.
    pub fn plan(self, cc: &str) -> anyhow::Result<Plan> {
        let plan = plans::embedded(self.name, self.text)?;
        Ok(Plan {
            cc: cc.to_owned(),
            ..plan
        })
    }

    /// The links that are cut, one in each trial, in turn. On lossy links it is the best of the clean ones.
    fn victims(self, plan: &Plan) -> Vec<usize> {
        match self {
            LOSSY => vec![0],
            _ => fastest(plan),
        }
    }

    /// The plan of trial number `trial` with this seed: a link is cut silently, and the run ends soon after.
    pub fn cut(self, plan: &Plan, trial: usize, seed: u64) -> Plan {
        let victims = self.victims(plan);
        cut(plan, victims[trial % victims.len()], seed)
    }
}

/// The plan with this link cut silently at a moment that the seed draws.
pub fn cut(plan: &Plan, link: usize, seed: u64) -> Plan {
    let connects = plan.flows.first().map_or(Duration::ZERO, |flow| flow.start);
    let window = Window {
        from: connects + CUT.from,
        to: connects + CUT.to,
    };
    let fault = Fault {
        at: window,
        target: Target::Links(vec![link]),
        change: Change::Blackhole,
        lasts: None,
        repeat: None,
    };
    let plan = Plan {
        faults: vec![fault],
        ..plan.clone()
    };
    let at = plan
        .timeline(seed)
        .first()
        .map_or(window.to, |happening| happening.at);
    Plan {
        duration: at + AFTER_CUT,
        ..plan
    }
}

/// The links with the highest rate.
pub fn fastest(plan: &Plan) -> Vec<usize> {
    let rates: Vec<Bitrate> = plan.links.iter().map(|link| rate(plan, link)).collect();
    let highest = rates.iter().max().copied().unwrap_or_default();
    (0..rates.len()).filter(|&link| rates[link] == highest).collect()
}

/// What the links can carry of payload, all together, in Mb/s.
pub fn payload_limit_mbps(plan: &Plan) -> f64 {
    let sum: f64 = plan.links.iter().map(|link| rate(plan, link).as_mbps_f64()).sum();
    sum * PAYLOAD_SHARE
}

/// A link's rate in the direction of the plan's first flow.
fn rate(plan: &Plan, link: &Link) -> Bitrate {
    let upload = matches!(
        plan.flows.first().map(|flow| flow.work),
        Some(Work::Upload { .. })
    );
    let lane = |lane: &LaneRate| lane.mean();
    match &link.kind {
        LinkKind::Cable(cable) if upload => cable.up.rate,
        LinkKind::Cable(cable) => cable.down.rate,
        LinkKind::Cell(cell) if upload => lane(&cell.up),
        LinkKind::Cell(cell) => lane(&cell.down),
        LinkKind::Wifi(_) => Bitrate::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_plan_of_its_name() {
        for row in ALL {
            assert_eq!(row.plan("bbr").unwrap().name, row.name);
        }
    }

    #[test]
    fn equal_links_are_cut_in_turn_and_otherwise_the_fastest() {
        let victims = |row: Row| {
            let plan = row.plan("reno").unwrap();
            row.victims(&plan)
        };
        assert_eq!(victims(EQUAL), [0, 1, 2]);
        assert_eq!(victims(THIN), [0, 1]);
        assert_eq!(victims(DEEP), [0]);
        assert_eq!(victims(LOSSY), [0]);
    }

    #[test]
    fn the_cut_comes_when_the_seed_says_and_the_run_ends_five_seconds_later() {
        let plan = EQUAL.plan("reno").unwrap();
        for seed in 0..50 {
            let cut = EQUAL.cut(&plan, seed as usize, seed);
            let at = cut.timeline(seed)[0].at;
            assert!((CUT.from..=CUT.to).contains(&at), "{at:?}");
            assert_eq!(cut.duration, at + AFTER_CUT);
        }
    }

    #[test]
    fn the_cut_is_12_to_17_seconds_after_connect_however_late_that_may_be() {
        let mut plan = EQUAL.plan("reno").unwrap();
        for start in [0, 9].map(Duration::from_secs) {
            plan.flows[0].start = start;
            for seed in 0..50 {
                let at = EQUAL.cut(&plan, 0, seed).timeline(seed)[0].at;
                for connect in [start, start + connect::LATEST] {
                    let after = (at - connect).as_secs_f64();
                    assert!((12.0..=17.0).contains(&after), "{after}");
                }
            }
        }
    }

    #[test]
    fn payload_limits_are_those_of_the_design() {
        let limit = |row: Row| payload_limit_mbps(&row.plan("reno").unwrap());
        for (row, mbps) in [
            (EQUAL, 86.9),
            (LONG, 38.6),
            (DEEP, 30.9),
            (THIN, 60.8),
            (UPLOAD, 86.9),
        ] {
            assert!((limit(row) - mbps).abs() < 0.05, "{}: {}", row.name, limit(row));
        }
    }
}

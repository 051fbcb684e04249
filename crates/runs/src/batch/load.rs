//! What a run may carry, and what all that go on side by side may carry together.
//!
//! # Checked by
//! `tests`.

use scenario::{Flow, LinkKind, Plan, Transport, Work};
use std::collections::BTreeSet;
use units::Bitrate;

use super::Job;

/// What all links of the runs that go on side by side may carry together, for each processor. A guess, on the careful side of what one emulator
/// carries (the bench `emulator`), and no more than where to begin: whether runs really fit is measured while they go on, and a late one
/// is repeated alone.
const PER_PROCESSOR: Bitrate = Bitrate::from_mbps(200);

/// More than this many 802.11g stations' worth of traffic does not fit into one channel.
const WIFI_CHANNEL: Bitrate = Bitrate::from_mbps(25);

/// More side by side than this save no time worth having: each takes at least its part of the room.
pub const WIDEST: u64 = 8;

/// What all runs that go on side by side may carry together, if they are punctual.
pub fn room() -> Bitrate {
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    Bitrate::from_bps(PER_PROCESSOR.as_bps() * processors)
}

impl Job {
    /// What it carries at most, and of the room no less than its part.
    pub(super) fn carries(&self, room: Bitrate) -> Bitrate {
        let offered = offered(&self.plan, self.policy.only_link());
        let carries = match self.programs {
            // Nobody knows what programs ask for.
            Some(_) => offered,
            None => asked(&self.plan).map_or(offered, |asked| asked.min(offered)),
        };
        carries.max(Bitrate::from_bps(room.as_bps() / WIDEST))
    }
}

/// What the applications of a plan ask for, if each of them asks for so much and no more.
fn asked(plan: &Plan) -> Option<Bitrate> {
    let limits = plan.flows.iter().map(|flow| match flow.work {
        Work::Download { limit, .. } | Work::Upload { limit, .. } => limit,
        Work::Requests { .. } | Work::Datagrams { .. } => None,
    });
    limits.sum()
}

/// What the links of a plan carry to the client at most, all together, or the only one that MPTCP may use and those of flows that have their own.
fn offered(plan: &Plan, only: Option<&str>) -> Bitrate {
    let own = |flow: &Flow| match flow.transport {
        Transport::Mptcp => None,
        Transport::Tcp { over } | Transport::Udp { over } => Some(over),
    };
    let own: BTreeSet<usize> = plan.flows.iter().filter_map(own).collect();
    let used = |index: usize| only.is_none_or(|only| only == plan.links[index].name) || own.contains(&index);
    let mut channels = BTreeSet::new();
    let mut behind = vec![0; plan.bottlenecks.len()];
    let mut direct = 0;
    for index in (0..plan.links.len()).filter(|&index| used(index)) {
        match &plan.links[index].kind {
            LinkKind::Wifi(ap) => {
                channels.insert(ap.channel);
            }
            LinkKind::Cell(cell) => direct += cell.down.mean().as_bps(),
            LinkKind::Cable(cable) => {
                let sum = cable.behind.map_or(&mut direct, |index| &mut behind[index]);
                *sum += cable.down.rate.as_bps();
            }
        }
    }
    let shared = std::iter::zip(&plan.bottlenecks, behind).map(|(shared, sum)| shared.down.as_bps().min(sum));
    let wifi = WIFI_CHANNEL.as_bps() * channels.len() as u64;
    Bitrate::from_bps(wifi + direct + shared.sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{job, plan};
    use super::*;
    use trace::PolicyName;

    #[test]
    fn cables_carry_no_more_than_the_bottleneck_that_they_share() {
        let plan = plan(
            "cc-share-4.toml",
            include_str!("../../../bench/src/scenarios/cc-share-4.toml"),
        );
        assert_eq!(offered(&plan, None), Bitrate::from_mbps(40));
    }

    #[test]
    fn one_channel_counts_once_however_many_access_points_share_it() {
        let plan = plan(
            "building-walk.toml",
            include_str!("../../../../scenarios/building-walk.toml"),
        );
        assert_eq!(offered(&plan, None), Bitrate::from_mbps(25 + 12));
        assert_eq!(offered(&plan, Some("lte")), Bitrate::from_mbps(12));
    }

    #[test]
    fn a_flow_that_has_a_link_of_its_own_counts_whatever_the_policy() {
        let links = "[cables.a]\nrate_mbps = 90\nrtt_ms = 10\n[cables.b]\nrate_mbps = 30\nrtt_ms = 10\n";
        let flows = "[flows.f]\ndirection = \"down\"\n[flows.g]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"a\"\n";
        let text = format!("sentence = \"x\"\nduration_s = 2\n{links}{flows}");
        let plan = plan("own.toml", &text);
        assert_eq!(offered(&plan, Some("b")), Bitrate::from_mbps(120));
    }

    #[test]
    fn a_run_carries_what_is_offered_unless_less_is_asked_for() {
        let room = Bitrate::from_mbps(160);
        let carries = |links: &str, flows: &str, policy| {
            let text = format!("sentence = \"x\"\nduration_s = 2\n{links}{flows}");
            let plan = plan("asked.toml", &text);
            job(&plan, policy).carries(room)
        };
        let two = "[cables.a]\nrate_mbps = 90\nrtt_ms = 10\n[cables.b]\nrate_mbps = 30\nrtt_ms = 10\n";
        let all = "[flows.f]\ndirection = \"down\"\n";
        assert_eq!(carries(two, all, PolicyName::Mptcp), Bitrate::from_mbps(120));
        let only = |name: &str| PolicyName::Tcp(name.to_owned());
        assert_eq!(carries(two, all, only("b")), Bitrate::from_mbps(30));
        let limited = |mbps: u64| format!("[flows.f]\ndirection = \"down\"\nlimit_mbps = {mbps}\n");
        assert_eq!(
            carries(two, &limited(50), PolicyName::Mptcp),
            Bitrate::from_mbps(50)
        );
        let both = format!("{}[flows.g]\ndirection = \"up\"\n", limited(50));
        let takes = carries(two, &both, PolicyName::Mptcp);
        assert_eq!(takes, Bitrate::from_mbps(120), "the other takes what it gets");
        let least = carries(two, &limited(5), PolicyName::Mptcp);
        assert_eq!(least, Bitrate::from_mbps(160 / WIDEST));
    }
}

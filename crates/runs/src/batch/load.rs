//! Estimates the load of a run, and how much load may run side by side.
//!
//! # Checked by
//! `tests`.

use scenario::{Flow, LinkKind, Plan, Transport, Work};
use std::collections::BTreeSet;
use units::Bitrate;

use super::Job;

/// Load that the links of all runs side by side may carry, per processor. It is a conservative guess from
/// what one emulator carries (the bench `emulator`), and only the starting value. Whether runs really fit is
/// measured while they run, and a late one is repeated alone.
const PER_PROCESSOR: Bitrate = Bitrate::from_mbps(200);

/// Greatest load of one channel: no more 802.11g traffic fits into it.
const WIFI_CHANNEL: Bitrate = Bitrate::from_mbps(25);

/// Most runs side by side; more save no useful time. Each takes at least its share of the room.
pub const WIDEST: u64 = 8;

/// Load that all runs side by side may carry, if they are punctual.
pub fn room() -> Bitrate {
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    Bitrate::from_bps(PER_PROCESSOR.as_bps() * processors)
}

impl Job {
    /// Greatest load of the run, and at least its share of the room.
    pub(super) fn carries(&self, room: Bitrate) -> Bitrate {
        let offered = offered(&self.plan, self.policy.only_link());
        let carries = match self.programs {
            // The load of programs is unknown.
            Some(_) => offered,
            None => asked(&self.plan).map_or(offered, |asked| asked.min(offered)),
        };
        carries.max(Bitrate::from_bps(room.as_bps() / WIDEST))
    }
}

/// Load that a plan's applications ask for. `None` unless each of them has a limit.
fn asked(plan: &Plan) -> Option<Bitrate> {
    let limits = plan.flows.iter().map(|flow| match flow.work {
        Work::Download { limit, .. } | Work::Upload { limit, .. } => limit,
        Work::OnOff { .. }
        | Work::Requests { .. }
        | Work::Stripe { .. }
        | Work::Swarm { .. }
        | Work::Datagrams { .. } => None,
    });
    limits.sum()
}

/// Greatest load to the client over all links of a plan. With `only`, counts that link, and those of flows
/// that have their own.
fn offered(plan: &Plan, only: Option<&str>) -> Bitrate {
    let own = |flow: &Flow| match flow.transport {
        Transport::Mptcp | Transport::EachLink | Transport::EachPeer { .. } => None,
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

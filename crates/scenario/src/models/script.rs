//! The script of a run: the walks of everybody and of access points, and the faults, in the order of time.

use super::background::station_owners;
use super::{position, residents};
use crate::plan::{Plan, Walker};
use crate::timeline::{self, Effect};
use links::{Fault, FaultTarget, LinkId, Other, Position, Scheduled, Step};
use units::{Duration, Instant};

/// Interval between updates of a walker's position.
const STRIDE: Duration = Duration::from_millis(100);

/// The whole script of a run with this seed, in the order of time.
pub fn script(plan: &Plan, seed: u64) -> Vec<Scheduled> {
    let faults = plan.timeline(seed).into_iter().map(|happening| {
        let whom = whom(happening.fault, happening.whom);
        Scheduled {
            at: Instant::ZERO + happening.at,
            step: step(whom, happening.effect),
        }
    });
    let client = plan.walkers.first().into_iter();
    let own = client.flat_map(|client| walk(client, plan.duration, Step::Move));
    let carried = plan.access_points().filter_map(|(link, ap)| {
        let carry = move |there| Step::Carry(LinkId(link as u16), there);
        Some(walk(&plan.walkers[ap.carried_by?], plan.duration, carry))
    });
    let others = others(plan).flat_map(|(other, by)| {
        let step = move |there| Step::MoveOther(other, there);
        walk(&plan.walkers[by], plan.duration, step)
    });
    let walks = own.chain(carried.flatten()).chain(others);
    let mut all: Vec<Scheduled> = walks.chain(faults).collect();
    // The sort is stable: steps of the timeline at one moment keep their order.
    all.sort_by_key(|scheduled| scheduled.at);
    all
}

/// The radios that are not the client's, each with the index of its walker.
fn others(plan: &Plan) -> impl Iterator<Item = (Other, usize)> {
    let hosts = (0..).map(Other::Host).zip(residents(plan));
    let on_air = hosts.filter(|(_, resident)| resident.has_radio(plan));
    let stations = (0..).map(Other::Station).zip(station_owners(plan));
    on_air.map(|(host, resident)| (host, resident.by)).chain(stations)
}

fn whom(fault: usize, whom: timeline::FaultTarget) -> FaultTarget {
    match whom {
        timeline::FaultTarget::Link(link) => FaultTarget::Link(LinkId(link as u16)),
        timeline::FaultTarget::Busiest { round } => {
            FaultTarget::Busiest((fault as u32) << 16 | round & 0xffff)
        }
    }
}

const fn step(whom: FaultTarget, effect: Effect) -> Step {
    match effect {
        Effect::Blackhole(on) => Step::Fault(whom, Fault::Blackhole(on)),
        Effect::Down(down) => Step::Fault(whom, Fault::Down(down)),
        Effect::Rate { up, down } => Step::Fault(whom, Fault::Rate { up, down }),
        Effect::Attenuation(loss) => Step::Fault(whom, Fault::Attenuation(loss)),
        Effect::NewAddress => Step::Renew(whom),
    }
}

/// A walker's position every [`STRIDE`], as long as it moves.
fn walk(walker: &Walker, duration: Duration, step: impl Fn(Position) -> Step) -> Vec<Scheduled> {
    let strides = (duration.as_nanos() / STRIDE.as_nanos()) as u32;
    let mut here = walker.position(Duration::ZERO);
    let moves = (1..=strides).filter_map(|stride| {
        let at = STRIDE * stride;
        let there = walker.position(at);
        (std::mem::replace(&mut here, there) != there).then(|| Scheduled {
            at: Instant::ZERO + at,
            step: step(position(there)),
        })
    });
    moves.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bitrate;

    fn plan(text: &str) -> Plan {
        let no_files = |file: &str| Err(std::io::Error::other(file.to_owned()));
        let whole = format!(
            "sentence = \"For a test.\"\nduration_s = 10\n[cables.left]\nrate_mbps = 20\nrtt_ms = 20\n[cables.right]\n\
             rate_mbps = 10\nrtt_ms = 40\n[flows.download]\ndirection = \"down\"\n{text}"
        );
        crate::parse("test.toml", whole.as_bytes(), &[], &no_files)
            .unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn a_new_address_comes_before_its_link() {
        let plan =
            plan("[[faults]]\nat_s = 2\nfor_s = 1\nlink = \"right\"\nkind = \"down\"\nnew_address = true\n");
        let whom = FaultTarget::Link(LinkId(1));
        let steps: Vec<Step> = script(&plan, 1)
            .into_iter()
            .map(|scheduled| scheduled.step)
            .collect();
        assert_eq!(
            steps,
            [
                Step::Fault(whom, Fault::Down(true)),
                Step::Renew(whom),
                Step::Fault(whom, Fault::Down(false))
            ]
        );
    }

    #[test]
    fn a_fault_of_the_busiest_link_ends_on_the_same_link() {
        let plan =
            plan("[[faults]]\nat_s = 2\nfor_s = 1\nevery_s = 4\nlink = \"busiest\"\nkind = \"blackhole\"\n");
        let rounds: Vec<FaultTarget> = script(&plan, 1)
            .into_iter()
            .map(|scheduled| match scheduled.step {
                Step::Fault(whom, Fault::Blackhole(_)) => whom,
                other => panic!("{other:?}"),
            })
            .collect();
        let [a, b, c, d] = rounds[..] else {
            panic!("{rounds:?}")
        };
        assert!(a == b && c == d && a != c, "{rounds:?}");
    }

    #[test]
    fn a_rate_goes_back_to_the_planned_one() {
        let plan = plan("[[faults]]\nat_s = 2\nfor_s = 1\nlink = \"left\"\nkind = \"rate\"\nrate_mbps = 5\n");
        let rates: Vec<Bitrate> = script(&plan, 1)
            .into_iter()
            .filter_map(|scheduled| match scheduled.step {
                Step::Fault(_, Fault::Rate { down, .. }) => Some(down),
                _ => None,
            })
            .collect();
        assert_eq!(rates, [Bitrate::from_mbps(5), Bitrate::from_mbps(20)]);
    }

    #[test]
    fn a_walk_is_reported_until_it_ends() {
        let plan =
            plan("[walkers.client]\nway = [{ at_m = [0, 0], t_s = 1 }, { at_m = [10, 0], t_s = 3 }]\n");
        let places: Vec<(u64, i64)> = script(&plan, 1)
            .into_iter()
            .map(|scheduled| match scheduled.step {
                Step::Move(here) => (scheduled.at.as_millis(), here.x_mm),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(places.len(), 20);
        assert_eq!((places[0], places[19]), ((1_100, 500), (3_000, 10_000)));
    }

    #[test]
    fn hosts_and_stations_of_other_walkers_move_with_them() {
        let way = |name: &str, to: u32| {
            format!(
                "[walkers.{name}]\nway = [{{ at_m = [0, 0], t_s = 0 }}, {{ at_m = [{to}, 0], t_s = 1 }}]\n"
            )
        };
        let text = [
            "[aps.yard]\nat_m = [0, 0]\nchannel = 1\nbackhaul = { rate_mbps = 9, rtt_ms = 9 }\n\
             [aps.hall]\nat_m = [0, 0]\nchannel = 6\nbackhaul = { rate_mbps = 9, rtt_ms = 9 }\n[walkers.client]\nat_m = [0, 0]\n",
            &way("idle", 1),
            &way("guard", 2),
            &way("porter", 3),
            &way("clerk", 4),
            "[flows.theirs]\ndirection = \"down\"\nby = \"clerk\"\n",
            "[flows.wired]\ndirection = \"down\"\nby = \"porter\"\ntransport = \"tcp\"\nover = \"left\"\n",
            "[flows.other]\nby = \"guard\"\ntransport = \"udp\"\nover = \"yard\"\ndirection = \"up\"\n",
            "[flows.probe]\nby = \"guard\"\ntransport = \"udp\"\nover = \"hall\"\ndirection = \"up\"\n",
            "[flows.more]\nby = \"guard\"\ntransport = \"udp\"\nover = \"hall\"\ndirection = \"down\"\n",
        ];
        let all = script(&plan(&text.concat()), 1);
        let ends: Vec<(Other, i64)> = all
            .iter()
            .filter(|scheduled| scheduled.at == Instant::from_secs(1))
            .map(|scheduled| match scheduled.step {
                Step::MoveOther(other, there) => (other, there.x_mm),
                other => panic!("{other:?}"),
            })
            .collect();
        // The porter's host, number 0, has a cable only.
        let stations = [0, 1].map(|number| (Other::Station(number), 2_000));
        assert_eq!(ends, [&[(Other::Host(1), 4_000)][..], &stations].concat());
        assert_eq!(all.len(), 30);
    }
}

//! Every benchmark, declared once.

use crate::coupled::{self, cla_steps};
use crate::declaration::{Bench, Figure, Trials};
use crate::emulator::{self, both_worlds, lab_tcp};
use crate::host::{
    dead_idle, fade, networks, networks_cuts, networks_load, removals, resume, stall, up_down, walk,
};
use crate::speed::{engine, estimator, links};
use crate::{air, relay, transport, window, worlds};

const WITH_RENO_AND_BBR: &str = "with each of reno and bbr";
const OF_EACH: &str = "of each sender";

/// All benchmarks, in the order in which they are measured and listed.
pub const ALL: &[Bench] = &[
    Bench::rooted(
        &[Figure::less("stall-drop", "ms", "one of three 50 Mb/s links silently drops everything: longest gap").quoted()],
        &[Trials::count(60)],
        stall::drop,
    ),
    Bench::rooted(
        &[Figure::less("stall-backup", "ms", "the only good link silently drops everything, a backup remains: longest gap").quoted()],
        &[Trials::count(20)],
        stall::backup,
    ),
    Bench::rooted(
        &[Figure::less("resume", "ms", "all links are gone for 5 s, one returns with a new address: time until new bytes").quoted()],
        &[Trials::count(20)],
        resume::run,
    ),
    Bench::rooted(
        &[Figure::less("fade", "ms", "a signal sinks until no packet gets through: longest gap").quoted()],
        &[Trials::count(20)],
        fade::run,
    ),
    Bench::rooted(
        &[Figure::less("dead-idle", "s", "a router's uplink dies while no connection is open: time from a program's first attempt (one every 0.5 s) to its first connection").quoted()],
        &[Trials::of(20, "half of them with a known resolver")],
        dead_idle::dead,
    ),
    Bench::rooted(
        &[Figure::less("healthy-idle", "packets/min", "two links while no connection is open and nothing is wrong: packets with neighbour discovery").quoted()],
        &[Trials::of(1, "of 10 minutes")],
        dead_idle::healthy,
    ),
    Bench::rooted(
        &[Figure::less("networks-silent", "ms", "with `[networks]`, the link of a UDP flow (100 packets/s) silently drops everything: gap in its replies")],
        &[Trials::of(20, "and 20 without `[networks]`")],
        networks::silent,
    ),
    Bench::rooted(
        &[Figure::less("networks-down", "ms", "the same where the link goes down")],
        &[Trials::of(20, "and 20 without `[networks]`")],
        networks::down,
    ),
    Bench::rooted(
        &[Figure::less("networks-wrong", "count", "moves of a UDP flow whose server pauses, whose links lose 20 %, which speaks in bursts, or whose LTE has gaps of 300 ms")],
        &[Trials::of(1, "of a minute each")],
        networks::wrong,
    ),
    Bench::rooted(
        &[Figure::less("networks-cuts", "count", "an upload in a session that survives new addresses, as in QUIC and WireGuard: cuts of its link, of 20, that stop it for 2 s")],
        &[Trials::of(1, "with and 1 without `[networks]`")],
        networks_cuts::run,
    ),
    Bench::rooted(
        &[Figure::less("networks-cost", "ratio", "processor time for each byte of a UDP flow of 250 Mb/s with `[networks]`, over that without")],
        &[Trials::of(5, "with and 5 without")],
        networks_load::cost,
    ),
    Bench::rooted(
        &[Figure::less("networks-flows", "count", "flows that left by the wrong link, of 10,000 new UDP flows a second with a rule for one of two links")],
        &[Trials::of(3, "of 5 seconds")],
        networks_load::flows,
    ),
    Bench::rooted(
        &[Figure::less("wrong-removals", "count", "links declared dead although they delivered").quoted()],
        &[Trials::of(2, "runs of 10 minutes")],
        removals::run,
    ),
    Bench::rooted(
        &[Figure::less("up-down", "failures", "up and down under load, and kill -9 at random moments: rounds after which the host was not as before").quoted()],
        &[Trials::of(1_000, "of down"), Trials::of(200, "of kill -9")],
        up_down::run,
    ),
    Bench::rooted(
        &[Figure::more("walk", "ratio", "goodput on `building-walk` over that of the best single network in hindsight").quoted()],
        &[Trials::of(3, "seeds")],
        walk::run,
    ),
    Bench::rooted(
        &[
            Figure::more("emulator", "Mb/s", "goodput over 4 links of 250 Mb/s in the lab").quoted(),
            Figure::less("emulator-late", "µs", "99th percentile of lateness in the same runs"),
            Figure::less("emulator-cpu", "cores", "processor cores that the same runs use"),
        ],
        &[Trials::count(5)],
        emulator::run,
    ),
    Bench::rooted(
        &[Figure::more("lab-udp", "Mb/s", "goodput of datagrams over two access points of the exact medium: the lab beside virtual time")],
        &[Trials::count(3)],
        both_worlds::udp,
    ),
    Bench::rooted(
        &[Figure::more("lab-tcp", "ratio", "goodput of an MPTCP download over the same access points, under mptcp, ecn and slowhand, over that of datagrams")],
        &[Trials::of(3, "of each policy")],
        lab_tcp::run,
    ),
    Bench::rooted(
        &[Figure::less("lab-late", "µs", "99th percentile of lateness with more than 100 Mb/s on the exact medium and a listener for every frame")],
        &[Trials::count(5)],
        both_worlds::late,
    ),
    Bench::rooted(
        &[Figure::less("window-equal", "ms", "three 30 Mb/s links, one dies 12 to 17 s into a download: longest gap, and goodput over the stock kernel's").quoted()],
        &[Trials::of(20, WITH_RENO_AND_BBR)],
        window::equal,
    ),
    Bench::rooted(
        &[Figure::less("window-bdp", "ms", "the same over three 50 Mb/s links with short queues")],
        &[Trials::of(20, WITH_RENO_AND_BBR)],
        window::bdp,
    ),
    Bench::rooted(
        &[Figure::less("window-long", "ms", "the same over a short link and a long one")],
        &[Trials::of(20, WITH_RENO_AND_BBR)],
        window::long,
    ),
    Bench::rooted(
        &[Figure::less("window-deep", "ms", "the same over a short link and a slower one with a long queue")],
        &[Trials::of(20, WITH_RENO_AND_BBR)],
        window::deep,
    ),
    Bench::rooted(
        &[Figure::less("window-thin", "ms", "the same with a link of 3 Mb/s beside two of 30 Mb/s")],
        &[Trials::of(20, WITH_RENO_AND_BBR)],
        window::thin,
    ),
    Bench::rooted(
        &[Figure::less("window-upload", "ms", "the same in an upload")],
        &[Trials::of(20, WITH_RENO_AND_BBR)],
        window::upload,
    ),
    Bench::rooted(
        &[Figure::less("window-lossy", "ms", "the same over links that lose packets")],
        &[Trials::of(20, WITH_RENO_AND_BBR)],
        window::lossy,
    ),
    Bench::rooted(
        &[Figure::more("window-never-worse", "ratio", "lowest ratio of goodput to the stock kernel's and to the best link's while no link dies; takes an hour, and prints each result at once")],
        &[Trials::of(3, "walks with each of reno and bbr, and one of each set of links")],
        window::worse,
    ),
    Bench::rooted(
        &[Figure::less("window-false", "count", "links wrongly declared dead in ten minutes without a fault")],
        &[Trials::of(13, "runs")],
        window::mistakes,
    ),
    Bench::rooted(
        &[Figure::less("window-request", "ratio", "a small request every 200 ms beside a download: 99th percentile of its time over the stock kernel's").quoted()],
        &[Trials::of(5, WITH_RENO_AND_BBR)],
        window::request,
    ),
    Bench::rooted(
        &[Figure::less("window-step", "s", "a link's rate halves and doubles: time until goodput reaches what the links allow")],
        &[Trials::of(5, WITH_RENO_AND_BBR)],
        window::step,
    ),
    Bench::rooted(
        &[Figure::less("window-cost", "% of a core", "processor time of the daemon and its BPF programs, with each way to limit windows")],
        &[Trials::of(3, WITH_RENO_AND_BBR)],
        window::cost,
    ),
    Bench::rooted(
        &[Figure::less("window-levers", "ms", "goodput and longest gap after a link silently drops everything, with each way to limit windows")],
        &[Trials::of(10, WITH_RENO_AND_BBR)],
        window::levers,
    ),
    Bench::rooted(
        &[Figure::more("relay-goodput", "ratio", "plain TCP through agent and relay over three 50 Mb/s links: goodput over that of MPTCP at both ends")],
        &[Trials::of(5, "of each")],
        relay::goodput,
    ),
    Bench::rooted(
        &[Figure::less("relay-drop", "ms", "one of three 50 Mb/s links in front of a relay silently drops everything: longest gap, beside the kernel alone")],
        &[Trials::of(20, "of each policy")],
        relay::drop,
    ),
    Bench::rooted(
        &[Figure::more("relay-bypass", "%", "second connections to an MPTCP server that go past the relay")],
        &[Trials::count(9)],
        relay::bypass,
    ),
    Bench::rooted(
        &[Figure::more("relay-agent", "ratio", "plain TCP through the agent on the direct way over 300 Mb/s: goodput over that of an MPTCP application")],
        &[Trials::of(5, "of each")],
        relay::agent,
    ),
    Bench::rooted(
        &[Figure::less("relay-first-byte", "ms", "first byte of a reply, client to relay 50 ms and relay to server 30 ms: how much later than by plain TCP over 80 ms")],
        &[Trials::of(5, "of each")],
        relay::first_byte,
    ),
    Bench::rooted(
        &[
            Figure::more("relay-speed", "GB/s", "bytes through a relay on loopback, both directions, beside HAProxy with MPTCP"),
            Figure::less("relay-cpu", "s/GB", "processor time of the relay in the same runs"),
        ],
        &[Trials::of(5, "in each direction")],
        relay::speed,
    ),
    Bench::rooted(
        &[Figure::more("relay-rate", "1/s", "connections with a reply of 1 KiB through a relay on loopback, beside HAProxy")],
        &[Trials::count(5)],
        relay::rate,
    ),
    Bench::rooted(
        &[Figure::less("relay-idle", "KiB", "resident memory of a relay for each of 10,000 idle connections, beside HAProxy")],
        &[Trials::count(1)],
        relay::idle,
    ),
    Bench::rooted(
        &[Figure::less("relay-hostile", "count", "100,000 requests of strangers, and for addresses beyond a key's rights: connections that left the relay")],
        &[Trials::count(1)],
        relay::hostile,
    ),
    Bench::rooted(
        &[Figure::more("relay-intact", "%", "10,000 flows through a relay that end, half-close or are reset at random: flows whose bytes arrived as sent")],
        &[Trials::count(1)],
        relay::intact,
    ),
    Bench::rooted(
        &[Figure::more("window-mixes", "ratio", "goodput over the stock kernel's with links drawn at random; takes half an hour, and prints each result at once")],
        &[Trials::of(5, WITH_RENO_AND_BBR)],
        window::mixes,
    ),
    Bench::rooted(
        &[
            Figure::more("worlds", "ratio", "goodput in virtual time over that on this kernel, with the same policies, scenarios and random links: the median of the ratio furthest from 1; takes an hour"),
            Figure::less("worlds-stalls", "count", "longest stalls in the same runs that differ by more than 30 % and 50 ms"),
            Figure::less("worlds-order", "count", "pairs of policies in another order of goodput in virtual time"),
        ],
        &[Trials::of(5, "of each policy in each scenario, with each of reno and cubic")],
        worlds::run,
    ),
    Bench::rooted(
        &[Figure::less("cc-share-2", "TCPs", "throughput of 2 subflows at a bottleneck, over that of a TCP connection beside them")],
        &[Trials::of(10, "and 10 of uncoupled reno")],
        coupled::share_two,
    ),
    Bench::rooted(
        &[Figure::less("cc-share-4", "TCPs", "the same of 4 subflows")],
        &[Trials::of(10, "and 10 of uncoupled reno")],
        coupled::share_four,
    ),
    Bench::rooted(
        &[Figure::more("cc-disjoint", "ratio", "goodput over uncoupled reno's on two paths without competition")],
        &[Trials::of(5, OF_EACH)],
        coupled::disjoint,
    ),
    Bench::rooted(
        &[Figure::less("cc-shift", "ratio", "share of the traffic that stays on a path with four competing TCP connections, also with AQM")],
        &[Trials::of(3, OF_EACH)],
        coupled::shift,
    ),
    Bench::rooted(
        &[Figure::less("cc-respond", "s", "time to use the new capacity of a path")],
        &[Trials::of(3, OF_EACH)],
        coupled::respond,
    ),
    Bench::rooted(
        &[Figure::less("cc-cost", "ns", "processor time of a controller per acknowledgement, with 2 subflows")],
        &[Trials::count(3)],
        coupled::cost_two,
    ),
    Bench::rooted(
        &[Figure::less("cc-cost-8", "ns", "the same with 8 subflows")],
        &[Trials::count(3)],
        coupled::cost_eight,
    ),
    Bench::rooted(
        &[Figure::more("cc-handoff", "ratio", "two hand-offs with LTE beside them, down and up: goodput over uncoupled reno's, and retransmissions")],
        &[Trials::of(10, OF_EACH)],
        coupled::handoff,
    ),
    Bench::rooted(
        &[Figure::more("cc-handoff-thin", "ratio", "the same with LTE at 6 Mb/s, slower than the WiFi")],
        &[Trials::of(10, OF_EACH)],
        coupled::handoff_thin,
    ),
    Bench::rooted(
        &[Figure::more("cc-handoff-rates", "Mb/s", "the same with LTE from 4 to 15 Mb/s: the highest rate at which there is a gain")],
        &[Trials::of(2, OF_EACH)],
        coupled::handoff_rates,
    ),
    Bench::rootless(
        &[
            Figure::more("window-mixes-sim", "ratio", "goodput over the stock kernel's in virtual time, with 24 sets of links drawn at random and two more; prints each result at once, and takes an hour"),
            Figure::more("window-mixes-sim-link", "ratio", "the same over plain TCP on the best of the links"),
            Figure::less("window-mixes-sim-stall", "ratio", "longest gap after a silent cut of the fastest link, over the stock kernel's"),
        ],
        &[Trials::of(10, "of each policy in each set, with each of reno and cubic; --seed is the first mix")],
        window::in_virtual_time,
    ),
    Bench::rootless(
        &[Figure::more("cla-steps", "Mb/s", "hand-offs under an open connection, in virtual time: goodput with CLA's whole hand-off stage, over CLA in the kernel; retransmissions and the longest silence with each step")],
        &[Trials::of(5, "seeds; the README of bpf/cc has seeds 0 to 4")],
        cla_steps::foreseen,
    ),
    Bench::rootless(
        &[Figure::more("cla-steps-unforeseen", "Mb/s", "the same without a warning to the sender before each hand-off")],
        &[Trials::of(5, "seeds")],
        cla_steps::unforeseen,
    ),
    Bench::rootless(
        &[Figure::more("cla-steps-duplicates", "Mb/s", "the same with senders without RACK")],
        &[Trials::of(5, "seeds")],
        cla_steps::duplicates,
    ),
    Bench::rootless(
        &[Figure::more("links", "packets/s", "packets through the models of links, without a kernel")],
        &[Trials::count(5)],
        links::run,
    ),
    Bench::rootless(
        &[Figure::more("estimator", "frames/s", "frames through the delivery estimator, on one core")],
        &[Trials::count(5)],
        estimator::run,
    ),
    Bench::rootless(
        &[
            Figure::less("engine", "ns", "one received frame through the engine"),
            Figure::less("engine-64", "ratio", "the same with 64 links, over that with 4"),
        ],
        &[Trials::count(5)],
        engine::run,
    ),
    Bench::rootless(
        &[Figure::more("dcf-1", "packets/s", "a saturated 802.11a station in virtual time: packets delivered per second of wall time, beside ns-3")],
        &[Trials::count(5)],
        air::cell_of_1,
    ),
    Bench::rootless(
        &[Figure::more("dcf-10", "packets/s", "the same with 10 stations")],
        &[Trials::count(5)],
        air::cell_of_10,
    ),
    Bench::rootless(
        &[Figure::more("dcf-50", "packets/s", "the same with 50 stations")],
        &[Trials::count(5)],
        air::cell_of_50,
    ),
    Bench::rootless(
        &[Figure::more("tcp-air", "packets/s", "a TCP download over a 20 Mb/s wire and 802.11a in virtual time, 60 s: packets delivered per second of wall time, beside ns-3")],
        &[Trials::count(5)],
        transport::over_the_air,
    ),
    Bench::rootless(
        &[Figure::more("mptcp-2x1", "packets/s", "an MPTCP download under LIA over two 25 Mb/s paths in virtual time, 65 s: packets delivered per second of wall time, beside htsim, which has no headers, SACK, delayed ACKs or data sequence numbers")],
        &[Trials::count(5)],
        transport::one_connection,
    ),
    Bench::rootless(
        &[Figure::more("mptcp-2x100", "packets/s", "the same of 100 such connections, each over two paths of its own")],
        &[Trials::count(5)],
        transport::hundred_connections,
    ),
    Bench::rootless(
        &[Figure::less("growth", "ratio", "time of an attempt in a network of 1,000 access points over one of 10, channel by channel on all cores")],
        &[Trials::count(5)],
        air::growth,
    ),
    Bench::rootless(
        &[Figure::less("memory-station", "bytes", "heap for one more saturated station")],
        &[Trials::count(1)],
        air::memory,
    ),
    Bench::rootless(
        &[Figure::less("memory-connection", "bytes", "heap for one more idle MPTCP connection with two subflows, both ends together")],
        &[Trials::count(1)],
        transport::memory,
    ),
    Bench::rootless(
        &[Figure::more("sweep-2", "ratio", "64 runs in virtual time: speed of two cores over one")],
        &[Trials::count(5)],
        air::sweep,
    ),
    Bench::rootless(
        &[Figure::less("fig6a", "s", "nsdi15's figure 6a in virtual time: 120 combinations of 60 s, three seeds, one policy, on all cores")],
        &[Trials::count(1)],
        air::fig6a,
    ),
];

/// Every figure there is.
pub fn figures() -> impl Iterator<Item = &'static Figure> {
    ALL.iter().flat_map(|bench| bench.figures)
}

/// The benchmark with the figure of this name.
#[cfg(test)]
pub fn bench(name: &str) -> &'static Bench {
    let has = |bench: &&Bench| bench.figures.iter().any(|figure| figure.name == name);
    ALL.iter().find(has).unwrap()
}

/// A row without values for the figure of this name.
#[cfg(test)]
pub fn row(name: &str) -> trace::BenchRow {
    let setup = crate::declaration::Setup {
        bench: bench(name),
        asked_trials: None,
        beside: None,
        cc: None,
        seed: 1,
    };
    setup.row(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_there_once_and_every_benchmark_has_a_figure_and_trials() {
        let names: Vec<&str> = figures().map(|figure| figure.name).collect();
        assert_eq!(BTreeSet::from_iter(&names).len(), names.len(), "{names:?}");
        for bench in ALL {
            let figure = bench.figures.first().expect("a figure");
            assert!(
                bench.trials.iter().all(|trials| trials.count > 0),
                "{}",
                figure.name
            );
            assert!(!bench.trials.is_empty(), "{}", figure.name);
        }
    }

    #[test]
    fn the_seeds_of_the_hand_off_stage_are_those_of_the_simulator() {
        let seeds = sim::handoff::SEEDS;
        assert_eq!(
            u64::from(bench("cla-steps").trials[0].count),
            seeds.end - seeds.start
        );
    }
}

//! The exact sentence of every reason, as users read it.

mod flows;
mod states;

use crate::io::radios::{Occupant, Refused as NoCycle};
use crate::io::reason::*;
use crate::io::{FlowId, JoinFailure, LinkId, RadioId, Role, Trust};
use std::collections::{BTreeMap, BTreeSet};
use std::string::{String, ToString};
use std::vec::Vec;
use units::{Bitrate, Bytes, Db, Dbm, Duration, Ratio};

const DECISIONS: &str = include_str!("../../../../docs/decisions.md");
/// The files that give reasons their identifiers.
const FILES: [&str; 9] = [
    include_str!("../io/reason/mod.rs"),
    include_str!("../io/reason/access.rs"),
    include_str!("../io/reason/choice.rs"),
    include_str!("../io/reason/evidence.rs"),
    include_str!("../io/reason/flow.rs"),
    include_str!("../io/reason/queue.rs"),
    include_str!("../io/reason/radio.rs"),
    include_str!("../io/reason/steer.rs"),
    include_str!("../io/reason/subflow.rs"),
];
/// The longest sentence, in words.
const MOST_WORDS: usize = 25;

type Row = (Reason, &'static str);

fn row(reason: impl Into<Reason>, sentence: &'static str) -> Row {
    (reason.into(), sentence)
}

const fn mbps(mbps: u64) -> Bitrate {
    Bitrate::from_mbps(mbps)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn share(of: u64, whole: u64) -> Ratio {
    Ratio::from_fraction(of, whole)
}

const LAN: LinkId = LinkId(0);
const UNKNOWN: LinkId = LinkId(9);
const WEAK: Dbm = Dbm::from_dbm(-81);
const FULL: Duration = Duration::from_micros(3_000);
const BEST: Duration = Duration::from_micros(500);

fn choices() -> Vec<Row> {
    let (signal, expected) = (Dbm::from_dbm(-60), mbps(23));
    let slope = Db::from_centi(-345);
    Vec::from([
        row(Choice::Healthy, "it is up and healthy"),
        row(
            Choice::BestOfChannel { signal, expected },
            "the best access point of its channel: signal -60.00 dBm, about 23.0 Mb/s expected",
        ),
        row(
            Choice::ChannelUnknown { signal, expected },
            "signal -60.00 dBm, about 23.0 Mb/s expected; its channel is unknown, so it is not compared with other access points",
        ),
        row(Choice::LastResort, "no better link is alive"),
        row(
            Choice::Role(Role::Secondary),
            "its role is secondary: it carries data only while the primaries are full",
        ),
        row(
            Choice::Role(Role::Backup),
            "its role is backup: it carries data only when no other link does",
        ),
        row(
            Choice::Fading { signal: WEAK, slope },
            "its signal is fading: -81.00 dBm, -3.5 dB/s",
        ),
        row(
            Choice::WorseOnChannel { better: LAN },
            "lan0 is better, and both would share the airtime of one channel",
        ),
        row(
            Choice::PrimariesFull {
                goodput: mbps(19),
                capacity: mbps(20),
            },
            "the primaries are full: they carry 19.0 Mb/s of 20.0 Mb/s",
        ),
        row(
            Choice::Trial,
            "its goodput is unknown, and the peer takes no more subflows: it replaces the slowest link for a trial",
        ),
        row(
            Choice::LowTraffic {
                quickest: None,
                latency: ms(12),
            },
            "low traffic: this link has the lowest latency (12 ms)",
        ),
        row(
            Choice::LowTraffic {
                quickest: Some(LAN),
                latency: ms(12),
            },
            "low traffic: lan0 has the lowest latency (12 ms)",
        ),
        row(Choice::PlainTcp, "the policy is plain TCP over this link"),
        row(
            Choice::KernelPaths,
            "it has an address, so the kernel's path manager may use it",
        ),
        row(
            Choice::Foreseen {
                carries: Bytes::new(5_000_000),
            },
            "it will carry the most of all links in the next ten seconds: 5.0 MB",
        ),
    ])
}

fn slow_links() -> Vec<Row> {
    let (with, without) = (mbps(58), mbps(61));
    let slow = |slow, sentence| row(Choice::Slow(slow), sentence);
    Vec::from([
        slow(
            SlowLink::Blocks {
                rate: mbps(3),
                sum: mbps(64),
                held: Bytes::new(400_000),
            },
            "head-of-line blocking: it carries 3.0 Mb/s of 64.0 Mb/s, and 400.0 kB are out of order",
        ),
        slow(
            SlowLink::NoGain { with, without },
            "its use gained too little: goodput was 58.0 Mb/s with it and 61.0 Mb/s without it",
        ),
        slow(
            SlowLink::Gain {
                with: mbps(70),
                without,
            },
            "its use pays off: goodput was 70.0 Mb/s with it and 61.0 Mb/s without it",
        ),
        slow(
            SlowLink::Tried { before: without },
            "a trial shows whether goodput rises above 61.0 Mb/s with it",
        ),
        slow(
            SlowLink::FastEnough {
                rate: mbps(20),
                others: mbps(60),
            },
            "fast enough: it may carry 20.0 Mb/s, and the others carry 60.0 Mb/s",
        ),
        slow(SlowLink::OnlyLink, "it is the only link of the connection"),
        slow(SlowLink::FasterGone, "the faster links are gone"),
    ])
}

fn baselines() -> Vec<Row> {
    let handover = |handover, sentence| row(Choice::Handover(handover), sentence);
    let energy = |energy, sentence| row(Choice::Energy(energy), sentence);
    Vec::from([
        handover(Handover::NoAccessPoint, "no usable access point"),
        handover(
            Handover::Stronger,
            "it is clearly stronger than the previous access point, whose signal-to-noise ratio fell below 20.00 dB",
        ),
        handover(
            Handover::MostBeacons { heard: 19 },
            "most beacons when it was chosen: 19 in two seconds",
        ),
        handover(
            Handover::FirstUsable,
            "the first access point with a carrier and an address, since no beacons are reported",
        ),
        energy(
            Energy::Comparing,
            "all radios are on to compare their bits per joule",
        ),
        energy(Energy::NothingUsable, "no radio can carry data"),
        energy(
            Energy::Best {
                bits_per_joule: 4_560_000,
            },
            "it moves the most data per joule: 4.56 Mb",
        ),
        energy(
            Energy::ShortAssociations {
                association: Duration::from_secs(7),
                tail: Duration::from_secs(11),
            },
            "associations last 7 s, less than the 11 s that the cellular radio stays awake anyway",
        ),
    ])
}

fn steering() -> Vec<Row> {
    let rate = share(1, 64);
    let (packet_time, best) = (FULL, BEST);
    let [with, before, without] = [20, 21, 18].map(mbps);
    let steer = |steer, sentence| row(Choice::Steer(steer), sentence);
    Vec::from([
        steer(
            Steer::Efficient { packet_time, best },
            "a packet takes 3.00 ms of airtime, and 0.50 ms at the channel's best access point",
        ),
        steer(
            Steer::Poor { packet_time, best },
            "a packet takes 3.00 ms of airtime, but only 0.50 ms at the channel's best access point",
        ),
        steer(
            Steer::Short {
                goodput: with,
                alone: before,
            },
            "the better access points carry 20.0 Mb/s, less than the 21.0 Mb/s that this one could, although airtime is left",
        ),
        steer(
            Steer::NoGain { before, with },
            "its use gained nothing: goodput was 20.0 Mb/s with it and 21.0 Mb/s before",
        ),
        steer(
            Steer::Trying { with },
            "a trial shows whether goodput rises above 20.0 Mb/s without it",
        ),
        steer(
            Steer::Missed { with, without },
            "without it goodput fell to 18.0 Mb/s; with it, goodput was 20.0 Mb/s",
        ),
        steer(
            Steer::Marked {
                rate,
                target: share(1, 32),
                packet_time,
                best,
            },
            "1.56 % of its packets are marked, towards 3.12 %: a packet takes 3.00 ms of airtime, and 0.50 ms at the best",
        ),
        steer(
            Steer::OnlyOne { chosen: best },
            "one access point at a time: no other takes clearly less airtime than its 0.50 ms per packet",
        ),
        steer(
            Steer::OneAtATime { packet_time, best },
            "one access point at a time: its packets take 3.00 ms of airtime, those of the chosen one 0.50 ms",
        ),
    ])
}

fn evidence() -> Vec<Row> {
    let (silence, waited) = (ms(120), ms(750));
    Vec::from([
        row(
            Evidence::Silent { silence },
            "nothing was received over it for 120 ms: it is probed",
        ),
        row(
            Evidence::HostsSilent { silence, hosts: 1 },
            "nothing beyond it has replied for 120 ms: 1 host is probed over it and over other links",
        ),
        row(
            Evidence::HostsSilent { silence, hosts: 3 },
            "nothing beyond it has replied for 120 ms: 3 hosts are probed over it and over other links",
        ),
        row(
            Evidence::Unanswered {
                silence,
                probes: 3,
                waited: ms(52),
            },
            "nothing was received over it for 120 ms, and 3 probes had no reply for 52 ms",
        ),
        row(
            Evidence::ReachedElsewhere {
                hosts: 2,
                probes: 4,
                waited,
                over: LAN,
                reached: 1,
            },
            "2 hosts did not reply to 4 probes over it in 750 ms; 1 replied over lan0",
        ),
        row(
            Evidence::StoppedReplying {
                hosts: 1,
                probes: 4,
                waited,
                works: UNKNOWN,
            },
            "1 host stopped replying over it: 4 probes had no reply in 750 ms, while link 9 works",
        ),
        row(Evidence::RepliesAgain, "it replies again"),
        row(
            Evidence::NoHostToProbe,
            "it is used again, since no known host could show whether it is back",
        ),
    ])
}

fn access() -> Vec<Row> {
    let (used, cap) = (Bytes::new(2_100_000), Bytes::new(2_000_000));
    let refused = |refused, sentence| row(Access::Refused(refused), sentence);
    Vec::from([
        refused(
            Refused::Trust(Trust::Open),
            "it is an open network, and the user does not allow those",
        ),
        refused(
            Refused::Trust(Trust::Unknown),
            "it is an unknown network, and the user does not allow those",
        ),
        refused(
            Refused::Cap { used, cap },
            "2.1 MB of 2.0 MB are used: it waits for the next metering period",
        ),
        row(Access::Allowed, "the user's rules allow it again"),
        row(
            Access::Held(Held::Portal),
            "a captive portal blocks it: log in over this link; it is checked every 30 s",
        ),
        row(
            Access::Held(Held::NoReply(LAN)),
            "the check for the Internet gets no reply over it, but passes over lan0; it is checked every 30 s",
        ),
        row(
            Access::Held(Held::Unchecked(LAN)),
            "the check for the Internet has not passed over it yet, but passes over lan0",
        ),
        row(Access::Passes, "the check for the Internet passes over it again"),
        row(
            Access::NotKnown,
            "its captive portal no longer says that it is closed",
        ),
        row(
            Access::NoAlternative,
            "the check for the Internet does not pass over it, but no other link is usable",
        ),
    ])
}

fn subflows() -> Vec<Row> {
    let lasts = ms(310);
    Vec::from([
        row(JoinFailure::Refused, "the peer takes no more subflows"),
        row(JoinFailure::Timeout, "the peer did not reply to a join"),
        row(JoinFailure::Local, "this host's kernel refused a join"),
        row(
            JoinFailure::NoAddress,
            "it has no address of the peer's family (IPv4 or IPv6)",
        ),
        row(
            JoinFailure::Elsewhere,
            "the user's routes to the peer use another interface",
        ),
        row(JoinFailure::Untimely, "a join was requested at the wrong moment"),
        row(
            Replaced::TooWeak { signal: WEAK },
            "its signal of -81.00 dBm is too weak for frames: data in flight is drained",
        ),
        row(
            Replaced::Reinjection { lasts },
            "the peer would retransmit 310 ms of data we already have; a new subflow acknowledges it",
        ),
        row(
            Replaced::Backlog { lasts },
            "retransmissions would wait 310 ms behind the peer's backlog; a new subflow has none",
        ),
    ])
}

fn windows() -> Vec<Row> {
    let window = |window, loses, ms, sentence| {
        let (rate, rtt) = (mbps(90), Duration::from_millis(ms));
        let window = Bytes::new(window);
        row(
            Queue::Window {
                window,
                loses,
                rate,
                rtt,
            },
            sentence,
        )
    };
    Vec::from([
        window(
            1_125_000,
            false,
            50,
            "1.1 MB = 2.0 × 90.0 Mb/s × 50 ms; 6.0 MB at the server would be 0.5 s of queue",
        ),
        window(
            1_125_000,
            true,
            50,
            "1.1 MB = 2.0 × 90.0 Mb/s × 50 ms plus room for losses; 6.0 MB at the server would be 0.5 s of queue",
        ),
        window(
            98_304,
            false,
            0,
            "98.3 kB, the minimum (90.0 Mb/s, RTT under 1 ms)",
        ),
        window(98_304, false, 2, "98.3 kB, the minimum (90.0 Mb/s, RTT 2 ms)"),
    ])
}

fn queues() -> Vec<Row> {
    let (limit, unsent) = (Bytes::from_kib(64), Bytes::new(1_200_000));
    let marked = |target, sent, sentence| {
        let (queue, rate) = (ms(83), share(1, 512));
        row(
            Queue::Marked {
                queue,
                target,
                rate,
                sent,
            },
            sentence,
        )
    };
    Vec::from([
        row(
            Queue::Narrowed {
                window: Bytes::new(98_304),
                loses: false,
            },
            "98.3 kB while an empty subflow is closed",
        ),
        row(
            Queue::Unsent {
                limit,
                unsent,
                lasts: Some(ms(410)),
            },
            "64 KiB on each path: 1.2 MB waited unsent, and would be delayed by 0.4 s if a path died",
        ),
        row(
            Queue::Unsent {
                limit,
                unsent,
                lasts: None,
            },
            "64 KiB on each path: 1.2 MB waited unsent, and would be reassigned if a path died",
        ),
        row(
            Queue::SlowStart {
                rate: mbps(17),
                lasts: ms(512),
                rtt: ms(64),
            },
            "pacing is capped at 17.0 Mb/s for 512 ms: slow start has begun to fill a queue (RTT 64 ms)",
        ),
        marked(
            Some(ms(45)),
            false,
            "83 ms of queueing delay, 45 ms allowed: 0.19 % of arriving packets are marked",
        ),
        marked(
            None,
            true,
            "83 ms of queueing delay by a slow start: 0.19 % of sent packets are marked",
        ),
    ])
}

fn radios() -> Vec<Row> {
    let slot = |occupant, channel| Listens {
        occupant,
        channel,
        stays: ms(40),
    };
    let radio = RadioId(2);
    Vec::from([
        row(
            Trend::Falling {
                mobility_ppm: -120_000,
                quality: share(1, 2),
                handoff_in: ms(900),
            },
            "its signal is falling (mobility index -0.12, quality 50.00 %): a hand-off is due in 900 ms",
        ),
        row(
            Trend::Steady,
            "its signal has stopped falling, or no other access point is as good",
        ),
        row(
            Trend::Roamed,
            "moved to another access point of its network: it is measured again",
        ),
        row(
            Cycle::Divided {
                radio,
                slots: [
                    slot(Occupant::Network(LAN), 1),
                    slot(Occupant::AdHoc(LAN), 1),
                    slot(Occupant::Scan, 6),
                ]
                .into(),
                left_out: [UNKNOWN].into(),
            },
            "radio 2: each cycle has 40 ms on channel 1 for lan0, 40 ms on channel 1 for peers of lan0, \
             40 ms on channel 6 for scanning; link 9 has no slot, since others promise more",
        ),
        row(
            Cycle::Undivided {
                radio,
                refused: NoCycle::Twice {
                    occupant: Occupant::Network(LAN),
                },
            },
            "radio 2: network 0 has two slots: remove one",
        ),
    ])
}

fn rows() -> Vec<Row> {
    let all = [
        choices(),
        slow_links(),
        baselines(),
        steering(),
        evidence(),
        access(),
        subflows(),
        windows(),
        queues(),
        radios(),
        flows::flows(),
    ];
    all.into_iter().flatten().collect()
}

fn names() -> BTreeMap<LinkId, String> {
    BTreeMap::from([(LAN, "lan0".to_string())])
}

#[test]
fn every_reason_is_this_sentence() {
    let rendered = |(reason, sentence): Row| (reason.sentence(&names()), sentence);
    let mut differ = rows().into_iter().map(rendered).collect::<Vec<_>>();
    differ.retain(|(now, sentence)| now != sentence);
    assert_eq!(differ, []);
}

#[test]
fn every_reason_has_an_example_and_is_documented() {
    let quoted = |line: &'static str| line.split_once("=> \"")?.1.split('"').next();
    let ids = FILES.iter().flat_map(|file| file.lines()).filter_map(quoted);
    let ids: BTreeSet<&str> = ids.chain([Choice::LOW_TRAFFIC]).collect();
    let shown: BTreeSet<&str> = rows().iter().map(|(reason, _)| reason.id()).collect();
    assert_eq!(ids, shown);
    let silent = ids
        .iter()
        .filter(|id| !DECISIONS.contains(&std::format!("`{id}`")));
    assert_eq!(silent.collect::<Vec<_>>(), [&""; 0], "not in docs/decisions.md");
}

/// A radio's cycle is a list, as long as its slots are many.
#[test]
fn sentences_are_short() {
    for (reason, sentence) in rows() {
        let words = sentence.split_whitespace().count();
        let is_list = matches!(reason, Reason::Cycle(_));
        assert!(words <= MOST_WORDS || is_list, "{words} words: {sentence}");
    }
}

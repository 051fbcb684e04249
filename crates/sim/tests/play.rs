//! Scenarios in virtual time: their results, what is rejected, and that one seed gives one record.

mod common;

use common::{CELL, ONE, plan};
use sim::{CastError, Play, Played, play};
use trace::{PolicyError, PolicyName};

fn played(text: &str, settings: &[&str]) -> Played {
    let plan = plan(text, settings);
    play(&Play::new(&plan, PolicyName::Slowhand)).unwrap()
}

fn refused(text: &str, settings: &[&str]) -> CastError {
    let plan = plan(text, settings);
    play(&Play::new(&plan, PolicyName::Slowhand)).unwrap_err()
}

fn goodput(played: &Played, flow: &str) -> f64 {
    let flow = played.run.flows.iter().find(|known| known.name == flow).unwrap();
    flow.bytes as f64 * 8e-6 / played.run.duration_s
}

fn with(rest: &str) -> String {
    format!("{ONE}\n{rest}")
}

#[test]
fn a_saturated_access_point_reaches_the_throughput_of_one_station() {
    let played = played(ONE, &[]);
    // 29.886 Mb/s for all of the time except the first 10 ms, while the first datagram is on the wire.
    let mbps = goodput(&played, "download");
    assert!((29.4..30.2).contains(&mbps), "{mbps}");
    let link = &played.run.links[0];
    assert!(
        link.frames > 4_900 && link.airtime_share > 0.65 && link.airtime_share < 1.0,
        "{link:?}"
    );
    assert_eq!((link.retries, played.stopped), (0, None));
}

/// The signal is 38 dB above the noise at 5 m, and 54 Mb/s need about 25 dB.
#[test]
fn a_wall_attenuates_the_signal_of_a_client_behind_it() {
    let wall = |y: &str| {
        with(&format!(
            "[[place.walls]]\nfrom_m = [2, {y}]\nto_m = [2, 9]\nloss_db = 25\n"
        ))
    };
    let [behind, beside] = ["-9", "1"].map(|y| goodput(&played(&wall(y), &[]), "download"));
    assert!(behind < 1.0 && beside > 29.0, "{behind} {beside}");
}

#[test]
fn a_slow_wire_is_the_bottleneck_and_a_pace_is_kept() {
    let slow = played(ONE, &["aps.near.backhaul={ rate_mbps = 10, rtt_ms = 20 }"]);
    // 1,470 of 1,498 bytes are payload.
    assert!(
        (goodput(&slow, "download") - 9.81).abs() < 0.12,
        "{:?}",
        slow.run.flows
    );
    let paced = played(ONE, &["flows.download.limit_mbps=2"]);
    assert!((goodput(&paced, "download") - 2.0).abs() < 0.03);
}

#[test]
fn uploads_and_broadcast_probes_arrive() {
    let text = with(
        "[flows.up]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"up\"\nlimit_mbps = 3\n\n\
         [flows.probe]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"everyone\"\npayload_bytes = 100\nevery_ms = 100\n",
    );
    let played = played(&text, &["flows.download.limit_mbps=3"]);
    assert!((goodput(&played, "up") - 3.0).abs() < 0.05);
    let probe = played.run.flows.iter().find(|flow| flow.name == "probe").unwrap();
    // One per 100 ms. Collided ones are lost.
    assert!((1_500..=2_000).contains(&probe.bytes), "{}", probe.bytes);
}

#[test]
fn an_upload_counts_as_frames_of_its_access_point() {
    let played = played(
        ONE,
        &["flows.download.direction=up", "flows.download.limit_mbps=3"],
    );
    let link = &played.run.links[0];
    // 3 Mb/s for 2 s are 510 datagrams of 1,470 bytes. Nobody else sends.
    assert!((500..=520).contains(&link.frames), "{link:?}");
    assert_eq!((link.retries, link.collisions), (0, 0));
    assert!((0.05..0.1).contains(&link.airtime_share), "{link:?}");
}

#[test]
fn equal_seeds_give_equal_records_and_captures() {
    let text = with(
        "[cells.lte]\nrate_mbps = 6\nrtt_ms = 60\njitter_ms = 5\nrepeats = \"lte\"\n\n\
         [flows.cell]\ntransport = \"udp\"\nover = \"lte\"\ndirection = \"down\"\n\n\
         [walkers.other]\nat_m = [0, 5]\n\n[flows.rival]\ntransport = \"udp\"\nover = \"near\"\nby = \"other\"\ndirection = \"up\"\n",
    );
    let plan = plan(&text, &[]);
    let bytes = |seed| {
        let played = play(&Play {
            seed,
            capture: true,
            ..Play::new(&plan, PolicyName::Slowhand)
        })
        .unwrap();
        let mut trace = Vec::new();
        trace::write_runs(&mut trace, &[played.record]).unwrap();
        (trace, played.capture.unwrap())
    };
    let (first, again, another) = (bytes(1), bytes(1), bytes(2));
    assert_eq!(first, again);
    assert_ne!(first.1, another.1);
    assert!(first.0.len() > 4_000 && first.1.len() > 100_000);
}

#[test]
fn a_congestion_controller_in_the_scenario_is_ignored() {
    let played = played(ONE, &["cc=cubic"]);
    let start = played.record.start().unwrap();
    assert_eq!((played.run.cc.as_deref(), start.cc.as_deref()), (None, None));
}

#[test]
fn the_engine_reports_what_it_hears() {
    let played = played(ONE, &[]);
    let said = &played.run.notes[0];
    // There is no contention, and 5 m are near: every frame arrives at the first attempt.
    assert!(
        said.starts_with("near: ") && said.contains("100.00 % of"),
        "{said}"
    );
}

#[test]
fn a_run_that_is_too_long_is_stopped_with_a_note() {
    let plan = plan(ONE, &["duration_s=21600", "flows.download.limit_mbps=100"]);
    let played = play(&Play {
        most: 20_000,
        ..Play::new(&plan, PolicyName::Slowhand)
    })
    .unwrap();
    let at = played.stopped.expect("20,000 frames are soon reached");
    assert!(at.as_secs_f64() < 5.0);
    assert!(played.steps < 20_200, "{}", played.steps);
    let note = &played.run.notes[0];
    assert!(
        note.contains("s of 21600 s") && note.contains("shorten `duration_s`"),
        "{note}"
    );
}

/// At 5 m and 35 m from the access point.
#[test]
fn rate_control_finds_a_rate_that_works() {
    let at = |metres: u32, control: &str| {
        let place = format!("walkers.client.at_m=[{metres}, 0]");
        let text = ONE.replace("rate_mbps = 54\n", "");
        let control = format!("aps.near.rate_control=\"{control}\"");
        goodput(&played(&text, &[&place, &control]), "download")
    };
    for control in ["aarf", "minstrel"] {
        let (near, far) = (at(5, control), at(35, control));
        assert!(near > 27.0, "{control}: {near}");
        assert!((4.0..22.0).contains(&far), "{control}: {far}");
    }
    // The fastest rate does not reach the client there.
    let fixed = goodput(&played(ONE, &["walkers.client.at_m=[35, 0]"]), "download");
    assert!(fixed < 1.0, "{fixed}");
}

#[test]
fn aggregates_need_802_11n() {
    let text = ONE.replace(
        "rate_mbps = 54\n",
        "ht = { streams = 2, width_mhz = 40, short_guard = true }\n",
    );
    let wire = ["aps.near.backhaul={ rate_mbps = 1000, rtt_ms = 2 }"];
    let fixed = goodput(&played(&text, &wire), "download");
    // 300 Mb/s. Two thirds or more of it remain if 64 frames share a preamble.
    assert!((200.0..300.0).contains(&fixed), "{fixed}");
    let minstrel = text.replace("ht =", "rate_control = \"minstrel-ht\"\nht =");
    let found = goodput(&played(&minstrel, &wire), "download");
    assert!(found > 0.7 * fixed, "{found} {fixed}");
}

#[test]
fn a_microwave_oven_takes_half_of_the_air() {
    let oven = with("[noises.oven]\nat_m = [2, 0]\nchannel = 36\n");
    let (alone, beside) = (played(ONE, &[]), played(&oven, &[]));
    let share = goodput(&beside, "download") / goodput(&alone, "download");
    assert!((0.40..0.52).contains(&share), "{share}");
}

#[test]
fn the_coarse_medium_shares_packets_by_weight() {
    let text = format!(
        "medium = \"wfq\"\n{ONE}\n[aps.far]\nat_m = [9, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\nbackhaul = {{ rate_mbps = 100, \
         rtt_ms = 2 }}\nwfq = {{ packet_ms = 3 }}\n\n[flows.slow]\ntransport = \"udp\"\nover = \"far\"\ndirection = \"down\"\n"
    );
    let text = text.replacen(
        "rate_mbps = 54\n",
        "rate_mbps = 54\nwfq = { packet_ms = 1, weight = 4 }\n",
        1,
    );
    let played = played(&text, &[]);
    // Four packets of 1 ms and one of 3 ms in every 7 ms.
    let packets = |flow| goodput(&played, flow) * 1e6 / (1_470.0 * 8.0);
    assert!(
        (packets("download") - 4_000.0 / 7.0).abs() < 12.0,
        "{}",
        packets("download")
    );
    assert!(
        (packets("slow") - 1_000.0 / 7.0).abs() < 4.0,
        "{}",
        packets("slow")
    );
    let up = text.replace("direction = \"down\"", "direction = \"up\"");
    assert_eq!(refused(&up, &[]), CastError::OnlyDown("download".into()));
    let more = "[flows.more]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"down\"\n";
    let slow = format!("{text}\n{more}").replacen("rate_mbps = 100", "rate_mbps = 5", 1);
    let slow = refused(&slow, &[]).to_string();
    assert!(
        slow.contains("several flows share it; raise its rate to"),
        "{slow}"
    );
}

/// From beside the access point to out of its reach, in two seconds.
const WAY: &str = "way = [{ at_m = [1, 0], t_s = 0 }, { at_m = [80, 0], t_s = 2 }]";

#[test]
fn throughput_falls_as_a_client_walks_away() {
    let text = ONE
        .replace("rate_mbps = 54\n", "rate_control = \"minstrel\"\n")
        .replace("at_m = [5, 0]", WAY);
    let series = played(&text, &[]).run.goodput_series;
    let part = |range: std::ops::Range<usize>| series[range].iter().sum::<u64>();
    let third = series.len() / 3;
    let (first, second, last) = (
        part(0..third),
        part(third..2 * third),
        part(2 * third..series.len()),
    );
    assert!(first > 2 * second && second > last, "{series:?}");
    assert_eq!(series.last(), Some(&0), "{series:?}");
}

#[test]
fn fading_causes_retries() {
    let calm = played(ONE, &["walkers.client.at_m=[9, 0]"]);
    let text = with("[place]\nfading = { coherence_ms = 20 }\n");
    let fading = played(&text, &["walkers.client.at_m=[9, 0]"]);
    assert_eq!(calm.run.links[0].retries, 0);
    assert!(fading.run.links[0].retries > 50, "{:?}", fading.run.links);
}

#[test]
fn a_policy_that_cannot_be_run_is_rejected() {
    let plan = plan(ONE, &[]);
    let refused = |policy: PolicyName| play(&Play::new(&plan, policy)).unwrap_err();
    assert_eq!(
        refused(PolicyName::TcpBest),
        CastError::Policy(PolicyError::Computed)
    );
    let nowhere = refused(PolicyName::Tcp("far".to_owned())).to_string();
    assert!(
        nowhere.contains("there is no link `far`; the links are: near"),
        "{nowhere}"
    );
}

#[test]
fn unsupported_scenarios_are_rejected() {
    let walk = ONE.replace("rate_mbps = 54\n", "").replace("at_m = [5, 0]", WAY);
    let walks = CastError::Walks {
        walker: "client".into(),
        link: "near".into(),
    };
    assert_eq!(refused(&walk, &[]), walks);
    let mixed = with(
        "[aps.old]\nat_m = [9, 0]\nstandard = \"b\"\nchannel = 6\nbackhaul = { rate_mbps = 100, rtt_ms = 2 }\n\n\
                      [aps.new]\nat_m = [9, 1]\nstandard = \"g\"\nchannel = 6\nbackhaul = { rate_mbps = 100, rtt_ms = 2 }\n\n\
                      [place]\nreference_loss_db = 40\npath_loss_exponent = 3\n",
    );
    let standards = CastError::Standards {
        channel: 6,
        link: "new".into(),
    };
    assert_eq!(refused(&mixed, &[]), standards);
    assert_eq!(
        plan(&mixed, &[])
            .spots
            .spot(standards.about().unwrap())
            .unwrap()
            .line,
        25
    );
}

#[test]
fn one_more_station_does_not_change_the_others_random_numbers() {
    let two = with(
        "[walkers.other]\nat_m = [0, 5]\n\n[flows.rival]\ntransport = \"udp\"\nover = \"near\"\nby = \"other\"\ndirection = \"up\"\n",
    );
    // Out of reach of all others, and numbered before the walkers' radios.
    let three = format!(
        "{two}\n[aps.beyond]\nat_m = [90000, 0]\nstandard = \"a\"\nchannel = 36\nbackhaul = {{ rate_mbps = 100, rtt_ms = 2 }}\n\n\
         [walkers.hermit]\nat_m = [90001, 0]\n\n[flows.alone]\ntransport = \"udp\"\nover = \"beyond\"\nby = \"hermit\"\ndirection = \"down\"\n"
    );
    let (before, after) = (played(&two, &[]), played(&three, &[]));
    assert_eq!(before.run.flows[..], after.run.flows[..2]);
    assert!(
        before.run.links[0].retries > 10,
        "they collided, and so drew random numbers"
    );
    assert_eq!(before.run.links[0], after.run.links[0]);
}

/// A saturated flow fills the queue. A flow of 0.2 Mb/s to another client waits behind it, or has a queue of
/// its own.
#[test]
fn fq_codel_isolates_a_small_flow_from_a_large_one() {
    let rival = "[walkers.other]\nat_m = [0, 5]\n\n[flows.small]\ntransport = \"udp\"\nover = \"near\"\nby = \"other\"\ndirection = \"down\"\n\
                 payload_bytes = 200\nevery_ms = 8\n";
    let small = |aqm: &str| {
        let overload =
            "flows.download={ transport = \"udp\", over = \"near\", direction = \"down\", limit_mbps = 60 }";
        let settings = [format!("aps.near.aqm=\"{aqm}\""), overload.to_owned()];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        goodput(&played(&with(rival), &settings), "small")
    };
    let (shared, apart) = (small("tail-drop"), small("fq-codel"));
    // With one queue half of all packets are dropped, of either flow. With separate queues all of the small
    // flow passes.
    assert!(apart > 0.195 && shared < 0.75 * apart, "{shared} {apart}");
}

/// A scenario with one cell only.
#[test]
fn a_cell_carries_datagrams_both_ways() {
    let both = format!(
        "{CELL}\n[flows.up]\ntransport = \"udp\"\nover = \"lte\"\ndirection = \"up\"\nlimit_mbps = 2\n"
    );
    let played = played(&both, &[]);
    // 1,470 of 1,498 bytes are payload, and nothing arrives in the first 31 ms.
    let full = 12.0 * 1_470.0 / 1_498.0;
    let mbps = goodput(&played, "down");
    assert!((mbps / full - (2.0 - 0.031) / 2.0).abs() < 0.002, "{mbps}");
    assert!((goodput(&played, "up") - 2.0 * 0.985).abs() < 0.02);
    let link = &played.run.links[0];
    assert!(link.frames > 2_000 && link.airtime_share == 0.0, "{link:?}");
    assert_eq!(played.run.flows[0].paths[0].link, "lte");
}

#[test]
fn a_cells_radio_has_a_promotion_delay_and_a_tail() {
    // One datagram per 300 ms: 30 ms on the wire, 1 ms in the bottleneck.
    let every = "flows.down={ transport = \"udp\", over = \"lte\", direction = \"down\", every_ms = 300 }";
    let arrived = |radio: &str| {
        let radio = format!("cells.lte.radio={radio}");
        played(CELL, &[every, &radio]).run.flows[0].first_byte_ms.unwrap()
    };
    let (on, lte, slow) = (arrived("always-on"), arrived("lte"), arrived("3g"));
    assert!((on - 31.0).abs() <= 1.0, "{on}");
    assert!((lte - 290.0).abs() <= 1.0, "{lte}");
    assert!((slow - 612.0).abs() <= 1.0, "{slow}");
    // The tail ends before each datagram, so the last one does not arrive in time.
    let asleep = played(
        CELL,
        &[every, "cells.lte.radio={ promotion_ms = 200, tail_ms = 100 }"],
    );
    let awake = played(CELL, &[every]);
    assert_eq!(asleep.run.flows[0].bytes + 1_470, awake.run.flows[0].bytes);
}

#[test]
fn a_cells_retransmissions_turn_loss_into_delay() {
    let share = |repeats: &str| {
        let repeats = format!("cells.lte.repeats={repeats}");
        let settings = ["duration_s=20", "flows.down.limit_mbps=6", &repeats];
        goodput(&played(CELL, &settings), "down") / goodput(&played(CELL, &settings[..2]), "down")
    };
    // Four transmissions lose one packet in 10,000, one transmission loses a tenth.
    let (hidden, seen) = (share("lte"), share("{ loss_percent = 10, transmissions = 1 }"));
    assert!(hidden > 0.998, "{hidden}");
    assert!((seen - 0.9).abs() < 0.01, "{seen}");
}

#[test]
fn a_cell_does_not_affect_an_access_point() {
    let beside = with(
        "[cells.lte]\ndown_mbps = 6\nup_mbps = 1\nrtt_ms = 60\nholes = [{ at_s = 0.5, for_s = 0.5 }]\n\n[flows.far]\ntransport = \"udp\"\nover = \"lte\"\ndirection = \"down\"\n",
    );
    let (alone, beside) = (played(ONE, &[]), played(&beside, &[]));
    assert_eq!(alone.run.flows[0], beside.run.flows[0]);
    assert_eq!(alone.run.links[0], beside.run.links[0]);
    let covered = beside.run.duration_s - 0.5 - 0.03;
    let carried = goodput(&beside, "far") * beside.run.duration_s;
    assert!(
        (carried / (covered * 6.0 * 1_470.0 / 1_498.0) - 1.0).abs() < 0.01,
        "{carried}"
    );
}

#[test]
fn cables_behind_one_bottleneck_share_it() {
    let text = "sentence = \"Two cables.\"\nduration_s = 2\n\n[bottlenecks.street]\nrate_mbps = 20\n\n\
                [cables.left]\nbehind = \"street\"\nrtt_ms = 20\n\n[cables.right]\nbehind = \"street\"\nrtt_ms = 20\n\n\
                [flows.one]\ntransport = \"udp\"\nover = \"left\"\ndirection = \"down\"\n\n\
                [flows.two]\ntransport = \"udp\"\nover = \"right\"\ndirection = \"down\"\n";
    let played = played(text, &[]);
    let (one, two) = (goodput(&played, "one"), goodput(&played, "two"));
    assert!((one - two).abs() < 0.1, "{one} {two}");
    assert!((one + two - 20.0 * 1_470.0 / 1_498.0).abs() < 0.25, "{one} {two}");
}

#[test]
fn a_frame_is_sent_up_to_the_configured_number_of_attempts() {
    // Beacons are received there, but datagrams, which are faster, never are. The access point keeps the
    // association for a second.
    let settings = ["walkers.client.at_m=[40, 0]", "duration_s=1"];
    for attempts in [1, 4, 7] {
        let limit = format!("air={{ attempts = {attempts} }}");
        let played = played(ONE, &[&settings[..], &[&limit]].concat());
        let link = &played.run.links[0];
        let repeats = link.retries as f64 / link.frames as f64;
        let expected = 1.0 - 1.0 / f64::from(attempts);
        assert!((repeats - expected).abs() < 0.01, "{attempts}: {link:?}");
        assert!(link.frames > 500 && played.run.flows[0].bytes == 0, "{link:?}");
    }
}

#[test]
fn rts_cts_costs_air_time() {
    let asking = goodput(&played(ONE, &["air={ rts_threshold_bytes = 1000 }"]), "download");
    // DIFS, backoff, frame, SIFS and ACK take 393.5 µs. RTS and CTS at 24 Mb/s and two SIFS take 88 µs.
    let expected = 29.886 * 393.5 / (393.5 + 88.0);
    assert!((asking / expected - 1.0).abs() < 0.015, "{asking}");
    let short = goodput(&played(ONE, &["aps.near.rts_threshold_bytes=1600"]), "download");
    assert!(short > 29.4, "{short}");
    // The client sends only ACKs, which need no RTS.
    let client = goodput(
        &played(ONE, &["walkers.client.rts_threshold_bytes=0"]),
        "download",
    );
    assert!(client > 29.4, "{client}");
}

/// Two access points 65 m apart, out of each other's reach. Each has a client 5 m away, one between them and
/// one beyond.
fn apart() -> String {
    with(
        "[aps.far]\nat_m = [65, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\nbackhaul = { rate_mbps = 100, rtt_ms = 20 }\n\n\
         [walkers.other]\nat_m = [70, 0]\n\n[flows.there]\ntransport = \"udp\"\nover = \"far\"\nby = \"other\"\ndirection = \"down\"\n",
    )
}

#[test]
fn a_lower_carrier_sense_threshold_means_more_waiting() {
    let sum = |settings: &[&str]| {
        let played = played(&apart(), settings);
        goodput(&played, "download") + goodput(&played, "there")
    };
    let (usual, keen) = (sum(&[]), sum(&["air={ carrier_sense_dbm = -90 }"]));
    assert!(usual > 50.0, "{usual}");
    assert!(keen < 36.0, "{keen}");
}

#[test]
fn without_capture_a_receiver_stays_with_a_weak_first_frame() {
    let near = |settings: &[&str]| goodput(&played(&apart(), settings), "download");
    let (usual, never) = (near(&[]), near(&["air={ capture_db = \"never\" }"]));
    assert!(never < 0.8 * usual, "{usual} {never}");
}

/// As above, with one receiver. Flows are distinguished by name, also where access points buffer packets for
/// the receiver.
#[test]
fn fq_codel_keeps_flows_to_one_receiver_apart() {
    let small = "[flows.small]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"down\"\npayload_bytes = 200\nevery_ms = 8\n";
    let overload =
        "flows.download={ transport = \"udp\", over = \"near\", direction = \"down\", limit_mbps = 60 }";
    let of = |aqm: &str| {
        let aqm = format!("aps.near.aqm=\"{aqm}\"");
        goodput(&played(&with(small), &[&aqm, overload]), "small")
    };
    let (shared, apart) = (of("tail-drop"), of("fq-codel"));
    assert!(apart > 0.195 && shared < 0.75 * apart, "{shared} {apart}");
}

#[test]
fn the_upper_limit_is_known_except_on_the_coarse_medium() {
    let wire = played(CELL, &[]);
    assert!((wire.run.optimal_mbps - 12.0 * 1_470.0 / 1_498.0).abs() < 1e-5);
    let air = played(ONE, &[]);
    // A saturated access point alone reaches the limit, less its beacons.
    let ratio = goodput(&air, "download") / air.run.optimal_mbps;
    assert!((0.97..=1.0).contains(&ratio), "{ratio}");
    assert!(air.run.notes.iter().all(|note| !note.contains("optimal_mbps")));
    let wfq = format!("medium = \"wfq\"\n{ONE}").replace("rate_mbps = 54\n", "wfq = { packet_ms = 1 }\n");
    let coarse = played(&wfq, &[]).run;
    assert_eq!(coarse.optimal_mbps, 0.0);
    assert!(
        coarse.notes.iter().any(|note| note.contains("`optimal_mbps`")),
        "{:?}",
        coarse.notes
    );
    assert!(coarse.energy_j > 0.0);
}

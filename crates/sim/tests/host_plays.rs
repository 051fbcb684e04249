//! Scenarios with TCP and MPTCP flows: what the hosts reach, what the engine changes, and that one seed gives
//! one record.

mod common;

use common::plan;
use sim::{CastError, Play, Played, play};
use trace::{PolicyName, SubflowEvent, What};

/// Two cables of 16 and 8 Mb/s, and a download.
const TWO: &str = "sentence = \"Two cables.\"\nduration_s = 12\n\
    [cables.own]\ndown_mbps = 16\nup_mbps = 1\nrtt_ms = 35\nqueue_ms = 200\n\
    [cables.other]\ndown_mbps = 8\nup_mbps = 1\nrtt_ms = 45\nqueue_ms = 200\n\
    [flows.download]\ndirection = \"down\"\n";

/// Three cables of 50 Mb/s. The fastest drops everything after 4 s.
const DEAD: &str = "sentence = \"A silent death.\"\nduration_s = 9\n\
    [cables.fast]\nrate_mbps = 50\nrtt_ms = 20\n[cables.middle]\nrate_mbps = 50\nrtt_ms = 30\n\
    [cables.slow]\nrate_mbps = 50\nrtt_ms = 50\n[flows.download]\ndirection = \"down\"\n\
    [[faults]]\nat_s = 4\nlink = \"fast\"\nkind = \"blackhole\"\n";

/// An access point and a cable.
const MIXED: &str = "sentence = \"An access point and a cable.\"\nduration_s = 12\n\
    [aps.near]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\n\
    backhaul = { rate_mbps = 20, rtt_ms = 20 }\n[cables.wire]\nrate_mbps = 8\nrtt_ms = 30\n\
    [walkers.client]\nat_m = [5, 0]\n[flows.download]\ndirection = \"down\"\n";

fn played(text: &str, policy: PolicyName, settings: &[&str]) -> Played {
    let plan = plan(text, settings);
    play(&Play::new(&plan, policy)).unwrap_or_else(|error| panic!("{error}"))
}

fn only(link: &str) -> PolicyName {
    PolicyName::Tcp(link.to_owned())
}

/// Megabits per second of the first flow, over the whole run.
fn mbps(played: &Played) -> f64 {
    played.run.flows[0].bytes as f64 * 8e-6 / played.run.duration_s
}

fn share(played: &Played, link: &str) -> f64 {
    let flow = &played.run.flows[0];
    let all: u64 = flow.paths.iter().map(|path| path.bytes).sum();
    let own = flow.paths.iter().find(|path| path.link == link);
    own.map_or(0.0, |path| path.bytes as f64 / all as f64)
}

#[test]
fn a_legacy_server_speaks_plain_tcp_over_one_link() {
    let legacy = played(TWO, PolicyName::Mptcp, &["server=legacy"]);
    assert_eq!(
        legacy.run.flows[0].paths.len(),
        1,
        "{:?}",
        legacy.run.flows[0].paths
    );
    assert!(
        legacy.run.notes.iter().any(|note| note.contains("fell back")),
        "{:?}",
        legacy.run.notes
    );
}

fn decisions<'r>(played: &'r Played, wanted: &'r str) -> impl Iterator<Item = &'r str> {
    played
        .record
        .events
        .iter()
        .filter_map(move |event| match &event.what {
            What::Decision { verb, why, .. } if verb == wanted => Some(why.as_str()),
            _ => None,
        })
}

#[test]
fn tcp_fills_its_link_and_mptcp_both() {
    let own = played(TWO, only("own"), &[]);
    assert!((14.0..15.5).contains(&mbps(&own)), "{}", mbps(&own));
    assert_eq!(own.run.flows[0].paths.len(), 1, "{:?}", own.run.flows[0].paths);
    for policy in [PolicyName::Mptcp, PolicyName::Slowhand] {
        let both = played(TWO, policy, &[]);
        let goodput = mbps(&both);
        assert!(goodput > 1.2 * mbps(&own) && goodput < 23.2, "{goodput}");
        assert!(
            (0.2..0.45).contains(&share(&both, "other")),
            "{:?}",
            both.run.flows[0]
        );
        assert_eq!(both.run.flows[0].intact, Some(true));
    }
}

#[test]
fn one_seed_gives_one_record() {
    for text in [TWO, MIXED] {
        let [one, again] = [(), ()].map(|()| played(text, PolicyName::Slowhand, &["duration_s=4"]));
        assert!(one.record.events.len() > 100);
        assert_eq!(one, again);
    }
}

/// Without the engine's action the stall lasts for a second and more: time-outs of the dead subflow.
#[test]
fn the_engine_removes_a_link_that_dies_silently() {
    let ours = played(DEAD, PolicyName::Slowhand, &["server_subflows=8"]);
    let flow = &ours.run.flows[0];
    assert!(flow.longest_stall_ms < 400.0, "{flow:?}");
    assert!(
        decisions(&ours, "remove").next().is_some(),
        "{:?}",
        ours.run.notes
    );
    let closed = |event: &trace::Event| matches!(&event.what, What::Subflow { link, event: SubflowEvent::Closed, .. } if link == "fast");
    assert!(ours.record.events.iter().any(closed), "its subflow is closed");
    let theirs = played(DEAD, PolicyName::Mptcp, &["server_subflows=8"]);
    assert!(theirs.run.flows[0].longest_stall_ms > flow.longest_stall_ms);
}

#[test]
fn the_client_associates_because_the_engine_asks_for_it() {
    let air = played(MIXED, only("near"), &[]);
    assert!((10.0..19.4).contains(&mbps(&air)), "{}", mbps(&air));
    let both = played(MIXED, PolicyName::Slowhand, &[]);
    assert!(
        share(&both, "near") > 0.5 && share(&both, "wire") > 0.1,
        "{:?}",
        both.run.flows
    );
    let wire = played(MIXED, only("wire"), &[]);
    assert_eq!(share(&wire, "near"), 0.0);
    assert!(mbps(&wire) < 7.8, "{}", mbps(&wire));
}

#[test]
fn requests_keep_their_schedule_and_sized_flows_end() {
    let requests = "[flows.download]\nrequests = { every_s = 0.2, reply_kb = 20 }\n";
    let text = TWO.replace("[flows.download]\ndirection = \"down\"\n", requests);
    let asked = played(&text, PolicyName::Mptcp, &["duration_s=4"]);
    // One at 0.035 s, then one every 200 ms.
    assert_eq!(asked.run.flows[0].bytes, 20 * 20_000, "{:?}", asked.run.flows[0]);
    // A round trip of 35 ms, and 10 ms for the bytes. The first window holds only half of a reply.
    let reply = asked.run.flows[0].reply.unwrap();
    assert!((45.0..55.0).contains(&reply.p50_ms), "{reply:?}");
    assert!((75.0..100.0).contains(&reply.max_ms), "{reply:?}");
    let sized = played(TWO, only("own"), &["flows.download.size_mb=1"]);
    assert_eq!(sized.run.flows[0].reply, None);
    assert_eq!(sized.run.flows[0].bytes, 1_000_000);
    let limited = played(TWO, only("own"), &["flows.download.limit_mbps=4"]);
    assert!((3.9..4.01).contains(&mbps(&limited)), "{}", mbps(&limited));
}

/// Two seconds on and six off. What the send buffer and the queue hold at the end of a turn arrives later.
#[test]
fn an_on_off_flow_sends_in_turns_and_a_pause_is_no_stall() {
    for direction in ["down", "up"] {
        let turns = format!("direction = \"{direction}\"\non_off = {{ on_s = 2, off_s = 6 }}\n");
        let text = TWO.replace("direction = \"down\"\n", &turns);
        let run = played(&text, only("own"), &["cables.own.up_mbps=16"]).run;
        let moved = |tenths: std::ops::Range<usize>| run.goodput_series[tenths].iter().sum::<u64>();
        for turn in [2..20, 82..100] {
            let bytes = moved(turn.clone());
            assert!(bytes > 2_500_000, "{direction} {turn:?}: {bytes}");
        }
        assert_eq!(moved(45..80), 0, "{direction}");
        // Losses at the end of slow start stall it for less than a pause.
        assert!(run.flows[0].stall_total_ms < 2_000.0, "{:?}", run.flows[0]);
        assert!(run.flows[0].longest_stall_ms < 500.0, "{:?}", run.flows[0]);
    }
}

/// It is still one if the link dies in a turn.
#[test]
fn an_on_off_flow_stalls_if_its_link_dies_in_a_turn() {
    let dead = "[[faults]]\nat_s = 6\nfor_s = 0.5\nlink = \"own\"\nkind = \"blackhole\"\n";
    let text = TWO.replace("\"down\"\n", "\"down\"\non_off = { on_s = 2, off_s = 3 }\n") + dead;
    let run = played(&text, only("own"), &[]).run;
    assert!(
        run.flows[0].stalls >= 1 && (490.0..2_000.0).contains(&run.flows[0].longest_stall_ms),
        "{:?}",
        run.flows[0]
    );
}

/// The link dies after 3 s of 4. Requests were due at 35 ms and every 200 ms.
#[test]
fn requests_without_a_reply_count_until_the_end() {
    let requests = "[flows.download]\nrequests = { every_s = 0.2, reply_kb = 20 }\n";
    let dead = "[[faults]]\nat_s = 3\nlink = \"own\"\nkind = \"blackhole\"\n";
    let text = TWO.replace("[flows.download]\ndirection = \"down\"\n", requests) + dead;
    let reply = |settings: &[&str]| {
        let settings = [&["duration_s=4"], settings].concat();
        played(&text, only("own"), &settings).run.flows[0].reply.unwrap()
    };
    let all = reply(&[]);
    assert!((964.0..966.0).contains(&all.max_ms), "{all:?}");
    assert!((45.0..55.0).contains(&all.p50_ms), "{all:?}");
    // Those from 3.035 s to 3.835 s.
    let last = reply(&["warmup_s=3"]);
    assert!((564.0..566.0).contains(&last.p50_ms), "{last:?}");
}

#[test]
fn a_new_address_costs_its_subflow_only() {
    let fault = "[[faults]]\nat_s = 4\nlink = \"other\"\nkind = \"new-address\"\n";
    let renewed = played(
        &format!("{TWO}{fault}"),
        PolicyName::Slowhand,
        &["server_subflows=8"],
    );
    let established = renewed.record.events.iter().filter(|event| {
        matches!(&event.what, What::Subflow { link, event: SubflowEvent::Established, .. } if link == "other")
    });
    assert!(established.count() >= 2, "it is joined again");
    assert!(renewed.run.flows[0].longest_stall_ms < 1_000.0);
}

#[test]
fn unsupported_plans_are_refused_with_a_remedy() {
    let refused = |text: &str, settings: &[&str]| {
        let plan = plan(text, settings);
        let error = sim::check(&plan).unwrap_err();
        assert_eq!(play(&Play::new(&plan, PolicyName::Mptcp)).unwrap_err(), error);
        error
    };
    let bbr = refused(TWO, &["cc=bbr"]);
    assert!(matches!(bbr, CastError::Control { .. }), "{bbr}");
    assert!(
        bbr.to_string().contains("choose reno, cubic, lia, olia or balia"),
        "{bbr}"
    );
    let guard = "[walkers.guard]\nat_m = [1, 0]\npower_save = true\n\
        [flows.more]\nby = \"guard\"\ndirection = \"down\"\n";
    let sleeps = refused(&format!("{MIXED}{guard}"), &[]);
    assert!(matches!(sleeps, CastError::OtherSleeps(_)), "{sleeps}");
}

/// Its rate falls with its signal, and with it everybody's share: an access point sends one packet at a time.
#[test]
fn another_walker_that_goes_away_slows_the_client_down() {
    let text = MIXED.replace("rate_mbps = 54\n", "\n");
    let guard = |way: &str| {
        format!(
            "{text}[walkers.guard]\n{way}\n[flows.more]\nby = \"guard\"\ndirection = \"down\"\n\
             transport = \"tcp\"\nover = \"near\"\n"
        )
    };
    let settings = ["aps.near.backhaul.rate_mbps=100"];
    let run = |way: &str| played(&guard(way), only("near"), &settings);
    let stands = run("at_m = [5, 0]");
    let walks = run("way = [{ at_m = [5, 0], t_s = 0 }, { at_m = [40, 0], t_s = 6 }]");
    let theirs = |played: &Played| played.run.flows[1].bytes;
    assert!(theirs(&walks) < theirs(&stands) * 4 / 5, "{:?}", walks.run.flows);
    assert!(theirs(&walks) > 100_000, "{:?}", walks.run.flows);
    assert!(mbps(&walks) < 0.8 * mbps(&stands), "{:?}", walks.run.flows);
}

/// Two stations share one access point, whose backhaul is the bottleneck.
#[test]
fn another_walker_has_a_radio_and_connections_of_its_own() {
    let guard = "[walkers.guard]\nat_m = [5, 0]\n[flows.more]\nby = \"guard\"\ndirection = \"down\"\n\
        transport = \"tcp\"\nover = \"near\"\n";
    let settings = ["duration_s=30"];
    let alone = played(MIXED, only("near"), &settings);
    let beside = played(&format!("{MIXED}{guard}"), only("near"), &settings);
    let rates: Vec<f64> = beside.run.flows.iter().map(|flow| flow.goodput_mbps).collect();
    let sum: f64 = rates.iter().sum();
    let times = sum / alone.run.flows[0].goodput_mbps;
    assert!((0.95..1.05).contains(&times), "{times}, {rates:?}");
    assert!(
        rates.iter().all(|rate| (0.35..0.65).contains(&(rate / sum))),
        "{rates:?}"
    );
    let paths = &beside.run.flows[1].paths;
    assert!(paths.len() == 1 && paths[0].link == "near", "{paths:?}");
}

/// A competitor on another policy is a stock host: it joins over every link, whatever the client does.
#[test]
fn another_walker_with_mptcp_uses_all_links() {
    let guard = "[walkers.guard]\nat_m = [5, 0]\n[flows.more]\nby = \"guard\"\ndirection = \"down\"\n";
    let both = played(&format!("{MIXED}{guard}"), only("near"), &[]);
    let links: Vec<&str> = both.run.flows[1].paths.iter().map(|path| &*path.link).collect();
    assert_eq!(links, ["near", "wire"], "{:?}", both.run.flows);
    assert!(
        both.run.flows[1].paths[1].bytes > 5_000_000,
        "{:?}",
        both.run.flows
    );
    assert_eq!(both.run.flows[0].paths.len(), 1);
}

/// Datagrams of the client, of a station that sends nothing else, and broadcasts, beside the client's TCP.
#[test]
fn datagrams_are_carried_beside_tcp() {
    let flow = |name: &str, keys: &str| format!("[flows.{name}]\ntransport = \"udp\"\n{keys}\n");
    let flows = [
        flow("call", "over = \"wire\"\ndirection = \"up\"\nlimit_mbps = 1"),
        flow("video", "over = \"near\"\ndirection = \"down\"\nlimit_mbps = 2"),
        flow(
            "guard",
            "over = \"near\"\ndirection = \"up\"\nby = \"guard\"\nlimit_mbps = 3",
        ),
        flow(
            "probe",
            "over = \"near\"\ndirection = \"everyone\"\nevery_ms = 100\npayload_bytes = 100",
        ),
    ];
    let text = format!("{MIXED}[walkers.guard]\nat_m = [5, 0]\n{}", flows.concat());
    let mixed = played(&text, only("near"), &[]);
    let rates: Vec<f64> = mixed.run.flows.iter().map(|flow| flow.goodput_mbps).collect();
    // The client has its address after about a second, the first datagrams are lost.
    assert!((5.0..18.5).contains(&rates[0]), "{rates:?}");
    assert!((0.95..=1.001).contains(&rates[1]), "{rates:?}");
    assert!((1.7..=2.001).contains(&rates[2]), "{rates:?}");
    assert!((2.9..=3.001).contains(&rates[3]), "{rates:?}");
    assert!(mixed.run.flows[4].bytes >= 100 * 100, "{:?}", mixed.run.flows[4]);
    let links = ["wire", "near", "near", "near"];
    for (flow, link) in mixed.run.flows[1..].iter().zip(links) {
        assert_eq!(flow.intact, None, "datagrams may be lost: {flow:?}");
        assert_eq!((flow.paths.len(), &*flow.paths[0].link), (1, link));
        assert_eq!(flow.paths[0].bytes, flow.bytes);
        // A queue of them is in flight at the end. Two stations hear the probe.
        let counts = flow.datagrams.unwrap();
        let ends = counts.received + counts.lost;
        let most = if flow.name == "probe" {
            2 * counts.sent
        } else {
            counts.sent
        };
        assert!(
            counts.received > 0 && ends <= most && counts.sent <= ends + 50,
            "{flow:?}"
        );
        let carried = mixed
            .record
            .events
            .iter()
            .rev()
            .find_map(|event| match &event.what {
                What::PathBytes {
                    flow: name, bytes, ..
                } if *name == flow.name => Some(*bytes),
                _ => None,
            });
        assert_eq!(carried, Some(flow.bytes), "{}", flow.name);
    }
    assert!(
        mixed.run.flows[2].datagrams.unwrap().lost > 0,
        "the client had no address at first"
    );
    assert_eq!(mixed.run.flows[0].datagrams, None);
}

#[test]
fn levels_are_known_whether_events_are_kept_or_not() {
    let plan = plan(TWO, &["duration_s=4"]);
    let [kept, dropped] = [true, false].map(|events| {
        play(&Play {
            events,
            ..Play::new(&plan, PolicyName::Slowhand)
        })
        .unwrap()
    });
    assert!(dropped.record.events.is_empty());
    let levels = dropped.run.levels;
    assert!(
        levels.server_queue_bytes > Some(0) && levels.window_bytes > Some(0),
        "{levels:?}"
    );
    assert_eq!(kept.run.levels, levels);
}

/// A saturated flow fills its cable, whatever TCP does on the other, and again after an outage.
#[test]
fn saturated_datagrams_fill_a_cable_beside_tcp() {
    let flow = "[flows.flood]\ntransport = \"udp\"\nover = \"other\"\ndirection = \"down\"\n\
        [[faults]]\nat_s = 4\nfor_s = 2\nlink = \"other\"\nkind = \"down\"\n";
    let mixed = played(&format!("{TWO}{flow}"), only("own"), &[]);
    let flood = &mixed.run.flows[1];
    // 8 Mb/s for 10 of 12 s, without headers.
    let most = 8.0 * 10.0 / 12.0 * 1_470.0 / 1_498.0;
    assert!(
        (0.96..1.01).contains(&(flood.bytes as f64 * 8e-6 / 12.0 / most)),
        "{flood:?}"
    );
    assert!(mbps(&mixed) > 14.0, "{}", mbps(&mixed));
}

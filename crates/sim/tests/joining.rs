//! Clients that come into reach of an access point and leave it, in virtual time. All management frames are
//! on the air, and the record has the times.

mod common;

use common::plan;
use scenario::Plan;
use sim::{Play, Played, play};
use trace::{LinkState, PolicyName, What};

/// The client walks past an access point at 10 m/s, from 150 m before it to 150 m behind it.
const PAST: &str = r#"sentence = "Past an access point."
duration_s = 30

[aps.near]
at_m = [150, 0]
standard = "a"
channel = 36
rate_mbps = 6
scan_ms = 40
associate_ms = 20
dhcp_ms = 500
backhaul = { rate_mbps = 100, rtt_ms = 20 }

[walkers.client]
way = [{ at_m = [0, 0], t_s = 0 }, { at_m = [300, 0], t_s = 30 }]

[flows.download]
transport = "udp"
over = "near"
direction = "down"
limit_mbps = 1
"#;

/// The client's walk.
const WAY: &str = "way = [{ at_m = [0, 0], t_s = 0 }, { at_m = [300, 0], t_s = 30 }]";

fn played(plan: &Plan, seed: u64) -> Played {
    play(&Play {
        seed,
        capture: true,
        ..Play::new(plan, PolicyName::Slowhand)
    })
    .unwrap()
}

/// States of the client's link, with their times in ms.
fn states(played: &Played, of: &str) -> Vec<(u64, LinkState)> {
    let events = played.record.events.iter();
    let states = events.filter_map(|event| match &event.what {
        What::LinkState { link, state } if link == of => Some((event.t_ns / 1_000_000, *state)),
        _ => None,
    });
    states.collect()
}

/// Bytes that arrived between two times, in tenths of a second.
fn bytes(played: &Played, tenths: std::ops::Range<usize>) -> u64 {
    played.run.goodput_series[tenths].iter().sum()
}

#[test]
fn a_client_that_walks_past_an_access_point_joins_it_and_loses_it() {
    for seed in 1..=5 {
        let played = played(&plan(PAST, &[]), seed);
        let states = states(&played, "near");
        let names: Vec<LinkState> = states.iter().map(|&(_, state)| state).collect();
        // It hears the access point before the access point hears it, so the first attempts fail.
        assert_eq!(names[0], LinkState::Down, "it is 150 m away: {states:?}");
        let up = names.iter().position(|state| *state == LinkState::Up).unwrap();
        assert_eq!(
            names[up - 2..=up],
            [LinkState::Joining, LinkState::Carrier, LinkState::Up]
        );
        assert_eq!(
            names.last(),
            Some(&LinkState::Down),
            "out of reach again: {states:?}"
        );
        let [joining, carrier, there] = [up - 2, up - 1, up].map(|place| states[place].0);
        // At the edge of the reach frames are lost: up to three scans of 40 ms, and each lost frame is
        // repeated after 200 ms.
        assert!((60..720).contains(&(carrier - joining)), "{states:?}");
        assert!((500..530).contains(&(there - carrier)), "{states:?}");
        // Nothing passes before or after, everything in between. 1 Mb/s is 12,500 bytes per tenth of a
        // second.
        let gone = states.last().unwrap().0;
        assert_eq!(bytes(&played, 0..there as usize / 100), 0);
        assert_eq!(bytes(&played, gone as usize / 100 + 1..300), 0);
        let near = bytes(&played, 130..170);
        assert!(near > 39 * 12_250, "{near}");
        // The note has the same figures.
        let note = played
            .run
            .notes
            .iter()
            .find(|note| note.contains("client joined"));
        let note = note.unwrap();
        let told = |after: &str| {
            let figure = note.split(after).nth(1).and_then(|rest| rest.split(' ').next());
            figure.unwrap().parse::<f64>().unwrap() * 1e3
        };
        assert!(
            (told("near: client joined at ") - there as f64).abs() < 2.0,
            "{note}"
        );
        assert!(
            (told("which took ") - (there - joining) as f64).abs() < 2.0,
            "{note}"
        );
        assert!(note.ends_with("lost it once"), "{note}");
    }
}

#[test]
fn a_client_in_reach_at_the_start_is_associated_by_default() {
    let stands = |associated: &str| {
        let text = PAST.replace(WAY, &format!("at_m = [148, 0]{associated}"));
        played(&plan(&text, &["duration_s=3"]), 1)
    };
    let old = stands("");
    assert_eq!(states(&old, "near"), [(0, LinkState::Up)]);
    assert!(bytes(&old, 0..5) > 4 * 12_250);
    let new = stands("\nassociated = false");
    let states = states(&new, "near");
    let names: Vec<LinkState> = states.iter().map(|&(_, state)| state).collect();
    assert_eq!(
        names,
        [
            LinkState::Down,
            LinkState::Joining,
            LinkState::Carrier,
            LinkState::Up
        ]
    );
    // Joining begins with the first beacon, within one interval of 102.4 ms.
    assert!(states[1].0 <= 103, "{states:?}");
    // 40 ms of scan, 20 ms of association, 500 ms of DHCP, and the frames for them.
    assert!((60..65).contains(&(states[2].0 - states[1].0)), "{states:?}");
    assert!((500..505).contains(&(states[3].0 - states[2].0)), "{states:?}");
    assert_eq!(bytes(&new, 0..5), 0);
    assert!(bytes(&new, 8..30) > 21 * 12_250);
}

#[test]
fn a_saturated_flow_waits_for_its_association_and_others_are_lost() {
    let text = PAST.replace(WAY, "at_m = [148, 0]\nassociated = false");
    let saturated = text.replace("limit_mbps = 1\n", "");
    for direction in ["down", "up"] {
        let way = format!("flows.download.direction={direction}");
        let settings = ["duration_s=3", way.as_str()];
        let [paced, full] = [&text, &saturated].map(|text| played(&plan(text, &settings), 1));
        // 1 Mb/s in the rest of the three seconds, and as much as 6 Mb/s can carry.
        let mbps = |played: &Played| bytes(played, 0..30) as f64 * 8e-6;
        assert!(
            (2.1..2.5).contains(&mbps(&paced)),
            "{direction}: {}",
            mbps(&paced)
        );
        assert!(mbps(&full) > 2.2 * 5.0, "{direction}: {}", mbps(&full));
    }
}

#[test]
fn other_walkers_join_as_the_client_does() {
    let text = format!(
        "{}\n[walkers.other]\nway = [{{ at_m = [0, 0], t_s = 0 }}, {{ at_m = [150, 0], t_s = 10 }}]\n\n\
         [flows.theirs]\ntransport = \"udp\"\nover = \"near\"\nby = \"other\"\ndirection = \"up\"\nlimit_mbps = 1\n",
        PAST.replace(WAY, "at_m = [148, 0]"),
    );
    let played = played(&plan(&text, &["duration_s=14"]), 1);
    assert_eq!(
        states(&played, "near"),
        [(0, LinkState::Up)],
        "only the client's states are recorded"
    );
    let note = played.run.notes.iter().find(|note| note.contains("other"));
    assert!(note.unwrap().starts_with("near: other joined"), "{note:?}");
    let theirs = played
        .run
        .flows
        .iter()
        .find(|flow| flow.name == "theirs")
        .unwrap();
    assert!(theirs.bytes > 3 * 125_000, "{theirs:?}");
}

#[test]
fn equal_seeds_give_equal_records_of_joining() {
    let plan = plan(PAST, &[]);
    let bytes = |seed| {
        let played = played(&plan, seed);
        let mut trace = Vec::new();
        trace::write_runs(&mut trace, &[played.record]).unwrap();
        (trace, played.capture.unwrap())
    };
    assert_eq!(bytes(3), bytes(3));
    assert_ne!(bytes(3).1, bytes(4).1);
}

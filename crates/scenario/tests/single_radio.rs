//! A client with one radio for all access points: what a file says of it, and what is refused.

mod sound;

use scenario::{Division, Plan, SingleRadio};
use sound::{edited, messages, read};
use units::Duration;

fn client(more: &str) -> Result<Plan, scenario::Problems> {
    edited("at_m = [0, 0]", &format!("at_m = [0, 0]\n{more}"))
}

fn radio(more: &str) -> SingleRadio {
    let plan = client(&format!("radio = \"single\"\n{more}")).unwrap_or_else(|problems| panic!("{problems}"));
    plan.client().radio.clone().expect("a single radio")
}

#[test]
fn a_radio_on_each_channel_is_the_default() {
    for same in ["", "radio = \"per-channel\""] {
        assert_eq!(client(same).unwrap().client().radio, None);
    }
}

#[test]
fn a_single_radio_divides_its_time_as_nsdi15_does() {
    let usual = SingleRadio {
        division: Division::Adaptive {
            cycle: Duration::from_millis(200),
            alpha: 2,
            least: Duration::from_millis(10),
        },
        switch: Duration::from_millis(5),
        same_channel: Duration::from_micros(381),
        scan: Duration::ZERO,
    };
    assert_eq!(radio(""), usual);
    assert_eq!(radio("slots = {}"), usual);
    let own = radio("slots = { cycle_ms = 100, alpha = 0, least_ms = 20, switch_ms = 1, scan_ms = 25 }");
    assert_eq!(
        own,
        SingleRadio {
            division: Division::Adaptive {
                cycle: Duration::from_millis(100),
                alpha: 0,
                least: Duration::from_millis(20),
            },
            switch: Duration::from_millis(1),
            scan: Duration::from_millis(25),
            ..usual
        }
    );
}

#[test]
fn weights_name_access_points() {
    let radio = radio("slots = { weights = { ap1 = 9 } }");
    let Division::Weighted { slice, .. } = radio.division else {
        panic!("{radio:?}")
    };
    assert_eq!(slice, Duration::from_millis(100));
    assert_eq!([radio.weight(0), radio.weight(1)], [9, 1]);
}

#[test]
fn slices_change_at_times() {
    let radio = radio("slots = { slices = [{ at_s = 10, slice_ms = 50 }, { at_s = 20.5, slice_ms = 200 }] }");
    let Division::Weighted { slice, slices, .. } = radio.division else {
        panic!("{radio:?}")
    };
    assert_eq!(slice, Duration::from_millis(100));
    let expected = [(10_000, 50), (20_500, 200)];
    assert_eq!(
        slices,
        expected.map(|(at, slice)| (Duration::from_millis(at), Duration::from_millis(slice)))
    );
}

#[test]
fn slices_that_cannot_change_so_are_refused() {
    let table = [
        (
            "{ slice_ms = 50 }",
            "bad.toml:24:21: change of the slice has no `at_s`; add `at_s` and `slice_ms`: when slices change, and how long they are then",
        ),
        (
            "{ at_s = 9 }",
            "bad.toml:24:21: change of the slice has no `slice_ms`; add `at_s` and `slice_ms`: when slices change, and how long they are then",
        ),
        (
            "{ at_s = 9, slice_ms = 0 }",
            "bad.toml:24:44: `slice_ms` is 0; give a number from 0.1 to 60000 ms",
        ),
        (
            "{ at_s = 9, slice_ms = 5 }",
            "bad.toml:24:44: a change of channel takes as long as a slice; make slices longer than `switch_ms`",
        ),
        (
            "{ at_s = 30, slice_ms = 50 }",
            "bad.toml:24:30: this would begin after 30 s, when the run has ended; begin before 30 s, or make `duration_s` longer",
        ),
        (
            "{ at_s = 9, slice_ms = 50 }, { at_s = 9, slice_ms = 60 }",
            "bad.toml:24:59: the slice changes no later than in the entry before; list changes in the order of time",
        ),
        (
            "{ at_s = 9, slice_ms = 50, weight = 2 }",
            "bad.toml:24:48: unknown key `weight` in change of the slice; known here: at_s, slice_ms",
        ),
    ];
    for (change, expected) in table {
        let more = format!("radio = \"single\"\nslots = {{ slices = [{change}] }}");
        assert_eq!(messages(client(&more)), [expected], "{change}");
    }
    let (change, without) = (
        "slots = { slices = [{ at_s = 9, slice_ms = 50 }] }",
        "`slots` has no effect",
    );
    let said = messages(client(change));
    assert!(said.len() == 1 && said[0].contains(without), "{said:?}");
    let said = messages(client(&format!(
        "radio = \"single\"\n{}",
        change.replace("slots = {", "slots = { alpha = 2,")
    )));
    assert!(
        said.len() == 1 && said[0].contains("`alpha` contradicts slots by weight"),
        "{said:?}"
    );
}

#[test]
fn what_contradicts_a_single_radio_is_refused() {
    let table = [
        (
            "radio = \"one\"",
            "bad.toml:23:9: `radio` is \"one\"; give \"per-channel\" or \"single\"",
        ),
        (
            "slots = { alpha = 1 }",
            "bad.toml:23:9: `slots` has no effect on a walker with a radio on each channel; add `radio = \"single\"`, or remove it",
        ),
        (
            "radio = \"single\"\npower_save = true",
            "bad.toml:24:14: a single radio saves no power: it leaves a channel only for another one; remove it, or `radio = \"single\"`",
        ),
        (
            "radio = \"single\"\nslots = { cycle_ms = 300 }",
            "bad.toml:24:22: senders time out in such a cycle; give at most 200 ms, or divide by `weights`",
        ),
        (
            "radio = \"single\"\nslots = { cycle_ms = 100, least_ms = 101 }",
            "bad.toml:24:38: the shortest slot is longer than the cycle; make it shorter than `cycle_ms`",
        ),
        (
            "radio = \"single\"\nslots = { alpha = 5 }",
            "bad.toml:24:19: `alpha` is 5; give a whole number from 0 to 4",
        ),
        (
            "radio = \"single\"\nslots = { slice_ms = 100, alpha = 2 }",
            "bad.toml:24:35: `alpha` contradicts slots by weight; remove it, or `slice_ms` and `weights`",
        ),
        (
            "radio = \"single\"\nslots = { slice_ms = 4 }",
            "bad.toml:24:22: a change of channel takes as long as a slice; make slices longer than `switch_ms`",
        ),
        (
            "radio = \"single\"\nslots = { weights = { ap2 = 9 } }",
            "bad.toml:24:23: there is no access point \"ap2\"; did you mean \"ap1\"?",
        ),
        (
            "radio = \"single\"\nslots = { weights = { ap1 = 0 } }",
            "bad.toml:24:29: `ap1` is 0; give a whole number from 1 to 1000",
        ),
        (
            "radio = \"single\"\nslots = { weights = 9 }",
            "bad.toml:24:21: `weights` is 9; give numbers with names: weights = { NAME = 3 }",
        ),
    ];
    for (more, expected) in table {
        assert_eq!(messages(client(more)), [expected], "{more}");
    }
}

#[test]
fn what_has_no_single_radio_is_refused() {
    let other = format!(
        "{}\n[walkers.guard]\nat_m = [1, 1]\nradio = \"single\"\n",
        sound::SOUND
    );
    let said = messages(read(&other, &[]));
    assert!(
        said.iter()
            .any(|line| line.contains("only the client can have a single radio")),
        "{said:?}"
    );
    let coarse = messages(read(
        &sound::SOUND.replace("at_m = [0, 0]", "at_m = [0, 0]\nradio = \"single\""),
        &["medium=wfq"],
    ));
    assert!(
        coarse
            .iter()
            .any(|line| line.contains("a single radio needs frames")),
        "{coarse:?}"
    );
    let two = sound::SOUND.replace(
        "[cells.lte]",
        "[aps.ap2]\nat_m = [1, 2]\nstandard = \"a\"\nchannel = 36\nbackhaul = { rate_mbps = 100, rtt_ms = 20 }\n\n[cells.lte]",
    );
    let scans = sound::SOUND
        .replace("channel = 6", "channel = 36\nstandard = \"a\"")
        .replace(
            "at_m = [0, 0]",
            "at_m = [0, 0]\nradio = \"single\"\nslots = { scan_ms = 20 }",
        );
    let scans = messages(read(&scans, &[]));
    assert!(
        scans
            .iter()
            .any(|line| line.contains("which 802.11a does not have")),
        "{scans:?}"
    );
    let unlike = messages(read(&two, &["walkers.client.radio=single"]));
    assert!(
        unlike
            .iter()
            .any(|line| line.contains("access points of one standard")),
        "{unlike:?}"
    );
}

#[test]
fn an_access_point_may_be_a_peer_of_an_ad_hoc_network() {
    let with = |more: &str| edited("channel = 6", &format!("channel = 6\n{more}"));
    for (mode, is_peer) in [
        ("", false),
        ("mode = \"infrastructure\"", false),
        ("mode = \"ad-hoc\"", true),
    ] {
        let plan = with(mode).unwrap_or_else(|problems| panic!("{problems}"));
        let (_, ap) = plan.access_points().next().unwrap();
        assert_eq!(ap.ad_hoc, is_peer, "{mode}");
    }
    let said = messages(edited(
        "duration_s = 30\n\n[aps.ap1]",
        "duration_s = 30\nmedium = \"wfq\"\n[aps.ap1]\nwfq = { packet_ms = 1 }\nmode = \"ad-hoc\"",
    ));
    assert_eq!(
        said,
        [
            "bad.toml:6:8: `mode` has no effect with `medium = \"wfq\"`, which has no frames; remove it, or `medium = \"wfq\"`"
        ]
    );
}

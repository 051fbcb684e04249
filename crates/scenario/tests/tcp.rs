//! `[tcp]`: what a file can say of the hosts' TCP, and what is refused.

mod sound;

use scenario::{Growth, Rto, Scheduler, Syns, Tcp};
use sound::{SOUND, edited, messages, read};
use units::Bytes;

#[test]
fn without_the_table_hosts_are_stock_ones() {
    assert_eq!(read(SOUND, &[]).unwrap().tcp, Tcp::default());
}

#[test]
fn each_key_reaches_the_plan() {
    let settings = [
        "tcp.growth=per-ack",
        "tcp.rto=rfc6298",
        "tcp.receive_window_kb=64",
        "tcp.initial_window_segments=3",
        "tcp.initial_ssthresh_segments=20",
        "tcp.metrics_cache=true",
        "tcp.scheduler=ecf",
        "tcp.opportunistic_retransmission=true",
        "tcp.syns=at-once",
        "tcp.acks_take_air=false",
    ];
    let expected = Tcp {
        growth: Growth::PerAck,
        rto: Rto::Rfc6298,
        receive_window: Some(Bytes::new(64_000)),
        initial_window: 3,
        initial_ssthresh: Some(20),
        metrics_cache: true,
        scheduler: Scheduler::Ecf,
        opportunistic_retransmission: true,
        syns: Syns::AtOnce,
        acks_take_air: false,
    };
    assert_eq!(read(SOUND, &settings).unwrap().tcp, expected);
}

/// A table under the second line, and its message.
fn refused(table: &str) -> Vec<String> {
    messages(edited(
        "duration_s = 30",
        &format!("duration_s = 30\ntcp = {{ {table} }}"),
    ))
}

#[test]
fn wrong_values_are_refused() {
    let table = [
        (
            "growth = \"abc\"",
            "bad.toml:3:18: `growth` is \"abc\"; give \"per-segment\" or \"per-ack\"",
        ),
        (
            "receive_window_kb = 1",
            "bad.toml:3:29: `receive_window_kb` is 1; give a number from 3 to 1000000 kB",
        ),
        (
            "initial_ssthresh_segments = 1",
            "bad.toml:3:37: `initial_ssthresh_segments` is 1; give a whole number from 2 to 741534",
        ),
        (
            "schedular = \"ecf\"",
            "bad.toml:3:9: unknown key `schedular` in [tcp]; did you mean `scheduler`?",
        ),
    ];
    for (keys, message) in table {
        assert_eq!(refused(keys), [message], "{keys}");
    }
}

#[test]
fn keys_that_nothing_heeds_are_refused() {
    let plain = SOUND.replace(
        "[flows.download]",
        "[flows.download]\ntransport = \"tcp\"\nover = \"dsl\"",
    );
    let datagrams = plain
        .replace("\"tcp\"", "\"udp\"")
        .replace("intact = true", "moved_mb_min = 1");
    let first = |text: &str, setting: &str| messages(read(text, &[setting])).remove(0);
    assert!(first(&plain, "tcp.scheduler=ecf").contains(
        "`scheduler` has no effect: no flow uses MPTCP; remove it, or add a flow without `transport`"
    ),);
    assert!(read(&plain, &["tcp.growth=per-ack"]).is_ok());
    assert!(
        first(&datagrams, "tcp.growth=per-ack").contains(
            "[tcp] has no effect: all flows are datagrams; remove it, or add a flow of TCP or MPTCP"
        ),
    );
}

#[test]
fn acks_cross_without_air_only_where_a_radio_listens() {
    let without = |more: &[&str]| {
        let settings = [&["tcp.acks_take_air=false"], more].concat();
        messages(read(SOUND, &settings)).remove(0)
    };
    let asleep = "ACKs without airtime would reach a radio that sleeps or is on another channel; remove it, or \
                  `power_save` and `radio = \"single\"`";
    for key in ["walkers.client.power_save=true", "walkers.client.radio=single"] {
        let message = without(&[key]);
        assert!(message.contains(asleep), "{key}: {message}");
    }
    let (_, wired) = SOUND.split_once("[cells.lte]").unwrap();
    let wired = format!("sentence = \"x\"\nduration_s = 30\n[cells.lte]{wired}");
    let message = messages(read(&wired, &["tcp.acks_take_air=false"])).remove(0);
    assert!(
        message.contains("there are no access points, so ACKs take no air; remove it"),
        "{message}"
    );
}

use super::inside::{feed, ip};
use super::site::Site;
use super::snapshot::{Snapshot, difference};
use super::*;
use linux::bpf::{Hook, Marker};
use linux::rtnl::Rtnl;
use linux::sysctl::{self, Key};

fn played(number: u64, killed: bool, played: Result<Played, String>) -> (Round, Result<Played, String>) {
    let seed = 3;
    (Round { number, killed, seed }, played)
}

#[test]
fn both_kinds_of_rounds_are_mixed_evenly_and_complete() {
    for (stopped, killed) in [(1_000, 200), (20, 20), (1, 1), (3, 0)] {
        let rounds = rounds(stopped, killed, 1);
        let kills: Vec<u64> = rounds
            .iter()
            .filter(|round| round.killed)
            .map(|round| round.number)
            .collect();
        assert_eq!(kills.len(), killed as usize);
        assert_eq!(rounds.len(), (stopped + killed) as usize);
        let apart = |pair: &[u64]| pair[1] - pair[0] <= u64::from(stopped / killed.max(1)) + 1;
        assert!(kills.windows(2).all(apart), "{kills:?}");
    }
}

#[test]
fn a_round_that_left_something_is_counted_and_told() {
    let quick = Played {
        up: Some(Duration::from_millis(250)),
        down: Some(Duration::from_millis(125)),
        overridden: true,
        left: false,
    };
    let all = [
        played(1, false, Ok(quick)),
        played(2, true, Err("round 2, killed: there is: a rule".to_owned())),
        played(
            3,
            true,
            Ok(Played {
                left: true,
                ..Played::default()
            }),
        ),
    ];
    let bad = row(&all, (7, 1));
    assert_eq!(bad.ours, Some(1.0));
    let told = json!([{"round": 2, "seed": 3, "why": "round 2, killed: there is: a rule"}]);
    assert_eq!(bad.extra[trial::FAILED], told);
    let extra = |key: &str| bad.extra[key].as_f64().unwrap();
    assert_eq!(
        [
            "stopped",
            "killed",
            "had_left",
            "overridden",
            "up_p50_s",
            "down_p99_s"
        ]
        .map(extra),
        [1.0, 2.0, 1.0, 1.0, 0.25, 0.125]
    );
    let good = row(&all[..1], (7, 1));
    assert_eq!((good.ours, good.extra.get(trial::FAILED)), (Some(0.0), None));
}

/// Something that slowhand could leave behind, with the way to take it away again.
type Trace = (&'static str, fn(&Site), fn(&Site));

const TRACES: [Trace; 8] = [
    (
        "there is: 31001: from 192.0.2.2 lookup 51831",
        |site| lines(site, "rule add from 192.0.2.2 lookup 51831 pref 31001"),
        |site| lines(site, "rule del pref 31001"),
    ),
    (
        "dev wlan0 table 51831",
        |site| lines(site, "route add default dev wlan0 table 51831 proto 183"),
        |site| lines(site, "route del default dev wlan0 table 51831"),
    ),
    (
        "2001:db8:2::1 dev wlan0 metric 5",
        |site| lines(site, "route add default via 2001:db8:2::1 dev wlan0 metric 5"),
        |site| lines(site, "route del default via 2001:db8:2::1 dev wlan0 metric 5"),
    ),
    (
        "there is: 198.51.100.2 id 9",
        |site| lines(site, "mptcp endpoint add 198.51.100.2 id 9 subflow"),
        |site| lines(site, "mptcp endpoint delete id 9"),
    ),
    (
        "subflows 8",
        |site| lines(site, "mptcp limits set subflows 8"),
        |site| lines(site, "mptcp limits set subflows 3"),
    ),
    (
        "path_manager = userspace",
        |site| set(site, "net.mptcp.path_manager", "userspace"),
        |site| set(site, "net.mptcp.path_manager", "kernel"),
    ),
    (
        "tcp_rmem = 8192",
        |site| set(site, "net.ipv4.tcp_rmem", "8192 80000 4194304"),
        |site| set(site, "net.ipv4.tcp_rmem", "8192 262144 4194304"),
    ),
    (
        "qdisc clsact",
        |site| qdisc(site, "add"),
        |site| qdisc(site, "delete"),
    ),
];

fn lines(site: &Site, lines: &str) {
    ip(&site.host, lines).unwrap();
}

fn set(site: &Site, key: &str, value: &str) {
    let written = site.host.run(|| sysctl::write(&Key::new(key), value));
    written.unwrap().unwrap();
}

fn qdisc(site: &Site, verb: &str) {
    let words = ["tc", "qdisc", verb, "dev", "wlan0", "clsact"];
    feed(&site.host, &words, "").unwrap();
}

#[test]
fn whatever_could_be_left_on_a_host_is_found() {
    let site = Site::new().expect("this test needs root");
    let before = site.settled().unwrap();
    let found = || difference(&before.whole(), &Snapshot::of(&site.host).unwrap().whole(), 9);
    assert_eq!(found(), [""; 0]);
    for (told, leave, take_away) in TRACES {
        leave(&site);
        let all = found();
        assert!(all.iter().any(|line| line.contains(told)), "{told}: {all:?}");
        take_away(&site);
        assert_eq!(found(), [""; 0], "{told}");
    }
    let attached = site.host.run(|| {
        let wlan0 = Rtnl::open().unwrap().link_named("wlan0".parse().unwrap());
        let mut marker = Marker::load(Hook::Ingress).unwrap();
        marker.attach(wlan0.unwrap().unwrap().ifindex).unwrap();
        marker
    });
    assert!(
        found()[0].contains("there is: tcx wlan0 in: `marker`"),
        "{:?}",
        found()
    );
    drop(attached);
    assert_eq!(found(), [""; 0]);
}

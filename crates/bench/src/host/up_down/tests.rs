use super::inside::feed;
use super::site::Site;
use super::snapshot::{Snapshot, difference};
use super::*;
use linux::bpf::{Hook, Marker};
use linux::rtnl::Rtnl;

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
        silenced: true,
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
    let bad = row(crate::catalogue::row("up-down"), &all, (7, 1));
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
    let good = row(crate::catalogue::row("up-down"), &all[..1], (7, 1));
    assert_eq!((good.ours, good.extra.get(trial::FAILED)), (Some(0.0), None));
}

/// What slowhand could leave behind: its description, the command that leaves it, and the one that removes
/// it.
const TRACES: [[&str; 3]; 8] = [
    [
        "there is: 31001: from 192.0.2.2 lookup 51831",
        "ip rule add from 192.0.2.2 lookup 51831 pref 31001",
        "ip rule delete pref 31001",
    ],
    [
        "default dev wlan0 table 51831",
        "ip route add default dev wlan0 table 51831 proto 183",
        "ip route delete default dev wlan0 table 51831",
    ],
    [
        "default via 2001:db8:2::1 dev wlan0 metric 5",
        "ip route add default via 2001:db8:2::1 dev wlan0 metric 5",
        "ip route delete default via 2001:db8:2::1 dev wlan0 metric 5",
    ],
    [
        "there is: 198.51.100.2 id 9",
        "ip mptcp endpoint add 198.51.100.2 id 9 subflow",
        "ip mptcp endpoint delete id 9",
    ],
    [
        "there is: add_addr_accepted 1 subflows 8",
        "ip mptcp limits set subflows 8",
        "ip mptcp limits set subflows 3",
    ],
    [
        "path_manager = userspace",
        "sysctl -qw net.mptcp.path_manager=userspace",
        "sysctl -qw net.mptcp.path_manager=kernel",
    ],
    [
        "tcp_rmem = 8192 80000 4194304",
        "sysctl -qw net.ipv4.tcp_rmem='8192 80000 4194304'",
        "sysctl -qw net.ipv4.tcp_rmem='8192 262144 4194304'",
    ],
    [
        "there is: qdisc clsact",
        "tc qdisc add dev wlan0 clsact",
        "tc qdisc delete dev wlan0 clsact",
    ],
];

#[test]
fn whatever_could_be_left_on_a_host_is_found() {
    let site = Site::new().expect("this test needs root");
    let before = site.settled().unwrap();
    let found = || difference(&before.whole(), &Snapshot::of(&site.host).unwrap().whole(), 9);
    assert_eq!(found(), [""; 0]);
    let run = |line: &str| feed(&site.host, &["sh", "-c", line], "").unwrap();
    for [told, leave, take_away] in TRACES {
        run(leave);
        let all = found();
        assert!(all.iter().any(|line| line.contains(told)), "{told}: {all:?}");
        run(take_away);
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

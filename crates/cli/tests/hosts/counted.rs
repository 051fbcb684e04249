//! What a kernel counted while probes were sent. It can show who refused or dropped one.

use linux::netns::Netns;
use std::collections::BTreeMap;

/// Counters that may tell why a probe failed. Some also move when connections end.
const OF_FAULTS: [&str; 18] = [
    "Icmp6OutDestUnreachs",
    "Ip6InAddrErrors",
    "Ip6InNoRoutes",
    "Ip6OutNoRoutes",
    "Icmp.OutDestUnreachs",
    "Ip.InAddrErrors",
    "Ip.InDiscards",
    "Ip.OutDiscards",
    "Ip.OutNoRoutes",
    "IpExt.InNoRoutes",
    "Tcp.AttemptFails",
    "Tcp.EstabResets",
    "Tcp.OutRsts",
    "Tcp.RetransSegs",
    "TcpExt.IPReversePathFilter",
    "TcpExt.ListenDrops",
    "TcpExt.TCPChallengeACK",
    "TcpExt.TWKilled",
];

/// The counters of a namespace, by their names.
pub struct Counted(BTreeMap<String, u64>);

impl Counted {
    /// As they are now.
    pub fn of(netns: &Netns) -> Self {
        let read = || {
            ["snmp", "netstat", "snmp6"]
                .map(|file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap())
        };
        let [snmp, netstat, snmp6] = netns.run(read).unwrap();
        let of_ipv4 = [snmp, netstat].into_iter().flat_map(|text| counters(&text));
        Self(of_ipv4.chain(counters_of_ipv6(&snmp6)).collect())
    }

    /// Those of [`OF_FAULTS`] that have grown since, as `NAME +COUNT`, or "nothing".
    pub fn grown(&self, netns: &Netns) -> String {
        let now = Self::of(netns).0;
        let of = |all: &BTreeMap<String, u64>, name: &str| all.get(name).copied().unwrap_or(0);
        let grown = OF_FAULTS
            .iter()
            .map(|name| (name, of(&now, name).saturating_sub(of(&self.0, name))));
        let words = grown
            .filter(|(_, by)| *by > 0)
            .map(|(name, by)| format!("{name} +{by}"));
        let words: Vec<String> = words.collect();
        match words.is_empty() {
            true => "nothing".to_owned(),
            false => words.join(" "),
        }
    }
}

/// Pairs of lines: names, then values, each after the same word.
fn counters(text: &str) -> Vec<(String, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let of_pair = |pair: &[&str]| {
        let (group, names) = pair[0].split_once(':').unwrap();
        let values = pair[1].split_once(':').unwrap().1.split_whitespace();
        let both = names.split_whitespace().zip(values);
        both.filter_map(|(name, value)| Some((format!("{group}.{name}"), value.parse().ok()?)))
            .collect::<Vec<_>>()
    };
    lines.chunks_exact(2).flat_map(of_pair).collect()
}

/// A name and a value on each line.
fn counters_of_ipv6(text: &str) -> Vec<(String, u64)> {
    let of_line = |line: &str| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(of_line).collect()
}

#[test]
fn both_forms_of_counters_are_read() {
    let pairs = counters("Tcp: OutRsts InErrs\nTcp: 7 -1\nUdp: InErrors\nUdp: 3\n");
    let named = |name: &str, value| (name.to_owned(), value);
    assert_eq!(pairs, [named("Tcp.OutRsts", 7), named("Udp.InErrors", 3)]);
    assert_eq!(
        counters_of_ipv6("Ip6InNoRoutes \t 4\n"),
        [named("Ip6InNoRoutes", 4)]
    );
}

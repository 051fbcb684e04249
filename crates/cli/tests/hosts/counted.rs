//! What a kernel counted while probes were sent: it shows who refused or dropped one.

use linux::netns::Netns;
use std::collections::BTreeMap;

/// Counters that do not move while every packet arrives and is accepted.
const OF_FAULTS: [&str; 14] = [
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
            ["snmp", "netstat"].map(|file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")))
        };
        let files = netns.run(read).unwrap().map(Result::unwrap);
        Self(files.iter().flat_map(|text| counters(text)).collect())
    }

    /// Those of [`OF_FAULTS`] that have grown since, as `NAME +COUNT`.
    pub fn grown(&self, netns: &Netns) -> String {
        let now = Self::of(netns).0;
        let of = |all: &BTreeMap<String, u64>, name: &str| all.get(name).copied().unwrap_or(0);
        let grown = OF_FAULTS
            .iter()
            .map(|name| (name, of(&now, name) - of(&self.0, name)));
        let words = grown
            .filter(|(_, by)| *by > 0)
            .map(|(name, by)| format!("{name} +{by}"));
        words.collect::<Vec<_>>().join(" ")
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

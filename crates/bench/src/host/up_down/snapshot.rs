//! The configuration of a host, as text to compare.
//!
//! The tests of whole hosts share this file. Other programs than slowhand read everything that they can show.

use super::inside::{feed, ip, ip6};
use linux::bpf::{Hook, programs_at};
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// slowhand's protocol number, which its rules and routes carry.
const OURS: &str = "proto 183";

/// The interface of `[networks]`, on which the kernel itself puts a few routes and addresses.
#[allow(
    dead_code,
    reason = "only the tests of whole hosts compare while slowhand runs"
)]
const STEADY: &str = "slow0";

/// Protocols whose routes are shown. A router's 200,000 routes have another protocol, and are too many.
const PROTOCOLS: [&str; 7] = ["kernel", "boot", "static", "ra", "redirect", "dhcp", "183"];

/// Everything that slowhand may change, and what it must not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Rules, routes and addresses.
    routing: Vec<String>,
    /// Limits, endpoints, kernel parameters, queueing disciplines, tcx programs and rules of nftables.
    settings: Vec<String>,
}

impl Snapshot {
    /// Takes a snapshot of the host.
    pub fn of(host: &Netns) -> anyhow::Result<Self> {
        let mut routing = ip(host, "rule show")? + &ip6(host, "rule show")?;
        for protocol in PROTOCOLS {
            routing += &routes_by(host, protocol)?;
        }
        routing += &addresses(host)?;
        let mut settings = ip(host, "mptcp limits show\nmptcp endpoint show")?;
        settings += &feed(host, &["tc", "qdisc", "show"], "")?;
        // Without counters, which change by themselves.
        settings += &feed(host, &["nft", "--stateless", "list", "ruleset"], "")?;
        settings += &host.run(parameters)??;
        settings += &host.run(programs)??;
        Ok(Self {
            routing: lines(&routing),
            settings: lines(&settings),
        })
    }

    /// All lines of the snapshot.
    pub fn whole(&self) -> Vec<&str> {
        let all = self.routing.iter().chain(&self.settings);
        all.map(String::as_str).collect()
    }
}

#[allow(
    dead_code,
    reason = "only the tests of whole hosts compare while slowhand runs"
)]
impl Snapshot {
    /// Rules and routes of slowhand.
    pub fn of_slowhand(&self) -> Vec<&str> {
        let ours = self.routing.iter().filter(|line| line.contains(OURS));
        ours.map(String::as_str).collect()
    }

    /// Rules, routes and addresses that are not slowhand's, without the rules' priorities. If the user leaves
    /// a priority to the kernel, its number depends on the existing rules. Their order does not.
    #[allow(
        dead_code,
        reason = "only the tests of whole hosts compare while slowhand runs"
    )]
    pub fn of_others(&self) -> Vec<&str> {
        let is_ours = |line: &&String| line.contains(OURS) || line.contains(STEADY);
        let others = self.routing.iter().filter(|line| !is_ours(line));
        others.map(|line| without_priority(line)).collect()
    }
}

fn lines(text: &str) -> Vec<String> {
    // Lifetimes change by themselves.
    let lasting = |line: &str| {
        let words = line.split_whitespace();
        words
            .filter(|word| !word.ends_with("sec"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    text.lines().map(lasting).collect()
}

/// A rule without its priority; any other line unchanged.
fn without_priority(line: &str) -> &str {
    match line.split_once(": ") {
        Some((_, rule)) if rule.contains("lookup ") => rule,
        _ => line,
    }
}

/// Routes of this protocol in all tables. Names the protocol, which `ip` leaves out if the command has it.
/// IPv4 routes keep their order, since of equal ones the first counts. IPv6 routes are sorted, since the
/// kernel adds them at times of its own.
fn routes_by(host: &Netns, protocol: &str) -> anyhow::Result<String> {
    let shown = ip(host, &format!("route show table all proto {protocol}"))?;
    let (mut v6, v4): (Vec<&str>, Vec<&str>) = shown.lines().partition(|line| line.contains("::"));
    v6.sort_unstable();
    let all = v4.into_iter().chain(v6);
    Ok(all.map(|line| format!("proto {protocol}: {line}\n")).collect())
}

fn addresses(host: &Netns) -> anyhow::Result<String> {
    let shown = feed(host, &["ip", "-oneline", "address", "show"], "")?;
    // Link numbers come first.
    let named = shown.lines().filter_map(|line| Some(line.split_once(": ")?.1));
    Ok(named.fold(String::new(), |all, line| all + line + "\n"))
}

/// Kernel parameters of the calling thread's namespace.
fn parameters() -> std::io::Result<String> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir("/proc/sys/net/mptcp")? {
        paths.push(entry?.path());
    }
    let ipv4 = ["tcp_rmem", "tcp_wmem", "tcp_congestion_control", "ip_forward"];
    paths.extend(ipv4.map(|key| Path::new("/proc/sys/net/ipv4").join(key)));
    paths.push("/proc/sys/net/netfilter/nf_conntrack_acct".into());
    for entry in std::fs::read_dir("/proc/sys/net/ipv4/conf")? {
        paths.push(entry?.path().join("src_valid_mark"));
    }
    paths.sort();
    let shown = |path: &std::path::PathBuf| {
        let value = std::fs::read_to_string(path).unwrap_or_default();
        format!("{} = {}\n", path.display(), value.trim())
    };
    Ok(paths.iter().map(shown).collect())
}

/// The tcx programs on the links of the calling thread's namespace.
fn programs() -> anyhow::Result<String> {
    let mut text = String::new();
    for link in Rtnl::open()?.links()? {
        for (hook, way) in [(Hook::Ingress, "in"), (Hook::Egress, "out")] {
            // A kernel without tcx has no programs.
            for program in programs_at(link.ifindex, hook).unwrap_or_default() {
                let _ = writeln!(text, "tcx {} {way}: {program}", link.name);
            }
        }
    }
    Ok(text)
}

/// The lines that only one of the two has, at most `most` of them.
pub fn difference(expected: &[&str], found: &[&str], most: usize) -> Vec<String> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    expected
        .iter()
        .for_each(|line| *counts.entry(line).or_default() -= 1);
    found
        .iter()
        .for_each(|line| *counts.entry(line).or_default() += 1);
    let said = counts.iter().filter_map(|(line, count)| match count {
        0 => None,
        1.. => Some(format!("there is: {line}")),
        _ => Some(format!("missing: {line}")),
    });
    let mut said: Vec<String> = said.take(most).collect();
    if said.is_empty() && expected != found {
        said.push("the order of rules or routes is another one".to_owned());
    }
    said
}

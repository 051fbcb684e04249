//! Another program removes what slowhand has set, as network managers do: it is restored within seconds, and
//! reported once.

use crate::daemon::Slowhand;
use crate::may_run;
use crate::shapes::two_providers;
use crate::site::{HOST, Site};
use crate::snapshot::{Snapshot, difference};
use crate::wait::{self, RouteMonitor};
use std::time::Duration;

/// How long things may stay away.
const RESTORED: Duration = Duration::from_secs(8);

/// What is done to a host.
type Sweep = fn(&Site);

/// What others do, with the word that the log has for what was restored.
const SWEEPS: [(&str, &str, Sweep); 4] = [
    ("rules, as networkd does", "rule", |site| {
        let again = "rule flush\nrule add pref 32766 lookup main\nrule add pref 32767 lookup default";
        site.ip(HOST, again);
        site.ip6(HOST, "rule flush\nrule add pref 32766 lookup main");
    }),
    ("rules of one family", "rule", |site| {
        for rule in own_rules(&site.ip(HOST, "rule show")) {
            site.ip(HOST, &format!("rule del {rule}"));
        }
    }),
    ("routes", "route", |site| {
        for table in own_tables(&site.ip(HOST, "rule show")) {
            site.ip(HOST, &format!("route flush table {table} proto 183"));
        }
    }),
    ("path manager", "path_manager", |site| {
        site.set(HOST, "net/mptcp/path_manager", "kernel");
    }),
];

/// Rules of slowhand, by their priority.
fn own_rules(shown: &str) -> Vec<String> {
    let own = shown.lines().filter(|line| line.contains("proto 183"));
    own.map(|line| format!("pref {}", line.split_once(':').unwrap().0))
        .collect()
}

/// Tables that only slowhand's rules lead to.
fn own_tables(shown: &str) -> Vec<String> {
    let own = shown.lines().filter(|line| line.contains("proto 183"));
    let tables = own.filter_map(|line| line.split("lookup ").nth(1)?.split_whitespace().next());
    let mut tables: Vec<String> = tables
        .filter(|table| *table != "main")
        .map(str::to_owned)
        .collect();
    tables.sort();
    tables.dedup();
    tables
}

#[test]
fn routes_removed_by_others_are_restored_and_reported_once() {
    if !may_run() {
        return;
    }
    let mut site = Site::new();
    two_providers(&mut site);
    site.await_all_addresses();
    let before = Snapshot::of(site.host()).unwrap();
    let mut slowhand = Slowhand::on(&site);
    let ear = RouteMonitor::on(site.host());
    slowhand.start();
    ear.until_quiet();
    let settled = Snapshot::of(site.host()).unwrap();
    assert!(!settled.of_slowhand().is_empty());
    let mut findings = Vec::new();
    for (name, word, sweep) in SWEEPS {
        let said = slowhand.log().lines().count();
        let ear = RouteMonitor::on(site.host());
        slowhand.unseen(|| sweep(&site));
        let mut missing = Vec::new();
        let restored = wait::within(RESTORED, || {
            missing = difference(&settled.whole(), &Snapshot::of(site.host()).unwrap().whole(), 3);
            missing.is_empty()
        });
        if !restored {
            findings.push(format!("{name}: not restored: {missing:?}"));
            continue;
        }
        ear.until_quiet();
        let log = slowhand.log();
        let about = log
            .lines()
            .skip(said)
            .filter(|line| line.contains("restored") && line.contains(word));
        let about: Vec<&str> = about.collect();
        if about.len() != 1 {
            findings.push(format!(
                "{name}: said {} times that a {word} was restored: {about:?}",
                about.len()
            ));
        }
    }
    let (code, words) = slowhand.down();
    assert_eq!(code, Some(0), "{words}");
    findings.extend(difference(
        &before.whole(),
        &Snapshot::of(site.host()).unwrap().whole(),
        9,
    ));
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

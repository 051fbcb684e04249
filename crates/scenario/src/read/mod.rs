//! From the sections of a file to the plan.

mod air;
mod blocks;
mod carried;
mod cell;
mod datagrams;
mod expect;
mod fault;
mod group;
mod link;
mod loss;
mod names;
mod noise;
mod place;
mod propagation;
mod radio;
mod rate;
mod relay;
mod tcp;
mod traffic;
mod walk;
mod wifi;
mod wire;

use crate::plan::{Medium, Plan, Server, ServerFamilies};
use crate::quantity::Quantity;
use crate::section::Section;
use crate::spot::{Spots, Thing};
use std::io;
use trace::PolicyName;
use units::{Bitrate, Bytes, Db, Dbm, Duration};

/// Finds a file that a scenario names: what messages call it, and what is in it.
pub type Files<'f> = &'f dyn Fn(&str) -> io::Result<(String, Vec<u8>)>;

/// A run: long enough to see something, at most six hours.
const RUN: Quantity = Quantity {
    unit: "s",
    scale: 1e9,
    min: 1.0,
    max: 21_600.0,
};

/// What a stock kernel takes (`ip mptcp limits`), and the most that any kernel does.
const STOCK_SUBFLOWS: i64 = 2;
const MOST_SUBFLOWS: i64 = 8;

/// Reads the whole file. The plan is worth something only if nothing has been noted in the log.
pub(crate) fn plan(root: &Section<'_>, stem: &str, files: Files<'_>) -> Plan {
    let duration = run_length(root);
    let place = root.child("place", "[place]");
    let (mut place, propagation) = place.as_ref().map_or_else(Default::default, place::read);
    let medium = root.choice("medium", &MEDIA).unwrap_or_default();
    let (rules, hearing) = air::read(root, medium);
    let bottlenecks = wire::bottlenecks(root);
    let server_families = root.choice("server_families", &FAMILIES).unwrap_or_default();
    let mut read = link::all(
        root,
        &link::Around {
            bottlenecks: &bottlenecks,
            propagation,
            medium,
            hearing,
            server: server_families,
            files,
        },
    );
    place.noises = noise::all(root, &read.links);
    let walkers = walk::all(
        root,
        walk::Around {
            links: &read.links,
            medium,
            hearing,
            run: duration,
        },
    );
    carried::resolve(root, &mut read, &walkers.walkers);
    let links = &read.links;
    let flows = traffic::all(
        root,
        &traffic::FlowContext {
            links: &read,
            walkers: &walkers,
            run: duration,
        },
    );
    let plan = Plan {
        name: name(root, stem),
        sentence: sentence(root),
        duration,
        warmup: warmup(root, duration),
        seed: root.count("seed", 0..=i64::MAX).unwrap_or(1) as u64,
        cc: controller(root).unwrap_or("reno").to_owned(),
        tcp: tcp::read(root, links, &walkers.walkers, &flows.flows),
        server: root.choice("server", &SERVERS).unwrap_or_default(),
        relay: relay::read(root, links),
        server_subflows: root
            .count("server_subflows", 0..=MOST_SUBFLOWS)
            .unwrap_or(STOCK_SUBFLOWS) as u8,
        server_families,
        faults: fault::all(root, links, duration),
        policies: policies(root, links),
        expectations: expect::all(root, links, &flows.flows),
        spots: spots(root),
        medium,
        rules,
        place,
        scatters: read.scatters.into_iter().chain(walkers.scatters).collect(),
        nearest: flows.nearest,
        losses: loss::all(root, links, &walkers.walkers, medium),
        links: read.links,
        bottlenecks,
        walkers: walkers.walkers,
        flows: flows.flows,
    };
    root.finish();
    let seed = plan.seed;
    plan.with_seed(seed)
}

/// Places of things that not every world can use.
fn spots(root: &Section<'_>) -> Spots {
    let mut spots = Spots::of(&root.log.spot(root.at).file);
    let mut add = |thing: Thing<'_>, at| spots.add(thing, root.log.spot(at));
    for (key, kind, _) in link::KINDS {
        let sections = root.named(key, kind);
        sections
            .iter()
            .for_each(|(name, link)| add(Thing::Link(name), link.at));
    }
    let flows = root.named("flows", "flow");
    flows
        .iter()
        .for_each(|(name, flow)| add(Thing::Flow(name), flow.at));
    let walkers = root.named("walkers", "walker");
    walkers
        .iter()
        .for_each(|(name, walker)| add(Thing::Walker(name), walker.at));
    if let Some(fault) = root.tables("faults", "fault").first() {
        add(Thing::Faults, fault.at);
    }
    for (key, thing) in [
        ("medium", Thing::Medium),
        ("warmup_s", Thing::Warmup),
        ("relay", Thing::Relay),
    ] {
        if root.has(key) {
            add(thing, root.place_of(key));
        }
    }
    if let Some(entry) = root.entry("tcp") {
        add(Thing::Tcp, entry.key_at);
    }
    spots
}

const SERVERS: [(&str, Server); 3] = [
    (Server::Stock.as_str(), Server::Stock),
    (Server::Slowhand.as_str(), Server::Slowhand),
    (Server::Legacy.as_str(), Server::Legacy),
];

const FAMILIES: [(&str, ServerFamilies); 4] = [
    ("ipv4", ServerFamilies::V4),
    ("ipv6", ServerFamilies::V6),
    ("ipv4-first", ServerFamilies::V4First),
    ("ipv6-first", ServerFamilies::V6First),
];

const MEDIA: [(&str, Medium); 3] = [
    ("dcf", Medium::Dcf),
    ("exact", Medium::Exact),
    ("wfq", Medium::Wfq),
];

fn name(root: &Section<'_>, stem: &str) -> String {
    match root.text("name") {
        Some(name) => names::checked(root, root.place_of("name"), "scenario", name).to_owned(),
        None => stem.to_owned(),
    }
}

fn sentence(root: &Section<'_>) -> String {
    if !root.has("sentence") {
        root.missing(
            "sentence",
            "`sentence = \"…\"`: one sentence that says what the scenario shows",
        );
    }
    let words = root.text("sentence").unwrap_or_default().split_whitespace();
    let sentence = words.collect::<Vec<_>>().join(" ");
    if root.has("sentence") && sentence.is_empty() {
        root.note("sentence", "the sentence is empty", "say what the scenario shows");
    }
    sentence
}

/// A length that is wrong is endless, so that nothing else seems to come too late.
fn run_length(root: &Section<'_>) -> Duration {
    if !root.has("duration_s") {
        root.missing("duration_s", "`duration_s = 60`: how long a run lasts");
    }
    root.amount("duration_s", &RUN).map_or(Duration::MAX, nanos)
}

fn warmup(root: &Section<'_>, run: Duration) -> Duration {
    let warmup = root
        .amount("warmup_s", &Quantity::S)
        .map_or(Duration::ZERO, nanos);
    if warmup >= run {
        root.note(
            "warmup_s",
            "the warm-up takes all of the run, and nothing would count",
            "make it shorter than `duration_s`",
        );
    }
    warmup
}

fn controller<'d>(section: &Section<'d>) -> Option<&'d str> {
    let name = section.text("cc")?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 15 || !name.chars().all(plain) {
        section.note(
            "cc",
            format!("\"{name}\" cannot be a congestion controller"),
            "give a name from net.ipv4.tcp_available_congestion_control, such as \"reno\", or one of \"lia\", \"olia\", \"balia\", \"cla\"",
        );
    }
    Some(name)
}

fn policies(root: &Section<'_>, links: &[crate::Link]) -> Vec<PolicyName> {
    let Some(report) = root.child("report", "[report]") else {
        return Vec::new();
    };
    let list = report.list("policies");
    let policies = list
        .into_iter()
        .filter_map(|node| names::policy_in(&report, node, links))
        .collect();
    report.finish();
    policies
}

/// A time in the log's own nanoseconds; bounds have made sure that it is not negative.
fn nanos(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.unsigned_abs())
}

fn bps(bps: i64) -> Bitrate {
    Bitrate::from_bps(bps.unsigned_abs())
}

fn bytes(bytes: i64) -> Bytes {
    Bytes::new(bytes.unsigned_abs())
}

fn db(centi: i64) -> Db {
    Db::from_centi(centi as i32)
}

fn dbm(mbm: i64) -> Dbm {
    Dbm::from_mbm(mbm as i32)
}

#[cfg(test)]
mod tests;

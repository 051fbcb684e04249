//! `[flows.NAME]`.

use super::link::Links;
use super::walk::Walkers;
use super::{blocks, bps, bytes, datagrams, names, nanos};
use crate::plan::{Flow, Nearest, OnOff, Transport, Work};
use crate::quantity::Quantity;
use crate::section::Section;
use std::collections::BTreeSet;
use std::ops::Range;
use units::{Bytes, Duration};

/// What flows may name, and how long they have.
#[derive(Clone, Copy)]
pub(super) struct FlowContext<'p> {
    pub links: &'p Links,
    pub walkers: &'p Walkers,
    pub run: Duration,
}

/// The flows of a file, and those over the nearest access point of a group.
#[derive(Debug, Default)]
pub(super) struct Flows {
    pub flows: Vec<Flow>,
    pub nearest: Vec<Nearest>,
}

pub(super) fn all(root: &Section<'_>, who: &FlowContext<'_>) -> Flows {
    let sections = root.named("flows", "flow");
    if sections.is_empty() {
        root.log.note(
            root.at,
            "there are no flows",
            "add [flows.download] with `direction = \"down\"`",
        );
    }
    let mut all = Flows::default();
    for (name, section) in &sections {
        all.add(name, section, who);
    }
    let mut known = BTreeSet::new();
    for flow in &all.flows {
        if !known.insert(flow.name.as_str()) {
            let what = format!("`count` makes two flows named \"{}\"", flow.name);
            root.log.note(root.place_of("flows"), what, "rename one of them");
        }
    }
    all
}

/// Most flows of one table: as many as a group has members.
const MOST: i64 = 10_000;

impl Flows {
    /// Adds the flow, or as many as `count` and the members of its group say: NAME-1, NAME-2 …
    fn add(&mut self, name: &str, section: &Section<'_>, who: &FlowContext<'_>) {
        names::checked(section, section.at, "flow", name);
        let owners = by(section, who.walkers);
        let several = blocks::read(section, &owners);
        let (transport, among) = match several {
            Some((transport, _)) => (transport, None),
            None => transport(section, who.links),
        };
        let flow = Flow {
            name: name.to_owned(),
            by: owners.start,
            transport,
            cc: super::controller(section).map(str::to_owned),
            start: section
                .amount("start_s", &Quantity::S)
                .map_or(Duration::ZERO, nanos),
            work: match (several, transport) {
                (Some((_, work)), _) => work,
                (None, Transport::Udp { over }) => datagrams::read(section, &who.links.links[over]),
                (None, _) => work(section),
            },
        };
        section.before_the_end("start_s", flow.start, who.run);
        let count = section.count("count", 1..=MOST);
        section.finish();
        let is_single = count.is_none() && owners.len() == 1;
        let each = count.unwrap_or(1);
        if each.saturating_mul(owners.len() as i64) > MOST {
            let what = format!("these would be {} flows", each * owners.len() as i64);
            section.note("count", what, format!("a table makes at most {MOST}"));
            return;
        }
        let owners = owners.flat_map(|owner| (0..each).map(move |_| owner));
        for (owner, number) in owners.zip(1..) {
            if let Some(among) = &among {
                self.nearest.push(Nearest {
                    flow: self.flows.len(),
                    among: among.clone(),
                });
            }
            self.flows.push(Flow {
                name: match is_single {
                    true => name.to_owned(),
                    false => format!("{name}-{number}"),
                },
                by: owner,
                ..flow.clone()
            });
        }
    }
}

/// Reads which walkers have the flow: one, or all members of a group.
fn by(section: &Section<'_>, walkers: &Walkers) -> Range<usize> {
    let client = 0..1;
    let Some(name) = section.text("by") else {
        return client;
    };
    if let Some(group) = walkers.groups.iter().find(|group| group.name == name) {
        return group.members.clone();
    }
    let known = walkers.walkers.iter().map(|walker| walker.name.as_str());
    let found = walkers.by_name.get(name).copied();
    let found = found.or_else(|| names::resolve(section, section.place_of("by"), "walker", name, known));
    found.map_or(client, |place| place..place + 1)
}

/// How the file spells the ways to carry a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mptcp,
    Tcp,
    Udp,
}

/// What carries a flow. Over a group, the link is the first of its access points, and the group is returned
/// too.
fn transport(section: &Section<'_>, links: &Links) -> (Transport, Option<Range<usize>>) {
    const KNOWN: [(&str, Kind); 3] = [("mptcp", Kind::Mptcp), ("tcp", Kind::Tcp), ("udp", Kind::Udp)];
    let kind = section.choice("transport", &KNOWN).unwrap_or(Kind::Mptcp);
    match (kind, section.has("over")) {
        (Kind::Mptcp, over) => {
            if over {
                section.note(
                    "over",
                    "the policy chooses the links of an MPTCP flow",
                    "add `transport = \"tcp\"` or \"udp\", or remove `over`",
                );
            }
            (Transport::Mptcp, None)
        }
        (Kind::Tcp, false) => {
            section.missing("over", "`over = \"LINK\"`: plain TCP has one path");
            (Transport::Mptcp, None)
        }
        (Kind::Udp, false) => {
            section.missing("over", "`over = \"LINK\"`: datagrams have one path");
            (Transport::Mptcp, None)
        }
        (kind, true) => {
            let name = section.text("over");
            let group = name.and_then(|name| links.groups.iter().find(|group| group.name == name));
            let over = group.map(|group| group.members.start);
            let over = over
                .or_else(|| links.by_name.get(name?).copied())
                .or_else(|| names::link(section, "over", &links.links));
            let transport = over.map_or(Transport::Mptcp, |over| match kind {
                Kind::Udp => Transport::Udp { over },
                Kind::Tcp | Kind::Mptcp => Transport::Tcp { over },
            });
            (transport, group.map(|group| group.members.clone()))
        }
    }
}

fn work(section: &Section<'_>) -> Work {
    if let Some(requests) = section.child("requests", "table `requests`") {
        for key in ["direction", "size_mb", "size_kb", "limit_mbps", "on_off"]
            .into_iter()
            .filter(|key| section.has(key))
        {
            section.note(
                key,
                format!("`{key}` has no effect on requests"),
                "set it in `requests = { every_s, request_kb, reply_kb }`",
            );
        }
        return questions(&requests);
    }
    if !section.has("direction") {
        section.missing(
            "direction",
            "`direction = \"down\"` or \"up\", or `requests = { … }`",
        );
    }
    let up = section
        .choice("direction", &[("down", false), ("up", true)])
        .unwrap_or(false);
    if let Some(turns) = section.child("on_off", "table `on_off`") {
        return on_off(section, &turns, up);
    }
    let (size, limit) = (
        size(section),
        section.amount("limit_mbps", &Quantity::MBPS).map(bps),
    );
    if up {
        Work::Upload { size, limit }
    } else {
        Work::Download { size, limit }
    }
}

/// A source that sends and pauses in turns.
fn on_off(section: &Section<'_>, turns: &Section<'_>, up: bool) -> Work {
    for key in ["size_mb", "size_kb", "limit_mbps"] {
        if section.has(key) {
            section.note(
                key,
                format!("`{key}` has no effect on a flow with `on_off`"),
                "remove it; such a flow sends all it can in each turn, until the run ends",
            );
        }
    }
    for key in ["on_s", "off_s"] {
        if !turns.has(key) {
            turns.missing(
                key,
                "`on_s` and `off_s`: how long the flow sends, and how long it pauses",
            );
        }
    }
    let time = |key| {
        turns
            .amount(key, &Quantity::SOME_S)
            .map_or(Duration::from_secs(1), nanos)
    };
    let times = OnOff {
        on: time("on_s"),
        off: time("off_s"),
    };
    turns.finish();
    Work::OnOff { up, turns: times }
}

fn size(section: &Section<'_>) -> Option<Bytes> {
    if section.has("size_mb") && section.has("size_kb") {
        section.note("size_kb", "`size_kb` contradicts `size_mb`", "keep one of them");
    }
    let mb = section.amount("size_mb", &Quantity::MB);
    mb.or_else(|| section.amount("size_kb", &Quantity::KB)).map(bytes)
}

fn questions(section: &Section<'_>) -> Work {
    for key in ["every_s", "reply_kb"] {
        if !section.has(key) {
            section.missing(
                key,
                "`every_s` and `reply_kb`: the interval and the size of a reply",
            );
        }
    }
    let work = Work::Requests {
        every: section
            .amount("every_s", &Quantity::SOME_S)
            .map_or(Duration::from_secs(1), nanos),
        // The median request of HTTP Archive's pages is well under a packet.
        request: section
            .amount("request_kb", &Quantity::KB)
            .map_or(Bytes::new(500), bytes),
        reply: section
            .amount("reply_kb", &Quantity::KB)
            .map_or(Bytes::new(1), bytes),
    };
    section.finish();
    work
}

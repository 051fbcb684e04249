//! `[flows.NAME]`.

use super::{bps, bytes, datagrams, names, nanos};
use crate::plan::{Flow, Link, Transport, Walker, Work};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Bytes, Duration};

/// What flows may name, and how long they have.
#[derive(Clone, Copy)]
pub(super) struct FlowContext<'p> {
    pub links: &'p [Link],
    pub walkers: &'p [Walker],
    pub run: Duration,
}

pub(super) fn all(root: &Section<'_>, who: &FlowContext<'_>) -> Vec<Flow> {
    let sections = root.named("flows", "flow");
    if sections.is_empty() {
        root.log.note(
            root.at,
            "there are no flows",
            "add [flows.download] with `direction = \"down\"`",
        );
    }
    let flows: Vec<Flow> = sections
        .iter()
        .flat_map(|(name, section)| some(name, section, who))
        .collect();
    for (index, flow) in flows.iter().enumerate() {
        if flows[..index].iter().any(|other| other.name == flow.name) {
            let what = format!("`count` makes two flows named \"{}\"", flow.name);
            root.log.note(root.place_of("flows"), what, "rename one of them");
        }
    }
    flows
}

/// The flow, or as many as `count` says: NAME-1, NAME-2 …
fn some(name: &str, section: &Section<'_>, who: &FlowContext<'_>) -> Vec<Flow> {
    names::checked(section, section.at, "flow", name);
    let transport = transport(section, who.links);
    let flow = Flow {
        name: name.to_owned(),
        by: by(section, who.walkers),
        transport,
        cc: super::controller(section).map(str::to_owned),
        start: section
            .amount("start_s", &Quantity::S)
            .map_or(Duration::ZERO, nanos),
        work: match transport {
            Transport::Udp { over } => datagrams::read(section, &who.links[over]),
            Transport::Mptcp | Transport::Tcp { .. } => work(section),
        },
    };
    section.before_the_end("start_s", flow.start, who.run);
    let count = section.count("count", 1..=100);
    section.finish();
    match count {
        None => vec![flow],
        Some(count) => (1..=count)
            .map(|n| Flow {
                name: format!("{name}-{n}"),
                ..flow.clone()
            })
            .collect(),
    }
}

fn by(section: &Section<'_>, walkers: &[Walker]) -> usize {
    let known = walkers.iter().map(|walker| walker.name.as_str());
    section
        .text("by")
        .and_then(|name| names::resolve(section, section.place_of("by"), "walker", name, known))
        .unwrap_or(0)
}

/// How the file spells the ways to carry a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mptcp,
    Tcp,
    Udp,
}

fn transport(section: &Section<'_>, links: &[Link]) -> Transport {
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
            Transport::Mptcp
        }
        (Kind::Tcp, false) => {
            section.missing("over", "`over = \"LINK\"`: plain TCP has one path");
            Transport::Mptcp
        }
        (Kind::Udp, false) => {
            section.missing("over", "`over = \"LINK\"`: datagrams have one path");
            Transport::Mptcp
        }
        (kind, true) => names::link(section, "over", links).map_or(Transport::Mptcp, |over| match kind {
            Kind::Udp => Transport::Udp { over },
            Kind::Tcp | Kind::Mptcp => Transport::Tcp { over },
        }),
    }
}

fn work(section: &Section<'_>) -> Work {
    if let Some(requests) = section.child("requests", "table `requests`") {
        for key in ["direction", "size_mb", "size_kb", "limit_mbps"]
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

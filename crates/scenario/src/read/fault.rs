//! `[[faults]]`.

use super::wire::rates;
use super::{db, names, nanos};
use crate::document::Value;
use crate::plan::{Change, Fault, LaneRate, Link, LinkKind, Repeat, Target, Window};
use crate::quantity::Quantity;
use crate::section::Section;
use units::Duration;

/// A fault that comes back sooner than this is jitter.
const OFTEN: Quantity = Quantity {
    min: 0.1,
    ..Quantity::SOME_S
};

pub(super) fn all(root: &Section<'_>, links: &[Link], run: Duration) -> Vec<Fault> {
    root.tables("faults", "fault")
        .iter()
        .map(|section| one(section, links, run))
        .collect()
}

fn one(section: &Section<'_>, links: &[Link], run: Duration) -> Fault {
    if !section.has("at_s") {
        section.missing(
            "at_s",
            "`at_s`: when it happens, or [from, to] to draw a time from the seed",
        );
    }
    let (from, to) = section.span("at_s", &Quantity::S).unwrap_or_default();
    section.before_the_end("at_s", nanos(to), run);
    let fault = Fault {
        at: Window {
            from: nanos(from),
            to: nanos(to),
        },
        target: target(section, links),
        change: change(section),
        lasts: section.amount("for_s", &Quantity::SOME_S).map(nanos),
        repeat: repeat(section),
    };
    check(section, &fault, links);
    section.finish();
    fault
}

fn target(section: &Section<'_>, links: &[Link]) -> Target {
    match (section.has("link"), section.has("links")) {
        (true, both) => {
            if both {
                section.note("links", "`links` contradicts `link`", "keep one of them");
            }
            match section.text("link") {
                Some("all") => Target::Links((0..links.len()).collect()),
                Some("busiest") => Target::Busiest,
                _ => Target::Links(names::link(section, "link", links).into_iter().collect()),
            }
        }
        (false, true) => Target::Links(several(section, links)),
        (false, false) => {
            section.missing(
                "link",
                "`link = \"NAME\"`, \"all\" or \"busiest\", or `links = [\"NAME\", …]`",
            );
            Target::Links(Vec::new())
        }
    }
}

fn several(section: &Section<'_>, links: &[Link]) -> Vec<usize> {
    let nodes = section.list("links");
    if nodes.is_empty() {
        section.note("links", "the list is empty", "name at least one link");
    }
    let mut found = Vec::new();
    for node in nodes {
        let known = links.iter().map(|link| link.name.as_str());
        let index = match &node.value {
            Value::Text(name) => names::resolve(section, node.at, "link", name, known),
            other => {
                section.log.note(
                    node.at,
                    format!("a link is {}", other.kind()),
                    "give its name in double quotes",
                );
                None
            }
        };
        if index.is_some_and(|index| found.contains(&index)) {
            section
                .log
                .note(node.at, "this link is in the list twice", "name it once");
        }
        found.extend(index);
    }
    found
}

/// The words for what happens, each with the keys that only it has.
const KINDS: [(&str, &[&str]); 5] = [
    ("blackhole", &[]),
    ("down", &["new_address"]),
    ("rate", &["rate_mbps", "up_mbps", "down_mbps"]),
    ("fade", &["loss_db", "over_s"]),
    ("new-address", &[]),
];

fn change(section: &Section<'_>) -> Change {
    let words: Vec<(&str, &str)> = KINDS.iter().map(|&(word, _)| (word, word)).collect();
    if !section.has("kind") {
        section.missing(
            "kind",
            &format!("`kind`: {}", crate::suggest::one_of(KINDS.map(|(word, _)| word))),
        );
    }
    let kind = section.choice("kind", &words).unwrap_or("blackhole");
    if section.has("kind") {
        refuse_keys_of_others(section, kind);
    }
    match kind {
        "down" => Change::Down {
            new_address: section.flag("new_address").unwrap_or(false),
        },
        "rate" => {
            let (up, down) = rates(section);
            Change::Rate { up, down }
        }
        "fade" => fade(section),
        "new-address" => Change::NewAddress,
        _ => Change::Blackhole,
    }
}

fn refuse_keys_of_others(section: &Section<'_>, kind: &str) {
    for (other, keys) in KINDS.into_iter().filter(|&(word, _)| word != kind) {
        for key in keys.iter().copied().filter(|key| section.has(key)) {
            let what = format!("`{key}` has no effect on a fault of kind \"{kind}\"");
            section.note(key, what, format!("remove it, or make the kind \"{other}\""));
        }
    }
}

fn fade(section: &Section<'_>) -> Change {
    for key in ["loss_db", "over_s"] {
        if !section.has(key) {
            section.missing(
                key,
                "`loss_db` and `over_s`: by how much the signal fades, and in what time",
            );
        }
    }
    Change::Fade {
        loss: section.amount("loss_db", &Quantity::LOSS_DB).map_or(db(0), db),
        over: section
            .amount("over_s", &Quantity::SOME_S)
            .map_or(Duration::from_secs(1), nanos),
    }
}

fn repeat(section: &Section<'_>) -> Option<Repeat> {
    let times = section.count("times", 1..=1_000_000).map(|times| times as u32);
    if times.is_some() && !section.has("every_s") {
        section.note(
            "times",
            "`times` needs `every_s`, the time from one to the next",
            "add `every_s`",
        );
    }
    section.amount("every_s", &OFTEN).map(|every| Repeat {
        every: nanos(every),
        times,
    })
}

/// What the keys mean together.
fn check(section: &Section<'_>, fault: &Fault, links: &[Link]) {
    if let Some(repeat) = fault.repeat {
        check_repeat(section, fault, repeat);
    }
    match fault.change {
        Change::NewAddress if fault.lasts.is_some() => {
            section.note("for_s", "a change of address has no duration", "remove `for_s`");
        }
        Change::Down { new_address: true } if fault.lasts.is_none() => {
            section.note(
                "new_address",
                "the link never returns, so it gets no new address",
                "add `for_s`",
            );
        }
        Change::Fade { over, .. } if fault.lasts.is_some_and(|lasts| lasts < over) => {
            section.note(
                "for_s",
                "the signal rises again before the fade is complete",
                "make `for_s` at least `over_s`",
            );
        }
        _ => check_targets(section, fault, links),
    }
}

/// A fault must have ended, and a signal must have risen, before it happens again.
fn check_repeat(section: &Section<'_>, fault: &Fault, repeat: Repeat) {
    let rising = match fault.change {
        Change::Fade { over, .. } => over,
        _ => Duration::ZERO,
    };
    match (fault.lasts, fault.change) {
        (Some(lasts), _) if lasts + rising >= repeat.every => {
            section.note(
                "every_s",
                "the fault repeats before it has ended",
                format!("make `every_s` longer than {} s", (lasts + rising).as_secs_f64()),
            );
        }
        (None, change) if change != Change::NewAddress => {
            section.note(
                "every_s",
                "the fault never ends, so it cannot repeat",
                "add `for_s`",
            );
        }
        _ => {}
    }
}

fn check_targets(section: &Section<'_>, fault: &Fault, links: &[Link]) {
    let (fits, needed): (fn(&Link) -> bool, &str) = match fault.change {
        Change::Fade { .. } => (|link| matches!(link.kind, LinkKind::Wifi(_)), "access points"),
        Change::Rate { .. } => (
            has_a_rate,
            "cables of their own, cells of constant rate and the backhauls of access points",
        ),
        _ => return,
    };
    let key = if section.has("links") { "links" } else { "link" };
    match &fault.target {
        Target::Busiest => section.note(key, "this fault needs a named link", "name one"),
        Target::Links(targets) => {
            for link in targets
                .iter()
                .map(|&index| &links[index])
                .filter(|link| !fits(link))
            {
                let what = format!("\"{}\" cannot have this fault", link.name);
                section.note(key, what, format!("only {needed} have it"));
            }
        }
    }
}

fn has_a_rate(link: &Link) -> bool {
    match &link.kind {
        LinkKind::Wifi(_) => true,
        LinkKind::Cable(cable) => cable.behind.is_none(),
        LinkKind::Cell(cell) => {
            matches!(
                (&cell.up, &cell.down),
                (LaneRate::Constant(_), LaneRate::Constant(_))
            )
        }
    }
}

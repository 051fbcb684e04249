//! Flows whose application fetches a file in blocks over several connections.

use super::{bps, bytes, nanos};
use crate::plan::{Skip, Transport, Video, Work};
use crate::quantity::Quantity;
use crate::section::Section;
use std::ops::Range;
use units::{Bitrate, Bytes, Duration};

/// More blocks would be a mistake: 16 TB in blocks of 16 MB.
const MOST_BLOCKS: u64 = 1_000_000;

/// Connections of one flow.
const MOST_PEERS: i64 = 1_000;

/// Usual in BitTorrent (BEP 3: "most commonly" 256 K).
const USUAL_PIECE: Bytes = Bytes::new(256_000);

/// What a player buffers before it plays. That of ExoPlayer: `DEFAULT_BUFFER_FOR_PLAYBACK_MS` of version 2.
const USUAL_BUFFER: Duration = Duration::from_millis(2_500);

/// Keys that only flows with one connection have.
const OF_ONE: [&str; 7] = [
    "transport",
    "over",
    "direction",
    "size_mb",
    "size_kb",
    "limit_mbps",
    "requests",
];

/// Reads such a flow: how its connections are carried, and what they do. `None`: it is another one.
pub(super) fn read(section: &Section<'_>, owners: &Range<usize>) -> Option<(Transport, Work)> {
    let (is_stripe, is_swarm) = (section.has("stripe"), section.has("swarm"));
    if section.has("video") && !is_stripe {
        section.note(
            "video",
            "`video` plays the blocks of a stripe",
            "add `stripe = { size_mb = 10 }`, or remove `video`",
        );
    }
    if is_stripe && is_swarm {
        section.note("swarm", "`swarm` contradicts `stripe`", "keep one of them");
    }
    if (is_stripe || is_swarm) && *owners != (0..1) {
        section.note("by", "only the client has such a flow", "remove `by`");
    }
    match (is_stripe, is_swarm) {
        (true, _) => Some((Transport::EachLink, stripe(section))),
        (false, true) => Some(swarm(section)),
        (false, false) => None,
    }
}

/// Reads `stripe = { … }`.
fn stripe(section: &Section<'_>) -> Work {
    refuse_keys(section, "stripe", "`size_mb`, `block_kb` and `skip`");
    let table = section.child("stripe", "table `stripe`");
    let skip = table.as_ref().and_then(|table| table.choice("skip", &SKIPS));
    let (size, block) = file(table.as_ref(), "block_kb", Bytes::new(16_000));
    Work::Stripe {
        size,
        block,
        skip: skip.unwrap_or_default(),
        video: section.child("video", "table `video`").as_ref().map(video),
    }
}

/// Reads `swarm = { … }`.
fn swarm(section: &Section<'_>) -> (Transport, Work) {
    refuse_keys(section, "swarm", "`size_mb`, `piece_kb` and `peers`");
    let table = section.child("swarm", "table `swarm`");
    let peers = table.as_ref().and_then(|table| {
        if !table.has("peers") {
            table.missing("peers", "`peers = 4`: how many peers have the file");
        }
        table.count("peers", 1..=MOST_PEERS)
    });
    let (size, piece) = file(table.as_ref(), "piece_kb", USUAL_PIECE);
    let peers = peers.unwrap_or(1) as u16;
    (Transport::EachPeer { peers }, Work::Swarm { size, piece })
}

/// Reads `video = { … }`.
fn video(table: &Section<'_>) -> Video {
    let rate = table.amount("rate_mbps", &Quantity::MBPS).map(bps);
    if !table.has("rate_mbps") {
        table.missing("rate_mbps", "`rate_mbps = 0.4`: the rate at which it is played");
    }
    let buffer = table.amount("buffer_s", &Quantity::SOME_S).map(nanos);
    table.finish();
    Video {
        rate: rate.unwrap_or(Bitrate::from_mbps(1)),
        buffer: buffer.unwrap_or(USUAL_BUFFER),
    }
}

const SKIPS: [(&str, Skip); 3] = [
    ("none", Skip::None),
    ("delta", Skip::Delta),
    ("finish", Skip::Finish),
];

/// Notes keys that have no effect beside this table, whose own keys are `own`.
fn refuse_keys(section: &Section<'_>, table: &str, own: &str) {
    for key in OF_ONE.into_iter().filter(|key| section.has(key)) {
        section.note(
            key,
            format!("`{key}` has no effect beside `{table}`, whose connections are plain TCP to the client"),
            format!("remove it; `{table}` has {own}"),
        );
    }
}

/// Reads the size of a file and of its blocks, which is under `key`, and finishes the table.
fn file(table: Option<&Section<'_>>, key: &'static str, usual: Bytes) -> (Bytes, Bytes) {
    let Some(table) = table else {
        return (usual, usual);
    };
    let size = table.amount("size_mb", &Quantity::MB).map(bytes);
    if !table.has("size_mb") {
        table.missing("size_mb", "`size_mb = 10`: the size of the file");
    }
    let block = table.amount(key, &Quantity::KB).map_or(usual, bytes);
    let size = size.unwrap_or(usual);
    let blocks = size.get().div_ceil(block.get());
    if blocks > MOST_BLOCKS {
        let what = format!("the file would have {blocks} parts");
        table.note(key, what, format!("make them larger: at most {MOST_BLOCKS} fit"));
    }
    table.finish();
    (size, block)
}

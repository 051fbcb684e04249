//! Flows whose application fetches a file in blocks over several connections.

use super::{bps, bytes, nanos};
use crate::plan::{Skip, Transport, Video, Work};
use crate::quantity::Quantity;
use crate::section::Section;
use std::ops::Range;
use units::{Bitrate, Bytes, Duration};

/// More blocks would be a mistake: 16 TB in blocks of 16 MB.
const MOST_BLOCKS: u64 = 1_000_000;

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

/// How the connections of such a flow are carried. `None`: it is another one.
pub(super) fn transport(section: &Section<'_>) -> Option<Transport> {
    if section.has("video") && !section.has("stripe") {
        section.note(
            "video",
            "`video` plays the blocks of a stripe",
            "add `stripe = { size_mb = 10 }`, or remove `video`",
        );
    }
    section.has("stripe").then_some(Transport::EachLink)
}

/// Refuses such flows of other walkers.
pub(super) fn belong_to_the_client(section: &Section<'_>, transport: Transport, owners: &Range<usize>) {
    if transport == Transport::EachLink && *owners != (0..1) {
        section.note("by", "only the client has such a flow", "remove `by`");
    }
}

/// Reads `stripe = { … }`.
pub(super) fn stripe(section: &Section<'_>) -> Work {
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

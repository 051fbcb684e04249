//! Flows that fetch a file in blocks over several connections: what a file says of them, and what is refused.

mod sound;

use scenario::{Skip, Transport, Video, Work};
use sound::{edited, messages};
use units::{Bitrate, Bytes, Duration};

const DOWN: &str = "direction = \"down\"";

/// The flow that has these keys.
fn flow(keys: &str) -> scenario::Flow {
    let plan = edited(DOWN, keys).unwrap_or_else(|problems| panic!("{problems}"));
    plan.flows[0].clone()
}

#[test]
fn a_stripe_has_a_connection_for_each_link() {
    let usual = flow("stripe = { size_mb = 1 }");
    assert_eq!(usual.transport, Transport::EachLink);
    let expected = |block, skip| Work::Stripe {
        size: Bytes::new(1_000_000),
        block: Bytes::new(block),
        skip,
        video: None,
    };
    assert_eq!(usual.work, expected(16_000, Skip::Finish));
    let own = flow("stripe = { size_mb = 1, block_kb = 64, skip = \"delta\" }");
    assert_eq!(own.work, expected(64_000, Skip::Delta));
}

#[test]
fn a_swarm_has_a_connection_for_each_peer() {
    let flow = flow("swarm = { size_mb = 2, peers = 4 }");
    assert_eq!(flow.transport, Transport::EachPeer { peers: 4 });
    let expected = Work::Swarm {
        size: Bytes::new(2_000_000),
        piece: Bytes::new(256_000),
    };
    assert_eq!(flow.work, expected);
}

#[test]
fn a_video_plays_what_a_stripe_fetches() {
    let played = |keys: &str| match flow(&format!("stripe = {{ size_mb = 1 }}\nvideo = {keys}")).work {
        Work::Stripe { video, .. } => video,
        work => panic!("{work:?}"),
    };
    let expected = |ms| {
        Some(Video {
            rate: Bitrate::from_kbps(400),
            buffer: Duration::from_millis(ms),
        })
    };
    assert_eq!(played("{ rate_mbps = 0.4 }"), expected(2_500));
    assert_eq!(played("{ rate_mbps = 0.4, buffer_s = 5 }"), expected(5_000));
}

#[test]
fn what_a_stripe_cannot_have_is_refused() {
    for (keys, expected) in [
        (
            "stripe = {}",
            "bad.toml:25:1: table `stripe` has no `size_mb`; add `size_mb = 10`: the size of the file",
        ),
        (
            "stripe = { size_mb = 1, skip = \"some\" }",
            "bad.toml:25:32: `skip` is \"some\"; give \"none\", \"delta\" or \"finish\"",
        ),
        (
            "stripe = { size_mb = 1, blocks_kb = 1 }",
            "bad.toml:25:25: unknown key `blocks_kb` in table `stripe`; did you mean `block_kb`?",
        ),
        (
            "stripe = { size_mb = 1000, block_kb = 0.001 }",
            "bad.toml:25:39: the file would have 1000000000 parts; make them larger: at most 1000000 fit",
        ),
        (
            "swarm = { size_mb = 1 }",
            "bad.toml:25:1: table `swarm` has no `peers`; add `peers = 4`: how many peers have the file",
        ),
        (
            "stripe = { size_mb = 1 }\nswarm = { size_mb = 1, peers = 2 }",
            "bad.toml:26:9: `swarm` contradicts `stripe`; keep one of them",
        ),
        (
            "swarm = { size_mb = 1, peers = 2 }\nlimit_mbps = 3",
            "bad.toml:26:14: `limit_mbps` has no effect beside `swarm`, whose connections are plain TCP to the \
             client; remove it; `swarm` has `size_mb`, `piece_kb` and `peers`",
        ),
        (
            "stripe = { size_mb = 1 }\nvideo = {}",
            "bad.toml:26:1: table `video` has no `rate_mbps`; add `rate_mbps = 0.4`: the rate at which it is played",
        ),
        (
            "direction = \"down\"\nvideo = { rate_mbps = 1 }",
            "bad.toml:26:9: `video` plays the blocks of a stripe; add `stripe = { size_mb = 10 }`, or remove `video`",
        ),
        (
            "stripe = { size_mb = 1 }\nover = \"dsl\"",
            "bad.toml:26:8: `over` has no effect beside `stripe`, whose connections are plain TCP to the client; \
             remove it; `stripe` has `size_mb`, `block_kb` and `skip`",
        ),
        (
            "stripe = { size_mb = 1 }\ndirection = \"up\"",
            "bad.toml:26:13: `direction` has no effect beside `stripe`, whose connections are plain TCP to the \
             client; remove it; `stripe` has `size_mb`, `block_kb` and `skip`",
        ),
        (
            "stripe = { size_mb = 1 }\nby = \"guard\"\n[walkers.guard]\nat_m = [1, 1]",
            "bad.toml:26:6: only the client has such a flow; remove `by`",
        ),
    ] {
        assert_eq!(messages(edited(DOWN, keys)), [expected], "{keys}");
    }
}

//! Flows of datagrams that are refused, and the message for each.

mod sound;

use sound::{SOUND, edited, messages, read};

/// The sound file's download.
const DOWNLOAD: &str = "[flows.download]\ndirection = \"down\"";

fn probes(keys: &str) -> String {
    format!("[flows.probes]\ntransport = \"udp\"\n{keys}")
}

/// Problems of such a flow, where the file expects what datagrams can fulfil.
fn datagrams(keys: &str) -> Vec<String> {
    let expected = SOUND
        .replace(DOWNLOAD, &probes(keys))
        .replace("intact = true", "moved_mb_min = 1");
    messages(read(&expected, &[]))
}

#[test]
fn datagrams_are_never_expected_to_be_intact() {
    let flow = "over = \"ap1\"\ndirection = \"up\"";
    assert_eq!(
        messages(edited(DOWNLOAD, &probes(flow))),
        [
            "bad.toml:36:10: datagrams may be lost, so their flow is never intact; remove it, or expect `goodput_mbps_min`"
        ]
    );
}

#[test]
fn invalid_datagram_flows_are_refused() {
    let refuses: &[(&str, &str)] = &[
        (
            "direction = \"down\"",
            "bad.toml:24:8: flow \"probes\" has no `over`; add `over = \"LINK\"`: datagrams have one path",
        ),
        (
            "over = \"ap1\"",
            "bad.toml:24:8: flow \"probes\" has no `direction`; add `direction = \"down\"`, \"up\" or \"everyone\"",
        ),
        (
            "over = \"ap2\"\ndirection = \"down\"",
            "bad.toml:26:8: there is no link \"ap2\"; did you mean \"ap1\"?",
        ),
        (
            "over = \"dsl\"\ndirection = \"everyone\"\nevery_ms = 100",
            "bad.toml:27:13: \"dsl\" is not an access point, so it reaches only the client; use \"down\" or \"up\", or name an access point",
        ),
        (
            "over = \"ap1\"\ndirection = \"everyone\"",
            "bad.toml:24:8: flow \"probes\" has no `every_ms`; add `every_ms = 100`: the interval between datagrams",
        ),
        (
            "over = \"ap1\"\ndirection = \"up\"\npayload_bytes = 1\nlimit_mbps = 1000",
            "bad.toml:29:14: a datagram every 8 ns is too fast; lower `limit_mbps`, raise `payload_bytes`, or remove `limit_mbps` for a saturated flow",
        ),
        (
            "over = \"ap1\"\ndirection = \"up\"\nevery_ms = 5\nlimit_mbps = 1",
            "bad.toml:28:12: `every_ms` contradicts `limit_mbps`; keep one of them",
        ),
        (
            "over = \"ap1\"\ndirection = \"up\"\nsize_mb = 5",
            "bad.toml:28:11: `size_mb` has no effect on datagrams; remove it; datagrams are sent until the run ends, and have `direction`, `limit_mbps` or `every_ms`, and `payload_bytes`",
        ),
        (
            "over = \"ap1\"\ndirection = \"up\"\npayload_bytes = 70000",
            "bad.toml:28:17: `payload_bytes` is 70000; give a number from 1 to 65507 bytes",
        ),
    ];
    for (keys, expected) in refuses {
        assert_eq!(datagrams(keys), [*expected], "{keys}");
    }
}

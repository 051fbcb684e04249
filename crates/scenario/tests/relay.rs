//! A relay in front of the server.

use links::{LinkConfig, QueueLimit};
use scenario::{Plan, Relay, Server, models};
use units::{Bitrate, Duration};

/// A cable of 15 Mb/s and 10 ms, with these lines above it.
fn plan(top: &str) -> Result<Plan, String> {
    let text = format!(
        "sentence = \"x\"\nduration_s = 4\n{top}\n[cables.desk]\ndown_mbps = 15\nup_mbps = 3\nrtt_ms = 10\n\
         [flows.download]\ndirection = \"down\"\n"
    );
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    scenario::parse("relay.toml", text.as_bytes(), &[], &no_files).map_err(|error| error.to_string())
}

#[test]
fn a_relay_has_a_place_and_a_rate() {
    let relay = plan("server = \"legacy\"\nrelay = { rtt_ms = 4 }").unwrap();
    assert_eq!(relay.server, Server::Legacy);
    let rate = Bitrate::from_mbps(1_000);
    let rtt = Duration::from_millis(4);
    assert_eq!(relay.relay, Some(Relay { rtt, rate }));
    assert_eq!(plan("").unwrap().relay, None);
}

#[test]
fn it_is_on_the_way_to_the_server() {
    let refused = |top: &str| plan(top).unwrap_err();
    let nowhere = refused("relay = { rate_mbps = 100 }");
    assert!(
        nowhere.contains("relay.toml:3:1: [relay] has no `rtt_ms`"),
        "{nowhere}"
    );
    let beyond = refused("relay = { rtt_ms = 11 }");
    assert!(
        beyond.contains("relay.toml:3:20: ") && beyond.contains("`desk` reaches the server in 10 ms already"),
        "{beyond}"
    );
}

#[test]
fn a_relay_cuts_links_in_two_and_keeps_their_queues() {
    let whole = plan("").unwrap();
    let cut = Plan {
        relay: Some(Relay {
            rtt: Duration::from_millis(4),
            rate: Bitrate::from_mbps(9),
        }),
        ..whole.clone()
    };
    let lane = |plan: &Plan| match &models::network(plan, 1).links[0] {
        LinkConfig::Cable(cable) => cable.down,
        other => panic!("{other:?}"),
    };
    let wire = models::relay_wire(&cut).unwrap();
    assert_eq!(models::relay_wire(&whole), None);
    assert_eq!(lane(&cut).delay + wire.down.delay, lane(&whole).delay);
    let product = QueueLimit::product(Bitrate::from_mbps(15), Duration::from_millis(10));
    assert_eq!(lane(&cut).queue.limit, product);
    assert_eq!(
        models::optimal(&cut, &models::network(&cut, 1), cut.duration, |_, _| Vec::new()),
        Bitrate::from_mbps(9)
    );
}

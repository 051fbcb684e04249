//! The cost of sampling counters.

use super::flow::{Download, Source};
use super::net::Net;
use super::rig::{Manual, PATIENCE};
use crate::testing::allocations;
use std::time::Duration;

/// Samples whose allocations are counted.
const READINGS: u64 = 20;

fn readings(daemon: &mut Manual) -> u64 {
    let world = &mut daemon.daemon.world;
    // Samples at future times, one after another, so that the test need not wait.
    let start = world.sampler.wake_at().unwrap().max(world.host.outlet.now);
    let mut inputs = 0;
    let counted = allocations(|| {
        for reading in 1..=READINGS {
            world.sample(start + Duration::from_millis(100 * reading), false);
            inputs += world.host.outlet.facts.len();
            world.host.outlet.facts.clear();
        }
    });
    assert!(
        inputs as u64 >= 3 * READINGS,
        "only {inputs} inputs in {READINGS} readings"
    );
    counted
}

#[test]
fn a_warm_sample_allocates_nothing() {
    let Some(net) = Net::with_links(3) else { return };
    let _source = Source::start(&net.server);
    net.in_client(|| {
        let mut daemon = Manual::start(3);
        let download = Download::start(&net);
        daemon.join(1);
        daemon.join(2);
        download.expect_more(500_000, PATIENCE);
        readings(&mut daemon);
        assert_eq!(readings(&mut daemon), 0, "few subflows, looked up one by one");
        daemon.daemon.world.sampler.few = (0, 0);
        readings(&mut daemon);
        assert_eq!(readings(&mut daemon), 0, "many subflows, listed at once");
    });
}

//! Datagrams over a cell whose rate follows a trace.

use sim::{Play, play};
use trace::PolicyName;

/// Opportunities in bursts: five every 2 ms, and two more where the period of 10 ms ends.
const BURSTS: &str = "2\n2\n2\n2\n2\n4\n4\n4\n4\n4\n6\n6\n6\n6\n6\n8\n8\n8\n8\n8\n10\n10\n";

fn datagrams(payload: u32) -> u64 {
    let text = format!(
        "sentence = \"One cell.\"\nduration_s = 2\n\n[cells.lte]\ndown_trace = \"bursts\"\nup_mbps = 5\nrtt_ms = 40\n\n\
         [flows.down]\ntransport = \"udp\"\nover = \"lte\"\ndirection = \"down\"\npayload_bytes = {payload}\n"
    );
    let files = |name: &str| Ok((name.to_owned(), BURSTS.as_bytes().to_vec()));
    let plan = scenario::parse("test.toml", text.as_bytes(), &[], &files).unwrap();
    let policy: PolicyName = "mptcp".parse().unwrap();
    play(&Play::new(&plan, policy)).unwrap().run.flows[0].bytes / u64::from(payload)
}

#[test]
fn a_saturated_flow_uses_every_opportunity_of_a_burst() {
    // 22 opportunities every 10 ms, of which those of the last 20 ms are still on their way.
    let opportunities = 22 * 198;
    let full = datagrams(1_472);
    assert!(opportunities - 22 <= full && full <= opportunities, "{full}");
    // Two datagrams of 750 bytes fit into each.
    let halves = datagrams(722);
    assert!(
        2 * (opportunities - 22) <= halves && halves <= 2 * opportunities,
        "{halves}"
    );
}

//! Flows that the models carry without a kernel: broadcasts, and the datagrams of walkers that have no host
//! (`walkers`). No kernel of the lab sends or receives them. On the air they are like all others.
//!
//! # Where we differ, and why
//! 1. If programs replace the scenario's flows (`--shell`), these flows stay, so that the client shares the
//!    air.
//!
//! # Checked by
//! `tests`; `links`' `exact::background`; `cli`'s `tests/both_worlds.rs`.

use crate::emulator;
use scenario::{Flow, Plan, models};
use trace::FlowMeter;
use units::Instant;

pub(super) use models::background_flows as flows;

/// Whether a flow is one of them.
pub(super) fn has(plan: &Plan, flow: &Flow) -> bool {
    models::background_link(plan, flow).is_some()
}

/// The link that carries such a flow.
pub(super) fn link<'p>(plan: &'p Plan, flow: &Flow) -> &'p str {
    models::background_link(plan, flow).map_or("", |link| &plan.links[link].name)
}

/// The meters of these flows.
pub(super) fn meters(plan: &Plan) -> emulator::Background {
    let meter = |(_, flow): (usize, &Flow)| {
        FlowMeter::new(&flow.name, Instant::ZERO + flow.start).sent_every(flow.work.interval())
    };
    emulator::Background::new(flows(plan).map(meter).collect(), Instant::ZERO + plan.duration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::network_config;
    use links::{BackgroundWay, Medium};
    use units::Duration;

    fn plan(guard: &str, flows: &str) -> Plan {
        let text = format!(
            "sentence = \"x\"\nduration_s = 9\n[aps.hall]\nat_m = [3, 0]\nstandard = \"a\"\nchannel = 36\n\
             backhaul = {{ rate_mbps = 12, rtt_ms = 20 }}\n[walkers.client]\nat_m = [0, 0]\n[walkers.guard]\n{guard}\n{flows}"
        );
        let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
        scenario::parse("x.toml", text.as_bytes(), &[], &no_files).unwrap()
    }

    fn flow(name: &str, keys: &str) -> String {
        format!("[flows.{name}]\ntransport = \"udp\"\nover = \"hall\"\n{keys}\n")
    }

    #[test]
    fn other_walkers_and_broadcast_traffic_is_modelled() {
        let flows = [
            flow("own", "direction = \"down\""),
            flow("down", "by = \"guard\"\ndirection = \"down\""),
            flow(
                "up",
                "by = \"guard\"\ndirection = \"up\"\nlimit_mbps = 1.176\nstart_s = 2",
            ),
            flow(
                "probe",
                "direction = \"everyone\"\nevery_ms = 100\npayload_bytes = 100",
            ),
        ];
        let plan = plan("at_m = [9, 0]", &flows.concat());
        let names: Vec<&str> = super::flows(&plan).map(|(_, flow)| flow.name.as_str()).collect();
        assert_eq!(names, ["down", "up", "probe"]);
        let config = network_config(&plan, 1).unwrap();
        assert_eq!(config.medium, Medium::Frames);
        let background = &config.background;
        assert_eq!(background.stations.len(), 1, "one radio for both");
        assert_eq!(background.stations[0].position.x_mm, 9_000);
        let ways: Vec<BackgroundWay> = background.flows.iter().map(|flow| flow.way).collect();
        assert_eq!(
            ways,
            [
                BackgroundWay::Down(0),
                BackgroundWay::Up(0),
                BackgroundWay::Everyone
            ]
        );
        // 1,498 bytes at the wire's 12 Mb/s, half a round trip late; 1,470 bytes at the flow's own pace.
        let down = &background.flows[0];
        assert_eq!(
            (down.every, down.start),
            (Some(Duration::from_nanos(998_667)), Duration::from_millis(10))
        );
        let up = &background.flows[1];
        assert_eq!(
            (up.every, up.start),
            (Some(Duration::from_millis(10)), Duration::from_secs(2))
        );
        assert_eq!(background.flows[2].bytes, 128);
        assert!(links::Network::new(1, config).is_ok());
    }
}

//! What a script needs of a scenario: access points with their wires, and how long the run takes.

use std::path::Path;

use scenario::{Backhaul, LinkKind, Plan, Queue, Work};

use crate::floor::{Floor, PlanError};

/// Prints them.
pub fn run(path: &Path) -> anyhow::Result<()> {
    let plan = scenario::load(path, &[])?;
    print!("{}", lines(&plan)?);
    Ok(())
}

fn lines(plan: &Plan) -> Result<String, PlanError> {
    let floor = Floor::new(plan)?;
    traffic(plan)?;
    let mut text = String::new();
    for (number, (link, ap)) in plan.links.iter().zip(&floor.aps).enumerate() {
        let LinkKind::Wifi(config) = &link.kind else {
            return Err(PlanError::Link(link.name.clone()));
        };
        let Backhaul { up, down, rtt, queue } = config.backhaul;
        if up != down || queue != Queue::default() {
            return Err(PlanError::AccessPoint {
                name: ap.name.clone(),
                what: "backhaul with another rate upwards, or with a queue of its own",
            });
        }
        let (rate, delay) = (down.as_bps(), (rtt / 2).as_micros());
        let (name, channel) = (&ap.name, ap.channel);
        text += &format!("{} {name} {channel} {rate}bit {delay}us\n", number + 1);
    }
    Ok(text + &format!("seconds {}\n", plan.duration.as_secs()))
}

/// The box downloads over MPTCP from beginning to end.
fn traffic(plan: &Plan) -> Result<(), PlanError> {
    let downloads = |flow: &scenario::Flow| {
        flow.transport == scenario::Transport::Mptcp
            && flow.cc.is_none()
            && flow.start.is_zero()
            && flow.work
                == (Work::Download {
                    size: None,
                    limit: None,
                })
    };
    match &plan.flows[..] {
        [flow] if downloads(flow) => {}
        _ => return Err(PlanError::Other("flows beside one unlimited download over MPTCP")),
    }
    let missing = [
        (!plan.expectations.is_empty(), "[[expect]]"),
        (!plan.policies.is_empty(), "policies"),
        (!plan.warmup.is_zero(), "warmup_s"),
    ];
    match missing.into_iter().find(|(has, _)| *has) {
        Some((_, what)) => Err(PlanError::Other(what)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::tests::plan;

    #[test]
    fn access_points_have_a_line_each() {
        let text = lines(&plan("")).unwrap();
        assert_eq!(
            text,
            "1 near 6 12000000bit 5000us\n2 far 6 20000000bit 10000us\nseconds 10\n"
        );
    }

    #[test]
    fn the_scenarios_of_the_trials_can_be_played() {
        for trial in guest::trials::TRIALS {
            let Some(text) = trial.scenario else { continue };
            let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
            let plan = scenario::parse(trial.name, text.as_bytes(), &[], &files).unwrap();
            assert!(lines(&plan).unwrap().lines().count() >= 3, "{}", trial.name);
        }
    }

    #[test]
    fn other_traffic_is_refused() {
        let second = plan("[flows.upload]\ndirection = \"up\"\n");
        assert!(matches!(lines(&second), Err(PlanError::Other(_))));
    }
}

//! `lab-udp`, `lab-late`: the same air in real and in virtual time, and how punctual the real one is.

use anyhow::Context as _;
use trace::{BenchRow, Better, Flow, PolicyName, Run, TheirsFrom};

use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{self, Observed, Trial};

/// Goodput of datagrams over two access points in the lab, beside virtual time's with the same seed.
pub fn udp(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("lab-udp", include_str!("../scenarios/lab-udp.toml"))?;
    let (mut lab, mut sim, mut furthest) = (Vec::new(), Vec::new(), 0.0_f64);
    for trial in 0..setup.trials() {
        let seed = setup.seed + u64::from(trial);
        let real = trial::alone(Trial {
            plan: plan.clone(),
            policy: PolicyName::Mptcp,
            seed,
        })?;
        let imagined = sim::play(&sim::Play {
            seed,
            ..sim::Play::new(&plan, PolicyName::Mptcp)
        })?;
        furthest = furthest.max(furthest_apart(&real.run, &imagined.run)?);
        lab.push(real.run.goodput_mbps());
        sim.push(imagined.run.goodput_mbps());
    }
    let row = setup.only_row().trials(&lab);
    let theirs = BenchRow::new("", "", Better::Higher).trials(&sim).ours;
    Ok(vec![
        BenchRow {
            peer: Some("virtual time".to_owned()),
            theirs,
            theirs_from: TheirsFrom::ThisRun,
            ratio: row.ours.zip(theirs).map(|(ours, theirs)| ours / theirs),
            ..row
        }
        .with("furthest_apart_percent", furthest * 100.0),
    ])
}

/// The greatest difference between a flow's goodput in the lab and in virtual time, as a fraction of the
/// latter.
fn furthest_apart(lab: &Run, sim: &Run) -> anyhow::Result<f64> {
    let apart = |ours: &Flow| {
        let theirs = sim.flows.iter().find(|flow| flow.name == ours.name);
        let theirs = theirs.filter(|flow| flow.bytes > 0);
        let theirs = theirs.with_context(|| {
            format!(
                "flow `{}` transferred nothing in virtual time; please report this",
                ours.name
            )
        })?;
        Ok((ours.bytes as f64 / theirs.bytes as f64 - 1.0).abs())
    };
    let each: Vec<f64> = lab.flows.iter().map(apart).collect::<anyhow::Result<_>>()?;
    Ok(each.into_iter().fold(0.0, f64::max))
}

/// Lateness of packets while more than 100 Mb/s are on the air and every frame appears on a monitor interface
/// with a listener.
pub fn late(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("lab-late", include_str!("../scenarios/lab-late.toml"))?;
    let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let trial = |seed| Trial {
        plan: plan.clone(),
        policy: PolicyName::Ecn,
        seed,
    };
    let observed: Vec<Observed> = seeds
        .map(|seed| trial::alone(trial(seed)))
        .collect::<Result<_, _>>()?;
    let median = |figure: fn(&Observed) -> f64| {
        let figures: Vec<f64> = observed.iter().map(figure).collect();
        setup.only_row().trials(&figures)
    };
    let late = median(|seen| seen.lateness.p99_us as f64);
    // Medians over the runs of their packets' median and 99th percentile.
    let row = BenchRow {
        p50: median(|seen| seen.lateness.p50_us as f64).ours,
        p99: late.ours,
        ..late
    };
    let goodput = median(|seen| seen.run.goodput_mbps()).ours;
    let cores = median(|seen| seen.cores).ours;
    Ok(vec![row.with("goodput_mbps", goodput).with("cores", cores)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_that_is_furthest_off_counts() {
        let plan = plans::embedded("lab-udp", include_str!("../scenarios/lab-udp.toml")).unwrap();
        let plan = scenario::Plan {
            duration: units::Duration::from_secs(6),
            ..plan
        };
        let sim = sim::play(&sim::Play::new(&plan, PolicyName::Mptcp)).unwrap().run;
        assert_eq!(furthest_apart(&sim, &sim).unwrap(), 0.0);
        let mut lab = sim.clone();
        lab.flows[1].bytes = lab.flows[1].bytes * 9 / 10;
        let apart = furthest_apart(&lab, &sim).unwrap();
        assert!((0.099..0.101).contains(&apart), "{apart}");
        lab.flows[0].name = "another".into();
        assert!(furthest_apart(&lab, &sim).is_err());
    }
}

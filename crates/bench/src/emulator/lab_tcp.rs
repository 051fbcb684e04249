//! `lab-tcp`: goodput of one MPTCP download over that of datagrams through the same two access points, in the
//! same real time.
//!
//! # Checked by
//! `tests`: both scenarios have the same air; what a row reports of its runs.

use anyhow::Context as _;
use scenario::Plan;
use trace::{BenchRow, Better, LinkMarks, PolicyName, Run, TheirsFrom};

use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{self, Trial};

/// Policies: `slowhand` is quoted, the stock kernel's MPTCP is its peer.
const POLICIES: [PolicyName; 3] = [PolicyName::Mptcp, PolicyName::Ecn, PolicyName::Slowhand];

/// Results of a policy's downloads, over all seeds.
struct Downloads {
    policy: PolicyName,
    /// Goodput over that of datagrams with the same seed.
    shares: Vec<f64>,
    goodputs: Vec<f64>,
    /// Packets in both directions, over all links and runs.
    asked: u64,
    made: u64,
}

impl Downloads {
    const fn under(policy: PolicyName) -> Self {
        Self {
            policy,
            shares: Vec::new(),
            goodputs: Vec::new(),
            asked: 0,
            made: 0,
        }
    }

    /// Adds one run, beside the datagrams with the same seed.
    fn add(&mut self, run: &Run, datagrams: &Run) -> anyhow::Result<()> {
        let (ours, most) = (run.goodput_mbps(), datagrams.goodput_mbps());
        let seed = datagrams.seed;
        anyhow::ensure!(
            most > 0.0,
            "lab-tcp: seed {seed}: no datagram came through; please report this"
        );
        self.shares.push(ours / most);
        self.goodputs.push(ours);
        for marks in run.links.iter().flat_map(marks_of) {
            self.asked += marks.asked;
            self.made += marks.made;
        }
        Ok(())
    }
}

fn marks_of(link: &trace::LinkUse) -> impl Iterator<Item = LinkMarks> {
    link.marks.into_iter().chain(link.sent_marks)
}

/// Runs the benchmark.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (download, datagrams) = scenarios()?;
    let mut all = POLICIES.map(Downloads::under);
    let mut most = Vec::new();
    for trial in 0..setup.trials() {
        let seed = setup.seed + u64::from(trial);
        let alone = |plan: &Plan, policy: &PolicyName| {
            let (plan, policy) = (plan.clone(), policy.clone());
            let seen = trial::alone(Trial { plan, policy, seed })?;
            anyhow::Ok(seen.run)
        };
        let bound = alone(&datagrams, &PolicyName::Mptcp)?;
        most.push(bound.goodput_mbps());
        for downloads in &mut all {
            let run = alone(&download, &downloads.policy)?;
            downloads.add(&run, &bound)?;
        }
    }
    Ok(vec![
        row(setup.only_row(), &all, &most)?.with("cc", download.cc.as_str()),
    ])
}

/// The download, and the datagrams that it is compared with.
fn scenarios() -> anyhow::Result<(Plan, Plan)> {
    Ok((
        plans::embedded("lab-tcp", include_str!("../scenarios/lab-tcp.toml"))?,
        plans::embedded("lab-udp", include_str!("../scenarios/lab-udp.toml"))?,
    ))
}

fn row(blank: BenchRow, all: &[Downloads], datagrams_mbps: &[f64]) -> anyhow::Result<BenchRow> {
    let median = |figures: &[f64]| BenchRow::new("", "", Better::Higher).trials(figures).ours;
    let of = |policy: PolicyName| {
        let found = all.iter().find(|downloads| downloads.policy == policy);
        found.with_context(|| format!("lab-tcp: {policy} was not run"))
    };
    let theirs = median(&of(PolicyName::Mptcp)?.shares);
    let row = blank.trials(&of(PolicyName::Slowhand)?.shares);
    let row = BenchRow {
        peer: Some("stock kernel".to_owned()),
        theirs,
        theirs_from: TheirsFrom::ThisRun,
        ratio: row.ours.zip(theirs).map(|(ours, theirs)| ours / theirs),
        ..row
    }
    .with("udp_mbps", median(datagrams_mbps));
    let with = |row: BenchRow, downloads: &Downloads| {
        let policy = &downloads.policy;
        row.with(&format!("{policy}_of_udp"), median(&downloads.shares))
            .with(&format!("{policy}_mbps"), median(&downloads.goodputs))
            .with(&format!("{policy}_marks_asked"), downloads.asked)
            .with(&format!("{policy}_marks_made"), downloads.made)
    };
    Ok(all.iter().fold(row, with))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_download_has_the_air_of_the_datagrams() {
        let (download, datagrams) = scenarios().unwrap();
        assert_eq!(download.links, datagrams.links);
        assert_eq!(download.walkers, datagrams.walkers);
        assert_eq!(
            (download.medium, download.duration, &download.cc),
            (scenario::Medium::Exact, datagrams.duration, &datagrams.cc)
        );
        assert_eq!(download.duration, units::Duration::from_secs(60));
        assert!(
            datagrams
                .flows
                .iter()
                .all(|flow| flow.start == download.flows[0].start)
        );
        assert_eq!(download.flows.len(), 1);
    }

    fn downloads(policy: PolicyName, shares: &[f64], marks: (u64, u64)) -> Downloads {
        Downloads {
            goodputs: shares.iter().map(|share| share * 20.0).collect(),
            shares: shares.to_vec(),
            asked: marks.0,
            made: marks.1,
            ..Downloads::under(policy)
        }
    }

    #[test]
    fn a_row_has_ours_beside_the_stock_kernels_and_the_marks_of_each() {
        let all = [
            downloads(PolicyName::Mptcp, &[0.5, 0.6, 0.4], (0, 0)),
            downloads(PolicyName::Ecn, &[0.7, 0.7, 0.7], (12, 11)),
            downloads(PolicyName::Slowhand, &[0.8, 0.75, 0.9], (30, 30)),
        ];
        let row = row(crate::catalogue::row("lab-tcp"), &all, &[19.0, 20.0, 21.0]).unwrap();
        assert_eq!((row.ours, row.theirs, row.runs), (Some(0.8), Some(0.5), 3));
        assert_eq!(row.ratio, Some(1.6));
        assert_eq!(row.extra["udp_mbps"], 20.0);
        assert_eq!(row.extra["ecn_of_udp"], 0.7);
        assert_eq!(
            (&row.extra["ecn_marks_asked"], &row.extra["ecn_marks_made"]),
            (&12.into(), &11.into())
        );
        assert_eq!(row.extra["mptcp_marks_made"], 0);
        assert_eq!(row.extra["slowhand_mbps"], 16.0);
    }

    #[test]
    fn a_run_is_held_against_its_own_datagrams_and_its_marks_are_added_up() {
        let plan = plans::embedded("lab-udp", include_str!("../scenarios/lab-udp.toml")).unwrap();
        let plan = Plan {
            duration: units::Duration::from_secs(6),
            ..plan
        };
        let bound = sim::play(&sim::Play::new(&plan, PolicyName::Mptcp)).unwrap().run;
        let mut run = bound.clone();
        run.flows.truncate(1);
        let marks = |asked, made| {
            Some(LinkMarks {
                ect: 100,
                not_ect: 0,
                asked,
                made,
            })
        };
        run.links[0].marks = marks(7, 6);
        run.links[1].marks = marks(2, 2);
        run.links[1].sent_marks = marks(1, 1);
        let mut downloads = Downloads::under(PolicyName::Slowhand);
        downloads.add(&run, &bound).unwrap();
        assert_eq!((downloads.asked, downloads.made), (10, 9));
        assert_eq!(downloads.shares, [run.goodput_mbps() / bound.goodput_mbps()]);
        assert!(downloads.shares[0] < 1.0);
        let silent = Run {
            flows: Vec::new(),
            ..bound
        };
        assert!(downloads.add(&run, &silent).is_err());
    }
}

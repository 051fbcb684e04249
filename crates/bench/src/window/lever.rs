//! The levers that bound windows, each by itself: runs in which only that one is in force.
//!
//! # Checked by
//! `tests` (what a daemon must report); `levers` and `cost` check it in every run.

use anyhow::Context as _;
use lab::without_bpf::without_bpf;
use linux::bpf::WindowKind;
use linux::daemon::{ConnReport, LeverReport, Report};

use crate::trial::{self, Doubts, Holds, Observed, Outcomes, Trial};

/// A way to bound windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lever {
    /// A program lowers the window field of outgoing packets.
    Egress,
    /// A program sets clamps on the subflows.
    Clamp,
    /// No program can be loaded, so new connections get a small receive buffer (`tcp_rmem`). Marks and unsent
    /// limits are missing too, as on such a host.
    Buffer,
}

impl Lever {
    /// All levers, in the order in which the daemon tries them.
    pub const ALL: [Self; 3] = [Self::Egress, Self::Clamp, Self::Buffer];

    /// Name of the lever in the fields of a row.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Egress => "egress",
            Self::Clamp => "clamp",
            Self::Buffer => "rmem",
        }
    }

    const fn kind(self) -> Option<WindowKind> {
        match self {
            Self::Egress => Some(WindowKind::Egress),
            Self::Clamp => Some(WindowKind::Clamp),
            Self::Buffer => None,
        }
    }

    /// Refuses a run in which it was not in force.
    pub fn ensure(self, report: &Report) -> anyhow::Result<()> {
        ensure_in_force(self, &report.levers)?;
        anyhow::ensure!(
            self == Self::Buffer || report.conns.iter().any(|conn| conn.window.is_some()),
            "{}: no window was limited at the end, so there is no result: {}",
            self.key(),
            why_unbounded(&report.conns)
        );
        Ok(())
    }
}

fn ensure_in_force(lever: Lever, report: &LeverReport) -> anyhow::Result<()> {
    let (window, buffer) = (&report.window, report.new_connections);
    let is_in_force = match lever.kind() {
        Some(kind) => *window == Ok(kind),
        None => window.is_err() && buffer.is_some(),
    };
    anyhow::ensure!(
        is_in_force,
        "{}: it did not limit windows: {window:?}, buffer of new connections {buffer:?}; see `slowhand doctor`",
        lever.key()
    );
    Ok(())
}

/// Why connections are not bounded, as far as the daemon knows.
fn why_unbounded(conns: &[ConnReport]) -> String {
    let why = |conn: &ConnReport| match conn.left_alone {
        Some(left_alone) => left_alone.why().to_owned(),
        None => format!(
            "the daemon gives no reason for a connection with {} subflows, please report this",
            conn.subflows.len()
        ),
    };
    match conns {
        [] => "the daemon knows of no connection".to_owned(),
        conns => conns.iter().map(why).collect::<Vec<_>>().join("; "),
    }
}

/// Refuses a run in which windows of running connections, or unsent bytes, were not bounded.
pub fn ensure_bounds(report: &LeverReport) -> anyhow::Result<()> {
    let whys = [
        report.window.as_ref().err(),
        report.no_other_way.as_ref(),
        report.unsent.as_ref().err(),
    ];
    if let Some(why) = whys.into_iter().flatten().next() {
        anyhow::bail!(
            "slowhand could not limit windows on this host, so this trial would measure another policy: {why}; see `slowhand doctor`"
        );
    }
    Ok(())
}

/// The daemon's report at the end of the run.
pub fn report(observed: &Observed) -> anyhow::Result<&Report> {
    let report = observed.daemon.as_ref();
    report.context("the daemon was too busy to say what it did; run on a less busy machine")
}

/// A trial and its lever, if it has one.
#[derive(Debug, Clone)]
pub struct Levered {
    /// The trial.
    pub trial: Trial,
    /// The lever. `None`: the stock kernel's trial, or the daemon's own choice.
    pub lever: Option<Lever>,
}

/// [`trial::each`] or [`trial::each_alone`].
pub type Play = fn(Vec<trial::Bounded>, Holds<'_>, &mut Doubts) -> Outcomes;

/// Runs each trial with its lever: first those that can load programs, then the others. A trial with another
/// lever in force gives no result.
pub fn each(trials: &[Levered], play: Play, holds: Holds<'_>, doubts: &mut Doubts) -> Outcomes {
    let (without, with): (Vec<usize>, Vec<usize>) =
        (0..trials.len()).partition(|&index| trials[index].lever == Some(Lever::Buffer));
    let bounded = |indices: &[usize]| -> Vec<trial::Bounded> {
        let of = |&index: &usize| {
            let Levered { trial, lever } = &trials[index];
            (trial.clone(), lever.and_then(Lever::kind))
        };
        indices.iter().map(of).collect()
    };
    let was_in_force = |index: usize, seen: &Observed| {
        if let Some(lever) = trials[index].lever {
            lever.ensure(report(seen)?)?;
        }
        holds(index, seen)
    };
    let mut results: Vec<Option<Observed>> = trials.iter().map(|_| None).collect();
    let played = play(bounded(&with), &|at, seen| was_in_force(with[at], seen), doubts)?;
    for (index, seen) in with.iter().zip(played) {
        results[*index] = seen;
    }
    if without.is_empty() {
        return Ok(results);
    }
    let refused = || {
        play(
            bounded(&without),
            &|at, seen| was_in_force(without[at], seen),
            doubts,
        )
    };
    for (index, seen) in without.iter().zip(without_bpf(refused)??) {
        results[*index] = seen;
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::daemon::LeftAlone;
    use std::collections::BTreeMap;
    use units::{Bytes, Duration};

    fn levers(window: Result<WindowKind, &str>, buffer: Option<u64>) -> LeverReport {
        LeverReport {
            window: window.map_err(str::to_owned),
            window_refused: None,
            unattached: BTreeMap::new(),
            no_other_way: None,
            new_connections: buffer.map(Bytes::new),
            unsent: Ok(()),
            run_time: Duration::ZERO,
        }
    }

    #[test]
    fn a_run_counts_for_the_lever_that_was_in_force_in_it_and_for_no_other() {
        let runs = [
            levers(Ok(WindowKind::Egress), None),
            levers(Ok(WindowKind::Clamp), None),
            levers(Err("no CAP_BPF"), Some(800_000)),
            levers(Err("not needed so far"), None),
        ];
        for (index, run) in runs.iter().enumerate() {
            let counts = |lever: &Lever| ensure_in_force(*lever, run).is_ok();
            let counted: Vec<Lever> = Lever::ALL.into_iter().filter(counts).collect();
            assert_eq!(counted, Lever::ALL.get(index..=index).unwrap_or_default());
        }
    }

    #[test]
    fn a_run_in_which_queues_could_not_be_bounded_is_not_ours() {
        let whole = levers(Ok(WindowKind::Egress), None);
        assert!(ensure_bounds(&whole).is_ok());
        assert!(ensure_bounds(&levers(Ok(WindowKind::Clamp), None)).is_ok());
        assert!(ensure_bounds(&levers(Err("no CAP_BPF"), Some(800_000))).is_err());
        let no_other_way = Some("no clamp".to_owned());
        let whole_but = LeverReport {
            no_other_way,
            ..levers(Ok(WindowKind::Egress), None)
        };
        assert!(ensure_bounds(&whole_but).is_err(), "one link takes no program");
        let unsent = Err("no BTF".to_owned());
        let why = ensure_bounds(&LeverReport { unsent, ..whole }).unwrap_err();
        assert!(why.to_string().contains("no BTF"), "{why}");
    }

    #[test]
    fn who_was_not_bounded_hears_why() {
        let conn = |left_alone| ConnReport {
            id: policy::ConnId(1),
            remote: ([10, 0, 0, 1], 80).into(),
            left_alone,
            sample: policy::ConnSample::default(),
            window: None,
            window_why: None,
            unsent: None,
            unsent_why: None,
            roles: Vec::new(),
            controllers: Vec::new(),
            subflows: Vec::new(),
        };
        assert!(why_unbounded(&[]).contains("no connection"));
        let both = why_unbounded(&[conn(None), conn(Some(LeftAlone::FellBack))]);
        assert!(
            both.contains("0 subflows") && both.contains("plain TCP"),
            "{both}"
        );
    }
}

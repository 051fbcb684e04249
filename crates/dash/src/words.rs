//! The result in sentences.

use crate::figures::{megabytes, stall};
use trace::{PlayDocument, PolicyName, Run, World};

/// Summary of a comparison in two sentences: the result of ours (or of the best run), and those of the
/// others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    pub lead: String,
    pub others: String,
}

/// Summary as one text: "slowhand moved 214 MB in 60 s without a stall. The best single network, …"
pub fn headline(document: &PlayDocument) -> String {
    let Headline { lead, others } = sentences(document);
    [lead, others].join(" ").trim().to_owned()
}

pub(crate) fn sentences(document: &PlayDocument) -> Headline {
    let Some(first) = subject(document) else {
        return Headline {
            lead: "Nothing was run.".to_owned(),
            others: String::new(),
        };
    };
    if document.world == World::Both {
        return of_both_worlds(document, first);
    }
    let mean = Mean::of(document, &first.policy);
    let lead = format!(
        "{} moved {} in {:.0} s{}.",
        first.policy,
        megabytes(mean.bytes),
        first.counted_s(),
        mean.waits()
    );
    Headline {
        lead,
        others: compared(document, &first.policy),
    }
}

/// Subject of the first sentence: ours if it ran, otherwise the policy that moved most.
fn subject(document: &PlayDocument) -> Option<&Run> {
    let most = || {
        document
            .runs
            .iter()
            .filter(|run| !run.policy.is_computed())
            .max_by_key(|run| run.bytes())
    };
    document.run(&PolicyName::Slowhand).or_else(most)
}

/// What each policy moved in virtual time and in the lab, that of `first` before the others.
fn of_both_worlds(document: &PlayDocument, first: &Run) -> Headline {
    let of = |policy: &PolicyName, world| {
        let mut runs = document.runs.iter();
        runs.find(|run| run.policy == *policy && run.case.world == Some(world))
    };
    let moved = |policy: &PolicyName| {
        let [sim, lab] = [World::Sim, World::Lab].map(|world| of(policy, world).map_or(0, Run::bytes));
        let ratio = match sim {
            0 => String::new(),
            _ => format!(" ({:.2} ×)", lab as f64 / sim as f64),
        };
        let [sim, lab] = [sim, lab].map(|bytes| megabytes(bytes as f64));
        format!("{policy} moved {sim} in virtual time and {lab} in the lab{ratio}")
    };
    let mut others: Vec<&PolicyName> = Vec::new();
    for run in document.runs.iter().filter(|run| run.policy != first.policy) {
        if !run.policy.is_computed() && !others.contains(&&run.policy) {
            others.push(&run.policy);
        }
    }
    let others = others.into_iter().map(moved).collect::<Vec<_>>().join("; ");
    Headline {
        lead: format!("{}.", moved(&first.policy)),
        others: capitalised(others),
    }
}

/// Mean over the seeds of a policy, and its longest stall in any of them.
struct Mean {
    bytes: f64,
    longest_stall_ms: f64,
    seeds: usize,
}

impl Mean {
    fn of(document: &PlayDocument, policy: &PolicyName) -> Self {
        let runs: Vec<&Run> = document.runs.iter().filter(|run| run.policy == *policy).collect();
        let bytes: u64 = runs.iter().map(|run| run.bytes()).sum();
        Self {
            bytes: bytes as f64 / runs.len().max(1) as f64,
            longest_stall_ms: runs.iter().map(|run| run.longest_stall_ms()).fold(0.0, f64::max),
            seeds: runs.len(),
        }
    }

    fn waits(&self) -> String {
        let seeds = match self.seeds {
            0 | 1 => String::new(),
            seeds => format!(" (mean of {seeds} seeds)"),
        };
        match self.longest_stall_ms {
            0.0 => format!("{seeds} without a stall"),
            ms => format!("{seeds}, its longest stall {}", stall(ms)),
        }
    }
}

fn compared(document: &PlayDocument, subject: &PolicyName) -> String {
    let named = [
        (PolicyName::Handover, "hand-over"),
        (PolicyName::HandoverWarm, "ideal hand-over"),
        (PolicyName::Mptcp, "stock Multipath TCP"),
    ];
    let others = named
        .into_iter()
        .filter(|(policy, _)| policy != subject && document.run(policy).is_some());
    let mut parts: Vec<String> = best_single(document).into_iter().collect();
    parts.extend(others.map(|(policy, name)| {
        let mean = Mean::of(document, &policy);
        format!(
            "{name} {}{}",
            megabytes(mean.bytes),
            longest(mean.longest_stall_ms)
        )
    }));
    capitalised(parts.join("; "))
}

fn best_single(document: &PlayDocument) -> Option<String> {
    let mut runs: Vec<&Run> = document.runs.iter().collect();
    runs.sort_by_key(|run| run.seed);
    runs.dedup_by_key(|run| run.seed);
    let best: Vec<f64> = runs
        .into_iter()
        .filter_map(|run| document.best_beside(run))
        .map(|run| run.bytes() as f64)
        .collect();
    let mean = best.iter().sum::<f64>() / best.len().max(1) as f64;
    (!best.is_empty()).then(|| {
        format!(
            "the best single network, chosen anew every 10 s, {}",
            megabytes(mean)
        )
    })
}

fn longest(ms: f64) -> String {
    match ms {
        0.0 => String::new(),
        ms => format!(" with a stall of {}", stall(ms)),
    }
}

fn capitalised(text: String) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => text,
    }
}

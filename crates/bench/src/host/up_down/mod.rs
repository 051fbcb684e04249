//! `up-down`: rounds of `up` and `down`, and of `kill -9` at random moments, on hosts with two providers and
//! load. After each round the host must be in its original state.
//!
//! | module | what it is |
//! |---|---|
//! | `site` | the namespaces: a host, its providers, a server |
//! | `load` | what programs on the host transfer meanwhile |
//! | `program` | `slowhand up` and `slowhand down` as their user runs them |
//! | `round` | what happens in a round, and what must hold after it |
//! | `snapshot`, `inside` | the host as text; both are the tests' of whole hosts, too |
//!
//! # Checked by
//! `tests`; `tests/up_down.rs` of the program plays 20 rounds of each kind.

mod inside;
mod load;
mod program;
mod round;
mod site;
mod snapshot;
#[cfg(test)]
mod tests;

use crate::declaration::Setup;
use crate::trial;
use lab::stop::Stop;
use load::Counts;
use round::{Host, Played, Round};
use runs::interrupt;
use runs::progress::Progress;
use serde_json::{Value, json};
use show::exit::Refused;
use show::tell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use trace::{BenchRow, Better};

/// Configurations of the hosts, which play rounds side by side: most of a round is waiting.
const CONFIGS: [&str; 6] = ["", "cc = \"olia\"\n", "[networks]\n", "", "[networks]\n", ""];
/// Rounds between two lines of progress, where there is no bar.
const TELL_EVERY: usize = 50;
/// Counts the rounds that left anything behind.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    lab::prerequisites::check().map_err(Refused::because)?;
    let rounds = rounds(setup.trials_of(0), setup.trials_of(1), setup.seed);
    let hall = Hall {
        waiting: Mutex::new(rounds.clone().into_iter()),
        played: Mutex::default(),
        rounds: rounds.len(),
        progress: Progress::new("up-down", rounds.len()),
        stop: interrupt::stop()?,
        counts: Arc::default(),
    };
    std::thread::scope(|scope| {
        let hosts: Vec<_> = (0..)
            .zip(CONFIGS)
            .map(|(number, config)| {
                let hall = &hall;
                let host = std::thread::Builder::new().name("up-down-host".into());
                Ok(host.spawn_scoped(scope, move || hall.play(config, setup.seed + number))?)
            })
            .collect::<anyhow::Result<_>>()?;
        for host in hosts {
            host.join().map_err(|_| anyhow::anyhow!("a host panicked"))??;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    Ok(vec![hall.row(setup.only_row())])
}

/// Rounds of both kinds, evenly mixed.
fn rounds(stopped: u32, killed: u32, seed: u64) -> Vec<Round> {
    let (killed, all) = (u64::from(killed), u64::from(stopped) + u64::from(killed));
    let round = |number| Round {
        number,
        killed: number * killed / all > (number - 1) * killed / all,
        seed,
    };
    (1..=all).map(round).collect()
}

/// The rounds to play and their results, shared by all hosts.
struct Hall<'a> {
    waiting: Mutex<std::vec::IntoIter<Round>>,
    played: Mutex<Vec<(Round, Result<Played, String>)>>,
    rounds: usize,
    progress: Progress,
    stop: &'a Stop,
    counts: Arc<Counts>,
}

impl Hall<'_> {
    /// Plays rounds on one host until none is left. A host that is not restored is abandoned, and a new one
    /// replaces it.
    fn play(&self, config: &str, seed: u64) -> anyhow::Result<()> {
        let mut host = None;
        while let Some(round) = self.next() {
            self.progress.begin(round.index(), round.number);
            let mut playing = match host.take() {
                Some(host) => host,
                None => Host::new(config, seed, &self.counts)?,
            };
            let played = playing.play(round);
            anyhow::ensure!(
                !self.stop.is_stopped(),
                "stopped; everything that it had made is gone"
            );
            if played.is_ok() {
                host = Some(playing);
            }
            self.tell(round, played.map_err(|error| format!("{error:#}")));
        }
        Ok(())
    }

    fn next(&self) -> Option<Round> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.next()
    }

    fn tell(&self, round: Round, played: Result<Played, String>) {
        if let Err(wrong) = &played {
            tell!("up-down: {wrong}");
        }
        let mut all = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((round, played));
        if all.len().is_multiple_of(TELL_EVERY) {
            let line = format_args!("up-down: {} of {} rounds", all.len(), self.rounds);
            self.progress.end_with(round.index(), line);
        } else {
            self.progress.end(round.index());
        }
    }

    fn row(self, blank: BenchRow) -> BenchRow {
        let mut all = self.played.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_by_key(|(round, _)| round.number);
        row(blank, &all, self.counts.totals())
    }
}

fn row(
    blank: BenchRow,
    all: &[(Round, Result<Played, String>)],
    (transfers, broken): (u64, u64),
) -> BenchRow {
    let failures: Vec<f64> = all
        .iter()
        .map(|(_, played)| f64::from(u8::from(played.is_err())))
        .collect();
    let row = blank.trials(&failures);
    let killed = all.iter().filter(|(round, _)| round.killed).count();
    let played = || all.iter().filter_map(|(_, played)| played.as_ref().ok());
    let seconds = |time: fn(&Played) -> Option<Duration>| {
        let each: Vec<f64> = played().filter_map(time).map(|time| time.as_secs_f64()).collect();
        BenchRow::new("", "s", Better::Lower).trials(&each)
    };
    let (up, down) = (seconds(|played| played.up), seconds(|played| played.down));
    let row = BenchRow {
        ours: Some(failures.iter().sum()),
        ..row
    }
    .with("stopped", all.len() - killed)
    .with("killed", killed)
    .with("had_left", played().filter(|played| played.left).count())
    .with("silenced", played().filter(|played| played.silenced).count())
    .with("overridden", played().filter(|played| played.overridden).count())
    .with("up_p50_s", up.p50)
    .with("up_p99_s", up.p99)
    .with("down_p50_s", down.p50)
    .with("down_p99_s", down.p99)
    .with("transfers", transfers)
    .with("broken_connections", broken);
    let failed: Vec<Value> = all
        .iter()
        .filter_map(|(round, played)| {
            let why = played.as_ref().err()?;
            Some(json!({"round": round.number, "seed": round.seed, "why": why}))
        })
        .collect();
    match failed.is_empty() {
        true => row,
        false => row.with(trial::FAILED, failed),
    }
}

//! One round: up and down, or up, `kill -9` at a random moment, and recovery.
//!
//! The seed and the round's number alone determine what happens in a round. The moments scale with the
//! durations of the host's last start and last stop.

use super::load::{Counts, Load};
use super::program::{Down, Program};
use super::site::Site;
use super::snapshot::{Snapshot, difference};
use linux::bpf::{SubflowLimit, restore_subflows};
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::{Bytes, Rng};

/// Longest time that slowhand manages a host in a round.
const WORK: Duration = Duration::from_millis(400);
/// The preferred link falls silent in one of this many rounds.
const SILENT_IN: u64 = 8;
/// Time allowed for a connection to use both links, and for new ones to take another link after that. If
/// either takes longer, the round is played without it.
const OVERRIDE: Duration = Duration::from_secs(5);
/// When slowhand has only just started.
const AT_ONCE: Duration = Duration::from_millis(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The kernel's value for no limit.
const UNLIMITED: Bytes = Bytes::new(u32::MAX as u64);
/// Most differences reported per round.
const MOST: usize = 6;

/// Identifies a round.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Its number, from 1.
    pub number: u64,
    /// Whether the daemon is killed.
    pub killed: bool,
    /// The benchmark's seed.
    pub seed: u64,
}

impl Round {
    /// Number of the round, from 0.
    pub const fn index(self) -> usize {
        self.number as usize - 1
    }
}

/// State of a daemon when it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    JustBegun,
    Starting,
    Working,
    LinkChanges,
    Stopping,
}

const PHASES: [Phase; 5] = [
    Phase::JustBegun,
    Phase::Starting,
    Phase::Working,
    Phase::LinkChanges,
    Phase::Stopping,
];

/// Outcome of a round.
#[derive(Debug, Clone, Copy, Default)]
pub struct Played {
    /// Time from `up` to ready.
    pub up: Option<Duration>,
    /// Time from `down` to its end.
    pub down: Option<Duration>,
    /// Whether the preferred link was to fall silent.
    pub silenced: bool,
    /// Whether new connections used another link than the preferred one for a while.
    pub overridden: bool,
    /// Whether the killed daemon had left something on the host.
    pub left: bool,
}

/// A host with its load and its program.
pub struct Host {
    // Dropped first: flows must end before their site does.
    _load: Load,
    program: Program,
    site: Site,
    counts: Arc<Counts>,
    before: Snapshot,
    up: Duration,
    down: Duration,
}

impl Host {
    /// Creates a host on which slowhand has never run.
    pub fn new(config: &str, seed: u64, counts: &Arc<Counts>) -> anyhow::Result<Self> {
        let site = Site::new()?;
        let before = site.settled()?;
        let mut host = Self {
            _load: Load::start(&site, seed, counts)?,
            program: Program::on(&site.host, config)?,
            site,
            counts: Arc::clone(counts),
            before,
            up: Duration::ZERO,
            down: Duration::ZERO,
        };
        // Measures how long start and stop take here.
        let first = host.up_and_down(&mut Rng::named(seed, "up-down/first"), false)?;
        host.up = first.up.unwrap_or_default();
        host.down = first.down.unwrap_or_default();
        host.check()?;
        Ok(host)
    }

    /// Plays a round.
    ///
    /// # Errors
    /// If any check fails: says which, and what the daemon has logged.
    pub fn play(&mut self, round: Round) -> anyhow::Result<Played> {
        let name = format!("up-down/{}", round.number);
        let rng = &mut Rng::named(round.seed, &name);
        let (what, played) = match round.killed {
            true => self.killed(rng),
            false => {
                let silent = rng.below(SILENT_IN) == 0;
                ("up and down".to_owned(), self.up_and_down(rng, silent))
            }
        };
        let number = round.number;
        let wrong = played.and_then(|played| self.check().map(|()| played));
        wrong.map_err(|error| {
            let log = self.program.last_words();
            anyhow::anyhow!("round {number}, {what}: {error:#}; the last daemon said: {log}")
        })
    }

    fn up_and_down(&mut self, rng: &mut Rng, silent: bool) -> anyhow::Result<Played> {
        let up = self.start()?;
        std::thread::sleep(rng.duration_up_to(WORK));
        let overridden = silent && self.override_for(rng.duration_up_to(WORK), rng.below(2) == 0)?;
        let down = self.stop()?;
        self.site.hear()?;
        (self.up, self.down) = (up, down);
        Ok(Played {
            up: Some(up),
            down: Some(down),
            silenced: silent,
            overridden,
            left: false,
        })
    }

    /// Silences the preferred link beside one that carries data, until new connections take another link and
    /// for this long after. The link may recover then.
    fn override_for(&self, time: Duration, comes_back: bool) -> anyhow::Result<bool> {
        if !within(OVERRIDE, || self.site.is_joined())? {
            return Ok(false);
        }
        self.site.silence()?;
        if !within(OVERRIDE, || self.site.is_overridden())? {
            return Ok(false);
        }
        std::thread::sleep(time / 2);
        if comes_back {
            self.site.hear()?;
            std::thread::sleep(time / 2);
        }
        Ok(true)
    }

    fn start(&mut self) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.program.start()?;
        self.program.await_ready()?;
        Ok(begun.elapsed())
    }

    fn stop(&mut self) -> anyhow::Result<Duration> {
        let pid = self.program.pid()?;
        let begun = Instant::now();
        let down = self.program.down()?;
        let took = begun.elapsed();
        is_as_it_was(&down, pid)?;
        self.program.await_end()?;
        Ok(took)
    }

    /// Plays a round with a kill. Returns what was done, in words, and the outcome.
    fn killed(&mut self, rng: &mut Rng) -> (String, anyhow::Result<Played>) {
        let phase = PHASES[rng.below(PHASES.len() as u64) as usize];
        let longest = match phase {
            Phase::JustBegun => AT_ONCE,
            Phase::Starting => self.up,
            Phase::Working | Phase::LinkChanges => 2 * WORK,
            Phase::Stopping => self.down,
        };
        let (settled, after) = (rng.duration_up_to(WORK), rng.duration_up_to(longest));
        let by_up = rng.below(2) == 0;
        let next = if by_up { "up" } else { "down" };
        let what = format!("killed {after:?} into {phase:?}, recovered by the next {next}");
        let played = self
            .kill_in(phase, settled, after)
            .and_then(|()| Snapshot::of(&self.site.host))
            .and_then(|then| {
                let left = then != self.before;
                Ok(Played {
                    left,
                    ..self.recover(by_up)?
                })
            })
            .and_then(|played| self.site.hear().map(|()| played));
        (what, played)
    }

    fn kill_in(&mut self, phase: Phase, settled: Duration, after: Duration) -> anyhow::Result<()> {
        self.program.start()?;
        if !matches!(phase, Phase::JustBegun | Phase::Starting) {
            self.program.await_ready()?;
        }
        if matches!(phase, Phase::LinkChanges | Phase::Stopping) {
            std::thread::sleep(settled);
        }
        match phase {
            Phase::LinkChanges => self.site.silence()?,
            Phase::Stopping => return self.kill_during_down(after),
            _ => {}
        }
        std::thread::sleep(after);
        self.program.kill()
    }

    /// Kills the daemon during a `down`, which then finds no daemon and does the rest itself.
    fn kill_during_down(&mut self, after: Duration) -> anyhow::Result<()> {
        let pid = self.program.pid()?;
        let down = self.program.begin_down()?;
        std::thread::sleep(after);
        self.program.kill()?;
        let down = Down::of(down)?;
        is_as_it_was(&down, pid).or_else(|_| is_recovered(&down))
    }

    fn recover(&mut self, by_up: bool) -> anyhow::Result<Played> {
        if by_up {
            let (up, down) = (self.start()?, self.stop()?);
            return Ok(Played {
                up: Some(up),
                down: Some(down),
                ..Played::default()
            });
        }
        is_recovered(&self.program.down()?)?;
        Ok(Played::default())
    }

    /// Refuses a host that is not in the state from before slowhand first ran, and load that was harmed.
    fn check(&self) -> anyhow::Result<()> {
        let now = Snapshot::of(&self.site.host)?;
        let mut found = difference(&self.before.whole(), &now.whole(), MOST);
        let limits = self.site.host.run(restore_subflows)??.subflows;
        let ours = limits.iter().filter(|limit| is_left(limit));
        found.extend(ours.map(|limit| format!("there is: a limit of {} on a socket", limit.before)));
        found.extend(self.counts.wrong());
        anyhow::ensure!(found.is_empty(), "{}", found.join("; "));
        Ok(())
    }
}

/// Whether the condition becomes true within this time.
fn within(limit: Duration, so: impl Fn() -> anyhow::Result<bool>) -> anyhow::Result<bool> {
    let since = Instant::now();
    while !so()? {
        if since.elapsed() > limit {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

/// Whether a limit of ours is left. Without slowhand, unsent bytes and a socket's pacing are unlimited. A
/// clamp looks like what the kernel's receive buffer tuning sets, and slowhand clamps only where it can
/// attach no program.
fn is_left(limit: &SubflowLimit) -> bool {
    limit.after == UNLIMITED && limit.before != UNLIMITED
}

/// Refuses any end but that of a `down` whose daemon restored everything.
fn is_as_it_was(down: &Down, pid: u32) -> anyhow::Result<()> {
    let right = format!("slowhand (process {pid}) has ended; everything is as it was\n");
    anyhow::ensure!(
        down.code == Some(0) && down.words == right,
        "`down` ended with {:?}: {}",
        down.code,
        down.words.trim_end()
    );
    Ok(())
}

/// Refuses any end but that of a `down` that found no daemon, and restored what was there.
fn is_recovered(down: &Down) -> anyhow::Result<()> {
    let rest = down.words.strip_prefix("slowhand is not running");
    let right = rest.is_some_and(|rest| {
        rest == ", and nothing of it is left\n"
            || rest
                .strip_prefix("; ")
                .and_then(|rest| rest.strip_suffix(" changes that a crash had left were put back\n"))
                .is_some_and(|count| count.parse::<u32>().is_ok())
    });
    anyhow::ensure!(
        down.code == Some(0) && right,
        "`down` after a crash ended with {:?}: {}",
        down.code,
        down.words.trim_end()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down(code: i32, words: &str) -> Down {
        Down {
            code: Some(code),
            words: words.to_owned(),
        }
    }

    #[test]
    fn only_the_words_of_a_whole_end_are_right() {
        let whole = "slowhand (process 7) has ended; everything is as it was\n";
        assert!(is_as_it_was(&down(0, whole), 7).is_ok());
        for (code, words, pid) in [(1, whole, 7), (0, whole, 8), (0, "", 7)] {
            assert!(is_as_it_was(&down(code, words), pid).is_err(), "{code} {words}");
        }
        for right in [
            "slowhand is not running, and nothing of it is left\n",
            "slowhand is not running; 12 changes that a crash had left were put back\n",
        ] {
            assert!(is_recovered(&down(0, right)).is_ok(), "{right}");
            assert!(is_recovered(&down(1, right)).is_err(), "{right}");
            let more = format!("{right}left as it is: limits\n");
            assert!(is_recovered(&down(0, &more)).is_err(), "{more}");
        }
    }
}

//! The judge: two hosts of one shape live through the same events, one of them with slowhand.
//!
//! Whatever the twin without slowhand reaches, the other one must reach in the same way; what the user has set must be equal on both at every
//! moment, and everything must be equal when slowhand has ended.

use crate::daemon::Slowhand;
use crate::reach::{self, Probe, Source};
use crate::site::{HOST, SERVER, Site};
use crate::snapshot::{Snapshot, difference};
use crate::wait::{self, Ear};
use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// Answers come from the same machine: what takes longer does not come.
const ANSWER: Duration = Duration::from_millis(500);
/// Two lost SYNs more than there should be.
const LATE_ANSWER: Duration = Duration::from_millis(3_500);
/// How long after an event the daemon may take to find out that nothing speaks against the user's order of routes.
const BACK_IN_ORDER: Duration = Duration::from_secs(5);
/// Findings of one kind at one step.
const MOST: usize = 3;

/// Builds one of the twins.
pub type Build = fn(&mut Site);

/// What happens to both twins; what slowhand does happens to one.
#[derive(Clone, Copy)]
pub enum Step {
    /// `slowhand up`.
    Start,
    /// `slowhand down`.
    Down,
    /// `kill -9`.
    Kill,
    /// The far end of the preferred link goes.
    Unplug,
    /// The user's network manager takes addresses and routes of that link away.
    Release,
    /// The link is plugged in again, and set up as before.
    Return,
    /// The provider of the preferred link gives other addresses.
    Renumber,
    /// The preferred link gets another name; the next time, its own again.
    Rename,
    /// Anything else, with its name.
    Also(&'static str, fn(&mut Site)),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Down => f.write_str("down"),
            Self::Kill => f.write_str("kill -9"),
            Self::Unplug => f.write_str("link unplugged"),
            Self::Release => f.write_str("lease gone"),
            Self::Return => f.write_str("link back"),
            Self::Renumber => f.write_str("other addresses"),
            Self::Rename => f.write_str("link renamed"),
            Self::Also(name, _) => f.write_str(name),
        }
    }
}

impl Step {
    /// What it does to a host, slowhand aside.
    fn apply(self, site: &mut Site) {
        match self {
            Self::Start | Self::Down | Self::Kill => {}
            Self::Unplug => site.plug(0, false),
            Self::Release => site.release(0),
            Self::Return => {
                site.plug(0, true);
                site.configure(0);
            }
            Self::Renumber => site.renumber(0),
            Self::Rename => site.rename_to_and_fro(0),
            Self::Also(_, apply) => apply(site),
        }
    }
}

/// Both hosts.
pub struct Twins {
    name: String,
    without: Site,
    with: Site,
    slowhand: Slowhand,
    at: String,
    /// Packets that should not have come to a provider, so far.
    leaked: [u64; 2],
    findings: Vec<String>,
}

impl Twins {
    /// Builds them, and makes sure that they are equal.
    pub fn new(name: &str, build: Build) -> Self {
        let made = || {
            let mut site = Site::new();
            build(&mut site);
            site
        };
        let (without, with) = (made(), made());
        let slowhand = Slowhand::on(&with, name);
        let twins = Self {
            name: name.to_owned(),
            without,
            with,
            slowhand,
            at: "before".to_owned(),
            leaked: [0; 2],
            findings: Vec::new(),
        };
        twins.assert_equal();
        twins
    }

    /// Before anything is done to one of them, both reach the same, and every destination is reached.
    fn assert_equal(&self) {
        let [without, with] = [&self.without, &self.with].map(|site| Snapshot::of(site));
        let differ = difference(&without.whole(), &with.whole(), MOST);
        assert_eq!(differ, Vec::<String>::new(), "{}: the twins differ", self.name);
        let probes = reach::all(&self.without);
        let [expected, found] = [&self.without, &self.with].map(|site| reach::ask(site, &probes, |_| ANSWER));
        assert_eq!(
            expected, found,
            "{}: the twins reach not the same: {probes:?}",
            self.name
        );
        let reached = |to: &IpAddr| {
            let mut pairs = probes.iter().zip(&expected);
            pairs.any(|(probe, answer)| probe.to == *to && answer.is_some())
        };
        let never = self.without.destinations.iter().find(|to| !reached(to));
        assert_eq!(never, None, "{}: a destination that nobody reaches", self.name);
    }

    /// Goes through these steps; gives back what was wrong after which of them.
    pub fn play(mut self, steps: &[Step]) -> Vec<String> {
        for (number, step) in steps.iter().enumerate() {
            self.at = format!("{} {step}", number + 1);
            self.take(*step);
            self.compare();
        }
        self.findings
    }

    fn find(&mut self, what: impl fmt::Display) {
        self.findings.push(format!("{}: {}: {what}", self.name, self.at));
    }

    /// Lets it happen to both, and waits until slowhand has done what it does then.
    fn take(&mut self, step: Step) {
        let ear = Ear::on(self.with.host());
        step.apply(&mut self.without);
        step.apply(&mut self.with);
        match step {
            Step::Start => self.slowhand.start(),
            Step::Kill => self.slowhand.kill(),
            Step::Down => {
                let (code, words) = self.slowhand.down();
                if code != Some(0) {
                    self.find(format!("`down` ends with {code:?}: {}", words.trim()));
                }
            }
            _ => {}
        }
        if self.slowhand.runs() {
            ear.until_quiet();
        }
    }

    fn compare(&mut self) {
        self.compare_settings(matches!(self.at.split_once(' '), Some((_, "down"))));
        self.compare_reach();
        let leaked = [&self.without, &self.with].map(Site::leaked);
        let [allowed, seen] = std::mem::replace(&mut self.leaked, leaked);
        let (allowed, seen) = (leaked[0] - allowed, leaked[1] - seen);
        if seen > allowed {
            self.find(format!("{seen} packets for the tunnel came to a provider"));
        }
    }

    /// The user's own is equal at every moment, and all of it when slowhand has ended.
    fn compare_settings(&mut self, ended: bool) {
        let [without, with] = [&self.without, &self.with].map(|site| Snapshot::of(site));
        let differ = match ended {
            true => difference(&without.whole(), &with.whole(), MOST),
            false => difference(&without.of_others(), &with.of_others(), MOST),
        };
        differ.into_iter().for_each(|line| self.find(line));
    }

    fn compare_reach(&mut self) {
        let probes = reach::all(&self.without);
        let expected = reach::ask(&self.without, &probes, |_| ANSWER);
        let limit = |number: usize| {
            if expected[number].is_some() {
                LATE_ANSWER
            } else {
                ANSWER
            }
        };
        let found = reach::ask(&self.with, &probes, limit);
        let lost: Vec<&Probe> = (0..probes.len())
            .filter(|&number| expected[number].is_some() && found[number].is_none())
            .map(|number| &probes[number])
            .collect();
        let (reached, count) = (expected.iter().flatten().count(), lost.len());
        lost.iter()
            .take(MOST)
            .for_each(|probe| self.find(format!("not reached: {probe}")));
        if count > MOST {
            self.find(format!("not reached: {count} of {reached}"));
        }
        if self.with.spreads {
            return;
        }
        // What the program leaves open is the user's: it leaves as without slowhand.
        let open = |number: &usize| {
            matches!(probes[*number].source, Source::Any | Source::Mark(_)) && found[*number].is_some()
        };
        let open: Vec<usize> = (0..probes.len())
            .filter(open)
            .filter(|&n| expected[n].is_some())
            .collect();
        let asked: Vec<Probe> = open.iter().map(|&number| probes[number].clone()).collect();
        let wanted: Vec<Option<IpAddr>> = open.iter().map(|&number| expected[number]).collect();
        let mut seen = open.iter().map(|&number| found[number]).collect::<Vec<_>>();
        wait::within(BACK_IN_ORDER, || {
            let fine = seen == wanted;
            if !fine {
                seen = reach::ask(&self.with, &asked, |_| ANSWER);
            }
            fine
        });
        for ((probe, wanted), seen) in asked
            .iter()
            .zip(&wanted)
            .zip(&seen)
            .filter(|((_, a), b)| a != b)
            .take(MOST)
        {
            self.find(format!("{probe} is seen from {seen:?} instead of {wanted:?}"));
        }
        self.compare_star(&asked, &wanted);
    }

    /// The star of `status` is on a link that new connections use.
    fn compare_star(&mut self, asked: &[Probe], wanted: &[Option<IpAddr>]) {
        if !self.slowhand.runs() {
            return;
        }
        let server = SERVER.map(|address| address.parse::<IpAddr>().unwrap());
        let own = self.with.addresses();
        let used: Vec<&String> = asked
            .iter()
            .zip(wanted)
            .filter(|(probe, _)| {
                probe.place == HOST && probe.source == Source::Any && server.contains(&probe.to)
            })
            .filter_map(|(_, from)| own.iter().find(|(_, address)| Some(*address) == *from))
            .map(|(link, _)| link)
            .collect();
        let stars = self.slowhand.stars();
        let wrong = stars.iter().find(|star| !used.is_empty() && !used.contains(star));
        if let Some(star) = wrong {
            self.find(format!(
                "`status` has its star on {star}; new connections use {used:?}"
            ));
        }
    }
}

/// Plays every shape at once, each on hosts of its own, and shows all that was wrong.
pub fn play_all(shapes: &[(&'static str, Build)], steps: &[Step]) {
    let findings: Vec<String> = std::thread::scope(|scope| {
        let play = |(name, build): &(&'static str, Build)| {
            let (name, build) = (*name, *build);
            scope.spawn(move || Twins::new(name, build).play(steps))
        };
        let plays: Vec<_> = shapes.iter().map(play).collect();
        let join = |play: ScopedJoinHandle<'_, Vec<String>>| {
            play.join().unwrap_or_else(|panic| vec![words(&*panic)])
        };
        plays.into_iter().flat_map(join).collect()
    });
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

/// What a thread said when it panicked.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words")
        .to_owned()
}

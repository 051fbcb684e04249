//! The judge: two hosts of one shape live through the same events, one of them with slowhand.
//!
//! Whatever the twin without slowhand reaches, the other one must reach in the same way. The user's settings
//! must be equal on both at every moment, and everything must be equal when slowhand has ended.

use crate::counted::Counted;
use crate::daemon::Slowhand;
use crate::held::Connections;
use crate::reach::{self, Probe, Source};
use crate::site::{HOST, INTERNET, SERVER, Site};
use crate::snapshot::{Snapshot, difference};
use crate::wait::{self, RouteMonitor};
use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// Answers come from the same machine: what takes longer does not come.
const ANSWER: Duration = Duration::from_millis(500);
/// Two lost SYNs more than there should be.
const LATE_ANSWER: Duration = Duration::from_millis(3_500);
/// How long after an event the daemon may take to find that nothing contradicts the user's order of routes.
const BACK_IN_ORDER: Duration = Duration::from_secs(5);
/// The kernel adds routes to new IPv6 addresses in the background.
const SETTLED: Duration = Duration::from_secs(2);
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
    /// Applies the event to the twin without slowhand. Unplugging also releases the lease there: only then
    /// does that twin leave the link. The other one must not wait for that.
    fn apply_without(self, site: &mut Site) {
        match self {
            Self::Unplug => {
                site.plug(0, false);
                site.release(0);
            }
            Self::Release => {}
            _ => self.apply_with(site),
        }
    }

    /// What it does to the host of slowhand.
    fn apply_with(self, site: &mut Site) {
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
    /// Connections are redirected to an agent.
    agent: bool,
    at: String,
    /// Open since the first start.
    held: Connections,
    /// Packets that should not have come to a provider, so far.
    leaked: [u64; 2],
    findings: Vec<String>,
}

impl Twins {
    /// Builds them, and makes sure that they are equal. `more` is added to the configuration.
    pub fn new(name: &str, build: Build, more: &str) -> Self {
        let made = || {
            let mut site = Site::new();
            build(&mut site);
            site.await_all_addresses();
            site
        };
        let (without, with) = std::thread::scope(|scope| {
            let twin = scope.spawn(made);
            (made(), twin.join().unwrap())
        });
        let slowhand = Slowhand::configured(&with, more);
        let twins = Self {
            name: name.to_owned(),
            without,
            with,
            slowhand,
            agent: more.contains("[relay]"),
            at: "before".to_owned(),
            held: Connections::default(),
            leaked: [0; 2],
            findings: Vec::new(),
        };
        twins.assert_equal();
        twins
    }

    /// Before anything is done to one of them, both reach the same, and every destination is reached.
    fn assert_equal(&self) {
        assert_eq!(
            self.differences(true),
            Vec::<String>::new(),
            "{}: the twins differ",
            self.name
        );
        let probes = reach::all(&self.without);
        let [expected, found] = self.answers(&probes);
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

    /// What both twins reach. What only one of them reached within [`ANSWER`], the busy machine or a lost SYN
    /// may have delayed on the other: both get [`LATE_ANSWER`] for it.
    fn answers(&self, probes: &[Probe]) -> [Vec<Option<IpAddr>>; 2] {
        let twins = [&self.without, &self.with];
        let mut answers = twins.map(|site| reach::ask(site, probes, |_| Some(ANSWER)));
        let unequal: Vec<bool> = answers[0].iter().zip(&answers[1]).map(|(a, b)| a != b).collect();
        let late = |number: usize| unequal[number].then_some(LATE_ANSWER);
        for (site, first) in twins.into_iter().zip(&mut answers) {
            let second = reach::ask(site, probes, late);
            let pairs = first.iter_mut().zip(second).zip(&unequal);
            pairs
                .filter(|(_, unequal)| **unequal)
                .for_each(|((first, second), _)| *first = second);
        }
        answers
    }

    /// Goes through these steps; gives back what was wrong after which of them.
    pub fn play(mut self, steps: &[Step]) -> Vec<String> {
        for (number, step) in steps.iter().enumerate() {
            self.at = format!("{} {step}", number + 1);
            let expected = self.take(*step);
            self.compare_settings(*step);
            self.compare_reach(&expected);
            self.compare_held();
            self.compare_subflows();
            self.compare_leaks();
            if number == 0 {
                self.held = Connections::open(&self.without, &self.with, ANSWER);
            }
        }
        self.findings
    }

    fn find(&mut self, what: impl fmt::Display) {
        self.findings.push(format!("{}: {}: {what}", self.name, self.at));
    }

    /// Applies the event to both, and waits until slowhand has reacted. Meanwhile the other twin answers.
    fn take(&mut self, step: Step) -> Vec<Expected> {
        if self.agent && matches!(step, Step::Kill | Step::Down) && self.slowhand.runs() {
            self.part_from_agent();
        }
        let ear = RouteMonitor::on(self.with.host());
        step.apply_without(&mut self.without);
        step.apply_with(&mut self.with);
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
        std::thread::scope(|scope| {
            let expected = scope.spawn(|| expected(&self.without, step));
            if self.slowhand.runs() {
                ear.until_quiet();
            }
            expected.join().unwrap()
        })
    }

    /// Forgets the connections that end with the agent.
    fn part_from_agent(&mut self) {
        let (carried, total) = self.slowhand.carried();
        self.held.forget_tcp(&carried);
        // What a VPN carries is not redirected.
        if total == 0 && self.with.marks.is_empty() {
            self.find("the agent has carried nothing");
        }
    }

    /// The user's own is equal at every moment, and all of it when slowhand has ended.
    fn compare_settings(&mut self, step: Step) {
        // Here the twin is a step ahead.
        if !matches!(step, Step::Unplug) {
            let differ = self.differences(matches!(step, Step::Down));
            differ.into_iter().for_each(|line| self.find(line));
        }
    }

    /// How the twins differ, once the kernel has done what it does in its own time.
    fn differences(&self, in_all: bool) -> Vec<String> {
        let mut differ = Vec::new();
        wait::within(SETTLED, || {
            let [without, with] = [&self.without, &self.with].map(|site| Snapshot::of(site.host()).unwrap());
            differ = match in_all {
                true => difference(&without.whole(), &with.whole(), MOST),
                false => difference(&without.of_others(), &with.of_others(), MOST),
            };
            differ.is_empty()
        });
        differ
    }

    /// Checks that connections which continue on the twin continue here.
    fn compare_held(&mut self) {
        let ended = self.held.ended(ANSWER, LATE_ANSWER);
        if !ended.is_empty() {
            self.find(format!(
                "{} connections stand still: {}",
                ended.len(),
                shown(&ended)
            ));
        }
    }

    /// Checks that connections to neighbours, into inner networks and into tunnels have no added subflows.
    fn compare_subflows(&mut self) {
        if !self.slowhand.runs() {
            return;
        }
        let servers = SERVER.map(|address| address.parse::<IpAddr>().unwrap());
        let mut joined = self.slowhand.connections();
        joined.retain(|(peer, subflows)| !servers.contains(peer) && *subflows > 1);
        for (peer, subflows) in joined.into_iter().take(MOST) {
            self.find(format!("a connection to {peer} has {subflows} subflows"));
        }
    }

    fn compare_leaks(&mut self) {
        let leaked = [&self.without, &self.with].map(Site::leaked);
        let before = std::mem::replace(&mut self.leaked, leaked);
        let [allowed, seen] = [0, 1].map(|twin| leaked[twin] - before[twin]);
        if seen > allowed {
            self.find(format!("{seen} packets for the tunnel came to a provider"));
        }
    }

    fn compare_reach(&mut self, expected: &[Expected]) {
        let probes: Vec<Probe> = expected.iter().map(|one| one.probe.clone()).collect();
        // Probes that fail without slowhand may fail with it. But traffic meant for a tunnel must not leave
        // in clear.
        let secret = |to: &IpAddr| self.with.secrets.contains(to);
        let limit = |number: usize| match &expected[number] {
            Expected { seen: Some(_), .. } => Some(LATE_ANSWER),
            Expected { probe, .. } => secret(&probe.to).then_some(ANSWER),
        };
        let kernels = [HOST, INTERNET].map(|place| self.with.netns(place));
        let before = kernels.map(Counted::of);
        let found = reach::answers(&self.with, &probes, limit);
        let grown = [0, 1].map(|number| before[number].grown(kernels[number]));
        let (mut lost, mut open) = (Vec::new(), Vec::new());
        for (one, found) in expected.iter().zip(found).filter(|(one, _)| one.seen.is_some()) {
            match found {
                Err(error) => lost.push(format!("{} ({error})", one.probe)),
                Ok(_) if one.probe.is_open() => open.push((one, found.ok())),
                Ok(_) => {}
            }
        }
        if !lost.is_empty() {
            let reached = expected.iter().filter(|one| one.seen.is_some()).count();
            self.find(format!(
                "{} of {reached} not reached: {}. Counted on the host: {}, at the providers: {}",
                lost.len(),
                shown(&lost),
                grown[0],
                grown[1]
            ));
        }
        if !self.with.spreads {
            self.compare_ways(open);
            self.compare_star(expected);
        }
        self.compare_links(expected);
    }

    /// `status` knows every link to a provider that works, by its name of this moment.
    fn compare_links(&mut self, expected: &[Expected]) {
        let works = |link: &str, own: &[(String, IpAddr)]| {
            let of_link = |seen: IpAddr| own.contains(&(link.to_owned(), seen));
            expected.iter().filter_map(|one| one.seen).any(of_link)
        };
        if !self.slowhand.runs() {
            return;
        }
        let own = self.with.addresses();
        let mut working: Vec<String> = self
            .with
            .uplinks
            .iter()
            .map(|uplink| uplink.link.clone())
            .collect();
        working.retain(|link| works(link, &own));
        wait::within(BACK_IN_ORDER, || {
            let known = self.slowhand.usable();
            working.retain(|link| !known.contains(link));
            working.is_empty()
        });
        if !working.is_empty() {
            self.find(format!("`status` has nothing usable of {working:?}"));
        }
    }

    /// What a program leaves open is the user's: it leaves as without slowhand.
    fn compare_ways(&mut self, mut found: Vec<(&Expected, Option<IpAddr>)>) {
        wait::within(BACK_IN_ORDER, || {
            found.retain(|(one, found)| one.seen != *found);
            let probes: Vec<Probe> = found.iter().map(|(one, _)| one.probe.clone()).collect();
            let again = reach::ask(&self.with, &probes, |_| Some(ANSWER));
            found
                .iter_mut()
                .zip(again)
                .for_each(|((_, found), again)| *found = again);
            found.is_empty()
        });
        for (one, found) in found.into_iter().take(MOST) {
            let [is, should] =
                [found, one.seen].map(|seen| seen.map_or("nowhere".to_owned(), |seen| seen.to_string()));
            self.find(format!("{} comes from {is} instead of {should}", one.probe));
        }
    }

    /// The star of `status` is on a link that new connections use.
    fn compare_star(&mut self, expected: &[Expected]) {
        if !self.slowhand.runs() {
            return;
        }
        let servers = SERVER.map(|address| address.parse::<IpAddr>().unwrap());
        let news = expected
            .iter()
            .filter(|one| servers.contains(&one.probe.to) && one.probe.place == HOST);
        let mut used: Vec<IpAddr> = news
            .filter(|one| one.probe.source == Source::Any)
            .filter_map(|one| one.seen)
            .collect();
        used.dedup();
        let own = self.with.addresses();
        let uses = |star: &String| {
            own.iter()
                .any(|(link, address)| link == star && used.contains(address))
        };
        let uplinks = self.with.uplinks.iter().map(|uplink| uplink.link.clone());
        let missing = uplinks.filter(uses).count() > 0;
        let true_of =
            |stars: &[String]| used.is_empty() || stars.iter().all(uses) && !(missing && stars.is_empty());
        let mut stars = Vec::new();
        wait::within(BACK_IN_ORDER, || {
            stars = self.slowhand.stars();
            true_of(&stars)
        });
        if !true_of(&stars) {
            self.find(format!(
                "`status` has its star on {stars:?}; new connections come from {used:?}"
            ));
        }
    }
}

/// The first few of them.
fn shown(all: &[impl fmt::Display]) -> String {
    let few = all.iter().take(MOST).map(ToString::to_string);
    few.collect::<Vec<_>>().join("; ")
}

/// What the twin without slowhand reaches.
struct Expected {
    probe: Probe,
    /// The address that the other end saw; `None`: not reached.
    seen: Option<IpAddr>,
}

/// Asks the twin without slowhand.
fn expected(site: &Site, step: Step) -> Vec<Expected> {
    let mut probes = reach::all(site);
    if matches!(step, Step::Unplug) {
        // slowhand routes the host's own packets past a lost link before the user's network manager does. It
        // does not do so for packets of others, nor for those that the user's own rules send to `main`.
        let guided = |probe: &Probe| matches!(probe.source, Source::Any | Source::Address(_));
        probes
            .retain(|probe| guided(probe) && (probe.place == HOST || !site.destinations.contains(&probe.to)));
    }
    let seen = reach::ask(site, &probes, |_| Some(ANSWER));
    let pair = |(probe, seen)| Expected { probe, seen };
    probes.into_iter().zip(seen).map(pair).collect()
}

/// Plays every shape at once, each on hosts of its own, and shows all that was wrong.
pub fn play_all(shapes: &[(&'static str, Build)], steps: &[Step]) {
    play_all_with("", shapes, steps);
}

/// The matrices that play. Several at once would starve each other's daemons for seconds, and links without a
/// fault would look dead.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The same, with more in the configuration of slowhand.
pub fn play_all_with(more: &str, shapes: &[(&'static str, Build)], steps: &[Step]) {
    // A matrix that has failed says nothing about the others.
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let findings: Vec<String> = std::thread::scope(|scope| {
        let play = |(name, build): &(&'static str, Build)| {
            let (name, build) = (*name, *build);
            scope.spawn(move || Twins::new(name, build, more).play(steps))
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

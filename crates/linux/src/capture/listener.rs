//! A thread that reports frames heard on monitor interfaces to a running daemon.
//!
//! The engine only needs to tell other stations apart. It gets hashes of their addresses, with a salt
//! ([`Aliases`]). So a recording of the engine names no device of other people, unless the user wants that.
//!
//! What joins access points gets the addresses of those that begin to send beacons ([`Reports::newcomers`]).

use super::Capture;
use crate::daemon::InletSender;
use policy::estimate::delivery::Receiver;
use policy::{Input, LinkEvent, LinkId};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::MacAddr;

/// Longest delay before a stop is noticed while no frames arrive, in ms.
const GLANCE_MS: libc::c_int = 50;

/// Frames are collected for this long. Handling each one alone would cost more than the frame, and the
/// estimators look back 500 ms anyway.
const GRAIN: Duration = Duration::from_millis(5);

/// An access point is new, or back, if none of its beacons was heard for this long.
const SILENCE: Duration = Duration::from_secs(3);

/// Whether beacons are reported as such, with their signal, beside their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beacons {
    /// They are.
    Told,
    /// They are not: another source reports them.
    Elsewhere,
}

/// Other names for the stations of other people. With the same aliases, a station keeps its name.
#[derive(Debug, Clone)]
pub struct Aliases(Option<RandomState>);

impl Default for Aliases {
    fn default() -> Self {
        Self(Some(RandomState::new()))
    }
}

impl Aliases {
    /// None: stations keep their addresses.
    pub const fn none() -> Self {
        Self(None)
    }

    /// A locally administered address in place of a station's own.
    pub(crate) fn of(&self, station: MacAddr) -> MacAddr {
        const GROUP: u8 = 1;
        const LOCAL: u8 = 2;
        let Some(salt) = &self.0 else { return station };
        let [first, second, third, fourth, fifth, sixth, ..] = salt.hash_one(station.octets()).to_be_bytes();
        MacAddr::new([first & !GROUP | LOCAL, second, third, fourth, fifth, sixth])
    }
}

/// What a listener reports.
#[derive(Debug, Clone)]
pub struct Reports {
    /// Frames of these transmitters.
    pub links: BTreeMap<MacAddr, LinkId>,
    /// Whether beacons are reported as such.
    pub beacons: Beacons,
    /// How other stations are called.
    pub aliases: Aliases,
    /// Whether access points without a link are reported when they begin to send beacons.
    pub newcomers: bool,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listener {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    told: Arc<AtomicU64>,
}

impl Listener {
    /// Starts to listen on these interfaces.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(captures: Vec<Capture>, reports: Reports, inlet: InletSender) -> io::Result<Self> {
        let (stop, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut work = Work {
            captures,
            reports,
            inlet,
            stop: Arc::clone(&stop),
            told: Arc::clone(&told),
            facts: Vec::new(),
            others: Others::default(),
        };
        let thread = std::thread::Builder::new().name("monitor".into());
        let thread = thread.spawn(move || work.run())?;
        Ok(Self {
            thread: Some(thread),
            stop,
            told,
        })
    }

    /// Number of frames reported to the daemon.
    pub fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic except in its inlet, and the inlet's owner reports that.
            let _ = thread.join();
        }
    }
}

struct Work {
    captures: Vec<Capture>,
    reports: Reports,
    inlet: InletSender,
    stop: Arc<AtomicBool>,
    told: Arc<AtomicU64>,
    /// Frames of one batch.
    facts: Vec<Input>,
    others: Others,
}

/// Access points without a link, and when their last beacons were heard.
#[derive(Debug, Default)]
struct Others(BTreeMap<MacAddr, Instant>);

impl Others {
    /// Takes in a beacon. Returns whether there was none for [`SILENCE`].
    fn hear(&mut self, now: Instant, bssid: MacAddr) -> bool {
        let before = self.0.insert(bssid, now);
        before.is_none_or(|before| now.duration_since(before) >= SILENCE)
    }

    /// Forgets those that have fallen silent.
    fn forget(&mut self, now: Instant) {
        self.0.retain(|_, heard| now.duration_since(*heard) < SILENCE);
    }
}

impl Work {
    fn run(&mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            self.wait();
            self.read();
            self.told.fetch_add(self.facts.len() as u64, Ordering::Relaxed);
            // A daemon that has ended accepts no reports.
            let _ = self.inlet.send_all(self.facts.drain(..));
            std::thread::sleep(GRAIN);
        }
    }

    fn read(&mut self) {
        let (reports, facts, others) = (&self.reports, &mut self.facts, &mut self.others);
        let now = Instant::now();
        let mut newcomers = Vec::new();
        let tells_beacons = reports.beacons == Beacons::Told;
        for capture in &mut self.captures {
            // A removed device reports no frames. Its link gives the reason.
            let _ = capture.read(|sighting| {
                // Includes beacons: access points without QoS number them together with data.
                let bssid = sighting.transmitter;
                let Some(&link) = reports.links.get(&bssid) else {
                    if sighting.beacon && reports.newcomers && others.hear(now, bssid) {
                        newcomers.push(bssid);
                    }
                    return;
                };
                let mut frame = sighting.frame;
                if let Receiver::Other(station) = &mut frame.receiver {
                    *station = reports.aliases.of(*station);
                }
                facts.push(Input::Link(link, LinkEvent::Frame(frame)));
                let signal = sighting.signal.filter(|_| sighting.beacon && tells_beacons);
                facts.extend(signal.map(|signal| Input::Link(link, LinkEvent::Beacon(signal))));
            });
        }
        others.forget(now);
        for bssid in newcomers {
            // A daemon that has ended accepts no reports.
            let _ = self.inlet.newcomer(bssid);
        }
    }

    fn wait(&self) {
        let waiting = |capture: &Capture| libc::pollfd {
            fd: capture.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut fds: Vec<libc::pollfd> = self.captures.iter().map(waiting).collect();
        // SAFETY: the list is valid for the call, and its length is given.
        unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, GLANCE_MS) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_point_is_new_after_a_silence() {
        let start = Instant::now();
        let mut others = Others::default();
        let mut heard = |number, ms| {
            let now = start + Duration::from_millis(ms);
            let is_new = others.hear(now, MacAddr::local(number));
            others.forget(now);
            is_new
        };
        let all = [
            (1, 0),
            (1, 100),
            (2, 200),
            (1, 3_000),
            (2, 3_199),
            (1, 5_999),
            (1, 9_000),
        ];
        let new = all.map(|(number, ms)| heard(number, ms));
        assert_eq!(new, [true, false, true, false, false, false, true]);
    }

    #[test]
    fn a_station_keeps_its_alias_and_others_have_another_one() {
        let aliases = Aliases::default();
        let [one, two] = [7, 8].map(|number| aliases.of(MacAddr::local(number)));
        assert_eq!(Aliases::none().of(MacAddr::local(7)), MacAddr::local(7));
        assert_eq!(
            one,
            aliases.clone().of(MacAddr::local(7)),
            "also for another listener"
        );
        assert_ne!(one, two);
        assert!(!one.is_group());
        assert_ne!(one, Aliases::default().of(MacAddr::local(7)));
    }
}

//! A thread that reports frames heard on monitor interfaces to a running daemon.
//!
//! The engine only needs to tell other stations apart. It gets hashes of their addresses, with a salt of each
//! listener. So a recording of the engine names no device of other people.

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
use std::time::Duration;
use units::MacAddr;

/// Longest delay before a stop is noticed while no frames arrive, in ms.
const GLANCE_MS: libc::c_int = 50;

/// Frames are collected for this long. Handling each one alone would cost more than the frame, and the
/// estimators look back 500 ms anyway.
const GRAIN: Duration = Duration::from_millis(5);

/// Whether beacons are reported as such, with their signal, beside their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beacons {
    /// They are.
    Told,
    /// They are not: another source reports them.
    Elsewhere,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listener {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    told: Arc<AtomicU64>,
}

impl Listener {
    /// Starts to listen on these interfaces. Frames from the transmitters in `links` are reported.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        captures: Vec<Capture>,
        links: BTreeMap<MacAddr, LinkId>,
        beacons: Beacons,
        inlet: InletSender,
    ) -> io::Result<Self> {
        let (stop, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut work = Work {
            captures,
            links,
            beacons,
            inlet,
            stop: Arc::clone(&stop),
            told: Arc::clone(&told),
            salt: RandomState::new(),
            facts: Vec::new(),
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
    links: BTreeMap<MacAddr, LinkId>,
    beacons: Beacons,
    inlet: InletSender,
    stop: Arc<AtomicBool>,
    told: Arc<AtomicU64>,
    salt: RandomState,
    /// Frames of one batch.
    facts: Vec<Input>,
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
        let (links, beacons, salt, facts) = (&self.links, self.beacons, &self.salt, &mut self.facts);
        for capture in &mut self.captures {
            // A removed device reports no frames. Its link gives the reason.
            let _ = capture.read(|sighting| {
                // Includes beacons: access points without QoS number them together with data.
                let Some(&link) = links.get(&sighting.transmitter) else {
                    return;
                };
                let mut frame = sighting.frame;
                if let Receiver::Other(station) = &mut frame.receiver {
                    *station = alias(salt, *station);
                }
                facts.push(Input::Link(link, LinkEvent::Frame(frame)));
                let signal = sighting
                    .signal
                    .filter(|_| sighting.beacon && beacons == Beacons::Told);
                facts.extend(signal.map(|signal| Input::Link(link, LinkEvent::Beacon(signal))));
            });
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

/// A locally administered address in place of a station's own.
fn alias(salt: &RandomState, station: MacAddr) -> MacAddr {
    const GROUP: u8 = 1;
    const LOCAL: u8 = 2;
    let [first, second, third, fourth, fifth, sixth, ..] = salt.hash_one(station.octets()).to_be_bytes();
    MacAddr::new([first & !GROUP | LOCAL, second, third, fourth, fifth, sixth])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_keeps_its_alias_and_others_have_another_one() {
        let salt = RandomState::new();
        let [one, two] = [7, 8].map(|number| alias(&salt, MacAddr::local(number)));
        assert_eq!(one, alias(&salt, MacAddr::local(7)));
        assert_ne!(one, two);
        assert!(!one.is_group());
        assert_ne!(one, alias(&RandomState::new(), MacAddr::local(7)));
    }
}

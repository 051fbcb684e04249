//! A thread that tells a running daemon what monitor interfaces hear.

use super::Capture;
use crate::daemon::InletSender;
use policy::{Input, LinkEvent, LinkId};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use units::MacAddr;

/// How long a stop may go unseen while nothing is heard, in ms.
const GLANCE_MS: libc::c_int = 50;

/// Frames are taken together: a look at each would cost more than the frame, and the estimators look back half a second.
const GRAIN: Duration = Duration::from_millis(5);

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listener {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    told: Arc<AtomicU64>,
}

impl Listener {
    /// Listens to these interfaces; `links` says whose frames are told.
    ///
    /// # Errors
    /// When there is no thread left.
    pub fn start(
        captures: Vec<Capture>,
        links: BTreeMap<MacAddr, LinkId>,
        inlet: InletSender,
    ) -> io::Result<Self> {
        let (stop, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut work = Work {
            captures,
            links,
            inlet,
            stop: Arc::clone(&stop),
            told: Arc::clone(&told),
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

    /// How many frames the daemon was told of.
    pub fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does nothing that could panic but what its inlet does; whoever owns that says so.
            let _ = thread.join();
        }
    }
}

struct Work {
    captures: Vec<Capture>,
    links: BTreeMap<MacAddr, LinkId>,
    inlet: InletSender,
    stop: Arc<AtomicBool>,
    told: Arc<AtomicU64>,
    /// Of one look.
    facts: Vec<Input>,
}

impl Work {
    fn run(&mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            self.wait();
            self.read();
            self.told.fetch_add(self.facts.len() as u64, Ordering::Relaxed);
            // A daemon that has ended wants to hear nothing.
            let _ = self.inlet.send_all(self.facts.drain(..));
            std::thread::sleep(GRAIN);
        }
    }

    fn read(&mut self) {
        let (links, facts) = (&self.links, &mut self.facts);
        for capture in &mut self.captures {
            // A device that is gone hears nothing; its link says why.
            let _ = capture.read(|sighting| {
                // Beacons too: of access points without QoS they share the numbers of data.
                if let Some(link) = links.get(&sighting.transmitter) {
                    facts.push(Input::Link(*link, LinkEvent::Frame(sighting.frame)));
                }
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

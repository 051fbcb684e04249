//! Passes what the radios heard from the thread that carries packets to a thread that has time.
//!
//! A write to a device costs several times what a frame costs the model, and packets would wait for it.

use super::Monitor;
use links::air::Overheard;
use links::{Heard, LinkId};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use units::{Dbm, Duration, Instant};

/// Frames are passed on in batches: waking a thread for each would cost more than the frame.
const AT_ONCE: usize = 128;
/// The longest time that a frame waits for its batch to fill.
const EVERY: Duration = Duration::from_millis(5);

/// Something that a radio heard.
#[derive(Debug, Clone)]
enum Sound {
    /// A frame whose exchange ended at that time.
    Frame(Instant, LinkId, Heard),
    /// A beacon that ended at that time.
    Beacon(Instant, LinkId, Dbm),
    /// A frame on the exact medium, where beacons are frames.
    Overheard(Overheard),
}

/// The channel to the monitor interfaces, which are removed when it is dropped.
#[derive(Debug)]
pub struct Feed {
    /// The batch that is being filled.
    sounds: Vec<Sound>,
    next: Instant,
    batches: Option<Sender<Vec<Sound>>>,
    thread: Option<JoinHandle<()>>,
}

impl Feed {
    /// Begins to show frames on these devices.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub fn start(mut monitor: Monitor) -> io::Result<Self> {
        let (send, receive) = channel();
        let thread = std::thread::Builder::new().name("lab-monitor".into());
        Ok(Self {
            sounds: Vec::with_capacity(AT_ONCE),
            next: Instant::ZERO,
            batches: Some(send),
            thread: Some(thread.spawn(move || show(&mut monitor, &receive))?),
        })
    }

    /// Shows a frame that the client's radio has heard; the exchange ended at `at`.
    pub(crate) fn frame(&mut self, at: Instant, link: LinkId, frame: Heard) {
        self.sounds.push(Sound::Frame(at, link, frame));
    }

    /// Shows a beacon that the client's radio has heard; it ended at `at`.
    pub(crate) fn beacon(&mut self, at: Instant, link: LinkId, signal: Dbm) {
        self.sounds.push(Sound::Beacon(at, link, signal));
    }

    /// Shows a frame that one of the client's radios has heard or sent.
    pub(crate) fn overheard(&mut self, frame: Overheard) {
        self.sounds.push(Sound::Overheard(frame));
    }

    /// Passes on the batch if it is full or has waited long enough.
    pub(crate) fn flush(&mut self, now: Instant) {
        let full = self.sounds.len() >= AT_ONCE;
        if full || (now >= self.next && !self.sounds.is_empty()) {
            self.next = now + EVERY;
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.sounds, Vec::with_capacity(AT_ONCE));
        // The thread ends after us.
        let _ = self.batches.as_ref().map(|batches| batches.send(batch));
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.hand_over();
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // Only the devices could make it panic, and listeners there report that.
            let _ = thread.join();
        }
    }
}

fn show(monitor: &mut Monitor, batches: &Receiver<Vec<Sound>>) {
    for batch in batches {
        for sound in batch {
            match sound {
                Sound::Frame(at, link, frame) => monitor.show(at, link, &frame),
                Sound::Beacon(at, link, signal) => monitor.show_beacon(at, link, signal),
                Sound::Overheard(frame) => monitor.overhear(&frame),
            }
        }
    }
}

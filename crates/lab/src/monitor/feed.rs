//! What the radios heard goes from the thread that carries packets to one that has time.
//!
//! A write to a device costs several times what a frame costs the model, and packets would wait for it.

use super::Monitor;
use links::air::Overheard;
use links::{Heard, LinkId};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use units::{Dbm, Duration, Instant};

/// Frames are handed over together: waking a thread for each would cost more than the frame.
const AT_ONCE: usize = 128;
/// They do not wait longer than this for others, nor for the next thing that happens.
const EVERY: Duration = Duration::from_millis(5);

/// Something that a radio heard.
#[derive(Debug, Clone)]
enum Sound {
    /// A frame whose exchange was over at that time.
    Frame(Instant, LinkId, Heard),
    /// A beacon that was over at that time.
    Beacon(Instant, LinkId, Dbm),
    /// A frame on the exact medium, where beacons are frames.
    Overheard(Overheard),
}

/// The way to the monitor interfaces. They are gone when it is dropped.
#[derive(Debug)]
pub struct Feed {
    /// Of the batch that is being filled.
    sounds: Vec<Sound>,
    next: Instant,
    batches: Option<Sender<Vec<Sound>>>,
    thread: Option<JoinHandle<()>>,
}

impl Feed {
    /// Begins to show what is heard on these devices.
    ///
    /// # Errors
    /// When there is no thread left.
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

    /// The client's radio has heard this frame; the exchange was over at `at`.
    pub(crate) fn frame(&mut self, at: Instant, link: LinkId, frame: Heard) {
        self.sounds.push(Sound::Frame(at, link, frame));
    }

    /// The client's radio has heard a beacon, which was over at `at`.
    pub(crate) fn beacon(&mut self, at: Instant, link: LinkId, signal: Dbm) {
        self.sounds.push(Sound::Beacon(at, link, signal));
    }

    /// One of the client's radios has heard this frame, or sent it.
    pub(crate) fn overheard(&mut self, frame: Overheard) {
        self.sounds.push(Sound::Overheard(frame));
    }

    /// Hands over what has waited long enough.
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
            // It does nothing that could panic but what the devices do; whoever listens there says so.
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

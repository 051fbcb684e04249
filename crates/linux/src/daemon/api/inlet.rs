//! How other threads communicate with a running daemon: facts for the engine, report requests, and the
//! request to stop.

use crate::daemon::api::networks::{ChangeError, NetworksChange};
use crate::daemon::api::report::Report;
use crate::daemon::api::setup::DeclaredLink;
use crate::daemon::os::eventfd::EventFd;
use crate::journal::{JournalError, TakenOver};
use crate::portal::Api;
use policy::{Input, LinkId};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use thiserror::Error;
use units::MacAddr;

/// Creates an inlet: the sender for other threads, and the receiving end for [`Setup`](crate::daemon::Setup).
///
/// # Errors
/// If the process has no file descriptor left.
pub fn inlet() -> io::Result<(InletSender, Inlet)> {
    let wake = Arc::new(EventFd::new()?);
    let (send, receive) = mpsc::channel();
    let sender = InletSender {
        send,
        wake: Arc::clone(&wake),
    };
    Ok((
        sender.clone(),
        Inlet {
            sender,
            receive,
            wake,
            stop: Arc::new(AtomicBool::new(false)),
        },
    ))
}

/// A message from another thread.
pub(crate) enum Word {
    /// A fact for the engine.
    Input(Input),
    /// A link that can be seen from now on.
    Declare(Box<DeclaredLink>),
    /// A link that is gone for good.
    Retire(LinkId),
    /// The DNS resolvers of a link.
    Resolvers(LinkId, Vec<IpAddr>),
    /// The API of the captive portal behind a link, if its network announces one.
    Portal(LinkId, Option<Api>),
    /// An access point without a link has begun to send beacons.
    Newcomer(MacAddr),
    /// An interface of NetworkManager is about to be taken over.
    TakenOver(TakenOver, mpsc::SyncSender<Result<(), JournalError>>),
    /// NetworkManager has it again.
    GivenBack(TakenOver),
    /// A request for a report.
    Report(mpsc::SyncSender<Report>),
    /// A change of networks for flows.
    Networks(NetworksChange, mpsc::SyncSender<Result<(), ChangeError>>),
}

/// Sends facts and report requests to a running daemon.
#[derive(Clone)]
pub struct InletSender {
    send: mpsc::Sender<Word>,
    wake: Arc<EventFd>,
}

/// The daemon has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the daemon has ended; start it again")]
pub struct Ended;

/// Why there is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AskError {
    /// The daemon has ended.
    #[error("the daemon has ended; start it again")]
    Ended,
    /// The daemon runs, but is busy.
    #[error("the daemon did not answer in time; the host is overloaded, ask again")]
    Busy,
}

/// Why a change could not be put on record.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The daemon does not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The record cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl InletSender {
    /// Sends a fact to the engine, which processes it at once.
    ///
    /// # Errors
    /// If the daemon has ended.
    pub fn send(&self, input: Input) -> Result<(), Ended> {
        self.say(Word::Input(input))
    }

    /// Sends several facts, and wakes the engine once.
    ///
    /// # Errors
    /// If the daemon has ended.
    pub fn send_all(&self, inputs: impl IntoIterator<Item = Input>) -> Result<(), Ended> {
        let mut any = false;
        for input in inputs {
            self.send.send(Word::Input(input)).map_err(|_| Ended)?;
            any = true;
        }
        if any {
            self.wake.signal();
        }
        Ok(())
    }

    /// Declares a link that can be seen from now on, such as an access point in range. Its number must not
    /// have been used before. It becomes usable once an interface of its name is.
    ///
    /// # Errors
    /// If the daemon has ended.
    pub fn declare(&self, link: DeclaredLink) -> Result<(), Ended> {
        self.say(Word::Declare(Box::new(link)))
    }

    /// Removes a link that [`declare`](Self::declare) has declared.
    ///
    /// # Errors
    /// If the daemon has ended.
    pub fn retire(&self, link: LinkId) -> Result<(), Ended> {
        self.say(Word::Retire(link))
    }

    /// Names the DNS resolvers of a link. They come before those of the host's files.
    ///
    /// # Errors
    /// If the daemon has ended.
    pub fn resolvers(&self, link: LinkId, resolvers: Vec<IpAddr>) -> Result<(), Ended> {
        self.say(Word::Resolvers(link, resolvers))
    }

    /// Names the API of the captive portal that the network behind a link announces. `None`: it announces
    /// none. The daemon asks it where there is no other check.
    ///
    /// # Errors
    /// If the daemon has ended.
    pub fn portal(&self, link: LinkId, api: Option<Api>) -> Result<(), Ended> {
        self.say(Word::Portal(link, api))
    }

    /// Reports that an access point without a link has begun to send beacons.
    ///
    /// # Errors
    /// If the daemon has ended.
    pub fn newcomer(&self, bssid: MacAddr) -> Result<(), Ended> {
        self.say(Word::Newcomer(bssid))
    }

    /// Puts on record that an interface of NetworkManager is about to be taken over, and waits for that for
    /// at most `patience`.
    ///
    /// # Errors
    /// If it is not on record. The interface must not be changed then.
    pub fn record_taken_over(&self, what: TakenOver, patience: Duration) -> Result<(), RecordError> {
        let (answer, answered) = mpsc::sync_channel(1);
        let asked = self.say(Word::TakenOver(what, answer));
        asked.map_err(|Ended| AskError::Ended)?;
        Ok(answered.recv_timeout(patience).map_err(late)??)
    }

    /// Takes an interface off the record: NetworkManager has it again, or it was not taken.
    ///
    /// # Errors
    /// If the daemon has ended.
    pub fn record_given_back(&self, what: TakenOver) -> Result<(), Ended> {
        self.say(Word::GivenBack(what))
    }

    /// Requests a report of everything the daemon knows, and waits for it for at most `patience`.
    ///
    /// # Errors
    /// If the daemon has ended or is too busy.
    pub fn report(&self, patience: Duration) -> Result<Report, AskError> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.say(Word::Report(answer)).map_err(|Ended| AskError::Ended)?;
        answered.recv_timeout(patience).map_err(late)
    }

    /// Changes networks for flows, and waits until that is done, for at most `patience`.
    ///
    /// # Errors
    /// If the daemon refuses the change, has ended or is too busy.
    pub fn change_networks(&self, change: NetworksChange, patience: Duration) -> Result<(), ChangeError> {
        let (answer, answered) = mpsc::sync_channel(1);
        let asked = self.say(Word::Networks(change, answer));
        asked.map_err(|Ended| AskError::Ended)?;
        answered.recv_timeout(patience).map_err(late)?
    }

    fn say(&self, word: Word) -> Result<(), Ended> {
        self.send.send(word).map_err(|_| Ended)?;
        self.wake.signal();
        Ok(())
    }
}

const fn late(error: mpsc::RecvTimeoutError) -> AskError {
    match error {
        mpsc::RecvTimeoutError::Timeout => AskError::Busy,
        mpsc::RecvTimeoutError::Disconnected => AskError::Ended,
    }
}

impl std::fmt::Debug for InletSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InletSender").finish_non_exhaustive()
    }
}

/// The daemon's end of the inlet.
pub struct Inlet {
    sender: InletSender,
    receive: mpsc::Receiver<Word>,
    wake: Arc<EventFd>,
    stop: Arc<AtomicBool>,
}

impl Inlet {
    /// The next message, without waiting.
    pub(crate) fn next(&self) -> Option<Word> {
        self.receive.try_recv().ok()
    }

    /// A sender for the daemon's own threads.
    pub(crate) fn sender(&self) -> InletSender {
        self.sender.clone()
    }

    /// Must be called before messages are read: later messages then wake the loop again.
    pub(crate) fn clear(&self) {
        self.wake.clear();
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Returns a handle that ends the daemon with this inlet, from another thread or a signal handler. It
    /// works before the start, too.
    pub fn stopper(&self) -> Stopper {
        Stopper {
            stop: Arc::clone(&self.stop),
            wake: Arc::clone(&self.wake),
        }
    }
}

impl AsRawFd for Inlet {
    fn as_raw_fd(&self) -> RawFd {
        self.wake.as_raw_fd()
    }
}

impl std::fmt::Debug for Inlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inlet").finish_non_exhaustive()
    }
}

/// Ends a daemon from anywhere: another thread, or a signal handler.
#[derive(Debug, Clone)]
pub struct Stopper {
    stop: Arc<AtomicBool>,
    wake: Arc<EventFd>,
}

impl Stopper {
    /// Makes [`Daemon::run`](crate::daemon::Daemon::run) restore everything and return. Allowed in a signal
    /// handler.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake.signal();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::LinkEvent;

    #[test]
    fn messages_arrive_in_order_and_wake_the_loop() {
        let (sender, inlet) = inlet().unwrap();
        for carrier in [true, false] {
            sender
                .send(Input::Link(LinkId(1), LinkEvent::Carrier(carrier)))
                .unwrap();
        }
        let poller = crate::daemon::os::poller::Poller::new().unwrap();
        poller.add(inlet.as_raw_fd(), 7).unwrap();
        assert!(poller.wait(Some(Duration::ZERO)).unwrap().has(7));
        inlet.clear();
        for expected in [true, false] {
            let Some(Word::Input(Input::Link(_, LinkEvent::Carrier(carrier)))) = inlet.next() else {
                panic!()
            };
            assert_eq!(carrier, expected);
        }
        assert!(inlet.next().is_none());
        assert!(!poller.wait(Some(Duration::ZERO)).unwrap().has(7));
    }

    #[test]
    fn sending_to_an_ended_daemon_fails() {
        let (sender, inlet) = inlet().unwrap();
        drop(inlet);
        assert_eq!(sender.send(Input::Link(LinkId(1), LinkEvent::Gone)), Err(Ended));
        assert_eq!(sender.report(Duration::ZERO).unwrap_err(), AskError::Ended);
        let wlan0 = TakenOver {
            name: "wlan0".parse().unwrap(),
            ifindex: 3,
        };
        let recorded = sender.record_taken_over(wlan0, Duration::ZERO);
        assert!(matches!(recorded, Err(RecordError::Ask(AskError::Ended))));
    }

    #[test]
    fn a_stop_is_seen_and_wakes_the_loop() {
        let (_sender, inlet) = inlet().unwrap();
        assert!(!inlet.stopped());
        inlet.stopper().stop();
        assert!(inlet.stopped());
    }
}

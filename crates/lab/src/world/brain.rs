//! Runs the daemon on a separate thread in a host's namespace: the same daemon that runs on a real host.

use super::PlayError;
use super::note::Note;
use super::observe;
use crate::traffic::Answers;
use linux::bpf::WindowKind;
use linux::daemon::{
    Associates, Association, Daemon, DeclaredLink, Inlet, RunError, Sender as SendWith, Setup, SignalReports,
    StartError, Stopper,
};
use linux::netns::{EnterError, Netns};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use thiserror::Error;
use trace::Observer;

/// Why the daemon did not start.
#[derive(Debug, Error)]
pub enum BrainError {
    /// Its thread cannot enter the host's namespace.
    #[error(transparent)]
    Enter(#[from] EnterError),
    /// It cannot start.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// A running daemon; stops when dropped.
#[derive(Debug)]
pub(super) struct Brain {
    thread: Option<JoinHandle<Result<(), RunError>>>,
    stopper: Stopper,
}

/// The daemon's configuration and connections here.
pub(super) struct Wiring {
    pub(super) engine: policy::Config,
    pub(super) links: Vec<DeclaredLink>,
    /// The number of its first link in the network.
    pub(super) first_link: u16,
    pub(super) epoch_ns: u64,
    pub(super) inlet: Inlet,
    /// Its answers about flows that cannot use several links.
    pub(super) answers: Answers,
    pub(super) sender: Option<SendWith>,
    pub(super) reports: Option<SignalReports>,
    /// `None`: nothing of it belongs into the trace.
    pub(super) observer: Option<Observer>,
    pub(super) notes: Sender<Note>,
    pub(super) window: Option<WindowKind>,
    pub(super) record: Option<record::Recording>,
}

impl Wiring {
    fn setup(self) -> Setup {
        let Self {
            notes, mut observer, ..
        } = self;
        let (asked, divided, first) = (notes.clone(), notes.clone(), self.first_link);
        let answers = self.answers;
        Setup {
            engine: self.engine,
            links: self.links,
            epoch_ns: self.epoch_ns,
            inlet: self.inlet,
            sender: self.sender,
            reports: self.reports,
            associate: Some(Associates {
                interfaces: Vec::new(),
                lead_out: None,
                newcomer: None,
                take_turns: Some(Box::new(move |slots| {
                    // Nobody listens once the run is over.
                    let _ = divided.send(Note::Divided(slots.to_vec()));
                })),
                carry_out: Box::new(move |association| {
                    let in_network = |link: policy::LinkId| policy::LinkId(first + link.0);
                    let association = match association {
                        Association::Join(link) => Association::Join(in_network(link)),
                        Association::Leave(link) => Association::Leave(in_network(link)),
                    };
                    // Nobody listens once the run is over.
                    let _ = asked.send(Note::Asked(association));
                    true
                }),
            }),
            assign: Some(Box::new(move |flow, assignment| answers.take(flow, assignment))),
            observe: Box::new(move |now, observation| {
                let observer = observer.as_mut();
                if let Some(event) = observer.and_then(|observer| observe::event(observer, now, &observation))
                {
                    // Nobody listens once the run is over.
                    let _ = notes.send(Note::Happened(event));
                }
            }),
            window: self.window,
            fallback_window: None,
            probing: None,
            networks: None,
            monitor: Some(false),
            plain: false,
            record: self.record,
            journal: None,
        }
    }
}

impl Brain {
    /// Starts it and waits until it has taken over the namespace.
    pub(super) fn start(netns: &Netns, wiring: Wiring) -> Result<Self, PlayError> {
        let netns = netns.try_clone().map_err(PlayError::Thread)?;
        let (ready, started) = channel();
        let work = move || {
            let daemon = netns
                .enter()
                .map_err(BrainError::from)
                .and_then(|()| Ok(Daemon::start(wiring.setup())?));
            let mut daemon = match daemon {
                Ok(daemon) => daemon,
                Err(error) => {
                    // The other end waits for exactly this message.
                    let _ = ready.send(Err(error));
                    return Ok(());
                }
            };
            let _ = ready.send(Ok(daemon.stopper()));
            daemon.run()
        };
        let thread = std::thread::Builder::new().name("lab-daemon".into());
        let thread = thread.spawn(work).map_err(PlayError::Thread)?;
        match started.recv() {
            Ok(Ok(stopper)) => Ok(Self {
                thread: Some(thread),
                stopper,
            }),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(PlayError::Panicked("daemon")),
        }
    }

    /// Stops it and waits until it has restored everything.
    pub(super) fn finish(mut self) -> Result<(), PlayError> {
        self.stopper.stop();
        let thread = self
            .thread
            .take()
            .expect("only `finish` takes the thread, and it consumes the brain");
        let ended = thread.join().map_err(|_| PlayError::Panicked("daemon"))?;
        ended.map_err(PlayError::Daemon)
    }
}

impl Drop for Brain {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // Dropped because of another error, which is the one to report.
            let _ = thread.join();
        }
    }
}

//! Checks of whether links lead to the Internet, each in a thread of its own, since it waits for what it asks.
//!
//! # Checked by
//! `daemon::tests::portal`.

use crate::daemon::drive::world::World;
use crate::daemon::os::eventfd::EventFd;
use crate::portal::{Check, Over};
use policy::{Checked, Input, LinkEvent, LinkId};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A link, and what its check found.
type Found = (LinkId, Checked);

/// What is checked, and the results that nobody has read.
#[derive(Debug)]
pub(crate) struct Checks {
    check: Option<Check>,
    running: BTreeSet<LinkId>,
    sender: Sender<Found>,
    results: Receiver<Found>,
    ready: Arc<EventFd>,
}

impl Checks {
    pub(crate) fn new(check: Option<Check>) -> io::Result<Self> {
        let (sender, results) = channel();
        Ok(Self {
            check,
            running: BTreeSet::new(),
            sender,
            results,
            ready: Arc::new(EventFd::new()?),
        })
    }

    pub(crate) const fn can_check(&self) -> bool {
        self.check.is_some()
    }

    /// Begins one, unless one is under way. The thread is in the namespace of the one that starts it.
    fn begin(&mut self, link: LinkId, over: Over) -> io::Result<()> {
        let Some(check) = self.check.clone().filter(|_| self.running.insert(link)) else {
            return Ok(());
        };
        let (results, ready) = (self.sender.clone(), Arc::clone(&self.ready));
        let work = move || {
            // Whoever would read the result may be gone.
            let _ = results.send((link, check.run(&over)));
            ready.signal();
        };
        let begun = std::thread::Builder::new().name("check".to_owned()).spawn(work);
        if begun.is_err() {
            self.running.remove(&link);
        }
        begun.map(drop)
    }

    fn next(&mut self) -> Option<Found> {
        let (link, checked) = self.results.try_recv().ok()?;
        self.running.remove(&link);
        Some((link, checked))
    }
}

impl AsRawFd for Checks {
    /// Readable when there may be a result.
    fn as_raw_fd(&self) -> RawFd {
        self.ready.as_raw_fd()
    }
}

impl World {
    /// Checks a link; the result comes as a fact.
    pub(crate) fn check(&mut self, link: LinkId) {
        let Some(managed) = self.links.get(link).filter(|link| link.usable()) else {
            return;
        };
        let (Some(name), Some(ifindex)) = (managed.interface, managed.ifindex) else {
            return;
        };
        let over = Over {
            link: name,
            from: managed.ways().map(|way| way.address.addr()).collect(),
            resolvers: self.idle.resolvers_of(ifindex),
        };
        if let Err(error) = self.checks.begin(link, over) {
            self.host
                .outlet
                .trouble("checking whether a link leads to the Internet", &error);
        }
    }

    pub(crate) fn read_checks(&mut self) {
        self.checks.ready.clear();
        while let Some((link, checked)) = self.checks.next() {
            self.host
                .outlet
                .tell(Input::Link(link, LinkEvent::Checked(checked)));
        }
    }

    /// The link can be used from now on: it is another one than it was, as far as what lies behind it is concerned.
    pub(crate) fn usable(&mut self, link: LinkId) {
        self.idle.begin_anew(link);
        if self.checks.can_check() {
            self.host.outlet.tell(Input::Link(link, LinkEvent::Checkable));
        }
    }
}

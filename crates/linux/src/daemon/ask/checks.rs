//! Checks whether links lead to the Internet. Each check has a thread of its own, because it waits for
//! replies.
//!
//! # Checked by
//! `daemon::tests::portal`.

use crate::daemon::ask::idle::Idle;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::os::eventfd::EventFd;
use crate::portal::{Check, Over};
use policy::{Checked, Input, LinkEvent, LinkId};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A link, and the result of its check.
type Found = (LinkId, Checked);

/// The check to run, and its unread results.
#[derive(Debug)]
pub(crate) struct Checks {
    check: Option<Check>,
    running: BTreeSet<LinkId>,
    /// Those that are to be checked again when their check has ended: their addresses have changed meanwhile.
    again: BTreeSet<LinkId>,
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
            again: BTreeSet::new(),
            sender,
            results,
            ready: Arc::new(EventFd::new()?),
        })
    }

    pub(crate) const fn can_check(&self) -> bool {
        self.check.is_some()
    }

    /// Checks a link. The result comes as a fact. That of a check which runs already does not count then.
    pub(crate) fn check(&mut self, link: LinkId, links: &Links, idle: &Idle, outlet: &mut Outlet) {
        let Some(managed) = links.get(link).filter(|link| link.usable()) else {
            return;
        };
        let (Some(name), Some(ifindex)) = (managed.interface, managed.ifindex) else {
            return;
        };
        let over = Over {
            link: name,
            from: managed.ways().map(|way| way.address.addr()).collect(),
            resolvers: idle.resolvers_of(link, ifindex),
        };
        if let Err(error) = self.begin(link, over) {
            let doing = "checking whether a link leads to the Internet";
            outlet.trouble(doing, &error);
        }
    }

    /// Tells the engine the available results.
    pub(crate) fn read(&mut self, links: &Links, idle: &Idle, outlet: &mut Outlet) {
        self.ready.clear();
        while let Some((link, checked)) = self.next() {
            match self.again.remove(&link) {
                true => self.check(link, links, idle, outlet),
                false => outlet.tell(Input::Link(link, LinkEvent::Checked(checked))),
            }
        }
    }

    /// Starts a check, after the one that is running on this link. Its thread is in the namespace of the
    /// thread that starts it.
    fn begin(&mut self, link: LinkId, over: Over) -> io::Result<()> {
        let Some(check) = self.check.clone() else {
            return Ok(());
        };
        if !self.running.insert(link) {
            self.again.insert(link);
            return Ok(());
        }
        let (results, ready) = (self.sender.clone(), Arc::clone(&self.ready));
        let work = move || {
            // The reader of the result may be gone.
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

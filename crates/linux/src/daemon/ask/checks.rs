//! Checks whether links lead to the Internet. Each check has a thread of its own, because it waits for
//! replies.
//!
//! # Checked by
//! `tests`; `daemon::tests::portal`; the trials `joins-closed` and `joins-portal` of `guest`.

use crate::daemon::Probing;
use crate::daemon::ask::idle::Idle;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::os::eventfd::EventFd;
use crate::portal::{Api, ApiError, Check, Inquiry, Over};
use policy::{Checked, Input, LinkEvent, LinkId};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A link, the result of its check, and why that shows nothing.
type Found = (LinkId, (Checked, Option<ApiError>));

/// What to ask over each link, and the unread replies.
#[derive(Debug)]
pub(crate) struct Checks {
    /// Whether anything may be asked.
    asks: bool,
    check: Option<Check>,
    /// What the networks behind links have announced, to ask where there is no check.
    apis: BTreeMap<LinkId, Api>,
    /// Links of which it was reported that their API says nothing.
    silent: BTreeSet<LinkId>,
    running: BTreeSet<LinkId>,
    /// Those that are to be checked again when their check has ended: their addresses have changed meanwhile.
    again: BTreeSet<LinkId>,
    sender: Sender<Found>,
    results: Receiver<Found>,
    ready: Arc<EventFd>,
}

impl Checks {
    /// `probing`: `None` if nothing may be asked.
    pub(crate) fn new(probing: Option<&Probing>) -> io::Result<Self> {
        let (sender, results) = channel();
        Ok(Self {
            asks: probing.is_some(),
            check: probing.and_then(|probing| probing.check.clone()),
            apis: BTreeMap::new(),
            silent: BTreeSet::new(),
            running: BTreeSet::new(),
            again: BTreeSet::new(),
            sender,
            results,
            ready: Arc::new(EventFd::new()?),
        })
    }

    pub(crate) fn can_check(&self, link: LinkId) -> bool {
        self.check.is_some() || self.apis.contains_key(&link)
    }

    /// Takes what the network behind a link announces. `None`: nothing. Returns whether that changes how the
    /// link is checked.
    pub(crate) fn announced(&mut self, link: LinkId, api: Option<Api>) -> bool {
        let api = api.filter(|_| self.asks);
        if self.apis.get(&link) == api.as_ref() {
            return false;
        }
        match api {
            Some(api) => drop(self.apis.insert(link, api)),
            None => drop(self.apis.remove(&link)),
        }
        self.silent.remove(&link);
        if self.check.is_some() {
            return false;
        }
        // The result of a check that runs is that of the one before.
        if self.running.contains(&link) {
            self.again.insert(link);
        }
        true
    }

    fn inquiry(&self, link: LinkId) -> Option<Inquiry> {
        let check = self.check.clone().map(Inquiry::Check);
        check.or_else(|| self.apis.get(&link).cloned().map(Inquiry::Api))
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
        while let Some((link, (checked, error))) = self.next() {
            if self.again.remove(&link) {
                self.check(link, links, idle, outlet);
                continue;
            }
            outlet.tell(Input::Link(link, LinkEvent::Checked(checked)));
            let Some(error) = error else {
                self.silent.remove(&link);
                continue;
            };
            if let Some(managed) = links.get(link).filter(|_| self.silent.insert(link)) {
                let doing = "asking whether its captive portal is open";
                outlet.trouble_on(&managed.spec.name, doing, &error);
            }
        }
    }

    /// Starts a check, after the one that is running on this link. Its thread is in the namespace of the
    /// thread that starts it.
    fn begin(&mut self, link: LinkId, over: Over) -> io::Result<()> {
        if self.running.contains(&link) {
            self.again.insert(link);
            return Ok(());
        }
        let Some(inquiry) = self.inquiry(link) else {
            let _ = self.sender.send((link, (Checked::Unknown, None)));
            self.ready.signal();
            return Ok(());
        };
        self.running.insert(link);
        let (results, ready) = (self.sender.clone(), Arc::clone(&self.ready));
        let work = move || {
            // The reader of the result may be gone.
            let _ = results.send((link, inquiry.run(&over)));
            ready.signal();
        };
        let begun = std::thread::Builder::new().name("check".to_owned()).spawn(work);
        if begun.is_err() {
            self.running.remove(&link);
        }
        begun.map(drop)
    }

    fn next(&mut self) -> Option<Found> {
        let found = self.results.try_recv().ok()?;
        self.running.remove(&found.0);
        Some(found)
    }
}

impl AsRawFd for Checks {
    /// Readable when there may be a result.
    fn as_raw_fd(&self) -> RawFd {
        self.ready.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_asked_where_there_is_no_check_and_probes_are_wanted() {
        let (link, other) = (LinkId(7), LinkId(8));
        let api = Api::new("https://portal.example/api").unwrap();
        let mut probing = Probing {
            root: "/".into(),
            check: None,
        };
        let checks = |probing: Option<&Probing>| Checks::new(probing).unwrap();
        assert!(
            !checks(None).announced(link, Some(api.clone())),
            "nothing may be asked"
        );
        let mut alone = checks(Some(&probing));
        assert!(alone.announced(link, Some(api.clone())) && !alone.announced(link, Some(api.clone())));
        assert!(alone.can_check(link) && !alone.can_check(other));
        assert_eq!(alone.inquiry(link), Some(Inquiry::Api(api.clone())));
        alone.running.insert(link);
        assert!(alone.announced(link, Api::new("https://portal.example/other")));
        assert!(
            alone.again.contains(&link),
            "the first API does not count any more"
        );
        assert!(alone.announced(link, None) && !alone.can_check(link));
        let check = Check {
            url: "http://check.example/".parse().unwrap(),
            response: String::new(),
        };
        probing.check = Some(check.clone());
        let mut both = checks(Some(&probing));
        assert!(!both.announced(link, Some(api)), "the check shows more");
        assert_eq!(both.inquiry(link), Some(Inquiry::Check(check)));
    }
}

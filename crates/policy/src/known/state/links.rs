//! Inputs about links.

use super::{MOST_LINKS, State};
use crate::io::reason::{Evidence, Trend};
use crate::io::{Action, Checked, LONGEST, LinkEvent, LinkId, LinkSpec, Verb};
use crate::known::change::Change;
use crate::known::path::{Health, Path};
use units::{Duration, Instant};

impl State {
    pub(super) fn appeared(&mut self, link: LinkId, spec: LinkSpec) -> Change {
        let has_room = self.paths.len() < MOST_LINKS;
        match self.paths.get_mut(&link) {
            Some(path) => path.spec = spec,
            None if has_room => drop(self.paths.insert(link, Path::new(spec))),
            None => {}
        }
        Change::Shape
    }

    pub(super) fn about_link(&mut self, now: Instant, link: LinkId, event: LinkEvent) -> Change {
        let Some(path) = self.paths.get_mut(&link) else {
            return Change::Counters;
        };
        match event {
            LinkEvent::Carrier(carrier) => {
                path.carrier = carrier;
                path.health = Health::Alive;
                self.leads_elsewhere(link);
                Change::Shape
            }
            LinkEvent::Usable(usable) => {
                path.set_usable(now, usable);
                if usable {
                    self.may_join_anew(link);
                    self.portals.begin_anew(link);
                    self.forget_hosts(link);
                } else {
                    self.leads_elsewhere(link);
                }
                Change::Shape
            }
            LinkEvent::Address(family, has) => {
                path.families[family as usize] = has;
                self.may_join_anew(link);
                Change::Shape
            }
            LinkEvent::Uplink(family, uplink) => {
                path.uplinks[family as usize] = uplink;
                Change::Shape
            }
            LinkEvent::Beacon(signal) => {
                path.beacon(now, signal);
                Change::Counters
            }
            LinkEvent::Received { packets } => {
                let arrived = core::mem::replace(&mut path.received, packets) < packets;
                let is_dead = matches!(path.health, Health::Dead { .. });
                self.counted(now, link, arrived && !is_dead)
            }
            LinkEvent::ProbeAnswered { probe, rtt } => self.answered(now, link, probe, rtt.min(LONGEST)),
            LinkEvent::ProbeFailed { probe } => {
                self.liveness.failed(now, link, probe);
                Change::Counters
            }
            LinkEvent::Host(host, event) => match self.liveness.told(now, link, host, event) {
                true => self.proof_of_life(now, link),
                false => Change::Counters,
            },
            LinkEvent::Traffic { sent, received } => {
                self.liveness.count(now, link, sent, received);
                Change::Counters
            }
            LinkEvent::Checkable => {
                self.portals.checkable(link);
                Change::Counters
            }
            LinkEvent::Checked(checked) => {
                self.portals.checked(now, link, checked);
                if checked == Checked::Passed {
                    self.liveness.heard(now, link);
                    self.proof_of_life(now, link);
                }
                Change::Shape
            }
            LinkEvent::Roamed => self.roamed(now, link),
            LinkEvent::Appeared(_) | LinkEvent::Gone => Change::Counters,
            told => path.told(now, told),
        }
    }

    /// Handles a sample of the interface's packet counter. `lives`: packets arrived, and the link is not
    /// dead. A neighbour's broadcast may be among them. So they end a doubt of some milliseconds, but revive
    /// no dead link.
    fn counted(&mut self, now: Instant, link: LinkId, lives: bool) -> Change {
        if lives {
            self.proof_of_life(now, link)
        } else {
            self.found_nothing(now, link)
        }
    }

    /// The interface moved to another access point and kept its address: a hand-off without a new subflow. A
    /// subflow with an older address is left alone, since it is replaced anyway.
    fn roamed(&mut self, now: Instant, link: LinkId) -> Change {
        let Some(path) = self.paths.get_mut(&link).filter(|path| path.is_wifi()) else {
            return Change::Counters;
        };
        path.roamed();
        let usable_since = path.usable_since;
        let subflows = self.conns.values_mut().flat_map(|conn| &mut conn.subflows);
        let mut living = 0;
        for subflow in subflows {
            let is_current = usable_since.is_some_and(|since| subflow.since >= since);
            if subflow.link == link && is_current {
                subflow.roamed(now);
                living += 1;
            }
        }
        self.remark(None, Some(link), Verb::Fade, Trend::Roamed);
        if living > 0 {
            self.push(Action::HandedOff(link));
        }
        Change::Shape
    }

    /// The link has another address: the peer may accept that one where it refused the last one.
    fn may_join_anew(&mut self, link: LinkId) {
        for conn in self.conns.values_mut() {
            conn.failed.retain(|failed| failed.link != link);
        }
    }

    /// The link has no address, or is gone: what was known of its network is void.
    pub(super) fn leads_elsewhere(&mut self, link: LinkId) {
        self.portals.forget(link);
        self.forget_hosts(link);
    }

    /// The link has another address: what was known of hosts behind it is void.
    fn forget_hosts(&mut self, link: LinkId) {
        self.liveness.forget(link);
        let path = self.paths.get_mut(&link);
        path.into_iter().for_each(|path| path.held = None);
    }

    fn answered(&mut self, now: Instant, link: LinkId, probe: u32, rtt: Duration) -> Change {
        match self.liveness.replied(now, link, probe, rtt) {
            Some(true) => return self.proof_of_life(now, link),
            Some(false) => return Change::Counters,
            None => {}
        }
        if !self.probes.contains(&(probe, link)) {
            return Change::Counters;
        }
        for subflow in self
            .conns
            .values_mut()
            .flat_map(|conn| conn.subflows.iter_mut())
            .filter(|subflow| subflow.link == link)
        {
            subflow.cleared = Some(now);
        }
        if let Some(path) = self.paths.get_mut(&link) {
            path.measured(rtt);
        }
        self.liveness.heard(now, link);
        self.proof_of_life(now, link)
    }

    /// Something arrived over this link: any doubt about it ends.
    pub(crate) fn proof_of_life(&mut self, now: Instant, link: LinkId) -> Change {
        let Some(path) = self.paths.get_mut(&link) else {
            return Change::Counters;
        };
        let health = core::mem::replace(&mut path.health, Health::Alive);
        path.heard = Some(now);
        match health {
            Health::Alive => return Change::Counters,
            Health::Doubted(doubt) => {
                let overdue = (now - doubt.since).saturating_sub(path.rtt());
                path.gap.survived(now, overdue);
            }
            Health::Dead { .. } => {
                self.liveness.found(link);
                self.note(Some(link), None, Verb::Clear, Evidence::RepliesAgain);
            }
        }
        Change::Shape
    }

    /// A poll found that nothing has arrived over this link.
    pub(super) fn found_nothing(&mut self, now: Instant, link: LinkId) -> Change {
        let health = self.paths.get_mut(&link).map(|path| &mut path.health);
        let is_proof = match health {
            Some(Health::Doubted(doubt)) => doubt.looked(now),
            _ => false,
        };
        if is_proof { Change::Doubt } else { Change::Counters }
    }
}

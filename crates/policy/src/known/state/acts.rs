//! The methods by which every room acts: they queue actions for the world.

use super::State;
use crate::io::{Action, ConnId, HostId, LinkId, Note, Reason, SubflowId, Verb};
use crate::known::conn::Joining;
use crate::known::path::Marks;
use units::{Duration, Instant};

impl State {
    /// Requests an association, at most every two seconds. No effect where there is nothing to associate.
    pub(crate) fn associate(&mut self, now: Instant, link: LinkId) {
        let Some(path) = self
            .paths
            .get_mut(&link)
            .filter(|path| path.is_wifi() && !path.carrier)
        else {
            return;
        };
        if path
            .asked
            .is_none_or(|asked| now - asked >= Duration::from_secs(2))
        {
            path.asked = Some(now);
            self.actions.push_back(Action::Associate(link));
        }
    }

    pub(crate) fn leave(&mut self, link: LinkId) {
        if self
            .paths
            .get_mut(&link)
            .is_some_and(|path| path.asked.take().is_some())
        {
            self.actions.push_back(Action::Leave(link));
        }
    }

    pub(crate) fn endpoint(&mut self, link: LinkId, wanted: bool) {
        self.actions.push_back(Action::Endpoint(link, wanted));
    }

    pub(crate) fn join(&mut self, now: Instant, conn: ConnId, link: LinkId, backup: bool) {
        if let (Some(state), Some(path)) = (self.conns.get_mut(&conn), self.paths.get(&link)) {
            let remote = state.target(link, path).remote;
            let since = now;
            state.joining.push(Joining { link, remote, since });
            self.actions.push_back(Action::Join {
                conn,
                link,
                remote,
                backup,
            });
        }
    }

    pub(crate) fn set_backup(&mut self, conn: ConnId, subflow: SubflowId, backup: bool) {
        let subflows = self
            .conns
            .get_mut(&conn)
            .into_iter()
            .flat_map(|conn| conn.subflows.iter_mut());
        for subflow in subflows.filter(|other| other.id == subflow && other.backup != backup) {
            subflow.backup = backup;
            self.actions.push_back(Action::SetBackup {
                subflow: subflow.id,
                backup,
            });
        }
    }

    pub(crate) fn probe(&mut self, link: LinkId, conn: ConnId) {
        let probe = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        if self.probes.len() == 256 {
            self.probes.pop_front();
        }
        self.probes.push_back((probe, link));
        self.actions.push_back(Action::Probe { link, conn, probe });
    }

    /// Probes a host. Returns the probe's identifier.
    pub(crate) fn ask(&mut self, link: LinkId, host: HostId, gently: bool) -> u32 {
        let probe = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        self.actions.push_back(Action::Ask {
            link,
            host,
            probe,
            gently,
        });
        probe
    }

    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// Reports something without replacing the last decision about the link.
    pub(crate) fn remark(
        &mut self,
        conn: Option<ConnId>,
        link: Option<LinkId>,
        verb: Verb,
        reason: impl Into<Reason>,
    ) {
        let reason = reason.into();
        self.actions.push_back(Action::Note(Note {
            link,
            conn,
            verb,
            reason,
        }));
    }

    /// Changes one part's request to mark a link's packets. Notifies the world if the resulting share
    /// changes.
    pub(crate) fn mark(&mut self, link: LinkId, change: impl FnOnce(&mut Marks)) {
        let Some(path) = self.paths.get_mut(&link) else {
            return;
        };
        let before = path.marks;
        change(&mut path.marks);
        let after = path.marks;
        if after.arriving() != before.arriving() {
            self.actions.push_back(Action::Mark(link, after.arriving()));
        }
        if after.sent != before.sent {
            self.actions.push_back(Action::MarkSent(link, after.sent));
        }
    }

    /// Records a decision, for the trace and for `why`.
    pub(crate) fn note(
        &mut self,
        link: Option<LinkId>,
        conn: Option<ConnId>,
        verb: Verb,
        reason: impl Into<Reason>,
    ) {
        let reason = reason.into();
        let note = Note {
            link,
            conn,
            verb,
            reason,
        };
        if let Some(path) = link.and_then(|link| self.paths.get_mut(&link)) {
            if path.decided() == Some(&note) {
                return;
            }
            path.decide(note.clone());
        }
        self.actions.push_back(Action::Note(note));
    }
}

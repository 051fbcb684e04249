//! Turns inputs and actions of an engine into events of a trace, in any world.
//!
//! # Checked by
//! `tests` below.

use crate::{SubflowEvent, What};
use policy::{Action, ConnEvent, ConnId, Input, LinkId, Note, SubflowEvent as Fate, SubflowId, Verb};
use std::collections::BTreeMap;

/// Turns inputs and actions of an engine into events.
#[derive(Debug)]
pub struct Observer {
    links: Vec<String>,
    subflows: BTreeMap<SubflowId, Known>,
    /// The reason for each connection's window. It arrives before the window. If a reason is not worth
    /// reporting, no new one arrives.
    whys: BTreeMap<ConnId, String>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    conn: ConnId,
    link: LinkId,
    backup: bool,
}

impl Observer {
    /// An observer of an engine whose links have these names, in the order of their numbers.
    pub const fn new(links: Vec<String>) -> Self {
        Self {
            links,
            subflows: BTreeMap::new(),
            whys: BTreeMap::new(),
        }
    }

    /// The event for an input, if it has one.
    pub fn told(&mut self, input: &Input) -> Option<What> {
        match *input {
            Input::Subflow(
                id,
                Fate::Established {
                    conn, link, backup, ..
                },
            ) => {
                self.subflows.insert(id, Known { conn, link, backup });
                Some(self.subflow(conn, link, SubflowEvent::Established, backup))
            }
            Input::Subflow(id, Fate::Closed) => self.gone(id),
            Input::Conn(conn, ConnEvent::JoinFailed { link, .. }) => {
                Some(self.subflow(conn, link, SubflowEvent::Refused, false))
            }
            Input::Conn(conn, ConnEvent::Closed) => {
                self.left_alone(conn);
                None
            }
            _ => None,
        }
    }

    /// Forgets the reasons of a connection that the engine has no part in from now on.
    pub fn left_alone(&mut self, conn: ConnId) {
        self.whys.remove(&conn);
    }

    /// Reports the end of a subflow once, whoever ended it: an engine is not told about those that it ends
    /// itself.
    fn gone(&mut self, id: SubflowId) -> Option<What> {
        let known = self.subflows.remove(&id)?;
        Some(self.subflow(known.conn, known.link, SubflowEvent::Closed, known.backup))
    }

    /// The event for an action that was carried out, if it has one.
    pub fn done(&mut self, action: &Action) -> Option<What> {
        match action {
            Action::Join {
                conn, link, backup, ..
            } => Some(self.subflow(*conn, *link, SubflowEvent::Requested, *backup)),
            Action::SetBackup { subflow, backup } => {
                let known = self.subflows.get_mut(subflow)?;
                known.backup = *backup;
                let known = *known;
                Some(self.subflow(known.conn, known.link, SubflowEvent::Priority, *backup))
            }
            Action::Destroy(subflow) => self.gone(*subflow),
            Action::Note(note) => self.note(note),
            Action::Window(conn, Some(ahead)) => Some(What::Window {
                conn: conn.0,
                bytes: Some(ahead.window.get()),
                why: self.whys.get(conn).cloned().unwrap_or_default(),
            }),
            Action::Window(conn, None) => Some(What::Window {
                conn: conn.0,
                bytes: None,
                why: "the kernel sets the window again".to_owned(),
            }),
            _ => None,
        }
    }

    fn note(&mut self, note: &Note) -> Option<What> {
        if let (Verb::Window, Some(conn)) = (note.verb, note.conn) {
            self.whys.insert(conn, note.reason.sentence(&self.links[..]));
            return None;
        }
        Some(What::Decision {
            link: note.link.map(|link| self.name(link)),
            conn: note.conn.map(|conn| conn.0),
            verb: note.verb.id().to_owned(),
            reason: note.reason.id().to_owned(),
            why: note.reason.sentence(&self.links[..]),
        })
    }

    /// The event for an action that failed.
    pub fn failed(&self, action: &Action, why: &str) -> What {
        let link = match action {
            Action::Join { link, .. } | Action::Probe { link, .. } | Action::Endpoint(link, _) => {
                Some(self.name(*link))
            }
            Action::Destroy(subflow) | Action::Withdraw(subflow) | Action::SetBackup { subflow, .. } => {
                self.subflows.get(subflow).map(|known| self.name(known.link))
            }
            _ => None,
        };
        What::Decision {
            link,
            conn: None,
            verb: "failed".to_owned(),
            reason: String::new(),
            why: format!("{action:?}: {why}"),
        }
    }

    fn subflow(&self, conn: ConnId, link: LinkId, event: SubflowEvent, backup: bool) -> What {
        What::Subflow {
            conn: conn.0,
            link: self.name(link),
            event,
            backup,
        }
    }

    fn name(&self, link: LinkId) -> String {
        let name = self.links.get(usize::from(link.0));
        name.map_or_else(|| format!("link {}", link.0), Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Reason;
    use policy::reason::Queue;
    use units::{Bitrate, Bytes, Duration};

    #[test]
    fn a_subflow_that_the_engine_ends_is_reported_once() {
        let mut observer = Observer::new(vec!["wifi".to_owned()]);
        let (id, conn) = (SubflowId(3), ConnId(7));
        let subflow = |event| {
            Some(What::Subflow {
                conn: 7,
                link: "wifi".to_owned(),
                event,
                backup: false,
            })
        };
        let established = Fate::Established {
            conn,
            link: LinkId(0),
            initial: false,
            backup: false,
        };
        let came = observer.told(&Input::Subflow(id, established));
        assert_eq!(came, subflow(SubflowEvent::Established));
        assert_eq!(observer.done(&Action::Destroy(id)), subflow(SubflowEvent::Closed));
        assert_eq!(observer.told(&Input::Subflow(id, Fate::Closed)), None);
    }

    /// Includes windows not worth reporting: room for out-of-order bytes behind a loss comes and goes.
    #[test]
    fn every_window_is_in_the_trace_with_its_reason() {
        let mut observer = Observer::new(vec!["wire".to_owned()]);
        let conn = ConnId(7);
        let reason = Reason::Queue(Queue::Window {
            window: Bytes::new(1_100_000),
            loses: false,
            rate: Bitrate::from_kbps(90_000),
            rtt: Duration::from_millis(50),
        });
        let why = reason.sentence(&[][..]);
        let mut told = |action: Action| match observer.done(&action)? {
            What::Window {
                conn: 7, bytes, why, ..
            } => Some((bytes, why)),
            other => panic!("{other:?}"),
        };
        let note = Note {
            link: None,
            conn: Some(conn),
            verb: policy::Verb::Window,
            reason,
        };
        assert_eq!(told(Action::Note(note)), None, "the window comes next");
        for kib in [1_100, 1_700, 1_100] {
            let window = Bytes::from_kib(kib);
            let set = Action::Window(conn, Some(window.into()));
            assert_eq!(told(set), Some((Some(window.get()), why.clone())));
        }
    }

    /// The limit of an upload is reported in a sentence, as a window is.
    #[test]
    fn the_reason_of_an_unsent_limit_is_in_the_trace() {
        let mut observer = Observer::new(vec!["wifi".to_owned()]);
        let reason = Reason::Queue(Queue::Unsent {
            limit: Bytes::from_kib(64),
            unsent: Bytes::new(1_200_000),
            lasts: None,
        });
        let note = Action::Note(Note {
            link: None,
            conn: Some(ConnId(7)),
            verb: policy::Verb::Unsent,
            reason: reason.clone(),
        });
        let Some(What::Decision {
            link: None,
            conn: Some(7),
            verb,
            reason: id,
            why,
        }) = observer.done(&note)
        else {
            panic!("it is not told")
        };
        assert_eq!((verb.as_str(), id.as_str()), ("unsent", "unsent"));
        assert_eq!(why, reason.sentence(&[][..]));
    }
}

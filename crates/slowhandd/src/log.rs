//! Logs what the daemon does: decisions, actions and failures, each with the link and the connection.
//!
//! The text of a line is made only if its level is logged.

mod input;

use host::log::{ACTION, DECISION, INPUT};
use input::{Fact, version};
use linux::daemon::Observation;
use policy::reason::Assigned;
use policy::{
    Action, ConnEvent, ConnId, Family, Input, LinkEvent, LinkId, Note, Reason, SubflowEvent, SubflowId, Verb,
};
use std::collections::BTreeMap;
use std::fmt;
use tracing::field::display;
use tracing::{Level, debug, enabled, info, trace, warn};

/// Whether such decisions are too many for a log that people read. `slowhand status` and `slowhand why` show
/// them.
const fn is_usual(note: &Note) -> bool {
    match note.reason {
        // Each query for a name is a flow. Thousands of lines would fill the pipe of a slow reader, and the
        // daemon would wait for it.
        Reason::Flow(_, why) => !matches!(
            why,
            Assigned::RepliesHere { .. } | Assigned::Unanswered { .. } | Assigned::Moved
        ),
        // Probed, and mostly answered within milliseconds.
        _ => matches!(note.verb, Verb::Suspect),
    }
}

/// Turns the daemon's observations into log events.
#[derive(Debug, Default)]
pub struct Chronicle {
    links: BTreeMap<LinkId, String>,
    subflows: BTreeMap<SubflowId, (LinkId, ConnId)>,
}

impl Chronicle {
    /// Starts with these links' names, and learns those of others.
    pub fn of(links: impl IntoIterator<Item = (LinkId, String)>) -> Self {
        Self {
            links: links.into_iter().collect(),
            subflows: BTreeMap::new(),
        }
    }

    /// Logs an observation.
    pub fn log(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Told(input) => {
                self.learn(input);
                self.told(input);
                self.forget(input);
            }
            Observation::Subflow {
                subflow, link, conn, ..
            } => {
                self.subflows.insert(*subflow, (*link, *conn));
            }
            Observation::Done(Action::Note(note)) => self.decision(note),
            Observation::Done(action) => self.done(action),
            Observation::Failed { action, why } => self.failed(action, why),
            Observation::Trouble { what, why } => warn!(target: ACTION, why, "{what}"),
            Observation::LeftAlone { conn, why } => {
                info!(target: ACTION, conn = %Conn(*conn), why = why.why(), "left alone");
            }
            Observation::Resumed(slept) => {
                info!(target: ACTION, "awake again after {:.1} s", slept.as_secs_f64());
            }
        }
    }

    /// Logs an input. Each sample is one, so nothing is looked up unless it is logged.
    fn told(&self, input: &Input) {
        if !enabled!(target: INPUT, Level::TRACE) {
            return;
        }
        let (link, conn) = match *input {
            Input::Link(link, _) => (Some(link), None),
            Input::Conn(conn, ConnEvent::JoinFailed { link, .. })
            | Input::Subflow(_, SubflowEvent::Established { conn, link, .. }) => (Some(link), Some(conn)),
            Input::Conn(conn, _) => (None, Some(conn)),
            Input::Subflow(subflow, _) => {
                let found = self.subflows.get(&subflow).copied();
                found.map_or((None, None), |(link, conn)| (Some(link), Some(conn)))
            }
            Input::Radio(..) | Input::Flow(..) | Input::Allow(..) | Input::Resumed => (None, None),
        };
        let (link, conn) = (
            link.map(|link| display(self.link(link))),
            conn.map(|conn| display(Conn(conn))),
        );
        trace!(target: INPUT, link, conn, "{}", Fact(input));
    }

    fn learn(&mut self, input: &Input) {
        if let Input::Link(link, LinkEvent::Appeared(spec)) = input {
            self.links.insert(*link, spec.name.clone());
        }
    }

    fn forget(&mut self, input: &Input) {
        if let Input::Subflow(subflow, SubflowEvent::Closed) = input {
            self.subflows.remove(subflow);
        }
    }

    /// Logs a decision. No other part of the log reads reasons.
    fn decision(&self, note: &Note) {
        let is_usual = is_usual(note);
        if is_usual && !enabled!(target: DECISION, Level::DEBUG) {
            return;
        }
        let link = match (note.link, note.conn) {
            (None, None) => Some(Link::All),
            (link, _) => link.map(|link| self.link(link)),
        };
        let (link, conn) = (link.map(display), note.conn.map(|conn| display(Conn(conn))));
        let (verb, why) = (note.verb.id(), note.reason.sentence(&self.links));
        match is_usual {
            true => debug!(target: DECISION, link, conn, verb, %why),
            false => info!(target: DECISION, link, conn, verb, %why),
        }
    }

    fn done(&self, action: &Action) {
        if let Action::DefaultRoute(..) = action {
            info!(target: ACTION, "{}", self.attempt(action).doing);
        } else if enabled!(target: ACTION, Level::DEBUG) {
            let Attempt { link, conn, doing } = self.attempt(action);
            debug!(target: ACTION, link = link.map(display), conn = conn.map(display), "{doing}");
        }
    }

    fn failed(&self, action: &Action, why: &str) {
        if enabled!(target: ACTION, Level::WARN) {
            let Attempt { link, conn, doing } = self.attempt(action);
            warn!(target: ACTION, link = link.map(display), conn = conn.map(display), why, "{doing}");
        }
    }

    /// What an action does, and to what.
    fn attempt(&self, action: &Action) -> Attempt<'_> {
        let of_link = |link: LinkId, doing: &str| Attempt::of(Some(self.link(link)), None, doing);
        let of_conn = |conn: ConnId, doing: &str| Attempt::of(None, Some(conn), doing);
        match action {
            Action::Associate(link) => of_link(*link, "joining the access point"),
            Action::Leave(link) => of_link(*link, "leaving the access point"),
            Action::DefaultRoute(family, link) => Attempt::of(None, None, self.default_route(*family, *link)),
            Action::Endpoint(link, true) => of_link(*link, "giving the address to the kernel's path manager"),
            Action::Endpoint(link, false) => {
                of_link(*link, "taking the address from the kernel's path manager")
            }
            Action::Join { conn, link, .. } => {
                Attempt::of(Some(self.link(*link)), Some(*conn), "adding a subflow")
            }
            Action::SetBackup {
                subflow,
                backup: true,
            } => self.of_subflow(*subflow, "demoting the subflow"),
            Action::SetBackup {
                subflow,
                backup: false,
            } => self.of_subflow(*subflow, "promoting the subflow"),
            Action::Destroy(subflow) => self.of_subflow(*subflow, "closing the subflow"),
            Action::Withdraw(subflow) => self.of_subflow(*subflow, "withdrawing the subflow's address"),
            Action::CapPacing { subflow, .. } => self.of_subflow(*subflow, "limiting the pacing rate"),
            Action::Probe { link, conn, .. } => {
                Attempt::of(Some(self.link(*link)), Some(*conn), "probing the peer")
            }
            Action::Ask { link, .. } => of_link(*link, "probing a host"),
            Action::Check(link) => of_link(*link, "checking for a captive portal"),
            Action::Window(conn, _) => of_conn(*conn, "limiting the receive window"),
            Action::Unsent(conn, _) => of_conn(*conn, "limiting the unsent bytes"),
            Action::Mark(link, _) => of_link(*link, "marking received packets"),
            Action::MarkSent(link, _) => of_link(*link, "marking sent packets"),
            Action::Outlook(link, _) => of_link(*link, "reporting the signal's trend to servers"),
            Action::HandedOff(link) => of_link(*link, "reporting another access point to servers"),
            Action::Slots(radio, _) => {
                Attempt::of(None, None, format!("radio {}: dividing its time", radio.0))
            }
            Action::Assign(flow, link) => of_link(*link, &format!("assigning flow {}", flow.0)),
            Action::Move(flow, link) => of_link(*link, &format!("moving flow {} there", flow.0)),
            Action::Hold(flow) => Attempt::of(None, None, format!("flow {}: delaying it", flow.0)),
            Action::EndFlow(flow) => Attempt::of(None, None, format!("flow {}: ending it", flow.0)),
            Action::Note(note) => Attempt::of(None, note.conn, note.verb.id()),
        }
    }

    /// The link that new connections of one family use.
    fn default_route(&self, family: Family, link: Option<LinkId>) -> String {
        let version = version(family);
        match link {
            Some(link) => format!("new connections over {version} start on {}", self.link(link)),
            None => format!("new connections over {version} follow this host's own routes"),
        }
    }

    fn of_subflow(&self, subflow: SubflowId, doing: &str) -> Attempt<'_> {
        match self.subflows.get(&subflow) {
            Some((link, conn)) => Attempt::of(Some(self.link(*link)), Some(*conn), doing),
            None => Attempt::of(None, None, format!("subflow {}: {doing}", subflow.0)),
        }
    }

    fn link(&self, link: LinkId) -> Link<'_> {
        let name = self.links.get(&link);
        name.map_or(Link::Number(link), |name| Link::Name(name))
    }
}

/// What the daemon does, and to what.
struct Attempt<'n> {
    link: Option<Link<'n>>,
    conn: Option<Conn>,
    doing: String,
}

impl<'n> Attempt<'n> {
    fn of(link: Option<Link<'n>>, conn: Option<ConnId>, doing: impl Into<String>) -> Self {
        Self {
            link,
            conn: conn.map(Conn),
            doing: doing.into(),
        }
    }
}

/// A link as users know it.
enum Link<'n> {
    Name(&'n str),
    Number(LinkId),
    All,
}

impl fmt::Display for Link<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Number(link) => write!(f, "link {}", link.0),
            Self::All => f.write_str("all links"),
        }
    }
}

/// A connection as `slowhand status` shows it.
struct Conn(ConnId);

impl fmt::Display for Conn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0.0)
    }
}

#[cfg(test)]
mod tests;

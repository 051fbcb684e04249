//! Writes the daemon's log on standard error: decisions and failures. Each line has a level, and the name of
//! the link or connection.
//!
//! If a service manager keeps the lines, levels have its form (`<6>`), otherwise the form for people (`info:
//! `).
//!
//! # Sources
//! - sd-daemon(3): `SD_INFO`, `SD_WARNING`, `SD_ERR`; systemd.exec(5): `JOURNAL_STREAM`.

use linux::daemon::Observation;
use policy::{Action, ConnId, Family, Input, LinkEvent, LinkId, Note, SubflowEvent, SubflowId, Verb};
use show::tell;
use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;

/// Severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The daemon ends.
    Error,
    /// The daemon continues without something.
    Warning,
    /// Normal operation.
    Info,
}

impl Level {
    const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }

    /// Priority as in syslog(3).
    const fn priority(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Warning => 4,
            Self::Info => 6,
        }
    }
}

/// Form of a line's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// A word.
    Words,
    /// A number for the service manager.
    Journal,
}

impl Log {
    /// Chooses the form for the reader of our standard error.
    pub fn to_stderr() -> Self {
        let told = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let found = stderr.and_then(|fd| std::fs::File::from(fd).metadata());
        match found {
            Ok(found) if told == format!("{}:{}", found.dev(), found.ino()) => Self::Journal,
            _ => Self::Words,
        }
    }

    /// Writes the lines of a text.
    pub fn write(self, level: Level, text: &str) {
        self.lines(level, text).for_each(|line| tell!("{line}"));
    }

    fn lines(self, level: Level, text: &str) -> impl Iterator<Item = String> {
        text.lines().map(move |line| match self {
            Self::Words => format!("{}: {line}", level.word()),
            Self::Journal => format!("<{}>{line}", level.priority()),
        })
    }
}

/// Turns the daemon's observations into log lines.
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

    /// The line for an observation, if it is worth one.
    pub fn line(&mut self, observation: &Observation<'_>) -> Option<(Level, String)> {
        match observation {
            Observation::Told(input) => {
                self.learn(input);
                None
            }
            Observation::Subflow {
                subflow, link, conn, ..
            } => {
                self.subflows.insert(*subflow, (*link, *conn));
                None
            }
            // Probed, and mostly answered within milliseconds. `slowhand status` shows suspect links.
            Observation::Done(Action::Note(note)) if note.verb == Verb::Suspect => None,
            Observation::Done(Action::Note(note)) => Some((Level::Info, self.decision(note))),
            Observation::Done(Action::DefaultRoute(family, link)) => {
                Some((Level::Info, self.beginning(*family, *link)))
            }
            Observation::Done(_) => None,
            Observation::Failed { action, why } => {
                Some((Level::Warning, format!("{}: {why}", self.attempt(action))))
            }
            Observation::Trouble { what, why } => Some((Level::Warning, format!("{what}: {why}"))),
            Observation::LeftAlone { conn, why } => {
                let text = format!("{}: left alone: {}", connection(*conn), why.why());
                Some((Level::Info, text))
            }
            Observation::Resumed(slept) => {
                let text = format!("awake again after {:.1} s", slept.as_secs_f64());
                Some((Level::Info, text))
            }
        }
    }

    fn learn(&mut self, input: &Input) {
        match input {
            Input::Link(link, LinkEvent::Appeared(spec)) => {
                self.links.insert(*link, spec.name.clone());
            }
            Input::Subflow(subflow, SubflowEvent::Closed) => {
                self.subflows.remove(subflow);
            }
            _ => {}
        }
    }

    fn decision(&self, note: &Note) -> String {
        let link = note.link.map(|link| self.link(link));
        let subject = Vec::from_iter(link.into_iter().chain(note.conn.map(connection)));
        let subject = match &subject[..] {
            [] => "all links".to_owned(),
            subject => subject.join(": "),
        };
        let why = note.reason.sentence(&self.links);
        format!("{subject}: {}: {why}", note.verb.id())
    }

    /// The link that new connections of one family use.
    fn beginning(&self, family: Family, link: Option<LinkId>) -> String {
        let version = match family {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        };
        let place = link.map_or_else(
            || "where the routes of this host lead".to_owned(),
            |link| format!("on {}", self.link(link)),
        );
        format!("new connections over {version} begin {place}")
    }

    /// The action that failed, and on what.
    fn attempt(&self, action: &Action) -> String {
        let of_link = |link: LinkId, doing: &str| format!("{}: {doing}", self.link(link));
        match action {
            Action::Associate(link) => of_link(*link, "associating"),
            Action::Leave(link) => of_link(*link, "leaving the access point"),
            Action::DefaultRoute(family, link) => self.beginning(*family, *link),
            Action::Endpoint(link, true) => of_link(*link, "giving the address to the kernel's path manager"),
            Action::Endpoint(link, false) => {
                of_link(*link, "taking the address from the kernel's path manager")
            }
            Action::Join { conn, link, .. } => of_link(*link, &format!("joining {}", connection(*conn))),
            Action::SetBackup {
                subflow,
                backup: true,
            } => self.of_subflow(*subflow, "demoting the subflow"),
            Action::SetBackup {
                subflow,
                backup: false,
            } => self.of_subflow(*subflow, "promoting the subflow"),
            Action::Destroy(subflow) => self.of_subflow(*subflow, "ending the subflow"),
            Action::Withdraw(subflow) => self.of_subflow(*subflow, "withdrawing the subflow's address"),
            Action::CapPacing { subflow, .. } => self.of_subflow(*subflow, "capping the pacing rate"),
            Action::Probe { link, conn, .. } => {
                of_link(*link, &format!("probing the peer of {}", connection(*conn)))
            }
            Action::Ask { link, .. } => of_link(*link, "probing a host"),
            Action::Check(link) => of_link(*link, "checking for a captive portal"),
            Action::Window(conn, _) => format!("{}: bounding the window", connection(*conn)),
            Action::Unsent(conn, _) => format!("{}: bounding what waits unsent", connection(*conn)),
            Action::Mark(link, _) => of_link(*link, "marking what arrives"),
            Action::MarkSent(link, _) => of_link(*link, "marking what is sent"),
            Action::Outlook(link, _) => of_link(*link, "reporting the signal's outlook"),
            Action::Slots(radio, _) => format!("radio {}: dividing its time", radio.0),
            Action::Assign(flow, link) => of_link(*link, &format!("assigning flow {}", flow.0)),
            Action::Hold(flow) => format!("flow {}: holding it", flow.0),
            Action::EndFlow(flow) => format!("flow {}: ending it", flow.0),
            Action::Note(note) => self.decision(note),
        }
    }

    fn of_subflow(&self, subflow: SubflowId, doing: &str) -> String {
        match self.subflows.get(&subflow) {
            Some((link, conn)) => format!("{}: {}: {doing}", self.link(*link), connection(*conn)),
            None => format!("subflow {}: {doing}", subflow.0),
        }
    }

    fn link(&self, link: LinkId) -> String {
        let name = self.links.get(&link);
        name.map_or_else(|| format!("link {}", link.0), Clone::clone)
    }
}

fn connection(conn: ConnId) -> String {
    format!("connection {:08x}", conn.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::reason::Choice;
    use policy::{LinkKind, LinkSpec, Role};

    const CONN: ConnId = ConnId(0x2a);

    fn chronicle() -> Chronicle {
        let mut chronicle = Chronicle::of([(LinkId(0), "desk".to_owned())]);
        let spec = LinkSpec {
            name: "wlan7".to_owned(),
            kind: LinkKind::Wifi,
            role: Role::Primary,
            channel: None,
        };
        let appeared = Input::Link(LinkId(9), LinkEvent::Appeared(spec));
        assert_eq!(chronicle.line(&Observation::Told(&appeared)), None);
        let end = "10.0.0.1:1".parse().unwrap();
        let begun = Observation::Subflow {
            subflow: SubflowId(3),
            conn: CONN,
            link: LinkId(9),
            local: end,
            remote: end,
            address_id: 1,
        };
        assert_eq!(chronicle.line(&begun), None);
        chronicle
    }

    fn info(text: &str) -> Option<(Level, String)> {
        Some((Level::Info, text.to_owned()))
    }

    fn warning(text: &str) -> Option<(Level, String)> {
        Some((Level::Warning, text.to_owned()))
    }

    #[test]
    fn a_decision_is_told_with_the_names_of_what_it_is_about() {
        let mut chronicle = chronicle();
        let mut said = |link, conn, verb| {
            let better = LinkId(0);
            let note = Action::Note(Note {
                link,
                conn,
                verb,
                reason: Choice::WorseOnChannel { better }.into(),
            });
            chronicle.line(&Observation::Done(&note))
        };
        let because = "desk is better, and both would share the airtime of one channel";
        let line = |subject: &str| info(&format!("{subject}: {because}"));
        assert_eq!(said(Some(LinkId(9)), None, Verb::Use), line("wlan7: use"));
        assert_eq!(
            said(Some(LinkId(0)), Some(CONN), Verb::Demote),
            line("desk: connection 0000002a: demote")
        );
        assert_eq!(
            said(None, Some(CONN), Verb::Window),
            line("connection 0000002a: window")
        );
        assert_eq!(said(None, None, Verb::Refuse), line("all links: refuse"));
        assert_eq!(said(Some(LinkId(9)), None, Verb::Suspect), None);
    }

    #[test]
    fn what_fails_is_told_in_words() {
        let mut chronicle = chronicle();
        let mut said = |action: &Action| chronicle.line(&Observation::Failed { action, why: "no" });
        let join = Action::Join {
            conn: CONN,
            link: LinkId(9),
            backup: true,
        };
        assert_eq!(said(&join), warning("wlan7: joining connection 0000002a: no"));
        assert_eq!(
            said(&Action::Destroy(SubflowId(3))),
            warning("wlan7: connection 0000002a: ending the subflow: no")
        );
        assert_eq!(
            said(&Action::Withdraw(SubflowId(4))),
            warning("subflow 4: withdrawing the subflow's address: no")
        );
        assert_eq!(
            said(&Action::DefaultRoute(Family::V6, Some(LinkId(0)))),
            warning("new connections over IPv6 begin on desk: no")
        );
        let trouble = Observation::Trouble {
            what: "reading counters",
            why: "no",
        };
        assert_eq!(chronicle.line(&trouble), warning("reading counters: no"));
    }

    #[test]
    fn where_new_connections_begin_is_told() {
        let mut chronicle = chronicle();
        let mut said = |family, link| chronicle.line(&Observation::Done(&Action::DefaultRoute(family, link)));
        assert_eq!(
            said(Family::V4, Some(LinkId(0))),
            info("new connections over IPv4 begin on desk")
        );
        assert_eq!(
            said(Family::V6, None),
            info("new connections over IPv6 begin where the routes of this host lead")
        );
    }

    #[test]
    fn a_subflow_that_is_gone_is_forgotten() {
        let mut chronicle = chronicle();
        let closed = Input::Subflow(SubflowId(3), SubflowEvent::Closed);
        assert_eq!(chronicle.line(&Observation::Told(&closed)), None);
        assert!(chronicle.subflows.is_empty());
    }

    #[test]
    fn how_long_the_host_slept_is_told_in_seconds() {
        let slept = Observation::Resumed(units::Duration::from_millis(3_250));
        assert_eq!(chronicle().line(&slept), info("awake again after 3.2 s"));
    }

    #[test]
    fn every_line_has_its_level_for_whoever_reads_it() {
        let lines = |log: Log| Vec::from_iter(log.lines(Level::Warning, "a: b\nc"));
        assert_eq!(lines(Log::Words), ["warning: a: b", "warning: c"]);
        assert_eq!(lines(Log::Journal), ["<4>a: b", "<4>c"]);
    }
}

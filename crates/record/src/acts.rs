//! Actions as text, one line each.
//!
//! The text is our own format, not `Debug`'s. It stays the same when types are renamed or moved.
//!
//! A line has the action's name and its numbers, in the units of the types: bytes, bits per second,
//! nanoseconds, parts of 2³². A note's line has its verb, link and connection. Its sentence is kept apart, so
//! that sentences can be reworded while decisions stay the same.

use policy::slot::{Occupant, Slot};
use policy::{Action, Family, Input, LinkEvent, LinkId, Note, Outlook, RemoteId};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// FNV-1a with 64 bits (Fowler, Noll, Vo).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds bytes to the digest.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds a line to the digest.
    pub fn add_line(&mut self, line: &str) {
        self.add(line.as_bytes());
        self.add(b"\n");
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// What a poll gave, after one call or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polled {
    /// How many actions.
    pub actions: u64,
    /// A digest of the actions, without the sentences of notes: see [`crate::act`].
    pub acts: u64,
    /// A digest of the sentences of notes.
    pub sentences: u64,
    /// When the engine asks to be woken, after all this.
    pub wake_at: Option<units::Instant>,
    /// The actions as text, if the header says that there is any.
    pub text: String,
}

/// Adds up what was polled after a call.
#[derive(Debug, Default)]
pub(crate) struct Acts {
    count: u64,
    acts: Digest,
    sentences: Digest,
    text: Option<String>,
}

impl Acts {
    pub(crate) fn new(texts: bool) -> Self {
        Self {
            text: texts.then(String::new),
            ..Self::default()
        }
    }

    /// Adds an action. Sentences mention links by these names.
    pub(crate) fn add(&mut self, action: &Action, names: &Names) {
        let line = act(action);
        self.count += 1;
        self.acts.add_line(&line);
        if let Some(text) = &mut self.text {
            text.push_str(&line);
        }
        if let Action::Note(note) = action {
            let sentence = sentence(note, names);
            self.sentences.add_line(&sentence);
            if let Some(text) = &mut self.text {
                text.push_str(": ");
                text.push_str(&sentence);
            }
        }
        if let Some(text) = &mut self.text {
            text.push('\n');
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn end(self, wake_at: Option<units::Instant>) -> Polled {
        Polled {
            actions: self.count,
            acts: self.acts.get(),
            sentences: self.sentences.get(),
            text: self.text.unwrap_or_default(),
            wake_at,
        }
    }
}

/// A note's sentence as users read it.
fn sentence(note: &Note, names: &Names) -> String {
    note.reason.sentence(&names.0)
}

/// The names of the links that an engine knows, from its inputs.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<LinkId, String>);

impl Names {
    pub(crate) fn learn(&mut self, input: &Input) {
        match input {
            Input::Link(link, LinkEvent::Appeared(spec)) => {
                self.0.insert(*link, spec.name.clone());
            }
            Input::Link(link, LinkEvent::Gone) => {
                self.0.remove(link);
            }
            _ => {}
        }
    }
}

/// The line of an action, without the sentence of a note.
pub fn act(action: &Action) -> String {
    let mut line = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_act(&mut line, action);
    line
}

fn write_act(line: &mut String, action: &Action) -> fmt::Result {
    match action {
        Action::Associate(link) => write!(line, "associate link {}", link.0),
        Action::Leave(link) => write!(line, "leave link {}", link.0),
        Action::DefaultRoute(family, link) => {
            write!(
                line,
                "default-route {} link {}",
                in_digit(*family),
                or_none(*link)
            )
        }
        Action::Endpoint(link, used) => write!(line, "endpoint link {} {used}", link.0),
        Action::Join { .. } => write_join(line, action),
        Action::SetBackup { subflow, backup } => write!(line, "set-backup subflow {} {backup}", subflow.0),
        Action::Destroy(subflow) => write!(line, "destroy subflow {}", subflow.0),
        Action::Withdraw(subflow) => write!(line, "withdraw subflow {}", subflow.0),
        Action::Probe { link, conn, probe } => {
            write!(line, "probe link {} conn {} number {probe}", link.0, conn.0)
        }
        Action::Ask {
            link,
            host,
            probe,
            gently,
        } => {
            write!(
                line,
                "ask link {} host {} number {probe} gently {gently}",
                link.0, host.0
            )
        }
        Action::Check(link) => write!(line, "check link {}", link.0),
        Action::HandedOff(link) => write!(line, "handed-off link {}", link.0),
        Action::Slots(radio, slots) => {
            write!(line, "slots radio {}", radio.0)?;
            slots.iter().try_for_each(|slot| write_slot(line, slot))
        }
        Action::Assign(flow, link) => write!(line, "assign flow {} link {}", flow.0, link.0),
        Action::Move(flow, link) => write!(line, "move flow {} link {}", flow.0, link.0),
        Action::Hold(flow) => write!(line, "hold flow {}", flow.0),
        Action::EndFlow(flow) => write!(line, "end flow {}", flow.0),
        Action::Note(note) => {
            let conn = note.conn.map_or("-".to_owned(), |conn| conn.0.to_string());
            write!(
                line,
                "note {} link {} conn {conn}",
                note.verb.id(),
                or_none(note.link)
            )
        }
        Action::Window(..)
        | Action::Unsent(..)
        | Action::CapPacing { .. }
        | Action::Mark(..)
        | Action::MarkSent(..)
        | Action::Outlook(..) => write_bound(line, action),
    }
}

/// A join to an announced address also has that address.
fn write_join(line: &mut String, action: &Action) -> fmt::Result {
    let &Action::Join {
        conn,
        link,
        remote,
        backup,
    } = action
    else {
        return Ok(());
    };
    write!(line, "join conn {} link {} backup {backup}", conn.0, link.0)?;
    match remote {
        RemoteId::FIRST => Ok(()),
        RemoteId(remote) => write!(line, " remote {remote}"),
    }
}

/// Actions that limit queues, and outlooks.
fn write_bound(line: &mut String, action: &Action) -> fmt::Result {
    match action {
        Action::Window(conn, Some(ahead)) => {
            let (window, missed) = (ahead.window.get(), ahead.missed.get());
            write!(line, "window conn {} bytes {window} missed {missed}", conn.0)
        }
        Action::Window(conn, None) => write!(line, "window conn {} none", conn.0),
        Action::Unsent(conn, Some(bytes)) => write!(line, "unsent conn {} bytes {}", conn.0, bytes.get()),
        Action::Unsent(conn, None) => write!(line, "unsent conn {} none", conn.0),
        Action::CapPacing { subflow, rate, lasts } => {
            let (rate, lasts) = (rate.as_bps(), lasts.as_nanos());
            write!(line, "cap-pacing subflow {} rate {rate} lasts {lasts}", subflow.0)
        }
        Action::Mark(link, share) => write!(line, "mark link {} share {}", link.0, share.as_raw()),
        Action::MarkSent(link, share) => write!(line, "mark-sent link {} share {}", link.0, share.as_raw()),
        Action::Outlook(link, outlook) => {
            let Outlook {
                mobility_ppm,
                quality,
                fading,
                handoff_in,
            } = outlook;
            let handoff = handoff_in.map_or("-".to_owned(), |left| left.as_nanos().to_string());
            let quality = quality.as_raw();
            write!(line, "outlook link {} mobility {mobility_ppm} ", link.0)?;
            write!(line, "quality {quality} fading {fading} handoff {handoff}")
        }
        _ => Ok(()),
    }
}

fn write_slot(line: &mut String, slot: &Slot) -> fmt::Result {
    let Slot {
        occupant,
        channel,
        switch,
        stays,
    } = slot;
    match occupant {
        Occupant::Network(link) => write!(line, ", network {}", link.0),
        Occupant::AdHoc(link) => write!(line, ", ad-hoc {}", link.0),
        Occupant::Scan => write!(line, ", scan"),
    }?;
    let (switch, stays) = (switch.as_nanos(), stays.as_nanos());
    write!(line, " channel {channel} switch {switch} stays {stays}")
}

const fn in_digit(family: Family) -> char {
    match family {
        Family::V4 => '4',
        Family::V6 => '6',
    }
}

fn or_none(link: Option<LinkId>) -> String {
    link.map_or("-".to_owned(), |link| link.0.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::reason::Choice;
    use policy::{Ahead, ConnId, SubflowId, Verb};
    use std::time::Duration;
    use units::{Bitrate, Bytes, Ratio};

    #[test]
    fn an_action_is_a_line_with_its_numbers() {
        let window = Ahead {
            window: Bytes::new(70_000),
            missed: Bytes::new(1_448),
        };
        let pacing = Action::CapPacing {
            subflow: SubflowId(5),
            rate: Bitrate::from_kbps(8),
            lasts: Duration::from_millis(2),
        };
        let lines = [
            (Action::DefaultRoute(Family::V6, None), "default-route 6 link -"),
            (
                Action::Window(ConnId(7), Some(window)),
                "window conn 7 bytes 70000 missed 1448",
            ),
            (Action::Window(ConnId(7), None), "window conn 7 none"),
            (pacing, "cap-pacing subflow 5 rate 8000 lasts 2000000"),
            (
                Action::Mark(LinkId(1), Ratio::ONE),
                "mark link 1 share 4294967296",
            ),
        ];
        for (action, line) in lines {
            assert_eq!(act(&action), line);
        }
    }

    #[test]
    fn a_notes_sentence_has_a_digest_of_its_own() {
        let polled = |verb, because: Choice| {
            let mut acts = Acts::new(true);
            let note = Note {
                link: Some(LinkId(1)),
                conn: None,
                verb,
                reason: because.into(),
            };
            acts.add(&Action::Note(note), &Names::default());
            acts.end(None)
        };
        let one = polled(Verb::Use, Choice::Healthy);
        let reworded = polled(Verb::Use, Choice::LastResort);
        let other = polled(Verb::Demote, Choice::Healthy);
        assert_eq!(one.text, "note use link 1 conn -: it is up and healthy\n");
        assert!(one.acts == reworded.acts && one.sentences != reworded.sentences);
        assert!(one.acts != other.acts && one.sentences == other.sentences);
    }

    #[test]
    fn the_digest_is_fnv_1a() {
        let mut digest = Digest::default();
        digest.add(b"foobar");
        assert_eq!(digest.get(), 0x8594_4171_f739_67e8);
    }
}

//! The lines of the log: a level, the link and the connection, and what happened.
//!
//! `info: wlan0: connection 0000002a: demote: slower than needed`. The fields `link`, `conn`, `verb` and
//! `why` of an event have their place in the sentence. Other fields follow as `name=value`.
//!
//! # Sources
//! - sd-daemon(3): `SD_INFO`, `SD_WARNING`, `SD_ERR`; systemd.exec(5): `JOURNAL_STREAM`.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use trace::shown_lines;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// How a line shows its level. Neither form has a time: the service manager adds its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A word, for people.
    Words,
    /// The number of syslog(3), for the service manager.
    Journal,
}

impl Form {
    /// Chooses the form for the reader of our standard error.
    pub fn of_stderr() -> Self {
        let told = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let found = stderr.and_then(|fd| std::fs::File::from(fd).metadata());
        match found {
            Ok(found) if told == format!("{}:{}", found.dev(), found.ino()) => Self::Journal,
            _ => Self::Words,
        }
    }

    /// Writes the lines of a text on standard error, whatever the filter.
    pub fn write(self, level: Level, text: &str) {
        // The reader of standard error may be gone.
        let _ = std::io::stderr().write_all(self.lines(level, text).as_bytes());
    }

    /// The lines of a text, each with its level and with control characters escaped.
    fn lines(self, level: Level, text: &str) -> String {
        let mut lines = String::new();
        for line in shown_lines(text).to_string().lines() {
            // Writing to a string does not fail.
            let _ = match self {
                Self::Words => writeln!(lines, "{}: {line}", word(level)),
                Self::Journal => writeln!(lines, "<{}>{line}", priority(level)),
            };
        }
        lines
    }
}

const fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// Priority as in syslog(3). It has none below `debug`.
const fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

impl<S, N> FormatEvent<S, N> for Form
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut sentence = Sentence::default();
        event.record(&mut sentence);
        writer.write_str(&self.lines(*event.metadata().level(), &sentence.text()))
    }
}

/// The fields of an event in the order in which a line says them.
#[derive(Debug, Default)]
struct Sentence {
    link: Option<String>,
    conn: Option<String>,
    verb: Option<String>,
    message: Option<String>,
    why: Option<String>,
    others: String,
}

impl Sentence {
    fn text(self) -> String {
        let conn = self.conn.map(|conn| format!("connection {conn}"));
        let said = [self.link, conn, self.verb, self.message, self.why];
        Vec::from_iter(said.into_iter().flatten()).join(": ") + &self.others
    }
}

impl Visit for Sentence {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let place = match field.name() {
            "link" => &mut self.link,
            "conn" => &mut self.conn,
            "verb" => &mut self.verb,
            "message" => &mut self.message,
            "why" => &mut self.why,
            other => {
                // Writing to a string does not fail.
                let _ = write!(self.others, " {other}={value:?}");
                return;
            }
        };
        *place = Some(format!("{value:?}"));
    }

    /// Takes a text field without the quotes of `Debug`.
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, pipe};
    use tracing::subscriber::with_default;

    fn logged(form: Form, events: impl FnOnce()) -> String {
        let (mut reader, writer) = pipe().unwrap();
        let subscriber = tracing_subscriber::fmt()
            .event_format(form)
            .with_writer(move || writer.try_clone().unwrap())
            .with_max_level(Level::TRACE)
            .finish();
        with_default(subscriber, events);
        let mut log = String::new();
        reader.read_to_string(&mut log).unwrap();
        log
    }

    #[test]
    fn every_line_has_its_level_for_whoever_reads_it() {
        let events = || {
            tracing::error!("a: b\nc");
            tracing::warn!("a");
            tracing::info!("a");
            tracing::debug!("a");
            tracing::trace!("a");
        };
        assert_eq!(
            logged(Form::Words, events),
            "error: a: b\nerror: c\nwarning: a\ninfo: a\ndebug: a\ntrace: a\n"
        );
        assert_eq!(
            logged(Form::Journal, events),
            "<3>a: b\n<3>c\n<4>a\n<6>a\n<7>a\n<7>a\n"
        );
    }

    #[test]
    fn fields_are_said_in_the_order_of_a_sentence() {
        let events = || {
            tracing::info!(why = "slow", verb = "demote", conn = %"2a", link = "wlan0");
            tracing::info!(why = %"refused", "joining");
            tracing::info!(link = None::<&str>, count = 3, name = "x", "joined");
        };
        assert_eq!(
            logged(Form::Words, events),
            "info: wlan0: connection 2a: demote: slow\ninfo: joining: refused\ninfo: joined count=3 name=x\n"
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let log = logged(Form::Words, || tracing::info!(link = "a\x1b[2J", "up"));
        assert_eq!(log, "info: a\\u{1b}[2J: up\n");
    }
}

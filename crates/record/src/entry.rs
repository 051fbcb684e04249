//! What follows the header: a call of the engine, or what was polled after calls.

use crate::acts::{Acts, Polled};
use crate::bytes::{self, Malformed, Reader};
use crate::codec::Codec;
use policy::Input;
use units::Instant;

/// One entry of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The engine was told a fact.
    Handle(Instant, Input),
    /// Time passed.
    Tick(Instant),
    /// The engine was polled until nothing was left.
    Polled(Polled),
}

const END: u8 = 0;
const HANDLE: u8 = 1;
const TICK: u8 = 2;
const POLLED: u8 = 3;
/// Beside [`POLLED`]: there were actions.
const ACTED: u8 = 4;
/// Beside [`POLLED`]: the engine asks to be woken at another time than after the poll before.
const WAKES: u8 = 8;

/// The digests of an empty poll, which the file leaves out.
pub(crate) fn nothing(wake_at: Option<Instant>) -> Polled {
    Acts::default().end(wake_at)
}

/// Times that later entries are written as differences from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    last: Instant,
    wake_at: Option<Instant>,
}

impl Times {
    pub(crate) const fn from(start: Instant) -> Self {
        Self {
            last: start,
            wake_at: None,
        }
    }

    pub(crate) fn handle(&mut self, now: Instant, input: &Input, out: &mut Vec<u8>) {
        out.push(HANDLE);
        self.pass(now, out);
        input.encode(out);
    }

    pub(crate) fn tick(&mut self, now: Instant, out: &mut Vec<u8>) {
        out.push(TICK);
        self.pass(now, out);
    }

    /// Time never runs backwards in an engine, so none is lost here.
    fn pass(&mut self, now: Instant, out: &mut Vec<u8>) {
        (now.as_nanos() - self.last.as_nanos().min(now.as_nanos())).encode(out);
        self.last = self.last.max(now);
    }

    pub(crate) fn polled(&mut self, polled: &Polled, texts: bool, out: &mut Vec<u8>) {
        let acted = if polled.actions > 0 { ACTED } else { 0 };
        let wakes = if polled.wake_at == self.wake_at { 0 } else { WAKES };
        out.push(POLLED | acted | wakes);
        if wakes > 0 {
            let ahead = |at: Instant| i128::from(at.as_nanos()) - i128::from(self.last.as_nanos());
            bytes::number(out, polled.wake_at.map_or(0, |at| 1 + bytes::zigzag(ahead(at))));
            self.wake_at = polled.wake_at;
        }
        if acted > 0 {
            polled.actions.encode(out);
            out.extend_from_slice(&polled.acts.to_le_bytes());
            out.extend_from_slice(&polled.sentences.to_le_bytes());
            if texts {
                polled.text.encode(out);
            }
        }
    }

    fn read(&mut self, from: &mut Reader<'_>, texts: bool) -> Result<Option<Entry>, Malformed> {
        let at = from.at();
        match from.byte("entry")? {
            END => Ok(None),
            HANDLE => {
                let now = self.passed(from)?;
                Ok(Some(Entry::Handle(now, Input::decode(from)?)))
            }
            TICK => Ok(Some(Entry::Tick(self.passed(from)?))),
            tag if tag & POLLED == POLLED && tag & !(POLLED | ACTED | WAKES) == 0 => self
                .read_polled(tag, texts, from)
                .map(|polled| Some(Entry::Polled(polled))),
            _ => Err(Reader::malformed(at, "entry")),
        }
    }

    fn passed(&mut self, from: &mut Reader<'_>) -> Result<Instant, Malformed> {
        let at = from.at();
        let now = self.last.as_nanos().checked_add(u64::decode(from)?);
        self.last = now
            .map(Instant::from_nanos)
            .ok_or(Reader::malformed(at, "time"))?;
        Ok(self.last)
    }

    fn read_polled(&mut self, tag: u8, texts: bool, from: &mut Reader<'_>) -> Result<Polled, Malformed> {
        if tag & WAKES > 0 {
            self.wake_at = self.read_wake(from)?;
        }
        let mut polled = nothing(self.wake_at);
        if tag & ACTED > 0 {
            polled.actions = u64::decode(from)?;
            polled.acts = digest(from)?;
            polled.sentences = digest(from)?;
            if texts {
                polled.text = String::decode(from)?;
            }
        }
        Ok(polled)
    }

    fn read_wake(&self, from: &mut Reader<'_>) -> Result<Option<Instant>, Malformed> {
        let at = from.at();
        let Some(ahead) = from.number("time to wake")?.checked_sub(1).map(bytes::unzigzag) else {
            return Ok(None);
        };
        let wake = ahead.checked_add(self.last.as_nanos().into());
        let wake = wake.and_then(|nanos| u64::try_from(nanos).ok());
        let wake = wake.ok_or(Reader::malformed(at, "time to wake"))?;
        Ok(Some(Instant::from_nanos(wake)))
    }
}

fn digest(from: &mut Reader<'_>) -> Result<u64, Malformed> {
    let found = from.bytes(8, "digest")?;
    Ok(u64::from_le_bytes(std::array::from_fn(|place| found[place])))
}

/// Appends the end mark.
pub(crate) fn end(out: &mut Vec<u8>) {
    out.push(END);
}

/// Reads entries until the end mark, or until one is malformed.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    from: Reader<'a>,
    times: Times,
    texts: bool,
    ended: bool,
}

impl<'a> Entries<'a> {
    pub(crate) const fn new(from: Reader<'a>, start: Instant, texts: bool) -> Self {
        Self {
            from,
            times: Times::from(start),
            texts,
            ended: false,
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.times.read(&mut self.from, self.texts).transpose();
        self.ended = !matches!(read, Some(Ok(_)));
        read
    }
}

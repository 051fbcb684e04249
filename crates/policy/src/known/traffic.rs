//! How much a connection moves, and which link carries it while that is little.
//!
//! [`crate::choose::low_traffic`] asks, and says why.
//!
//! # Checked by
//! `tests`; `window-request` in the benchmarks.

#[cfg(test)]
mod tests;

use crate::io::LinkId;
use units::{Bytes, Duration, Instant};

/// Less than this in a second is little; idle connections say nothing.
const LITTLE: Bytes = Bytes::from_kib(48);
/// More than this in a second or less is much.
const MUCH: Bytes = Bytes::from_kib(96);
const MARKS: usize = 5;
const MARK_EVERY: Duration = Duration::from_millis(250);
/// Another link is quicker if it takes no more than these percent of the present one's time.
const QUICKER_PERCENT: u32 = 75;

/// How much a connection has moved lately, and over which link it goes while that is little.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Thin {
    marks: [Option<(Instant, Bytes)>; MARKS],
    /// While that is little: over which link it goes.
    pub(crate) over: Option<LinkId>,
    is_thin: bool,
}

impl Thin {
    /// Takes in what the connection has moved so far, either way, and what of it waits for earlier bytes;
    /// whether it carries little.
    pub(crate) fn look(&mut self, now: Instant, moved: Bytes, held: Bytes) -> bool {
        if self.marks[0].is_none_or(|(at, _)| now - at >= MARK_EVERY) {
            self.marks.rotate_right(1);
            self.marks[0] = Some((now, moved));
        }
        let oldest = self.marks.iter().rev().flatten().next();
        let lately = oldest.map_or(Bytes::ZERO, |&(_, before)| moved.saturating_sub(before));
        if lately > MUCH {
            (self.is_thin, self.over) = (false, None);
        } else if self.marks[MARKS - 1].is_some() && lately > Bytes::ZERO && lately.max(held) <= LITTLE {
            self.is_thin = true;
        }
        self.is_thin
    }

    /// The link with the least delay, unless the present one is nearly as quick.
    pub(crate) fn choose(&mut self, delays: &[(LinkId, Duration)]) -> Option<LinkId> {
        let &(quickest, least) = delays.iter().min_by_key(|&&(link, delay)| (delay, link))?;
        let present = delays.iter().find(|(link, _)| Some(*link) == self.over);
        let stays = present.is_some_and(|&(_, delay)| least > delay * QUICKER_PERCENT / 100);
        if !stays {
            self.over = Some(quickest);
        }
        self.over
    }
}

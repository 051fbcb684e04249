//! Which flows are heard, and which send without a reply.
//!
//! UDP has no acknowledgements that the kernel would report. So the packets of each flow are counted in both
//! directions. A flow that sends without a reply is evidence, after [`SILENCE`], or after [`AT_FIRST`] if it
//! never had one. It proves nothing, since some flows never have replies. The engine then probes the host
//! over this link and others.

use crate::conntrack::Packets;
use std::collections::BTreeMap;
use std::time::Duration;
use units::Instant;

/// Interval between two counts.
pub(super) const EVERY: Duration = Duration::from_millis(100);
/// How long a flow must send without a reply, if it had replies before.
const SILENCE: Duration = Duration::from_millis(200);
/// The same for a flow that never had one: as long as TCP waits for the reply to a SYN (RFC 6298 §2.1).
const AT_FIRST: Duration = Duration::from_secs(1);

/// What a flow shows about its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// A reply has arrived since the last count.
    Heard,
    /// It sends, and has no reply.
    Unanswered,
}

#[derive(Debug, Clone, Copy)]
struct Counted {
    packets: Packets,
    /// Since when it has sent without a reply.
    silent: Option<Instant>,
}

/// The counts of all flows.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<u32, Counted>);

impl Counts {
    /// Takes in a count of all flows. Returns what each shows.
    pub(super) fn take(&mut self, now: Instant, all: &[(u32, Packets)]) -> Vec<(u32, Shown)> {
        let before = std::mem::take(&mut self.0);
        let mut shown = Vec::new();
        for &(id, packets) in all {
            let earlier = before.get(&id);
            let was = earlier.map(|earlier| earlier.packets).unwrap_or_default();
            let silent = if packets.replies > was.replies {
                shown.push((id, Shown::Heard));
                None
            } else if packets.sent > was.sent {
                earlier.and_then(|earlier| earlier.silent).or(Some(now))
            } else {
                earlier.and_then(|earlier| earlier.silent)
            };
            let patience = if packets.replies > 0 { SILENCE } else { AT_FIRST };
            if packets.sent > was.sent && silent.is_some_and(|since| now - since >= patience) {
                shown.push((id, Shown::Unanswered));
            }
            self.0.insert(id, Counted { packets, silent });
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: u32 = 1;

    /// Counts of one flow, 100 ms apart, and what the last one shows.
    fn last(counts: &[(u64, u64)]) -> Option<Shown> {
        let mut all = Counts::default();
        let mut shown = Vec::new();
        for (at, &(sent, replies)) in (0..).zip(counts) {
            let now = Instant::from_millis(100 * at);
            shown = all.take(now, &[(FLOW, Packets { sent, replies })]);
        }
        shown.first().map(|(_, shown)| *shown)
    }

    #[test]
    fn a_flow_that_sends_without_a_reply_is_unanswered_after_a_while() {
        assert_eq!(last(&[(1, 1)]), Some(Shown::Heard));
        assert_eq!(last(&[(1, 1), (2, 1), (3, 1)]), None, "replies may be in flight");
        assert_eq!(last(&[(1, 1), (2, 1), (3, 1), (4, 1)]), Some(Shown::Unanswered));
        assert_eq!(last(&[(1, 1), (2, 1), (3, 1), (3, 1)]), None, "it does not send");
        assert_eq!(last(&[(1, 1), (2, 1), (3, 1), (4, 2)]), Some(Shown::Heard));
        let never = Vec::from_iter((1..=11).map(|sent| (sent, 0)));
        assert_eq!(last(&never[..10]), None, "the first reply may take longer");
        assert_eq!(last(&never), Some(Shown::Unanswered));
    }
}

//! What the packets of flows show: replies, and silence where replies are usual.
//!
//! UDP has no acknowledgements that the kernel would report. So the packets of each flow are counted in both
//! directions.
//!
//! | shown | when |
//! |---|---|
//! | [`Shown::Heard`] | a reply arrived, reported at most every [`TELL_EVERY`] |
//! | [`Shown::Unanswered`] | it sends without a reply for [`SILENCE`], or [`AT_FIRST`] if it never had one |
//! | [`Shown::Answered`] | it has had [`STEADY`] replies, and after a reported silence one in time |
//! | [`Shown::Silent`] | it had [`STEADY`] replies, and [`LEAST_SENT`] packets had none for too long |
//!
//! If packets are lost in one direction only, both ends repeat theirs ever more rarely. The server's packets
//! then end each silence of the client's before it has sent [`LEAST_SENT`] packets. So packets of several
//! silences are added up until a reply comes in time.
//!
//! None of this proves anything, since a server may pause. The engine probes the server over this link and
//! others.

use crate::conntrack::Packets;
use std::collections::BTreeMap;
use std::time::Duration;
use units::Instant;

/// Interval between two counts while a flow has replies.
pub(super) const SOON: Duration = Duration::from_millis(20);
/// The same while none has.
pub(super) const EVERY: Duration = Duration::from_millis(100);
/// How long a flow must send without a reply, if it had replies before.
const SILENCE: Duration = Duration::from_millis(200);
/// The same for a flow that never had one: as long as TCP waits for the reply to a SYN (RFC 6298 §2.1).
const AT_FIRST: Duration = Duration::from_secs(1);
/// Interval between two reports of the same kind about a flow.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Interval between two reports that a flow has replies: links come, and may lead elsewhere.
const TELL_AGAIN: Duration = Duration::from_secs(10);
/// Replies after which replies are usual.
const STEADY: u64 = 10;
/// The shortest silence that is reported, if replies usually come more often.
const LEAST: Duration = Duration::from_millis(40);
/// Packets without a reply that make a silence.
const LEAST_SENT: u64 = 3;
/// The longest usual silence is remembered for at least this long, and at most twice as long.
const REMEMBERED: Duration = Duration::from_secs(10);
/// How long a flow is counted often after it has sent: what it sends next may come soon after a reply, and a
/// rare count would find both at once.
const LINGERS: Duration = Duration::from_millis(200);

/// What a flow shows about its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A reply has arrived.
    Heard,
    /// It sends, and has no reply.
    Unanswered,
    /// Its server replies usually, and does so now.
    Answered,
    /// Its server replies usually, and has not done so for this long; the longest usual silence.
    Silent(Duration, Duration),
}

/// The longest silence that ended with a reply, in the last seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Usual {
    now: Duration,
    before: Duration,
    since: Instant,
}

impl Usual {
    fn take(&mut self, at: Instant, silence: Duration) {
        self.forget(at);
        self.now = self.now.max(silence);
    }

    fn forget(&mut self, at: Instant) {
        if at - self.since >= REMEMBERED {
            (self.before, self.now, self.since) = (self.now, Duration::ZERO, at);
        }
    }

    fn longest(&self) -> Duration {
        self.now.max(self.before)
    }
}

/// Packets whose replies came late, and the longest silence after them.
#[derive(Debug, Clone, Copy, Default)]
struct Late {
    sent: u64,
    longest: Duration,
    at: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Counted {
    packets: Packets,
    at: Instant,
    /// Whether it sent anything in the interval before this count.
    sends: bool,
    sent_at: Instant,
    /// Since when it has sent without a reply, and its packets by then.
    silent: Option<(Instant, u64)>,
    usual: Usual,
    /// Silences that lasted for longer than usual, since the last reply in time.
    late: Late,
    /// The silence that is reported next. `None`: twice the usual one.
    next: Option<Duration>,
    /// When its replies were last reported, unless a silence was reported since.
    answered: Option<Instant>,
    /// When [`Shown::Heard`] or [`Shown::Unanswered`] may be reported again.
    quiet_until: Instant,
}

impl Counted {
    fn first(now: Instant) -> Self {
        Self {
            packets: Packets::default(),
            at: now,
            sends: false,
            sent_at: now,
            silent: None,
            usual: Usual {
                since: now,
                ..Usual::default()
            },
            late: Late::default(),
            next: None,
            answered: None,
            quiet_until: now,
        }
    }

    /// Whether these packets can follow. Otherwise their entry is another one. The kernel gives it the same
    /// number if it lies in the same memory and belongs to the same flow.
    const fn continues_with(&self, packets: Packets) -> bool {
        packets.sent >= self.packets.sent && packets.replies >= self.packets.replies
    }

    /// Takes in the next count. Adds what it shows.
    fn count(&mut self, now: Instant, packets: Packets, mut show: impl FnMut(Shown)) {
        let was = self.packets;
        let sends = packets.sent > was.sent;
        if packets.replies > was.replies {
            let in_time = self.replied(now);
            let again = self.answered.is_none_or(|at| now - at >= TELL_AGAIN);
            if packets.replies >= STEADY && in_time && again {
                self.answered = Some(now);
                show(Shown::Answered);
            }
        } else if sends && self.silent.is_none() {
            // If it sent all the time, what it sent before the last count is missing a reply, too.
            let since = if self.sends { self.at } else { now };
            self.silent = Some((since, was.sent));
        }
        self.usual.forget(now);
        let silence = self
            .silent
            .map(|(since, sent)| (now - since, packets.sent - sent));
        let patience = if packets.replies > 0 { SILENCE } else { AT_FIRST };
        let evidence = if packets.replies > was.replies {
            Some(Shown::Heard)
        } else {
            let unanswered = silence.filter(|(lasts, _)| sends && *lasts >= patience);
            unanswered.map(|_| Shown::Unanswered)
        };
        if let Some(evidence) = evidence.filter(|_| now >= self.quiet_until) {
            self.quiet_until = now + TELL_EVERY;
            show(evidence);
        }
        if let Some((lasts, sent)) = silence
            && (lasts >= self.next.unwrap_or(LEAST.max(self.usual.longest() * 2)))
            && (self.late.sent + sent >= LEAST_SENT && packets.replies >= STEADY)
        {
            (self.next, self.answered) = (Some(lasts * 2), None);
            show(Shown::Silent(lasts, self.usual.longest()));
        }
        (self.packets, self.at, self.sends) = (packets, now, sends);
        if sends {
            self.sent_at = now;
        }
    }

    /// Whether the next count should come soon.
    fn is_watched(&self, now: Instant) -> bool {
        let is_late = self.late.sent > 0 || self.silent.is_some();
        let lasts = if is_late { REMEMBERED } else { LINGERS };
        self.packets.replies >= STEADY && now - self.sent_at < lasts
    }

    /// Takes in that a reply has arrived since the last count. Returns whether it came in time.
    fn replied(&mut self, now: Instant) -> bool {
        let reported = self.next.take().is_some();
        // A flow's first replies are counted too rarely to show how long it is usually silent.
        let ended = self.silent.take().filter(|_| self.packets.replies >= STEADY);
        let Some((since, sent)) = ended else {
            return true;
        };
        let lasted = now - since;
        let usual = self.usual.longest();
        let is_first = usual == Duration::ZERO && !reported;
        // Timeouts double: twice as long as usual would be a matter of chance.
        let in_time = lasted < LEAST.max(usual * 3 / 2) || is_first;
        if now - self.late.at >= REMEMBERED {
            self.late = Late::default();
        }
        self.late.at = now;
        self.late.sent += self.packets.sent - sent;
        self.late.longest = self.late.longest.max(lasted);
        if in_time || reported {
            let Late { longest, .. } = std::mem::take(&mut self.late);
            self.usual.take(now, longest);
        }
        in_time
    }
}

/// The counts of all flows.
#[derive(Debug, Default)]
pub(super) struct Counts {
    flows: BTreeMap<u32, Counted>,
    /// Whether a flow with usual replies was active before the last count.
    active: bool,
}

impl Counts {
    /// Takes in a count of all flows. Returns what each shows.
    pub(super) fn take(&mut self, now: Instant, all: &[(u32, Packets)]) -> Vec<(u32, Shown)> {
        let mut before = std::mem::take(&mut self.flows);
        let mut shown = Vec::new();
        self.active = false;
        for &(id, packets) in all {
            let earlier = before
                .remove(&id)
                .filter(|earlier| earlier.continues_with(packets));
            let mut counted = earlier.unwrap_or(Counted::first(now));
            counted.count(now, packets, |what| shown.push((id, what)));
            self.active |= counted.is_watched(now);
            self.flows.insert(id, counted);
        }
        shown
    }

    /// This entry has ended. The next one with its number is counted anew.
    pub(super) fn ended(&mut self, entry: u32) {
        self.flows.remove(&entry);
    }

    /// The interval until the next count.
    pub(super) const fn interval(&self) -> Duration {
        if self.active { SOON } else { EVERY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: u32 = 1;

    /// Counts of one flow at this interval, and what each shows.
    fn all(every_ms: u64, counts: &[(u64, u64)]) -> Vec<Vec<Shown>> {
        let mut all = Counts::default();
        let taken = (0..).zip(counts).map(|(at, &(sent, replies))| {
            let now = Instant::from_millis(every_ms * at);
            let shown = all.take(now, &[(FLOW, Packets { sent, replies })]);
            shown.into_iter().map(|(_, shown)| shown).collect()
        });
        taken.collect()
    }

    fn last(counts: &[(u64, u64)]) -> Option<Shown> {
        all(100, counts).last().and_then(|shown| shown.first().copied())
    }

    #[test]
    fn a_flow_that_sends_without_a_reply_is_unanswered_after_a_while() {
        assert_eq!(last(&[(1, 1)]), Some(Shown::Heard));
        assert_eq!(last(&[(1, 1), (2, 1)]), None, "replies may be in flight");
        assert_eq!(last(&[(1, 1), (2, 1), (3, 1)]), Some(Shown::Unanswered));
        assert_eq!(last(&[(1, 1), (2, 1), (2, 1), (2, 1)]), None, "it does not send");
        assert_eq!(last(&[(1, 1), (2, 1), (3, 1), (4, 2)]), Some(Shown::Heard));
        let never = Vec::from_iter((1..=11).map(|sent| (sent, 0)));
        assert_eq!(last(&never[..10]), None, "the first reply may take longer");
        assert_eq!(last(&never), Some(Shown::Unanswered));
    }

    /// Counts of a flow of 100 packets a second, every 20 ms, with a reply to each until `cut`.
    fn echo(counts: u64, cut: u64) -> Vec<(u64, u64)> {
        Vec::from_iter((1..=counts).map(|at| (2 * at, 2 * at.min(cut))))
    }

    fn silences(shown: &[Vec<Shown>]) -> Vec<(usize, Duration)> {
        let silent = |(at, shown): (usize, &Vec<Shown>)| {
            let silence = shown.iter().find_map(|shown| match shown {
                Shown::Silent(silence, _) => Some(*silence),
                _ => None,
            });
            Some((at, silence?))
        };
        shown.iter().enumerate().filter_map(silent).collect()
    }

    #[test]
    fn a_flow_with_usual_replies_is_silent_soon_and_again_when_its_silence_has_doubled() {
        let shown = all(20, &echo(40, 20));
        assert_eq!(
            shown
                .iter()
                .flatten()
                .filter(|shown| **shown == Shown::Answered)
                .count(),
            1
        );
        let ms = Duration::from_millis;
        assert_eq!(silences(&shown)[..3], [(21, ms(40)), (23, ms(80)), (27, ms(160))]);
        let mut late = vec![(2, 0), (4, 0), (6, 0), (8, 0), (10, 0), (12, 2)];
        late.extend((7..=40).map(|at| (2 * at, 2 * at.min(20))));
        assert_eq!(
            silences(&all(20, &late)),
            silences(&shown),
            "its first reply was late"
        );
        assert_eq!(silences(&all(20, &echo(40, 4))), [], "8 replies are not usual");
    }

    #[test]
    fn a_flow_that_stops_sending_is_not_silent() {
        let mut counts = echo(20, 20);
        counts.extend([(40, 40); 20]);
        counts.extend([(41, 40), (41, 40), (41, 40), (42, 40), (42, 40)]);
        assert_eq!(
            silences(&all(20, &counts)),
            [],
            "two packets without a reply are too few"
        );
    }

    #[test]
    fn a_flow_that_was_silent_for_longer_needs_a_longer_silence() {
        let mut counts = echo(40, 20);
        counts.extend((41..=60).map(|at| (2 * at, 2 * at)));
        counts.extend((61..=120).map(|at| (2 * at, 120)));
        let shown = all(20, &counts);
        let mut later = silences(&shown).into_iter().filter(|(at, _)| *at >= 60);
        // The first silence lasted 420 ms.
        let (_, silence) = later.next().unwrap();
        assert_eq!(silence, Duration::from_millis(840));
    }

    #[test]
    fn replies_are_reported_again_after_a_while() {
        let shown = all(20, &echo(1_050, 1_050));
        let reports = shown.iter().flatten().filter(|shown| **shown == Shown::Answered);
        assert_eq!(reports.count(), 3, "in 21 s");
    }

    #[test]
    fn packets_of_several_silences_are_added_up_until_a_reply_comes_in_time() {
        // The server repeats its packets ever more rarely, each time before the client sends again.
        let rarely = |lasts: &[usize]| {
            let mut counts = echo(20, 20);
            for (&lasts, number) in lasts.iter().zip(41..) {
                counts.extend(vec![(number, number - 1); lasts]);
                counts.push((number, number));
            }
            silences(&all(20, &counts))
        };
        let ms = Duration::from_millis;
        let found = [(41, ms(80)), (45, ms(160)), (53, ms(320))];
        assert_eq!(rarely(&[1, 4, 9, 19]), found, "in the fourth silence");
        let found = rarely(&[1, 2, 4, 8, 16]);
        assert!(found.len() > 1, "each lasts only twice as long: {found:?}");
        assert_eq!(
            rarely(&[1, 4, 9, 1, 19]),
            [],
            "a reply in time shows that the link works"
        );
    }

    #[test]
    fn a_flow_is_counted_often_for_a_while_after_it_has_sent() {
        let mut counts = Counts::default();
        let mut often = |at_ms, sent, replies| {
            counts.take(Instant::from_millis(at_ms), &[(FLOW, Packets { sent, replies })]);
            counts.interval() == SOON
        };
        assert!(!often(0, 1, 1), "replies are not usual yet");
        assert!(often(100, 20, 20));
        assert!(often(290, 20, 20), "it may send soon after a reply");
        assert!(!often(310, 20, 20));
        assert!(often(400, 21, 20), "it waits for a reply");
        assert!(often(9_000, 21, 20));
        assert!(!often(11_000, 21, 20), "it seems to wait no longer");
    }

    #[test]
    fn replies_in_time_after_a_reported_silence_are_reported() {
        let mut counts = echo(25, 20);
        counts.push((52, 52));
        let shown = all(20, &counts);
        assert!(
            shown
                .iter()
                .skip(20)
                .flatten()
                .all(|shown| *shown != Shown::Answered)
        );
        counts.push((54, 54));
        let shown = all(20, &counts);
        assert!(shown.last().is_some_and(|shown| shown.contains(&Shown::Answered)));
    }

    #[test]
    fn an_entry_that_begins_anew_under_its_number_is_counted_anew() {
        let mut counts = echo(25, 20);
        assert!(!silences(&all(20, &counts)).is_empty(), "it was silent before");
        counts.extend((1..=20).map(|at| (2 * at, 2 * at)));
        assert!(silences(&all(20, &counts)).iter().all(|(at, _)| *at < 25));
        assert!(
            all(20, &counts)[25..]
                .iter()
                .flatten()
                .any(|shown| *shown == Shown::Answered)
        );
    }

    #[test]
    fn an_entry_that_has_ended_is_no_part_of_the_next_one() {
        let mut counts = Counts::default();
        let count = |counts: &mut Counts, at_ms, sent, replies| {
            counts.take(Instant::from_millis(at_ms), &[(FLOW, Packets { sent, replies })])
        };
        count(&mut counts, 0, 1, 1);
        count(&mut counts, 100, 2, 1);
        counts.ended(FLOW);
        // The former one has sent for as long without a reply.
        assert_eq!(count(&mut counts, 400, 3, 1), [(FLOW, Shown::Heard)]);
    }
}

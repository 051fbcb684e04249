//! The open flows, each under one number however often the kernel begins its entry anew.
//!
//! A flow that moves has its entry deleted. Its next packet makes another one, with the same addresses and
//! ports, which is recognized by these. Until then the flow keeps its place in the table `moved` of nftables.

use super::chains;
use crate::conntrack::Flow;
use crate::daemon::links::marks;
use policy::LinkId;
use policy::flow::FlowId;
use policy::reason::Assigned;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use units::Instant;

/// How long a flow that moves may send nothing: as long as the kernel keeps one with replies.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often the entry of a moving flow may begin on another link than wanted.
const MOST_TRIES: u32 = 16;

/// An open flow.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) flow: Flow,
    /// Since when its link carries it.
    pub(super) since: Instant,
    /// Why it has its link. `None`: the engine has not said.
    pub(super) why: Option<Assigned>,
    moving: Option<Moving>,
}

/// A flow whose next packet is awaited.
#[derive(Debug, Clone, Copy)]
struct Moving {
    to: LinkId,
    until: Instant,
    tries: u32,
}

impl Known {
    /// The link that carries it, or that will with its next packet.
    pub(super) fn link(&self) -> Option<LinkId> {
        match self.moving {
            Some(moving) => Some(moving.to),
            None => marks::link_of(self.flow.mark),
        }
    }

    /// The mark with which it begins on this link.
    fn mark_on(&self, link: LinkId) -> u32 {
        marks::of_flow(marks::rule_of(self.flow.mark), Some(link))
    }
}

/// What an entry that has begun is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// A new flow.
    New(FlowId),
    /// Known already: it was listed after events were lost, and its event comes now.
    Known,
    /// A flow that has moved. Its place in `moved` is not needed any more.
    Moved,
    /// A flow that was to move, and has begun on another link: its entry must go again.
    Elsewhere,
}

/// All open flows.
#[derive(Debug, Default)]
pub(super) struct Book {
    known: BTreeMap<FlowId, Known>,
    by_entry: BTreeMap<u32, FlowId>,
    /// Flows whose next packet is awaited, by their addresses and ports.
    moving: BTreeMap<Vec<u8>, FlowId>,
    next: u64,
}

impl Book {
    pub(super) fn get(&self, id: FlowId) -> Option<&Known> {
        self.known.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowId, &Known)> {
        self.known.iter().map(|(&id, known)| (id, known))
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The flow with this entry.
    pub(super) fn with_entry(&self, entry: u32) -> Option<(FlowId, &Known)> {
        let id = *self.by_entry.get(&entry)?;
        Some((id, self.known.get(&id)?))
    }

    /// Known entries that are not among these.
    pub(super) fn missing(&self, present: &BTreeSet<u32>) -> Vec<u32> {
        let known = self.by_entry.keys().copied();
        known.filter(|entry| !present.contains(entry)).collect()
    }

    /// An entry has begun.
    pub(super) fn began(&mut self, now: Instant, flow: Flow) -> Begun {
        if self.by_entry.contains_key(&flow.id) {
            return Begun::Known;
        }
        let on = marks::link_of(flow.mark);
        let moved = self.moving.get(flow.ends()).copied();
        let moved = moved.and_then(|id| Some((id, self.known.get_mut(&id)?)));
        if let Some((id, known)) = moved {
            self.by_entry.insert(flow.id, id);
            let ends = flow.ends().to_vec();
            known.flow = flow;
            if let Some(moving) = &mut known.moving
                && on != Some(moving.to)
                && moving.tries < MOST_TRIES
            {
                moving.tries += 1;
                return Begun::Elsewhere;
            }
            known.moving = None;
            self.moving.remove(&ends);
            return Begun::Moved;
        }
        let id = FlowId(self.next);
        self.next += 1;
        self.by_entry.insert(flow.id, id);
        let known = Known {
            flow,
            since: now,
            why: None,
            moving: None,
        };
        self.known.insert(id, known);
        Begun::New(id)
    }

    /// An entry has ended. Returns its flow, if that is over, too.
    pub(super) fn ended(&mut self, entry: u32) -> Option<FlowId> {
        let id = self.by_entry.remove(&entry)?;
        let is_over = self.known.get(&id).is_none_or(|known| known.moving.is_none());
        if is_over {
            self.known.remove(&id);
        }
        is_over.then_some(id)
    }

    /// The flow moves to this link with its next packet. Returns the commands for the table, and the entry to
    /// delete. `None`: there is nothing to move.
    pub(super) fn moves(&mut self, now: Instant, id: FlowId, to: LinkId) -> Option<(String, Flow)> {
        let known = self.known.get_mut(&id)?;
        if known.link() == Some(to) {
            return None;
        }
        let mut commands = match known.moving {
            Some(_) => chains::not_moved(&known.flow) + "; ",
            None => String::new(),
        };
        commands += &chains::moved(&known.flow, known.mark_on(to))?;
        known.since = now;
        known.moving = Some(Moving {
            to,
            until: now + PATIENCE,
            tries: 0,
        });
        self.moving.insert(known.flow.ends().to_vec(), id);
        Some((commands, known.flow.clone()))
    }

    /// The flow does not move any more, and is over until its next packet. Returns its entry. `None`: it did
    /// not move.
    pub(super) fn moves_no_more(&mut self, id: FlowId) -> Option<Flow> {
        self.known.get(&id)?.moving?;
        self.remove(id)
    }

    fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let known = self.known.remove(&id)?;
        self.moving.remove(known.flow.ends());
        self.by_entry.retain(|_, of| *of != id);
        Some(known.flow)
    }

    /// Whether an open flow follows the rule with this number.
    pub(super) fn follows(&self, rule: u8) -> bool {
        self.known
            .values()
            .any(|known| marks::rule_of(known.flow.mark) == rule)
    }

    /// The engine has said why the flow has its link.
    pub(super) fn because(&mut self, id: FlowId, why: Assigned) {
        if let Some(known) = self.known.get_mut(&id) {
            known.why = Some(why);
        }
    }

    /// Flows that were to move and sent nothing for long: they are over. Returns their numbers and entries.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<(FlowId, Flow)> {
        let is_over = |known: &Known| known.moving.is_some_and(|moving| moving.until <= now);
        let over = self
            .moving
            .values()
            .filter(|id| self.known.get(id).is_some_and(is_over));
        let over = Vec::from_iter(over.copied());
        over.into_iter()
            .filter_map(|id| Some((id, self.remove(id)?)))
            .collect()
    }

    /// The table is new: flows that were to move begin as all others.
    pub(super) fn forget_moves(&mut self) -> Vec<FlowId> {
        let moving = std::mem::take(&mut self.moving);
        let mut over = Vec::new();
        for id in moving.into_values() {
            let is_open = self.by_entry.values().any(|of| *of == id);
            if let Some(known) = self.known.get_mut(&id).filter(|_| is_open) {
                known.moving = None;
            } else {
                self.known.remove(&id);
                over.push(id);
            }
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LinkId = LinkId(0);
    const B: LinkId = LinkId(1);

    fn entry(id: u32, port: u16, on: LinkId) -> Flow {
        Flow::of_test(id, port, marks::of_flow(0, Some(on)))
    }

    fn with_one() -> (Book, FlowId) {
        let mut book = Book::default();
        let Begun::New(id) = book.began(Instant::ZERO, entry(10, 4_000, A)) else {
            panic!("it is new")
        };
        (book, id)
    }

    #[test]
    fn a_flow_that_moves_keeps_its_number() {
        let (mut book, id) = with_one();
        let (commands, forgotten) = book.moves(Instant::ZERO, id, B).unwrap();
        assert_eq!(
            commands,
            "add element inet slowhand-networks moved { 100.64.0.1 . 4000 . 192.0.2.1 . 7000 : 0x4e000002 }"
        );
        assert_eq!(forgotten.id, 10);
        assert_eq!(book.ended(10), None, "it is not over");
        // A packet that was on its way takes the former link once more.
        assert_eq!(book.began(Instant::ZERO, entry(11, 4_000, A)), Begun::Elsewhere);
        assert_eq!(book.ended(11), None);
        assert_eq!(book.began(Instant::ZERO, entry(12, 4_000, B)), Begun::Moved);
        assert_eq!(book.get(id).and_then(Known::link), Some(B));
        assert_eq!(book.ended(12), Some(id));
        assert_eq!(book.len(), 0);
    }

    #[test]
    fn an_entry_that_is_listed_and_then_reported_is_one_flow() {
        let (mut book, id) = with_one();
        assert_eq!(book.began(Instant::ZERO, entry(10, 4_000, A)), Begun::Known);
        assert!(book.missing(&BTreeSet::from([10])).is_empty());
        assert_eq!(book.missing(&BTreeSet::new()), [10]);
        assert_eq!((book.ended(10), book.len()), (Some(id), 0));
    }

    #[test]
    fn a_flow_that_moves_and_sends_nothing_is_over_after_a_while() {
        let (mut book, id) = with_one();
        book.moves(Instant::ZERO, id, B).unwrap();
        book.ended(10);
        assert_eq!(book.expired(Instant::from_secs(119)).len(), 0);
        let over = book.expired(Instant::from_secs(120));
        assert_eq!(over.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [id]);
        assert!(
            matches!(book.began(Instant::from_secs(121), entry(13, 4_000, A)), Begun::New(new) if new != id)
        );
    }

    #[test]
    fn a_flow_that_moves_no_more_is_new_with_its_next_packet() {
        let (mut book, id) = with_one();
        assert!(book.moves_no_more(id).is_none(), "it does not move");
        book.moves(Instant::ZERO, id, B).unwrap();
        book.ended(10);
        assert_eq!(book.moves_no_more(id).map(|flow| flow.id), Some(10));
        assert_eq!((book.len(), book.moving.len()), (0, 0));
        assert!(matches!(book.began(Instant::ZERO, entry(11, 4_000, A)), Begun::New(new) if new != id));
    }

    #[test]
    fn a_flow_that_moves_twice_has_one_place_in_the_table() {
        let (mut book, id) = with_one();
        book.moves(Instant::ZERO, id, B).unwrap();
        assert!(book.moves(Instant::ZERO, id, B).is_none(), "it does already");
        let (commands, _) = book.moves(Instant::ZERO, id, A).unwrap();
        assert_eq!(
            commands,
            "delete element inet slowhand-networks moved { 100.64.0.1 . 4000 . 192.0.2.1 . 7000 }; \
             add element inet slowhand-networks moved { 100.64.0.1 . 4000 . 192.0.2.1 . 7000 : 0x4e000001 }"
        );
    }
}

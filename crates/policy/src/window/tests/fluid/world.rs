//! A connection over some links, and a sender that fills them as Linux does.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: the next bytes, within the window and up
//!   to 64 KiB, go to the subflow with the least queue divided by pacing rate.
//! - RFC 8684 §3.3.1: the window counts from what has arrived in order over all links, and its right edge
//!   does not move back.
//!
//! # Where we differ, and why
//! 1. Steps of a millisecond, blocks of three segments. (Steps of 5 ms lengthen round trips by 5 to 10 ms
//!    beyond what the controller knows, which costs a twentieth of goodput.)
//! 2. No noise from the hosts themselves.
//! 3. No backups ([`crate::slow`]). Marks ([`crate::queue::aqm`]) as on a host: where the links are cables,
//!    and while one of them is starved.

use super::super::super::*;
use super::link::{BLOCK, Link, SEGMENT, Shape};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

const STEP: Duration = Duration::from_millis(1);
const LOOK_EVERY: u64 = 50;
/// The receive window of a stock host.
const STOCK: Bytes = Bytes::new(6_000_000);
/// Blocks assigned by one decision of the scheduler.
const BURST: u64 = 65_536 / BLOCK;
/// Blocks that may be unsent on a subflow: the sender's own buffer.
const UNSENT: usize = 1_000_000 / BLOCK as usize;

/// A change of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) at: Instant,
    pub(super) window: Bytes,
}

/// One connection over some links.
pub(super) struct World {
    pub(super) now: Instant,
    steps: u64,
    links: Vec<Link>,
    /// The controller. Without it the window is fixed.
    pub(super) window: Option<Window>,
    fixed: Bytes,
    /// Whether queues are marked at all, and whether the links are cables.
    marks: bool,
    wired: bool,
    /// Whether out-of-order bytes are reported to the controller.
    pub(super) reports_held: bool,
    pub(super) changes: Vec<Change>,
    /// The demand of the application, in percent of the links' capacity. Over 100: unlimited.
    pub(super) demand: u64,
    offered: u64,
    next_block: u64,
    edge: u64,
    in_order: u64,
    held: BTreeSet<u64>,
    acknowledgements: VecDeque<(Instant, u64)>,
}

impl World {
    pub(super) fn new(shapes: &[Shape], wired: bool) -> Self {
        Self {
            window: Some(Window::default()),
            ..Self::fixed(shapes, wired, STOCK)
        }
    }

    /// The same with one fixed window.
    pub(super) fn fixed(shapes: &[Shape], wired: bool, window: Bytes) -> Self {
        Self {
            marks: true,
            wired,
            fixed: window,
            ..Self::stock(shapes)
        }
    }

    /// The same with a stock host, which marks nothing.
    pub(super) fn stock(shapes: &[Shape]) -> Self {
        let now = Instant::from_secs(1);
        Self {
            now,
            steps: 0,
            links: shapes.iter().map(|&shape| Link::new(now, shape)).collect(),
            window: None,
            fixed: STOCK,
            marks: false,
            wired: false,
            reports_held: true,
            changes: Vec::new(),
            demand: 1_000,
            offered: 0,
            next_block: 0,
            edge: STOCK.get() / BLOCK,
            in_order: 0,
            held: BTreeSet::new(),
            acknowledgements: VecDeque::new(),
        }
    }

    /// What is in flight when every link is full.
    pub(super) fn product(&self) -> Bytes {
        self.capacity() * self.longest()
    }

    fn capacity(&self) -> Bitrate {
        self.links.iter().map(|link| link.shape.rate()).sum()
    }

    fn longest(&self) -> Duration {
        self.links.iter().map(|link| link.shape.rtt()).max().unwrap()
    }

    pub(super) fn bound(&self) -> Bytes {
        self.window.as_ref().and_then(Window::bound).unwrap_or(self.fixed)
    }

    /// Bytes that arrived in order so far.
    pub(super) fn received(&self) -> Bytes {
        Bytes::new(self.in_order * BLOCK)
    }

    /// From now on the application demands this much, and its earlier demand is dropped.
    pub(super) fn ask(&mut self, percent: u64) {
        self.demand = percent;
        self.offered = self.next_block * BLOCK;
    }

    /// Adds a link.
    pub(super) fn join(&mut self, shape: Shape) {
        self.links.push(Link::new(self.now, shape));
    }

    /// Removes the link that joined last, and the sender knows it: what has not arrived is resent over the
    /// first.
    pub(super) fn leave(&mut self) {
        let gone = self.links.pop().unwrap();
        self.links[0].again_for(gone);
    }

    pub(super) fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 1_000 {
            self.step();
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        self.steps += 1;
        self.offered += (self.capacity().percent(self.demand) * STEP).get();
        self.receive();
        self.hear();
        self.assign();
        for link in &mut self.links {
            link.send(self.now);
        }
        let is_due = |window: &Window| window.is_due(self.now);
        if self.steps.is_multiple_of(LOOK_EVERY) || self.window.as_ref().is_some_and(is_due) {
            self.look();
        }
    }

    fn receive(&mut self) {
        let now = self.now;
        for link in &mut self.links {
            while let Some((_, block)) = link.arriving.pop_front_if(|(at, _)| *at <= now) {
                link.received += BLOCK;
                self.held.insert(block);
            }
            link.arrivals
                .read(now, link.received / SEGMENT, Bytes::new(link.received));
        }
        while self.held.remove(&self.in_order) {
            self.in_order += 1;
        }
        let back = self.links.iter().map(|link| link.shape.rtt() / 2).min().unwrap();
        let edge = self.in_order + self.bound().get() / BLOCK;
        self.acknowledgements.push_back((now + back, edge));
    }

    fn hear(&mut self) {
        let now = self.now;
        while let Some((_, edge)) = self.acknowledgements.pop_front_if(|(at, _)| *at <= now) {
            self.edge = self.edge.max(edge);
        }
        let nothing_waits = self.offered / BLOCK <= self.next_block;
        for link in &mut self.links {
            link.hear(now);
            if nothing_waits {
                link.fit(now);
            }
        }
    }

    fn assign(&mut self) {
        loop {
            let last = self.edge.min(self.offered / BLOCK);
            let blocks = self.next_block..last.min(self.next_block + BURST);
            let link = self.links.iter_mut().min_by_key(|link| link.linger()).unwrap();
            if blocks.is_empty() || link.unsent.len() > UNSENT {
                return;
            }
            self.next_block = blocks.end;
            link.take(blocks);
        }
    }

    fn look(&mut self) {
        let now = self.now;
        if self.marks {
            let marks = self.wired || self.links.iter().any(|link| link.is_starved(now));
            self.links.iter_mut().for_each(|link| link.look(now, marks));
        }
        let goodput: Vec<Bitrate> = self.links.iter_mut().map(|link| link.goodput(now)).collect();
        let need = Need {
            goodput: goodput.iter().copied().sum(),
            under_way: self
                .links
                .iter()
                .zip(&goodput)
                .map(|(link, &rate)| rate * link.shape.rtt())
                .sum(),
            links: self.links.len(),
            queued: self.links.iter().any(|link| link.is_queued(now)),
            rate: self.links.iter_mut().map(|link| link.believe(now)).sum(),
            rtt: self.longest(),
            repair: Duration::ZERO,
            wired: self.wired,
            drains: false,
            received: self.received(),
            sinking: false,
            held: match self.reports_held {
                true => Bytes::new(self.held.len() as u64 * BLOCK),
                false => Bytes::ZERO,
            },
            doubted: false,
        };
        let Some(controller) = &mut self.window else {
            return;
        };
        let changed = controller.update(now, need);
        self.changes
            .extend(changed.map(|window| Change { at: now, window }));
    }
}

//! Self-clocked fair queueing: who is next among senders that win unequally often.
//!
//! # Sources
//! - Golestani 1994 ("A self-clocked fair queueing scheme for broadband applications"): virtual time is the
//!   tag of the packet in service.
//!
//! # Where we differ, and why
//! 1. A weight is how often a sender wins, as in nsdi15 §6.2.1: "AP1 wins contention four times more often".
//!    Every packet costs 1/weight, whatever its length.
//!
//! # Checked by
//! `air::medium::wfq::tests`, `tests/weighted.rs`.

use alloc::vec::Vec;

/// Virtual time of a packet of weight 1: divisible by many weights.
const UNIT: u64 = 1 << 20;

/// The tags of a medium's senders. A sender is the index of its weight.
#[derive(Debug, Default)]
pub(crate) struct Fair {
    virtual_time: u64,
    senders: Vec<Sender>,
}

#[derive(Debug)]
struct Sender {
    /// What a packet adds to its tag.
    step: u64,
    /// Tag of its first packet, or of its last one while none waits.
    tag: u64,
}

impl Fair {
    /// Adds a sender that wins this often against one of weight 1. The weight is at least 1.
    pub(crate) fn add(&mut self, weight: u32) {
        let step = UNIT / u64::from(weight.max(1));
        self.senders.push(Sender { step, tag: 0 });
    }

    /// A sender that had no packet has one now. It saves nothing up while it has none.
    pub(crate) fn begins(&mut self, sender: usize) {
        let sender = &mut self.senders[sender];
        sender.tag = sender.tag.max(self.virtual_time) + sender.step;
    }

    /// The next of these senders: the one with the lowest tag. If tags are equal, the lower one.
    pub(crate) fn next(&mut self, waiting: impl Iterator<Item = usize>) -> Option<usize> {
        let sender = waiting.min_by_key(|&sender| (self.senders[sender].tag, sender))?;
        self.virtual_time = self.senders[sender].tag;
        Some(sender)
    }

    /// A packet of this sender has been served, and another one waits.
    pub(crate) fn continues(&mut self, sender: usize) {
        let sender = &mut self.senders[sender];
        sender.tag += sender.step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_that_pauses_pays_for_no_packet_that_it_did_not_send() {
        let mut fair = Fair::default();
        fair.add(1);
        fair.add(1);
        fair.begins(0);
        let mut served = [0; 2];
        for _ in 0..10 {
            // The second sender gets its next packet only after the last one has left.
            fair.begins(1);
            for _ in 0..2 {
                let sender = fair.next([0, 1].into_iter()).unwrap();
                served[sender] += 1;
                if sender == 1 {
                    break;
                }
                fair.continues(sender);
            }
        }
        assert_eq!(served, [10, 10]);
    }
}

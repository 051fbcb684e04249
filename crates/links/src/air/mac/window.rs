//! The frames of a session's window, not all of which are acknowledged, in order.
//!
//! # Checked by
//! `tests`: against a plain queue. `session`'s tests.

use alloc::collections::VecDeque;

use super::session::Mpdu;

/// Without 802.11n the window holds one frame. It is stored inline, because a second lookup takes time in
/// large networks.
#[derive(Debug)]
pub(super) enum Window {
    One(Option<Mpdu>),
    Many(VecDeque<Mpdu>),
}

impl Window {
    pub(in crate::air) const EMPTY: Self = Self::One(None);

    fn slices(&self) -> (&[Mpdu], &[Mpdu]) {
        match self {
            Self::One(mpdu) => (mpdu.as_slice(), &[]),
            Self::Many(mpdus) => mpdus.as_slices(),
        }
    }

    #[inline]
    pub(in crate::air) fn iter(&self) -> impl Iterator<Item = &Mpdu> {
        let (one, other) = self.slices();
        one.iter().chain(other)
    }

    #[inline]
    pub(in crate::air) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Mpdu> {
        let (one, other) = match self {
            Self::One(mpdu) => (mpdu.as_mut_slice(), [].as_mut_slice()),
            Self::Many(mpdus) => mpdus.as_mut_slices(),
        };
        one.iter_mut().chain(other)
    }

    pub(in crate::air) fn len(&self) -> usize {
        let (one, other) = self.slices();
        one.len() + other.len()
    }

    pub(in crate::air) fn front(&self) -> Option<&Mpdu> {
        self.iter().next()
    }

    pub(in crate::air) fn push_back(&mut self, mpdu: Mpdu) {
        match self {
            Self::One(one @ None) => *one = Some(mpdu),
            Self::One(Some(first)) => {
                let both = [*first, mpdu];
                *self = Self::Many(both.into_iter().collect());
            }
            Self::Many(mpdus) => mpdus.push_back(mpdu),
        }
    }

    /// Removes the first frame if `holds` returns true for it. Returns whether it did.
    pub(super) fn pop_front_if(&mut self, holds: impl Fn(&Mpdu) -> bool) -> bool {
        let found = self.front().is_some_and(holds);
        match self {
            Self::One(mpdu) if found => *mpdu = None,
            Self::Many(mpdus) if found => drop(mpdus.pop_front()),
            Self::One(_) | Self::Many(_) => {}
        }
        found
    }

    pub(in crate::air) fn clear(&mut self) {
        match self {
            Self::One(mpdu) => *mpdu = None,
            Self::Many(mpdus) => mpdus.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::air::io::{Destination, Packet};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(0..10_u8, 0..60)) {
            let (mut window, mut plain) = (Window::EMPTY, VecDeque::new());
            for (step, what) in (0..).zip(steps) {
                match what {
                    0..5 => {
                        let packet = Packet::new(Destination::Everyone, 100, step);
                        window.push_back(Mpdu::fresh(packet, units::SeqNum::new(0)));
                        plain.push_back(step);
                    }
                    5..9 => {
                        let holds = |token: u64| token % 3 != u64::from(what) % 3;
                        let gone = window.pop_front_if(|mpdu| holds(mpdu.packet.token));
                        prop_assert_eq!(gone, plain.pop_front_if(|token| holds(*token)).is_some());
                    }
                    _ => {
                        window.clear();
                        plain.clear();
                    }
                }
                let tokens = window.iter().map(|mpdu| mpdu.packet.token);
                prop_assert_eq!(&tokens.collect::<VecDeque<u64>>(), &plain);
                let again: Vec<u64> = window.iter_mut().map(|mpdu| mpdu.packet.token).collect();
                prop_assert_eq!(again.first(), plain.front());
                prop_assert_eq!(window.front().map(|mpdu| mpdu.packet.token), plain.front().copied());
                prop_assert_eq!(window.len(), plain.len());
            }
        }
    }
}

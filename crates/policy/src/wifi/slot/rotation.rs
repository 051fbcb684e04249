//! A radio's consecutive cycles: who takes part, what each received, and where to scan next.
//!
//! # Sources
//! - nsdi15 §7: the slots of a cycle follow from what was received in the previous one. juggler §3.3: the
//!   scanning slot.
//!
//! # Where we differ, and why
//! 1. The rate of each cycle is averaged half and half with the earlier mean: one idle slot must not halve a
//!    channel.
//! 2. A network that was never measured gets the mean of the others, so that its first slot can show its
//!    rate.
//! 3. If not all networks fit into a cycle, those ranked last are left out and reported: fewer channels are
//!    better than none. Fixed slots were requested, and stay.
//!
//! # Checked by
//! `slot::tests`.

use super::{LinkId, Occupant, Refused, Rules, Seat, Share, Slot, divide};
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration};

/// The channels that a scanning slot visits, one per cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanChannels {
    channels: Vec<u16>,
    at: usize,
}

impl ScanChannels {
    /// juggler's channels: the three that do not overlap at 2.4 GHz.
    pub const JUGGLER: [u16; 3] = [1, 6, 11];

    /// Takes these channels in this order. `None` if there are none.
    pub fn new(channels: &[u16]) -> Option<Self> {
        (!channels.is_empty()).then(|| Self {
            channels: channels.to_vec(),
            at: 0,
        })
    }

    /// The channel to scan in this cycle. Each call returns the next one.
    pub fn next_channel(&mut self) -> u16 {
        let channel = self.channels[self.at];
        self.at = (self.at + 1) % self.channels.len();
        channel
    }
}

#[derive(Debug, Clone, Copy)]
struct Member {
    occupant: Occupant,
    channel: u16,
    kind: Kind,
    /// If not all fit, the largest rank is left out first.
    rank: usize,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Mean rate in its slots. `None` before the first.
    Adaptive(Option<Bitrate>),
    Fixed(Duration),
}

/// The occupants of a radio, and its current cycle.
#[derive(Debug, Clone)]
pub struct Rotation {
    rules: Rules,
    members: Vec<Member>,
    scan: Option<(ScanChannels, Duration)>,
    seats: Vec<Seat>,
    slots: Vec<Slot>,
    left_out: Vec<LinkId>,
}

impl Rotation {
    /// An empty rotation.
    pub const fn new(rules: Rules) -> Self {
        Self {
            rules,
            members: Vec::new(),
            scan: None,
            seats: Vec::new(),
            slots: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Adds a network, or moves it to this channel. It is adaptive from the next cycle on.
    pub fn add(&mut self, link: LinkId, channel: u16) {
        self.put(Occupant::Network(link), channel, Kind::Adaptive(None));
    }

    /// Adds an ad hoc network with a slot of this length.
    pub fn add_ad_hoc(&mut self, link: LinkId, channel: u16, stays: Duration) {
        self.put(Occupant::AdHoc(link), channel, Kind::Fixed(stays));
    }

    /// Scans for this long in each cycle, on one channel after another. `None` stops it.
    pub fn set_scan(&mut self, scan: Option<(ScanChannels, Duration)>) {
        self.scan = scan;
    }

    /// Removes a network, ad hoc or not.
    pub fn remove(&mut self, link: LinkId) {
        let leaves = |occupant| matches!(occupant, Occupant::Network(id) | Occupant::AdHoc(id) if id == link);
        self.members.retain(|member| !leaves(member.occupant));
    }

    fn put(&mut self, occupant: Occupant, channel: u16, kind: Kind) {
        self.members.retain(|member| member.occupant != occupant);
        self.members.push(Member {
            occupant,
            channel,
            kind,
            rank: usize::MAX,
        });
    }

    /// Ranks the networks, best first. If not all fit, they are left out from the end of this list. One that
    /// is not in it is left out first.
    pub fn rank(&mut self, best_first: &[LinkId]) {
        for member in &mut self.members {
            if let Occupant::Network(link) = member.occupant {
                let place = best_first.iter().position(|known| *known == link);
                member.rank = place.unwrap_or(usize::MAX);
            }
        }
    }

    /// Records the bytes received from a network in its slot of the current cycle. Without a slot nothing is
    /// recorded.
    pub fn received(&mut self, link: LinkId, bytes: Bytes) {
        let occupant = Occupant::Network(link);
        let slot = self.slots.iter().find(|slot| slot.occupant == occupant);
        let member = self.members.iter_mut().find(|member| member.occupant == occupant);
        let (
            Some(slot),
            Some(Member {
                kind: Kind::Adaptive(mean),
                ..
            }),
        ) = (slot, member)
        else {
            return;
        };
        let rate = bytes.per(slot.stays);
        let both = |old: Bitrate| Bitrate::from_bps(old.as_bps().midpoint(rate.as_bps()));
        *mean = Some(mean.map_or(rate, both));
    }

    /// Divides the next cycle among as many networks as fit.
    ///
    /// # Errors
    /// If nothing more can be left out. The radio then has no cycle until a fixed slot is removed or the
    /// rules change.
    pub fn next_cycle(&mut self) -> Result<&[Slot], Refused> {
        self.take_seats();
        self.left_out.clear();
        loop {
            let refused = match divide(&self.rules, &self.seats, &mut self.slots) {
                Ok(()) => return Ok(&self.slots),
                Err(refused) => refused,
            };
            let last = self
                .last()
                .filter(|_| matches!(refused, Refused::DoesNotFit { .. }));
            let Some(link) = last else { return Err(refused) };
            self.seats.retain(|seat| seat.occupant != Occupant::Network(link));
            self.left_out.push(link);
        }
    }

    /// The networks that the last cycle has no room for, the least first.
    pub fn left_out(&self) -> &[LinkId] {
        &self.left_out
    }

    /// The next network to leave out. `None` if it is the only one.
    fn last(&self) -> Option<LinkId> {
        let sits = |occupant| self.seats.iter().any(|seat| seat.occupant == occupant);
        let sitting = self.members.iter().filter(|member| sits(member.occupant));
        let networks = sitting.filter_map(|member| match member.occupant {
            Occupant::Network(link) => Some((member.rank, link)),
            Occupant::AdHoc(_) | Occupant::Scan => None,
        });
        let (count, last) = networks.fold((0, None), |(count, last), next| (count + 1, last.max(Some(next))));
        last.filter(|_| count > 1).map(|(_, link)| link)
    }

    fn take_seats(&mut self) {
        self.seats.clear();
        let unknown = self.mean();
        self.seats.extend(self.members.iter().map(|member| Seat {
            occupant: member.occupant,
            channel: member.channel,
            share: match member.kind {
                Kind::Adaptive(rate) => Share::Adaptive(rate.unwrap_or(unknown)),
                Kind::Fixed(stays) => Share::Fixed(stays),
            },
        }));
        if let Some((channels, stays)) = &mut self.scan {
            self.seats.push(Seat {
                occupant: Occupant::Scan,
                channel: channels.next_channel(),
                share: Share::Fixed(*stays),
            });
        }
    }

    /// Mean rate of the networks that were measured.
    fn mean(&self) -> Bitrate {
        let measured = self.members.iter().filter_map(|member| match member.kind {
            Kind::Adaptive(rate) => rate,
            Kind::Fixed(_) => None,
        });
        let (sum, count) = measured.fold((0_u128, 0), |(sum, count), rate| {
            (sum + u128::from(rate.as_bps()), count + 1)
        });
        Bitrate::from_bps((sum / count.max(1)) as u64)
    }
}

//! Packets in transit through the exact medium, which only returns their names.
//!
//! A packet can come out twice: first as delivered, later as given up by a sender that missed the
//! acknowledgement. Each name is valid once, so the second time has no effect.

use alloc::vec::Vec;
use units::Bytes;

use crate::queue::{Depth, Entry};
use crate::{Direction, LinkId};

/// How many of a name's 40 bits are the index of the place. The others count how often that place was used.
const PLACE_BITS: u32 = 20;
const PLACES: usize = 1 << PLACE_BITS;

#[derive(Debug, Default)]
pub(crate) struct Carried {
    places: Vec<Place>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct Place {
    uses: u32,
    entry: Option<Entry>,
}

impl Carried {
    /// Stores a packet and returns its name, or the packet if no place is free.
    pub(crate) fn put(&mut self, entry: Entry) -> Result<u64, Entry> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() < PLACES => {
                self.places.push(Place::default());
                self.places.len() as u32 - 1
            }
            None => return Err(entry),
        };
        let kept = &mut self.places[place as usize];
        kept.uses = (kept.uses + 1) % (1 << PLACE_BITS);
        kept.entry = Some(entry);
        Ok(u64::from(kept.uses) << PLACE_BITS | u64::from(place))
    }

    /// Takes the packet with that name. `None` if it was already taken.
    pub(crate) fn take(&mut self, name: u64) -> Option<Entry> {
        let place = name as u32 & (PLACES as u32 - 1);
        let kept = self.places.get_mut(place as usize)?;
        if u64::from(kept.uses) != name >> PLACE_BITS {
            return None;
        }
        let entry = kept.entry.take()?;
        self.free.push(place);
        Some(entry)
    }

    /// Takes all packets of a link.
    pub(crate) fn take_all(&mut self, link: LinkId, mut give: impl FnMut(Entry)) {
        for (place, kept) in self.places.iter_mut().enumerate() {
            if let Some(entry) = kept.entry.take_if(|entry| entry.packet.link == link) {
                self.free.push(place as u32);
                give(entry);
            }
        }
    }

    /// Packets of a link that are in transit.
    pub(crate) fn depth(&self, link: LinkId, direction: Direction) -> Depth {
        let own = self.places.iter().filter_map(|kept| kept.entry.as_ref());
        let own = own.filter(|entry| (entry.packet.link, entry.packet.direction) == (link, direction));
        own.fold(Depth::default(), |depth, entry| Depth {
            packets: depth.packets + 1,
            bytes: depth.bytes + Bytes::new(entry.packet.bytes.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;
    use units::Instant;

    fn entry(link: u16, token: u64) -> Entry {
        Entry {
            packet: Packet {
                link: LinkId(link),
                direction: Direction::Up,
                bytes: 100,
                ect: false,
                flow: 0,
                token,
            },
            ce: false,
            without_air: false,
            since: Instant::ZERO,
        }
    }

    #[test]
    fn a_name_is_of_one_use() {
        let mut carried = Carried::default();
        let first = carried.put(entry(0, 1)).unwrap();
        assert_eq!(carried.take(first).unwrap().packet.token, 1);
        let second = carried.put(entry(0, 2)).unwrap();
        assert_ne!(first, second);
        assert!(carried.take(first).is_none());
        assert_eq!(carried.take(second).unwrap().packet.token, 2);
        assert!(carried.take(second).is_none());
    }

    #[test]
    fn a_link_loses_all_of_its_packets_and_nobody_elses() {
        let mut carried = Carried::default();
        let names = [(0, 1), (1, 2), (0, 3)].map(|(link, token)| carried.put(entry(link, token)).unwrap());
        assert_eq!(carried.depth(LinkId(0), Direction::Up).packets, 2);
        assert_eq!(carried.depth(LinkId(0), Direction::Down).packets, 0);
        let mut taken = Vec::new();
        carried.take_all(LinkId(0), |entry| taken.push(entry.packet.token));
        assert_eq!(taken, [1, 3]);
        assert!(carried.take(names[0]).is_none());
        assert_eq!(carried.take(names[1]).unwrap().packet.token, 2);
    }
}

//! Address identifiers: the numbers by which this host names its addresses to its peers.
//!
//! Each link and address has one identifier, the same in every connection. RFC 8684 §3.4.1 requires that an
//! identifier in use names no other address. Zero is the address of each connection's first subflow, whatever
//! it is.

use policy::LinkId;
use std::net::IpAddr;

/// Allocates 1..=255. If all are in use, a new address gets the one that was used longest ago.
#[derive(Debug, Default)]
pub(crate) struct AddressIds {
    /// Addresses with their identifiers, in order of use, the latest last.
    given: Vec<(LinkId, IpAddr, u8)>,
}

impl AddressIds {
    pub(crate) fn of(&mut self, link: LinkId, address: IpAddr) -> u8 {
        let known = self.given.iter().position(|&(l, a, _)| (l, a) == (link, address));
        let id = match known {
            Some(at) => self.given.remove(at).2,
            None => self.free(),
        };
        self.given.push((link, address, id));
        id
    }

    fn free(&mut self) -> u8 {
        let unused = (1..=u8::MAX).find(|id| self.given.iter().all(|(_, _, given)| given != id));
        unused.unwrap_or_else(|| self.given.remove(0).2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(number))
    }

    #[test]
    fn an_address_keeps_its_identifier_and_a_new_one_gets_another() {
        let mut ids = AddressIds::default();
        let first = ids.of(LinkId(1), address(1));
        assert_ne!(ids.of(LinkId(1), address(2)), first);
        assert_ne!(ids.of(LinkId(2), address(1)), first);
        assert_eq!(ids.of(LinkId(1), address(1)), first);
        assert_ne!(first, 0);
    }

    #[test]
    fn when_all_are_in_use_the_longest_unused_is_reassigned() {
        let mut ids = AddressIds::default();
        let given: Vec<u8> = (0..255).map(|n| ids.of(LinkId(1), address(n))).collect();
        assert_eq!(ids.of(LinkId(1), address(0)), given[0]);
        assert_eq!(ids.of(LinkId(1), address(1_000)), given[1]);
        assert_eq!(ids.of(LinkId(1), address(0)), given[0]);
    }
}

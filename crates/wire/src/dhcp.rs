//! DHCPv4 messages of a client, and the packets that carry them.
//!
//! # Sources
//! - RFC 2131 §2 (fields), §4.4.1 table 5 (what a client sends); RFC 2132 (options).
//! - RFC 3396: an option that appears several times is one long option. RFC 8910 §2.1: option 114.
//!
//! # Where we differ, and why
//! 1. Options in the fields `file` and `sname` are not read: no server needs that room for so few options.
//! 2. The UDP checksum of a received packet is not verified. A virtual interface leaves it incomplete, and
//!    the link has a checksum of its own.
//!
//! # Checked by
//! `tests`; the fuzz target `dhcp`; `linux`, `dhcp::tests` for the conversation.

use crate::checksum;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use units::MacAddr;

/// Port on which servers listen.
pub const SERVER_PORT: u16 = 67;
/// Port on which clients listen.
pub const CLIENT_PORT: u16 = 68;

const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Length up to the options.
const FIXED_LEN: usize = 240;
/// Servers may drop shorter messages, as BOOTP had no others.
const LEAST_LEN: usize = 300;
const BROADCAST_FLAG: u16 = 0x8000;
const ETHERNET: u8 = 1;
const UDP: u8 = 17;
const IP_LEN: usize = 20;
const UDP_LEN: usize = 8;

mod option {
    pub const PAD: u8 = 0;
    pub const MASK: u8 = 1;
    pub const ROUTER: u8 = 3;
    pub const RESOLVER: u8 = 6;
    pub const REQUESTED: u8 = 50;
    pub const LEASE: u8 = 51;
    pub const KIND: u8 = 53;
    pub const SERVER: u8 = 54;
    pub const WANTED: u8 = 55;
    pub const RENEW: u8 = 58;
    pub const CLIENT: u8 = 61;
    pub const PORTAL: u8 = 114;
    /// Of those for use within a site (RFC 3942): no number is registered for relays of TCP.
    pub const RELAY: u8 = 227;
    pub const END: u8 = 255;
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A client looks for servers.
    Discover = 1,
    /// A server offers an address.
    Offer = 2,
    /// A client asks for an address.
    Request = 3,
    /// A client has found the address in use.
    Decline = 4,
    /// A server confirms an address.
    Ack = 5,
    /// A server refuses an address.
    Nak = 6,
    /// A client returns its address.
    Release = 7,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Discover,
        Self::Offer,
        Self::Request,
        Self::Decline,
        Self::Ack,
        Self::Nak,
        Self::Release,
    ];
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// From a server.
    pub is_reply: bool,
    /// What it is for.
    pub kind: Kind,
    /// The client's number for the conversation.
    pub transaction: u32,
    /// The client's hardware address.
    pub client: MacAddr,
    /// The address that the client has already.
    pub has: Ipv4Addr,
    /// The address that the server gives.
    pub yours: Ipv4Addr,
    /// Further values.
    pub options: Options,
}

/// The options of a message, as far as a client of an access point needs them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// The address that the client asks for.
    pub requested: Option<Ipv4Addr>,
    /// The server.
    pub server: Option<Ipv4Addr>,
    /// The mask of the network.
    pub mask: Option<Ipv4Addr>,
    /// The first router.
    pub router: Option<Ipv4Addr>,
    /// Hosts that resolve names.
    pub resolvers: Vec<Ipv4Addr>,
    /// How long the address is valid, in seconds.
    pub lease_s: Option<u32>,
    /// When to renew it, in seconds from now.
    pub renew_s: Option<u32>,
    /// URL of the captive portal, as the server gives it. Empty: it gives none.
    pub portal: Vec<u8>,
    /// Address or name and port of a relay, as the server gives it. Empty: it gives none.
    pub relay: Vec<u8>,
}

impl Message {
    /// Writes the message. It requests a broadcast as reply: the client may not have the address.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LEAST_LEN);
        let op = if self.is_reply { 2 } else { 1 };
        bytes.extend([op, ETHERNET, 6, 0]);
        bytes.extend(self.transaction.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(BROADCAST_FLAG.to_be_bytes());
        bytes.extend(self.has.octets());
        bytes.extend(self.yours.octets());
        bytes.extend([0; 8]);
        bytes.extend(self.client.octets());
        bytes.resize(FIXED_LEN - COOKIE.len(), 0);
        bytes.extend(COOKIE);
        self.write_options(&mut bytes);
        bytes.push(option::END);
        bytes.resize(bytes.len().max(LEAST_LEN), 0);
        bytes
    }

    fn write_options(&self, bytes: &mut Vec<u8>) {
        let mut put = |kind: u8, value: &[u8]| {
            // The longest value that this client writes has some dozen bytes.
            bytes.extend([kind, value.len() as u8]);
            bytes.extend(value);
        };
        put(option::KIND, &[self.kind as u8]);
        if !self.is_reply {
            let mut identifier = [ETHERNET; 7];
            identifier[1..].copy_from_slice(&self.client.octets());
            put(option::CLIENT, &identifier);
            put(
                option::WANTED,
                &[
                    option::MASK,
                    option::ROUTER,
                    option::RESOLVER,
                    option::LEASE,
                    option::RENEW,
                    option::PORTAL,
                    option::RELAY,
                ],
            );
        }
        let options = &self.options;
        let addresses = [
            (option::REQUESTED, options.requested),
            (option::SERVER, options.server),
            (option::MASK, options.mask),
            (option::ROUTER, options.router),
        ];
        for (kind, address) in addresses {
            if let Some(address) = address {
                put(kind, &address.octets());
            }
        }
        let times = [(option::LEASE, options.lease_s), (option::RENEW, options.renew_s)];
        for (kind, seconds) in times {
            if let Some(seconds) = seconds {
                put(kind, &seconds.to_be_bytes());
            }
        }
        for resolvers in options.resolvers.chunks(63) {
            let octets: Vec<u8> = resolvers.iter().flat_map(Ipv4Addr::octets).collect();
            put(option::RESOLVER, &octets);
        }
        for (kind, text) in [(option::PORTAL, &options.portal), (option::RELAY, &options.relay)] {
            for part in text.chunks(usize::from(u8::MAX)) {
                put(kind, part);
            }
        }
    }

    /// Parses a message. `None` if it is none, or has no kind.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let fixed = bytes.get(..FIXED_LEN)?;
        let is_valid =
            matches!(fixed[0], 1 | 2) && fixed[1..3] == [ETHERNET, 6] && fixed[FIXED_LEN - 4..] == COOKIE;
        if !is_valid {
            return None;
        }
        let (kind, options) = parse_options(&bytes[FIXED_LEN..]);
        Some(Self {
            is_reply: fixed[0] == 2,
            kind: kind?,
            transaction: u32::from_be_bytes(*fixed[4..].first_chunk()?),
            client: MacAddr::new(*fixed[28..].first_chunk()?),
            has: address(&fixed[12..])?,
            yours: address(&fixed[16..])?,
            options,
        })
    }
}

fn address(bytes: &[u8]) -> Option<Ipv4Addr> {
    bytes.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets))
}

fn seconds(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

fn parse_options(mut rest: &[u8]) -> (Option<Kind>, Options) {
    let (mut kind, mut found) = (None, Options::default());
    while let Some((&code, after)) = rest.split_first() {
        rest = after;
        match code {
            option::PAD => continue,
            option::END => break,
            _ => {}
        }
        let Some((value, after)) = rest
            .split_first()
            .and_then(|(&length, after)| after.split_at_checked(usize::from(length)))
        else {
            break;
        };
        rest = after;
        match code {
            option::KIND => {
                let number = value.first();
                kind = Kind::ALL.into_iter().find(|kind| Some(&(*kind as u8)) == number);
            }
            option::REQUESTED => found.requested = address(value),
            option::SERVER => found.server = address(value),
            option::MASK => found.mask = address(value),
            option::ROUTER => found.router = found.router.or(address(value)),
            option::RESOLVER => {
                let (octets, _) = value.as_chunks::<4>();
                found
                    .resolvers
                    .extend(octets.iter().map(|octets| Ipv4Addr::from(*octets)));
            }
            option::LEASE => found.lease_s = seconds(value),
            option::RENEW => found.renew_s = seconds(value),
            option::PORTAL => found.portal.extend(value),
            option::RELAY => found.relay.extend(value),
            _ => {}
        }
    }
    (kind, found)
}

/// The packet from a client with address `from` to all servers of its network.
pub fn to_servers(from: Ipv4Addr, message: &[u8]) -> Vec<u8> {
    packet((from, CLIENT_PORT), (Ipv4Addr::BROADCAST, SERVER_PORT), message)
}

/// A packet of IPv4 with UDP.
fn packet(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), payload: &[u8]) -> Vec<u8> {
    let datagram_len = (UDP_LEN + payload.len()) as u16;
    let mut bytes = Vec::with_capacity(IP_LEN + UDP_LEN + payload.len());
    bytes.extend([0x45, 0]);
    bytes.extend((IP_LEN as u16 + datagram_len).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, UDP, 0, 0]);
    bytes.extend(from.0.octets());
    bytes.extend(to.0.octets());
    let header = !checksum::fold(checksum::sum(&bytes));
    bytes[10..12].copy_from_slice(&header.to_be_bytes());
    bytes.extend(from.1.to_be_bytes());
    bytes.extend(to.1.to_be_bytes());
    bytes.extend(datagram_len.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    let pseudo = checksum::pseudo_header(&bytes[12..IP_LEN], UDP, usize::from(datagram_len));
    let sum = !checksum::fold(u32::from(pseudo) + checksum::sum(&bytes[IP_LEN..]));
    // Zero would mean that there is no checksum.
    let sum = if sum == 0 { 0xffff } else { sum };
    bytes[IP_LEN + 6..IP_LEN + 8].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// What a packet of IPv4 carries to a client. `None`: it is no whole packet to that port.
pub fn to_client(packet: &[u8]) -> Option<&[u8]> {
    let first = *packet.first()?;
    let header_len = usize::from(first & 0x0f) * 4;
    let header = packet.get(..header_len).filter(|header| header.len() >= IP_LEN)?;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    if first >> 4 != 4 || header[9] != UDP || is_fragment {
        return None;
    }
    let datagram = packet.get(header_len..total)?;
    let (udp, payload) = datagram.split_at_checked(UDP_LEN)?;
    let length = usize::from(u16::from_be_bytes([udp[4], udp[5]]));
    let is_to_client = u16::from_be_bytes([udp[2], udp[3]]) == CLIENT_PORT;
    payload
        .get(..length.checked_sub(UDP_LEN)?)
        .filter(|_| is_to_client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offer() -> Message {
        Message {
            is_reply: true,
            kind: Kind::Offer,
            transaction: 0x1234_5678,
            client: MacAddr::local(7),
            has: Ipv4Addr::UNSPECIFIED,
            yours: Ipv4Addr::new(10, 0, 1, 42),
            options: Options {
                requested: None,
                server: Some(Ipv4Addr::new(10, 0, 1, 1)),
                mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
                router: Some(Ipv4Addr::new(10, 0, 1, 1)),
                resolvers: vec![Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(9, 9, 9, 9)],
                lease_s: Some(3600),
                renew_s: Some(1800),
                portal: b"https://portal.example/".repeat(20),
                relay: b"relay.example:4433".to_vec(),
            },
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let discover = Message {
            is_reply: false,
            kind: Kind::Discover,
            yours: Ipv4Addr::UNSPECIFIED,
            options: Options {
                requested: Some(Ipv4Addr::new(10, 0, 1, 42)),
                ..Options::default()
            },
            ..offer()
        };
        for message in [discover, offer()] {
            let bytes = message.write();
            assert!(bytes.len() >= LEAST_LEN);
            assert_eq!(Message::parse(&bytes), Some(message));
        }
    }

    #[test]
    fn a_packet_has_valid_checksums_and_is_read_only_on_its_port() {
        let message = offer().write();
        let from = (Ipv4Addr::new(10, 0, 1, 1), SERVER_PORT);
        let whole = packet(from, (Ipv4Addr::BROADCAST, CLIENT_PORT), &message);
        assert_eq!(to_client(&whole), Some(&message[..]));
        assert_eq!(checksum::fold(checksum::sum(&whole[..IP_LEN])), 0xffff);
        let pseudo = checksum::pseudo_header(&whole[12..IP_LEN], UDP, whole.len() - IP_LEN);
        let sum = checksum::fold(u32::from(pseudo) + checksum::sum(&whole[IP_LEN..]));
        assert_eq!(sum, 0xffff);
        assert_eq!(to_client(&to_servers(Ipv4Addr::UNSPECIFIED, &message)), None);
        assert_eq!(to_client(&whole[..whole.len() - 1]), None, "cut");
    }

    #[test]
    fn resolvers_in_two_options_are_one_list() {
        let mut bytes = offer().write();
        let end = bytes.iter().rposition(|byte| *byte == option::END).unwrap();
        bytes.splice(end..end, [option::RESOLVER, 4, 1, 1, 1, 1]);
        let read = Message::parse(&bytes).unwrap();
        assert_eq!(read.options.resolvers.len(), 3);
        assert_eq!(read.options.resolvers[2], Ipv4Addr::new(1, 1, 1, 1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(
            noise in proptest::collection::vec(any::<u8>(), 0..80),
            cut in 0_usize..400,
        ) {
            let mut bytes = offer().write();
            bytes.truncate(FIXED_LEN + 3);
            bytes.extend(&noise);
            bytes.truncate(cut);
            let _ = Message::parse(&bytes);
            let _ = to_client(&bytes);
            let _ = to_client(&noise);
        }
    }
}

//! Meaning of frames, and its encoding in the token that travels with them.

use super::super::io::Subtype;

/// Meaning of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Message {
    Data,
    Beacon,
    ProbeRequest,
    ProbeResponse,
    Authenticate,
    Authenticated,
    Associate,
    Associated,
    Deauthentication,
    Null,
    PsPoll,
    /// DHCP's four messages, in order.
    DhcpDiscover,
    DhcpRequest,
    DhcpOffer,
    DhcpAck,
}

const ALL: [Message; 15] = [
    Message::Data,
    Message::Beacon,
    Message::ProbeRequest,
    Message::ProbeResponse,
    Message::Authenticate,
    Message::Authenticated,
    Message::Associate,
    Message::Associated,
    Message::Deauthentication,
    Message::Null,
    Message::PsPoll,
    Message::DhcpDiscover,
    Message::DhcpRequest,
    Message::DhcpOffer,
    Message::DhcpAck,
];

impl Message {
    pub(super) const fn subtype(self) -> Subtype {
        match self {
            Self::Beacon => Subtype::Beacon,
            Self::ProbeRequest => Subtype::ProbeRequest,
            Self::ProbeResponse => Subtype::ProbeResponse,
            Self::Authenticate | Self::Authenticated => Subtype::Authentication,
            Self::Associate => Subtype::AssociationRequest,
            Self::Associated => Subtype::AssociationResponse,
            Self::Deauthentication => Subtype::Deauthentication,
            Self::Null => Subtype::Null,
            Self::PsPoll => Subtype::PsPoll,
            Self::Data | Self::DhcpDiscover | Self::DhcpRequest | Self::DhcpOffer | Self::DhcpAck => {
                Subtype::Data
            }
        }
    }

    /// Whether only associated stations may send it (frame classes, 802.11-2020 §11.3.3).
    pub(super) const fn needs_association(self) -> bool {
        matches!(
            self,
            Self::Data | Self::Null | Self::PsPoll | Self::DhcpDiscover | Self::DhcpRequest
        )
    }

    /// Whether it is an IP packet.
    pub(super) const fn is_data(self) -> bool {
        matches!(self.subtype(), Subtype::Data)
    }

    /// Whether it goes before data, as management and power-saving frames do (mac80211: access category VO).
    pub(super) const fn goes_first(self) -> bool {
        !self.is_data()
    }

    /// Length of the frame, in bytes; of data, the length of the IP packet. Typical lengths, with the
    /// elements of a plain 802.11g or n cell.
    pub(super) const fn bytes(self) -> u32 {
        match self {
            Self::Beacon | Self::ProbeResponse => 250,
            Self::ProbeRequest => 100,
            Self::Authenticate | Self::Authenticated => 34,
            Self::Associate => 120,
            Self::Associated => 110,
            Self::Deauthentication => 30,
            Self::Null => 28,
            Self::PsPoll => 20,
            // RFC 2131 §2: options of at least 312 bytes after 236, in UDP and IP.
            _ => 576,
        }
    }
}

/// Bits of a token that are the caller's own.
const OWN: u32 = 40;

/// Contents of a token: the top four bits are the message (15: a packet that is not ours), the next twenty
/// the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) message: Message,
    pub(super) interface: usize,
    pub(super) token: u64,
}

impl Tag {
    pub(super) const fn new(message: Message, interface: usize, token: u64) -> Self {
        Self {
            message,
            interface,
            token,
        }
    }

    pub(super) const fn write(self) -> u64 {
        debug_assert!(self.token >> OWN == 0, "tokens have 40 bits");
        (self.message as u64) << 60 | (self.interface as u64) << OWN | self.token
    }

    pub(super) fn read(token: u64) -> Option<Self> {
        let message = *ALL.get((token >> 60) as usize)?;
        Some(Self {
            message,
            interface: (token >> OWN & 0xf_ffff) as usize,
            token: token & ((1 << OWN) - 1),
        })
    }

    /// The token of a packet that is not ours.
    pub(super) const fn foreign(token: u64) -> u64 {
        0xf << 60 | token
    }

    /// The caller's token inside this token. `None`: the frame carries nothing of the caller's.
    pub(super) fn worlds(token: u64) -> Option<u64> {
        match Self::read(token) {
            None => Some(token & !(0xf << 60)),
            Some(tag) => (tag.message == Message::Data).then_some(tag.token),
        }
    }
}

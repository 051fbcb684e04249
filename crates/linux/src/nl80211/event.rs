//! Radios and interfaces that come and go, associations, channel switches.

use super::error::{OpenError, SubscribeError};
use super::interface::Interface;
use super::wiphy::Wiphy;
use super::{FAMILY, GENL_HEADER_LEN, attr};
use crate::netlink::{Attrs, Family, Message, Protocol, Socket};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, RawFd};

/// Groups of events: radios and interfaces, regulatory domain, associations.
const GROUPS: [&str; 3] = ["config", "regulatory", "mlme"];

const NEW_WIPHY: u8 = 3;
const DEL_WIPHY: u8 = 4;
const NEW_INTERFACE: u8 = 7;
const DEL_INTERFACE: u8 = 8;
const REG_CHANGE: u8 = 36;
const CONNECT: u8 = 46;
const ROAM: u8 = 47;
const DISCONNECT: u8 = 48;
const NOTIFY_CQM: u8 = 64;
const CHANNEL_SWITCHED: u8 = 88;
const CHANNEL_SWITCH_STARTED: u8 = 110;
const WIPHY_REG_CHANGE: u8 = 113;

const CQM_RSSI_EVENT: u16 = 3;
const CQM_PACKETS_LOST: u16 = 4;
const CQM_BEACON_LOSS: u16 = 8;
/// The signal is below the threshold.
const RSSI_LOW: u32 = 0;

/// A change that the kernel reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A radio appeared, or got another name.
    Radio(Box<Wiphy>),
    /// A radio is gone.
    RadioGone(u32),
    /// An interface appeared or changed its type.
    Interface(Interface),
    /// An interface is gone.
    InterfaceGone(Interface),
    /// An attempt to connect has ended.
    Connected {
        /// The interface.
        ifindex: u32,
        /// The access point's status code. 0: connected.
        status: u16,
    },
    /// The interface moved to another access point of its network.
    Roamed(u32),
    /// The connection ended.
    Disconnected {
        /// The interface.
        ifindex: u32,
        /// The reason code.
        reason: u16,
        /// The access point ended it.
        by_access_point: bool,
    },
    /// The connection got better or worse.
    Quality(u32, Quality),
    /// The access point has announced that it will switch channels.
    SwitchStarted {
        /// The interface.
        ifindex: u32,
        /// Centre frequency of the next channel, in MHz.
        mhz: Option<u32>,
    },
    /// The interface is on another channel.
    Switched {
        /// The interface.
        ifindex: u32,
        /// Centre frequency of the channel, in MHz.
        mhz: Option<u32>,
    },
    /// Other channels are allowed from now on.
    Regulatory,
}

/// How a connection changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// The signal fell below the threshold.
    Weak,
    /// The signal rose above the threshold.
    Strong,
    /// This many packets in a row were not acknowledged.
    PacketsLost(u32),
    /// No beacons are heard.
    BeaconsLost,
}

impl Event {
    /// Parses a message of the family. `None`: it is another event.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let command = *payload.first()?;
        let attrs = Attrs::new(payload.get(GENL_HEADER_LEN..)?);
        let number = |kind| attrs.clone().find(kind).and_then(|attr| attr.u32());
        let code = |kind| attrs.clone().find(kind).and_then(|attr| attr.u16());
        let ifindex = || number(attr::IFINDEX);
        Some(match command {
            NEW_WIPHY => Self::Radio(Box::new(Wiphy::parse(attrs)?)),
            DEL_WIPHY => Self::RadioGone(number(attr::WIPHY)?),
            NEW_INTERFACE => Self::Interface(Interface::parse(attrs)?),
            DEL_INTERFACE => Self::InterfaceGone(Interface::parse(attrs)?),
            REG_CHANGE | WIPHY_REG_CHANGE => Self::Regulatory,
            CONNECT => Self::Connected {
                ifindex: ifindex()?,
                status: code(attr::STATUS_CODE).unwrap_or_default(),
            },
            ROAM => Self::Roamed(ifindex()?),
            DISCONNECT => Self::Disconnected {
                ifindex: ifindex()?,
                reason: code(attr::REASON_CODE).unwrap_or_default(),
                by_access_point: attrs.clone().find(attr::DISCONNECTED_BY_AP).is_some(),
            },
            NOTIFY_CQM => Self::Quality(ifindex()?, quality(attrs.clone().find(attr::CQM)?.attrs())?),
            CHANNEL_SWITCH_STARTED => Self::SwitchStarted {
                ifindex: ifindex()?,
                mhz: number(attr::WIPHY_FREQ),
            },
            CHANNEL_SWITCHED => Self::Switched {
                ifindex: ifindex()?,
                mhz: number(attr::WIPHY_FREQ),
            },
            _ => return None,
        })
    }
}

fn quality(attrs: Attrs<'_>) -> Option<Quality> {
    let find = |kind| attrs.clone().find(kind);
    if find(CQM_BEACON_LOSS).is_some() {
        return Some(Quality::BeaconsLost);
    }
    if let Some(lost) = find(CQM_PACKETS_LOST).and_then(|attr| attr.u32()) {
        return Some(Quality::PacketsLost(lost));
    }
    let level = find(CQM_RSSI_EVENT)?.u32()?;
    Some(if level == RSSI_LOW {
        Quality::Weak
    } else {
        Quality::Strong
    })
}

/// Receives the events of one namespace.
///
/// Register it with `epoll`. After every wake-up call [`next`](Self::next) until it returns `None`.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    family: u16,
    pending: VecDeque<Event>,
}

impl Events {
    /// Subscribes in the calling thread's namespace.
    ///
    /// # Errors
    /// If the kernel has no WiFi stack, or refuses.
    pub fn open() -> Result<Self, SubscribeError> {
        let mut socket = Socket::open(Protocol::Generic).map_err(OpenError::from)?;
        let family = Family::resolve(&mut socket, FAMILY).map_err(OpenError::from)?;
        for group in GROUPS.into_iter().filter_map(|name| family.group(name)) {
            socket.subscribe(group).map_err(SubscribeError::Subscribe)?;
        }
        Ok(Self {
            socket,
            family: family.id,
            pending: VecDeque::new(),
        })
    }

    /// Returns the next event without blocking, or `None` if none is pending.
    ///
    /// # Errors
    /// If the socket fails, or events were lost: then read everything again.
    #[expect(clippy::should_implement_trait, reason = "an error does not end the events")]
    pub fn next(&mut self) -> Result<Option<Event>, SubscribeError> {
        while self.pending.is_empty() {
            let Some(messages) = self.socket.receive()? else {
                return Ok(None);
            };
            let ours = messages.filter(|message: &Message<'_>| message.kind == self.family);
            self.pending
                .extend(ours.filter_map(|message| Event::parse(message.payload)));
        }
        Ok(self.pending.pop_front())
    }
}

impl AsRawFd for Events {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

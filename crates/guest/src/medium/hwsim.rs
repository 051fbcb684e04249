//! The protocol of `mac80211_hwsim` with a medium in user space.
//!
//! # Sources
//! - Linux 6.12, `drivers/net/wireless/virtual/mac80211_hwsim.h`: commands, attributes and their layout.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` in the guest.

use units::{Dbm, MacAddr};

use crate::netlink::{Attributes, Requests};

/// The family's name.
pub const FAMILY: &str = "MAC80211_HWSIM";

const REGISTER: u8 = 1;
const FRAME: u8 = 2;
const TX_INFO_FRAME: u8 = 3;
const ADD_MAC_ADDR: u8 = 7;
const DEL_MAC_ADDR: u8 = 8;

const RECEIVER: u16 = 1;
const TRANSMITTER: u16 = 2;
const CONTENT: u16 = 3;
const FLAGS: u16 = 4;
const RX_RATE: u16 = 5;
const SIGNAL: u16 = 6;
const TX_INFO: u16 = 7;
const COOKIE: u16 = 8;
const FREQ: u16 = 19;
const TX_INFO_FLAGS: u16 = 21;

/// The sender wants no acknowledgement.
const NO_ACK: u32 = 2;
/// The frame was acknowledged.
const ACKNOWLEDGED: u32 = 4;
/// In the flags of a rate: an index of 802.11n or 802.11ac.
const LATER_RATES: u16 = 1 << 3 | 1 << 8;

/// Rates that mac80211 gives for one frame.
pub const RATES: usize = 4;

/// A radio: 0 for `phy0`, 1 for `phy1`, …
pub type Radio = u8;

/// One rate, and how often to try it. A rate below 0 ends the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// Index of a rate before 802.11n in its band.
    pub rate: i8,
    /// Attempts with it.
    pub count: u8,
}

impl Tries {
    /// No attempt.
    pub const NONE: Self = Self { rate: -1, count: 0 };
}

/// What the kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A radio sends a frame.
    Frame(Sent<'a>),
    /// An interface of a radio has this address.
    Address(Radio, MacAddr),
    /// An interface of a radio has it no more.
    NoAddress(MacAddr),
}

/// A frame that a radio sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent<'a> {
    /// The radio.
    pub radio: Radio,
    /// The frame, without its check sequence.
    pub content: &'a [u8],
    /// Its number in the kernel.
    pub cookie: u64,
    /// Whether nobody is to acknowledge it.
    pub no_ack: bool,
    /// The channel's centre, in MHz.
    pub mhz: u32,
    /// Rates in their order.
    pub rates: [Tries; RATES],
    /// Whether a rate is one of 802.11n or 802.11ac.
    pub has_later_rates: bool,
}

impl<'a> Event<'a> {
    /// Reads a command. `None` for commands that say nothing about frames or addresses.
    pub fn read(command: u8, attributes: Attributes<'a>) -> Option<Self> {
        match command {
            FRAME => Sent::read(attributes).map(Self::Frame),
            ADD_MAC_ADDR => Some(Self::Address(
                radio(attributes.find(TRANSMITTER)?)?,
                address(attributes.find(RECEIVER)?)?,
            )),
            DEL_MAC_ADDR => Some(Self::NoAddress(address(attributes.find(RECEIVER)?)?)),
            _ => None,
        }
    }
}

impl<'a> Sent<'a> {
    fn read(attributes: Attributes<'a>) -> Option<Self> {
        let u32_of = |kind| Some(u32::from_ne_bytes(*attributes.find(kind)?.first_chunk()?));
        let listed = attributes.find(TX_INFO)?;
        let mut rates = [Tries::NONE; RATES];
        for (tries, listed) in rates.iter_mut().zip(listed.chunks_exact(2)) {
            *tries = Tries {
                rate: listed[0].cast_signed(),
                count: listed[1],
            };
        }
        let flags = attributes.find(TX_INFO_FLAGS).unwrap_or_default();
        let mut flags = flags.chunks_exact(3);
        let later = |flag: &[u8]| u16::from_ne_bytes([flag[1], flag[2]]) & LATER_RATES != 0;
        Some(Self {
            radio: radio(attributes.find(TRANSMITTER)?)?,
            content: attributes.find(CONTENT)?,
            cookie: u64::from_ne_bytes(*attributes.find(COOKIE)?.first_chunk()?),
            no_ack: u32_of(FLAGS)? & NO_ACK != 0,
            mhz: u32_of(FREQ)?,
            has_later_rates: flags.any(|flag| flag[0].cast_signed() >= 0 && later(flag)),
            rates,
        })
    }
}

/// The radio with this address: 42:00:00:00:NN:00.
fn radio(address: &[u8]) -> Option<Radio> {
    match address {
        [0x42, 0, 0, 0, number, 0] => Some(*number),
        _ => None,
    }
}

const fn hardware(radio: Radio) -> [u8; 6] {
    [0x42, 0, 0, 0, radio, 0]
}

fn address(value: &[u8]) -> Option<MacAddr> {
    value.first_chunk().copied().map(MacAddr::new)
}

/// Asks the kernel to let this process be the medium.
pub fn register(requests: &mut Requests, family: u16, number: u32) {
    requests.begin(family, REGISTER, Some(number));
}

/// A frame that arrives at a radio.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// The radio.
    pub radio: Radio,
    /// The frame, without its check sequence.
    pub content: &'a [u8],
    /// Index of its rate.
    pub rate: u8,
    /// Its power.
    pub signal: Dbm,
    /// The channel's centre, in MHz.
    pub mhz: u32,
}

/// Delivers a frame to a radio.
pub fn deliver(requests: &mut Requests, family: u16, arrival: &Arrival<'_>) {
    requests
        .begin(family, FRAME, None)
        .attribute(RECEIVER, &hardware(arrival.radio))
        .attribute(CONTENT, arrival.content)
        .attribute(RX_RATE, &u32::from(arrival.rate).to_ne_bytes())
        .attribute(SIGNAL, &whole_dbm(arrival.signal))
        .attribute(FREQ, &arrival.mhz.to_ne_bytes());
}

/// What became of a frame, for its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was acknowledged.
    Acknowledged,
    /// It was not acknowledged, after all attempts.
    Lost,
    /// Nobody was to acknowledge it, or it was never sent.
    Unknown,
}

/// Reports to its sender what became of a frame, with the attempts at each rate.
pub fn report(
    requests: &mut Requests,
    family: u16,
    (radio, cookie): (Radio, u64),
    fate: Fate,
    tries: &[Tries; RATES],
    signal: Dbm,
) {
    let flags = match fate {
        Fate::Acknowledged => ACKNOWLEDGED,
        Fate::Lost => 0,
        Fate::Unknown => NO_ACK,
    };
    let mut listed = [0; 2 * RATES];
    for (bytes, tries) in listed.chunks_exact_mut(2).zip(tries) {
        bytes.copy_from_slice(&[tries.rate.cast_unsigned(), tries.count]);
    }
    requests
        .begin(family, TX_INFO_FRAME, None)
        .attribute(TRANSMITTER, &hardware(radio))
        .attribute(FLAGS, &flags.to_ne_bytes())
        .attribute(COOKIE, &cookie.to_ne_bytes())
        .attribute(SIGNAL, &whole_dbm(signal))
        .attribute(TX_INFO, &listed);
}

/// The kernel's signals are whole dBm.
fn whole_dbm(signal: Dbm) -> [u8; 4] {
    (signal.as_dbm_f64().round() as i32).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{Message, messages};

    /// A frame command as the kernel sends it, with these flags of the first rate.
    fn frame(flags: u16) -> Requests {
        let mut requests = Requests::default();
        let [low, high] = flags.to_ne_bytes();
        requests
            .begin(30, FRAME, None)
            .attribute(TRANSMITTER, &hardware(2))
            .attribute(CONTENT, &[0x80; 30])
            .attribute(FLAGS, &3_u32.to_ne_bytes())
            .attribute(FREQ, &2_437_u32.to_ne_bytes())
            .attribute(TX_INFO, &[7, 2, 4, 3, 255, 0, 255, 0])
            .attribute(TX_INFO_FLAGS, &[7, low, high, 4, 0, 0, 255, 8, 0, 255, 8, 0])
            .attribute(COOKIE, &77_u64.to_ne_bytes());
        requests
    }

    fn read(requests: &Requests) -> Option<Event<'_>> {
        messages(requests.as_bytes()).find_map(|message| match message {
            Message::Command { command, attributes } => Event::read(command, attributes),
            Message::Reply { .. } => None,
        })
    }

    #[test]
    fn reads_a_frame() {
        let requests = frame(0);
        let Some(Event::Frame(sent)) = read(&requests) else {
            panic!("no frame")
        };
        assert_eq!((sent.radio, sent.cookie, sent.mhz), (2, 77, 2_437));
        assert_eq!(sent.rates[1], Tries { rate: 4, count: 3 });
        assert_eq!(sent.rates[2].rate, -1);
        assert!(sent.no_ack && !sent.has_later_rates);
        assert_eq!(sent.content, [0x80; 30]);
        let later = frame(1 << 3);
        assert!(matches!(read(&later), Some(Event::Frame(sent)) if sent.has_later_rates));
    }

    #[test]
    fn reads_addresses() {
        let mut requests = Requests::default();
        requests
            .begin(30, ADD_MAC_ADDR, None)
            .attribute(RECEIVER, &[2, 0, 0, 0, 1, 0])
            .attribute(TRANSMITTER, &hardware(1));
        let expected = MacAddr::new([2, 0, 0, 0, 1, 0]);
        assert_eq!(read(&requests), Some(Event::Address(1, expected)));
    }

    #[test]
    fn a_report_has_the_attempts_at_each_rate() {
        let mut requests = Requests::default();
        let mut tries = [Tries::NONE; RATES];
        tries[0] = Tries { rate: 7, count: 2 };
        report(
            &mut requests,
            30,
            (1, 77),
            Fate::Acknowledged,
            &tries,
            Dbm::from_mbm(-6_160),
        );
        let Some(Message::Command { command, attributes }) = messages(requests.as_bytes()).next() else {
            panic!("no command")
        };
        assert_eq!(command, TX_INFO_FRAME);
        assert_eq!(
            attributes.find(TX_INFO),
            Some(&[7, 2, 255, 0, 255, 0, 255, 0][..])
        );
        assert_eq!(attributes.find(FLAGS), Some(&4_u32.to_ne_bytes()[..]));
        assert_eq!(attributes.find(SIGNAL), Some(&(-62_i32).to_ne_bytes()[..]));
    }
}

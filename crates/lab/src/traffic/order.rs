//! The first bytes on a connection: what the client orders.

use scenario::OnOff;
use std::io::{self, Read, Write};
use std::ops::Range;
use units::Duration;

const MAGIC: [u8; 4] = *b"slo1";
const LENGTH: usize = 4 + 4 + 5 * 8;

/// What the server does on a connection. Numbers are sent little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Send the content of `seed` from `offset` to `end` (`u64::MAX`: until the client closes), at most
    /// `bytes_per_s`.
    Down {
        seed: u64,
        offset: u64,
        end: u64,
        bytes_per_s: u64,
    },
    /// Send the content of `seed` in turns, until the client closes.
    Turns { seed: u64, turns: OnOff },
    /// Receive under this id until the client closes. If it `resumes`, first send how much has arrived
    /// already (eight bytes).
    Up { id: u64, resumes: bool },
    /// Send the parts of the content of `seed` that are requested, each with [`write_range`].
    Ranges { seed: u64 },
    /// Answer every `request` bytes with `reply` bytes of the content of `seed`.
    Answer { seed: u64, request: u64, reply: u64 },
}

impl Order {
    /// The flow that it belongs to: the seed of its task.
    pub(super) const fn flow(self) -> u64 {
        match self {
            Self::Down { seed, .. }
            | Self::Turns { seed, .. }
            | Self::Answer { seed, .. }
            | Self::Ranges { seed } => seed,
            Self::Up { id, .. } => id,
        }
    }

    fn fields(self) -> (u32, [u64; 5]) {
        match self {
            Self::Down {
                seed,
                offset,
                end,
                bytes_per_s,
            } => (1, [seed, offset, end, bytes_per_s, 0]),
            Self::Up { id, resumes } => (2, [id, resumes as u64, 0, 0, 0]),
            Self::Answer { seed, request, reply } => (3, [seed, request, reply, 0, 0]),
            Self::Ranges { seed } => (4, [seed, 0, 0, 0, 0]),
            Self::Turns { seed, turns } => {
                let [on, off] = [turns.on, turns.off].map(|time| time.as_nanos() as u64);
                (5, [seed, on, off, 0, 0])
            }
        }
    }

    const fn from_fields(kind: u32, [a, b, c, d, _]: [u64; 5]) -> Option<Self> {
        match kind {
            1 => Some(Self::Down {
                seed: a,
                offset: b,
                end: c,
                bytes_per_s: d,
            }),
            2 => Some(Self::Up {
                id: a,
                resumes: b != 0,
            }),
            3 => Some(Self::Answer {
                seed: a,
                request: b,
                reply: c,
            }),
            4 => Some(Self::Ranges { seed: a }),
            5 => Some(Self::Turns {
                seed: a,
                turns: OnOff {
                    on: Duration::from_nanos(b),
                    off: Duration::from_nanos(c),
                },
            }),
            _ => None,
        }
    }

    pub(super) fn write(self, to: &mut impl Write) -> io::Result<()> {
        let (kind, fields) = self.fields();
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&kind.to_le_bytes());
        fields
            .iter()
            .for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
        to.write_all(&bytes)
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; LENGTH];
        from.read_exact(&mut bytes)?;
        let (magic, rest) = bytes.split_at(4);
        let (kind, fields) = rest.split_at(4);
        let kind = u32::from_le_bytes([kind[0], kind[1], kind[2], kind[3]]);
        let mut values = [0; 5];
        for (value, field) in values.iter_mut().zip(fields.chunks_exact(8)) {
            *value = u64::from_le_bytes(field.try_into().map_err(io::Error::other)?);
        }
        let order = Self::from_fields(kind, values).filter(|_| magic == MAGIC);
        order.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a request of the lab's client"))
    }
}

/// Length of a request for a part of the content.
pub(super) const RANGE: usize = 2 * 8;

/// Requests a part of the content.
pub(super) fn write_range(to: &mut impl Write, range: &Range<u64>) -> io::Result<()> {
    let [start, end] = [range.start, range.end].map(u64::to_le_bytes);
    to.write_all(&[start, end].concat())
}

/// What such a request asks for.
pub(super) fn parse_range(bytes: [u8; RANGE]) -> Range<u64> {
    let range = u128::from_le_bytes(bytes);
    range as u64..(range >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_decode_to_what_was_encoded() {
        let orders = [
            Order::Down {
                seed: 1,
                offset: 2,
                end: u64::MAX,
                bytes_per_s: 4,
            },
            Order::Up {
                id: 9,
                resumes: false,
            },
            Order::Up { id: 9, resumes: true },
            Order::Answer {
                seed: 1,
                request: 128,
                reply: 4_096,
            },
            Order::Ranges { seed: 5 },
            Order::Turns {
                seed: 6,
                turns: OnOff {
                    on: Duration::from_millis(1_500),
                    off: Duration::from_secs(2),
                },
            },
        ];
        for order in orders {
            let mut bytes = Vec::new();
            order.write(&mut bytes).unwrap();
            assert_eq!(Order::read(&mut bytes.as_slice()).unwrap(), order);
        }
        assert!(Order::read(&mut [0; LENGTH].as_slice()).is_err());
    }

    #[test]
    fn requests_for_parts_decode_to_what_was_encoded() {
        for range in [0..1, 7..u64::MAX, 1 << 40..1 << 41] {
            let mut bytes = Vec::new();
            write_range(&mut bytes, &range).unwrap();
            assert_eq!(parse_range(bytes.try_into().unwrap()), range);
        }
    }
}

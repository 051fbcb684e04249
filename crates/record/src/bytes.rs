//! Numbers as bytes: the least significant seven bits first, the eighth bit says that more follow (LEB128).

use thiserror::Error;

/// Bytes that are not what the format requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("byte {at}: no valid {expected}")]
pub struct Malformed {
    /// Offset in the file.
    pub at: usize,
    /// What should begin there.
    pub expected: &'static str,
}

/// Reads values from bytes, from the front.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the first byte.
    pub const fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    /// Offset of the next byte.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// The error that something else was expected at `at`.
    pub const fn malformed(at: usize, expected: &'static str) -> Malformed {
        Malformed { at, expected }
    }

    /// The next byte.
    pub fn byte(&mut self, expected: &'static str) -> Result<u8, Malformed> {
        Ok(self.bytes(1, expected)?[0])
    }

    /// The next `count` bytes, as they are: nothing is allocated for a count that the file does not hold.
    pub fn bytes(&mut self, count: usize, expected: &'static str) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(count);
        let found = end.and_then(|end| self.all.get(self.at..end));
        let found = found.ok_or(Self::malformed(self.at, expected))?;
        self.at += count;
        Ok(found)
    }

    /// A number of at most 128 bits.
    pub fn number(&mut self, expected: &'static str) -> Result<u128, Malformed> {
        let begins = self.at;
        let mut number = 0_u128;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.byte(expected)?;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Self::malformed(begins, expected))
    }
}

/// Appends a number.
pub fn number(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A signed number as an unsigned one, small if it is near zero.
pub const fn zigzag(number: i128) -> u128 {
    (number << 1 ^ number >> 127) as u128
}

/// The reverse of [`zigzag`].
pub const fn unzigzag(number: u128) -> i128 {
    (number >> 1) as i128 ^ -((number & 1) as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_read_as_it_was_written(value: u128, signed: i128) {
            let mut out = Vec::new();
            number(&mut out, value);
            number(&mut out, zigzag(signed));
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.number("number"), Ok(value));
            prop_assert_eq!(reader.number("number").map(unzigzag), Ok(signed));
            prop_assert_eq!(reader.at(), out.len());
        }
    }

    #[test]
    fn a_number_that_does_not_end_or_does_not_fit_is_an_error() {
        let too_large = [[0xff; 18].as_slice(), &[0x7f]].concat();
        for bytes in [&[0x80, 0x80][..], &[0xff; 40], &too_large] {
            let error = Reader::new(bytes).number("number").unwrap_err();
            assert_eq!(error.expected, "number");
        }
    }
}

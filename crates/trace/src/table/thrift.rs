//! Thrift's compact protocol, as far as Parquet's metadata need it: written only.
//!
//! # Sources
//! - Apache Thrift, `doc/specs/thrift-compact-protocol.md` (zigzag and variable-length numbers, field headers with deltas, lists).
//!
//! # Checked by
//! `tests`: the specification's own examples; `super::tests`; files were read with pyarrow.

/// One structure under way; fields come in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Struct {
    /// A field header: the difference to the last number, and the type.
    fn field(&mut self, number: u8, kind: u8) {
        debug_assert!(number > self.last && number - self.last < 16);
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    pub(super) fn i32(mut self, number: u8, value: i32) -> Self {
        self.field(number, I32);
        zigzag(&mut self.bytes, value.into());
        self
    }

    pub(super) fn i64(mut self, number: u8, value: i64) -> Self {
        self.field(number, I64);
        zigzag(&mut self.bytes, value);
        self
    }

    pub(super) fn text(mut self, number: u8, value: &str) -> Self {
        self.field(number, BINARY);
        binary(&mut self.bytes, value);
        self
    }

    pub(super) fn nested(mut self, number: u8, value: Self) -> Self {
        self.field(number, STRUCT);
        self.bytes.extend(value.finish());
        self
    }

    pub(super) fn structs(mut self, number: u8, values: Vec<Self>) -> Self {
        self.list(number, STRUCT, values.len());
        values
            .into_iter()
            .for_each(|value| self.bytes.extend(value.finish()));
        self
    }

    pub(super) fn texts(mut self, number: u8, values: &[&str]) -> Self {
        self.list(number, BINARY, values.len());
        values.iter().for_each(|value| binary(&mut self.bytes, value));
        self
    }

    pub(super) fn i32s(mut self, number: u8, values: &[i32]) -> Self {
        self.list(number, I32, values.len());
        values
            .iter()
            .for_each(|&value| zigzag(&mut self.bytes, value.into()));
        self
    }

    fn list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    /// Its bytes, with the end of the structure.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn binary(out: &mut Vec<u8>, value: &str) {
    varint(out, value.len() as u64);
    out.extend_from_slice(value.as_bytes());
}

fn zigzag(out: &mut Vec<u8>, value: i64) {
    varint(out, (value << 1 ^ value >> 63) as u64);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_specification_has_them() {
        let bytes = |value| Struct::default().i32(1, value).finish();
        // 50399 is 0xdf 0x89 0x03 as a variable-length number; zigzag of −25200 is 50399.
        assert_eq!(bytes(-25_200), [0x15, 0xdf, 0x89, 0x03, 0]);
        assert_eq!(bytes(1), [0x15, 2, 0]);
        assert_eq!(bytes(-1), [0x15, 1, 0]);
    }

    #[test]
    fn long_lists_have_their_length_behind() {
        let bytes = Struct::default().i32s(2, &[0; 20]).finish();
        assert_eq!(bytes[..3], [0x29, 0xf5, 20]);
        assert_eq!(bytes.len(), 3 + 20 + 1);
    }
}

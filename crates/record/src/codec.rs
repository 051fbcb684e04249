//! Encodes values as bytes and decodes them; the file does not describe their types.
//!
//! [`structs!`] and [`enums!`] name every field and every variant. A new field or variant of `policy` does
//! not compile until it is added here. Numbers of variants never change and are never reused, so that old
//! recordings stay readable. A new field needs a new [`crate::VERSION`].

use crate::bytes::{self, Malformed, Reader};
use std::time::Duration;

/// A value that has a form as bytes.
pub(crate) trait Codec: Sized {
    /// Appends the value.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads one.
    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// The names of an enum's variants, without what they hold.
pub(crate) trait Variants {
    /// Names of all variants.
    const NAMES: &'static [&'static str];

    /// Name of this value's variant.
    fn name(&self) -> &'static str;
}

macro_rules! structs {
    ($($type:ty { $($field:ident),* $(,)? })*) => { $(
        impl Codec for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($field.encode(out);)*
            }

            fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                Ok(Self { $($field: Codec::decode(from)?),* })
            }
        }
    )* };
}

macro_rules! enums {
    (@any $variant:ident) => { Self::$variant };
    (@any $variant:ident ( $($inner:ident),* )) => { Self::$variant(..) };
    (@any $variant:ident { $($field:ident),* }) => { Self::$variant { .. } };
    ($($type:ty { $(
        $number:literal $variant:ident $(( $($inner:ident),* ))? $({ $($field:ident),* })?
    ),* $(,)? })*) => { $(
        impl Codec for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                match self { $(
                    Self::$variant $(( $($inner),* ))? $({ $($field),* })? => {
                        out.push($number);
                        $($($inner.encode(out);)*)?
                        $($($field.encode(out);)*)?
                    }
                )* }
            }

            fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                let at = from.at();
                Ok(match from.byte(stringify!($type))? {
                    $( $number => {
                        $($(let $inner = Codec::decode(from)?;)*)?
                        $($(let $field = Codec::decode(from)?;)*)?
                        Self::$variant $(( $($inner),* ))? $({ $($field),* })?
                    } )*
                    _ => return Err(Reader::malformed(at, stringify!($type))),
                })
            }
        }

        impl Variants for $type {
            const NAMES: &'static [&'static str] = &[$(stringify!($variant)),*];

            fn name(&self) -> &'static str {
                match self { $(
                    enums!(@any $variant $(( $($inner),* ))? $({ $($field),* })?) => stringify!($variant),
                )* }
            }
        }
    )* };
}

/// Types encoded as one number, with the functions that convert to it and from it.
macro_rules! numbers {
    ($($type:ty: $number:ty = $from:expr, $to:expr;)*) => { $(
        impl Codec for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                let number: $number = $to(*self);
                number.encode(out);
            }

            fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                <$number>::decode(from).map($from)
            }
        }
    )* };
}

pub(crate) use {enums, numbers, structs};

macro_rules! unsigned {
    ($($type:ty),*) => { $(
        impl Codec for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                bytes::number(out, *self as u128);
            }

            fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                let at = from.at();
                let number = from.number(stringify!($type))?;
                number.try_into().map_err(|_| Reader::malformed(at, stringify!($type)))
            }
        }
    )* };
}

unsigned!(u8, u16, u32, u64, usize);

impl Codec for i32 {
    fn encode(&self, out: &mut Vec<u8>) {
        bytes::number(out, bytes::zigzag((*self).into()));
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let at = from.at();
        let number = bytes::unzigzag(from.number("i32")?);
        number.try_into().map_err(|_| Reader::malformed(at, "i32"))
    }
}

impl Codec for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let at = from.at();
        match from.byte("bool")? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Reader::malformed(at, "bool")),
        }
    }
}

impl<T: Codec> Codec for Option<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.is_some().encode(out);
        if let Some(value) = self {
            value.encode(out);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        bool::decode(from)?.then(|| T::decode(from)).transpose()
    }
}

impl Codec for String {
    fn encode(&self, out: &mut Vec<u8>) {
        self.len().encode(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let at = from.at();
        let count = usize::decode(from)?;
        let text = std::str::from_utf8(from.bytes(count, "text")?);
        Ok(text.map_err(|_| Reader::malformed(at, "text"))?.to_owned())
    }
}

impl Codec for Duration {
    fn encode(&self, out: &mut Vec<u8>) {
        bytes::number(out, self.as_nanos());
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let at = from.at();
        let nanos = from.number("duration")?;
        let secs = u64::try_from(nanos / 1_000_000_000);
        let secs = secs.map_err(|_| Reader::malformed(at, "duration"))?;
        Ok(Self::new(secs, (nanos % 1_000_000_000) as u32))
    }
}

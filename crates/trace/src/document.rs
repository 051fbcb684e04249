//! Name and version of every document: always written, and refused when read with another value.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::borrow::Cow;

macro_rules! schema {
    ($(#[$meta:meta])* $type:ident = $name:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $type;

        impl $type {
            /// The value of the field `schema`.
            pub const NAME: &'static str = $name;
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(Self::NAME)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let found = Cow::<'_, str>::deserialize(deserializer)?;
                if found == Self::NAME {
                    return Ok(Self);
                }
                Err(D::Error::custom(format_args!("the schema is `{found}`; this version reads only `{}`", Self::NAME)))
            }
        }
    };
}

schema! {
    /// The schema of trace files.
    TraceSchema = "slowhand.trace/1"
}
schema! {
    /// The schema of `play --json`.
    PlaySchema = "slowhand.play/1"
}
schema! {
    /// The schema of `papers --json`.
    PapersSchema = "slowhand.papers/1"
}
schema! {
    /// The schema of `bench --json`.
    BenchSchema = "slowhand.bench/1"
}

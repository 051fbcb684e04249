//! What 802.11 leaves open and an experiment may change.

use units::{Bytes, Db, Dbm};

/// What holds for everybody on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Attempts before a frame is dropped, the first included; `None`: unlimited.
    pub attempts: Option<u32>,
    /// How much a frame must exceed everything else during its preamble to be found.
    pub preamble: Db,
    /// How much stronger a later frame must be to replace the one being received; `None`: it never does.
    pub capture: Option<Db>,
    /// EIFS also after a signal without a readable header.
    pub eifs_after_any_error: bool,
    /// A busy period counts as a slot of others' countdowns, as in Bianchi's model.
    pub busy_counts_as_slot: bool,
    /// A frame that is repeated at another rate does not have the retry bit.
    pub no_retry_bit_on_rate_change: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            attempts: Some(7),
            preamble: Db::from_db(4),
            capture: Some(Db::from_db(10)),
            eifs_after_any_error: false,
            busy_counts_as_slot: false,
            no_retry_bit_on_rate_change: false,
        }
    }
}

/// What a radio senses, and when it uses RTS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Longer frames and aggregates, in bytes, are preceded by an RTS; `None`: never.
    pub rts: Option<Bytes>,
    /// The weakest preamble that it finds: carrier sense and reception begin here.
    pub carrier_sense: Dbm,
    /// The weakest signal whose energy alone makes the medium busy.
    pub energy_detection: Dbm,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            rts: None,
            carrier_sense: Dbm::from_dbm(-82),
            energy_detection: Dbm::from_dbm(-62),
        }
    }
}

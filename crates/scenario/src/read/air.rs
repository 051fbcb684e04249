//! `[air]`, and those of its keys that an access point or a walker may say too.

use super::{bytes, db, dbm};
use crate::document::Value;
use crate::plan::{Medium, Rules, Thresholds};
use crate::quantity::Quantity;
use crate::section::Section;
use units::{Bytes, Dbm};

/// More than any retry limit (`dot11ShortRetryLimit` and `dot11LongRetryLimit` have eight bits).
const MOST_ATTEMPTS: i64 = 255;

/// The longest aggregate of 802.11n: with this RTS is never used.
const LONGEST: i64 = 65_535;

/// What a radio may have of its own.
const OWN: [&str; 3] = ["rts_threshold_bytes", "carrier_sense_dbm", "energy_detection_dbm"];

/// What a section says of a radio; what it leaves open is `None`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hearing {
    rts: Option<Bytes>,
    carrier_sense: Option<Dbm>,
    energy_detection: Option<Dbm>,
}

impl Hearing {
    /// What the section says itself, and `general` where it says nothing.
    pub fn read(section: &Section<'_>, general: Self) -> Self {
        let hearing = Self {
            rts: section
                .count("rts_threshold_bytes", 0..=LONGEST)
                .map(bytes)
                .or(general.rts),
            carrier_sense: section
                .amount("carrier_sense_dbm", &Quantity::SENSED_DBM)
                .map(dbm)
                .or(general.carrier_sense),
            energy_detection: section
                .amount("energy_detection_dbm", &Quantity::SENSED_DBM)
                .map(dbm)
                .or(general.energy_detection),
        };
        let Thresholds {
            carrier_sense,
            energy_detection,
            ..
        } = hearing.complete();
        let said = ["energy_detection_dbm", "carrier_sense_dbm"];
        if energy_detection < carrier_sense
            && let Some(key) = said.into_iter().find(|key| section.has(key))
        {
            section.note(
                key,
                format!("energy is detected from {energy_detection}, below the {carrier_sense} of preambles"),
                "raise `energy_detection_dbm`, or lower `carrier_sense_dbm`",
            );
        }
        hearing
    }

    /// Fills in the standard's values where the file gives none.
    pub fn complete(self) -> Thresholds {
        let usual = Thresholds::default();
        Thresholds {
            rts: self.rts.or(usual.rts),
            carrier_sense: self.carrier_sense.unwrap_or(usual.carrier_sense),
            energy_detection: self.energy_detection.unwrap_or(usual.energy_detection),
        }
    }

    /// What one radio has of its own, on this medium.
    pub fn own(section: &Section<'_>, general: Self, medium: Medium) -> Thresholds {
        for key in OWN {
            if medium == Medium::Wfq && section.has(key) {
                section.note(
                    key,
                    format!("`{key}` has no effect with `medium = \"wfq\"`, which models no carrier sense"),
                    "remove it, or `medium = \"wfq\"`",
                );
            }
        }
        Self::read(section, general).complete()
    }
}

/// What holds for everybody, and what a radio has that says nothing of its own.
pub(super) fn read(root: &Section<'_>, medium: Medium) -> (Rules, Hearing) {
    let Some(section) = root.child("air", "[air]") else {
        return Default::default();
    };
    if medium == Medium::Wfq {
        root.log.note(
            section.at,
            "[air] has no effect with `medium = \"wfq\"`, which models no carrier sense",
            "remove it, or `medium = \"wfq\"`",
        );
    }
    let usual = Rules::default();
    let rules = Rules {
        attempts: unless(&section, "attempts", "unlimited", || {
            section
                .count("attempts", 1..=MOST_ATTEMPTS)
                .map(|most| most as u32)
        })
        .unwrap_or(usual.attempts),
        preamble: section
            .amount("preamble_db", &Quantity::MARGIN_DB)
            .map_or(usual.preamble, db),
        capture: unless(&section, "capture_db", "never", || {
            section.amount("capture_db", &Quantity::MARGIN_DB).map(db)
        })
        .unwrap_or(usual.capture),
        eifs_after_any_error: section.choice("eifs", &EIFS).unwrap_or(false),
        busy_counts_as_slot: section.choice("countdown", &COUNTDOWNS).unwrap_or(false),
        no_retry_bit_on_rate_change: section.flag("no_retry_bit_on_rate_change").unwrap_or(false),
    };
    let hearing = Hearing::read(&section, Hearing::default());
    section.finish();
    (rules, hearing)
}

const EIFS: [(&str, bool); 2] = [("after-header", false), ("after-any-error", true)];
const COUNTDOWNS: [(&str, bool); 2] = [("standard", false), ("busy-counts-as-slot", true)];

/// A number, or the word for having none. `None`: the file has no such key, or its value was already
/// reported.
fn unless<T>(
    section: &Section<'_>,
    key: &'static str,
    word: &'static str,
    number: impl FnOnce() -> Option<T>,
) -> Option<Option<T>> {
    match section.entry(key).map(|entry| &entry.node.value) {
        Some(Value::Text(_)) => section.choice(key, &[(word, ())]).map(|()| None),
        _ => number().map(Some),
    }
}

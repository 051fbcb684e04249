//! How signals fall: said for the whole place, for one access point, or not at all.

use super::{db, nanos};
use crate::plan::{ErrorModel, Fading, Propagation, Shadowing, Standard};
use crate::quantity::Quantity;
use crate::section::Section;
use units::Db;

/// What a section says about it; what it leaves open is `None`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spread {
    reference: Option<Db>,
    exponent_centi: Option<u32>,
    noise_figure: Option<Db>,
    implementation_loss: Option<Db>,
    error_model: Option<ErrorModel>,
    shadowing: Option<Shadowing>,
    fading: Option<Fading>,
}

impl Spread {
    pub fn read(section: &Section<'_>) -> Self {
        Self {
            reference: section.amount("reference_loss_db", &Quantity::LOSS_DB).map(db),
            exponent_centi: section
                .amount("path_loss_exponent", &Quantity::EXPONENT)
                .map(|centi| centi as u32),
            noise_figure: section.amount("noise_figure_db", &Quantity::LOSS_DB).map(db),
            error_model: section.choice("error_model", &ERROR_MODELS),
            implementation_loss: section
                .amount("implementation_loss_db", &Quantity::LOSS_DB)
                .map(db),
            shadowing: section
                .child("shadowing", "shadowing")
                .map(|child| shadowing(&child)),
            fading: section.child("fading", "fading").map(|child| fading(&child)),
        }
    }

    /// What an access point says counts before what the place says.
    pub fn or(self, place: Self) -> Self {
        Self {
            reference: self.reference.or(place.reference),
            exponent_centi: self.exponent_centi.or(place.exponent_centi),
            noise_figure: self.noise_figure.or(place.noise_figure),
            implementation_loss: self.implementation_loss.or(place.implementation_loss),
            error_model: self.error_model.or(place.error_model),
            shadowing: self.shadowing.or(place.shadowing),
            fading: self.fading.or(place.fading),
        }
    }

    /// Fills in the defaults of the standard's band where the file gives no value.
    pub fn complete(self, standard: Standard) -> Propagation {
        let indoor = Propagation::indoor(standard);
        Propagation {
            reference: self.reference.unwrap_or(indoor.reference),
            exponent_centi: self.exponent_centi.unwrap_or(indoor.exponent_centi),
            noise_figure: self.noise_figure.unwrap_or(indoor.noise_figure),
            implementation_loss: self.implementation_loss.unwrap_or(indoor.implementation_loss),
            error_model: self.error_model.unwrap_or(indoor.error_model),
            shadowing: self.shadowing.or(indoor.shadowing),
            fading: self.fading.or(indoor.fading),
        }
    }
}

const ERROR_MODELS: [(&str, ErrorModel); 3] = [
    ("nist", ErrorModel::Nist),
    ("yans", ErrorModel::Yans),
    ("table", ErrorModel::Table),
];

fn shadowing(section: &Section<'_>) -> Shadowing {
    for key in ["deviation_db", "distance_m"] {
        if !section.has(key) {
            section.missing(key, "both `deviation_db` and `distance_m`, such as 4 and 6 (Gudmundson 1991: indoors a few metres)");
        }
    }
    let shadowing = Shadowing {
        deviation: section
            .amount("deviation_db", &Quantity::LOSS_DB)
            .map_or(db(0), db),
        distance_mm: section
            .amount("distance_m", &Quantity::SOME_M)
            .unwrap_or(1)
            .unsigned_abs(),
    };
    section.finish();
    shadowing
}

fn fading(section: &Section<'_>) -> Fading {
    if !section.has("coherence_ms") {
        section.missing(
            "coherence_ms",
            "`coherence_ms`: about 9·wavelength/(16·π·speed), 20 ms for a walker at 2.4 GHz",
        );
    }
    let fading = Fading {
        k_factor: section.amount("k_factor_db", &Quantity::K_DB).map(db),
        coherence: section
            .amount("coherence_ms", &Quantity::SOME_MS)
            .map_or_else(Default::default, nanos),
    };
    section.finish();
    fading
}

//! The PHY of an access point, as a driver reports it.

use policy::estimate::phy::Phy;
use scenario::{Link, LinkKind, Standard};
use units::wifi::ht::Band;

/// The PHY of a link's access point. `None` for other links.
pub fn phy(link: &Link) -> Option<Phy> {
    let LinkKind::Wifi(ap) = &link.kind else {
        return None;
    };
    let band = match ap.standard {
        Standard::A => Band::Ghz5,
        Standard::B | Standard::G => Band::Ghz2,
    };
    Some(match ap.ht {
        None => Phy::Legacy(ap.standard),
        Some(ht) => Phy::Ht {
            band,
            width: ht.width,
            guard: ht.guard,
        },
    })
}

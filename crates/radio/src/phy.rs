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

#[cfg(test)]
mod tests {
    use super::*;
    use units::wifi::ht::{Guard, Width};

    #[test]
    fn drivers_know_the_phy() {
        let wire = "backhaul = { rate_mbps = 9, rtt_ms = 9 }";
        let text = format!(
            "sentence = \"x\"\nduration_s = 9\n[aps.old]\nat_m = [3, 0]\nstandard = \"b\"\nchannel = 1\n{wire}\n\
             [aps.one]\nat_m = [3, 0]\nstandard = \"a\"\nchannel = 36\nht = {{ streams = 2 }}\n{wire}\n\
             [cables.dsl]\nrate_mbps = 9\nrtt_ms = 9\n[walkers.client]\nat_m = [0, 0]\n\
             [flows.own]\ndirection = \"down\"\n"
        );
        let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
        let plan = scenario::parse("x.toml", text.as_bytes(), &[], &no_files).unwrap();
        let n = Phy::Ht {
            band: Band::Ghz5,
            width: Width::Mhz20,
            guard: Guard::Long,
        };
        let known: Vec<_> = plan.links.iter().map(phy).collect();
        assert_eq!(known, [Some(Phy::Legacy(Standard::B)), Some(n), None]);
    }
}

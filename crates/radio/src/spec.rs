//! A scenario's link, as the engine knows it.

use policy::LinkSpec;
use scenario::Link;

/// The engine's description of a link of the client.
pub fn spec(link: &Link) -> LinkSpec {
    LinkSpec {
        name: link.name.clone(),
        kind: link.kind.word().into(),
        role: link.role.into(),
        channel: link.kind.channel(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{LinkKind, Role};

    #[test]
    fn the_engine_knows_each_kind_of_link() {
        let text = "sentence = \"x\"\nduration_s = 9\n\
                    [aps.hall]\nat_m = [3, 0]\nstandard = \"a\"\nchannel = 36\nbackhaul = { rate_mbps = 9, rtt_ms = 9 }\n\
                    [cells.lte]\nrate_mbps = 9\nrtt_ms = 9\nrole = \"backup\"\n\
                    [cables.dsl]\nrate_mbps = 9\nrtt_ms = 9\n[walkers.client]\nat_m = [0, 0]\n\
                    [flows.own]\ndirection = \"down\"\n";
        let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
        let plan = scenario::parse("x.toml", text.as_bytes(), &[], &no_files).unwrap();
        let known: Vec<_> = plan.links.iter().map(spec).collect();
        let expected = [
            ("hall", LinkKind::Wifi, Role::Primary, Some(36)),
            ("lte", LinkKind::Cellular, Role::Backup, None),
            ("dsl", LinkKind::Cable, Role::Primary, None),
        ];
        let expected = expected.map(|(name, kind, role, channel)| LinkSpec {
            name: name.to_owned(),
            kind,
            role,
            channel,
        });
        assert_eq!(known, expected);
    }
}

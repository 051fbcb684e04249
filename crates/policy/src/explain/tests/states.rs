//! The exact sentence of every state that does not come from a decision.

use super::super::{all, measured};
use crate::estimate::bandwidth::Limit;
use crate::estimate::delivery::Estimate;
use crate::io::reason::{Access, Evidence, Held, Refused};
use crate::io::{ConnId, LinkId, LinkKind, LinkSpec, Note, Reason, Role, Trust, Uplink, Verb};
use crate::known::air::View;
use crate::known::doubt::Doubt;
use crate::known::path::{Health, Path};
use crate::known::state::State;
use std::string::{String, ToString};
use units::{Bitrate, Dbm, Duration, Instant, Ratio};

const LINK: LinkId = LinkId(0);
const SECOND: Instant = Instant::from_secs(1);

/// The state of a link of this kind after these changes.
fn state(kind: LinkKind, change: impl FnOnce(&mut Path)) -> (&'static str, String) {
    let mut path = Path::new(LinkSpec {
        name: "lan0".to_string(),
        kind,
        role: Role::Primary,
        channel: None,
    });
    (path.carrier, path.usable_since) = (true, Some(Instant::ZERO));
    change(&mut path);
    let mut state = State::new(2);
    state.paths.insert(LINK, path);
    let about = all(SECOND, &state).remove(0);
    (about.state, about.why)
}

fn cable(change: impl FnOnce(&mut Path)) -> (&'static str, String) {
    state(LinkKind::Cable, change)
}

/// An access point without a carrier that was heard once.
fn heard(asked: Option<Instant>) -> (&'static str, String) {
    state(LinkKind::Wifi, |path| {
        path.carrier = false;
        path.beacon(Instant::ZERO, Dbm::from_dbm(-60));
        path.asked = asked;
    })
}

fn doubted(path: &mut Path) {
    let mut doubt = Doubt::new(Instant::ZERO, ConnId(1), Duration::ZERO, Duration::ZERO);
    doubt.asks(Instant::ZERO);
    doubt.asks(Instant::ZERO);
    path.health = Health::Doubted(doubt);
}

fn dead(path: &mut Path, tries: u32) {
    let next_try = SECOND;
    path.health = Health::Dead { next_try, tries };
    path.note = Some(Note {
        link: Some(LINK),
        conn: None,
        verb: Verb::Remove,
        reason: Reason::Evidence(Evidence::RepliesAgain),
    });
}

#[test]
fn every_state_is_this_sentence() {
    let expected = [
        (
            cable(|path| path.spec.role = Role::Never),
            ("never", "its role is never"),
        ),
        (
            cable(|path| path.cost.refused = Some(Refused::Trust(Trust::Open))),
            (
                "refused",
                "it is an open network, and the user does not allow those",
            ),
        ),
        (cable(|path| path.carrier = false), ("down", "it has no carrier")),
        (
            heard(None),
            ("down", "not associated; last beacons at -60.00 dBm"),
        ),
        (
            heard(Some(Instant::ZERO)),
            ("down", "association was requested; last beacons at -60.00 dBm"),
        ),
        (
            cable(|path| (path.usable_since, path.uplinks) = (None, [Uplink::None; 2])),
            (
                "no-uplink",
                "the main routing table has no default route over it, so slowhand leaves it alone",
            ),
        ),
        (
            cable(|path| path.usable_since = None),
            ("no-address", "it has a carrier but no usable address"),
        ),
        (
            cable(doubted),
            ("in-doubt", "it is silent, and 2 probes had no reply yet"),
        ),
        (
            cable(|path| dead(path, 1)),
            ("dead", "it replies again; 1 probe since had no reply"),
        ),
        (
            cable(|path| dead(path, 7)),
            ("dead", "it replies again; 7 probes since had no reply"),
        ),
        (cable(|_| ()), ("idle", "it is up, and no connection needs it")),
    ];
    for ((state, why), sentence) in expected {
        assert_eq!((state, why.as_str()), sentence);
    }
    let held = Held::Portal;
    let why = Reason::Access(Access::Held(held)).sentence(&[][..]);
    assert_eq!(cable(|path| path.held = Some(held)), ("held-out", why));
}

#[test]
fn every_measurement_is_this_sentence() {
    let view = |delivery, limit| View {
        delivery,
        rate: Bitrate::from_mbps(54),
        packet_time: None,
        limit,
        taken: Some(Ratio::from_fraction(1, 4)),
        room: Bitrate::from_mbps(12),
    };
    let known = |frames| Estimate::Known {
        delivered: Ratio::from_fraction(3, 4),
        frames,
    };
    let unattributable = Estimate::Unattributable {
        at_least: Ratio::ZERO,
        at_most: Ratio::ONE,
        missing: 40,
    };
    let timed = View {
        packet_time: Some(Duration::from_micros(310)),
        ..view(Estimate::Silent, None)
    };
    let rest = "25.00 % of the airtime is taken, and 12.0 Mb/s more would fit";
    let expected = [
        (
            view(known(1_000), None),
            "75.00 % of 1000 frames got through at the first attempt at 54.0 Mb/s",
        ),
        (
            view(known(2), None),
            "75.00 % of 2 frames got through at the first attempt at 54.0 Mb/s (too few to decide)",
        ),
        (
            view(unattributable, None),
            "40 frames are missing, perhaps because they were for other stations",
        ),
        (timed, "a packet takes 310 µs of airtime"),
    ];
    for (view, sentence) in expected {
        assert_eq!(measured(&view).as_deref(), Some(sentence));
    }
    for (limit, cause) in [
        (Limit::Idle, "it has little traffic"),
        (Limit::Air, "its channel is full"),
        (
            Limit::Backhaul,
            "the limit is behind the access point, or the sender",
        ),
    ] {
        let sentence = std::format!("{cause}: {rest}");
        assert_eq!(measured(&view(Estimate::Silent, Some(limit))), Some(sentence));
    }
    assert_eq!(measured(&view(Estimate::Silent, None)), None);
}

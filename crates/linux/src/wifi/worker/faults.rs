//! Every sentence with which a user learns of a fault of WiFi, as `golden/faults.txt` has it.
//!
//! `SLOWHAND_GOLDEN=1 cargo test -p linux --lib wifi::worker::faults` writes the file anew. A new variant of
//! an error does not compile until it has a name here. What `scan` says while it chooses is not in the file.

use super::associate::in_words;
use super::takeover::Reason;
use super::*;
use crate::bus::BusError;
use crate::daemon::{Inlet, inlet};
use crate::netlink::RequestError;
use crate::nl80211::rfkill::Switch;
use crate::nl80211::{Frequency, IfType, ReadError, StationError, Types, Wiphy, able};
use crate::place::{GiveBackError, TakeError};
use crate::rtnl::{LinkError, ListError};
use crate::wifi::bss::{Bss, Offers};
use crate::wifi::event::{Event, What};
use crate::wifi::login::{Login, LoginError};
use crate::wifi::network::{Secret, SecretError, Security, Weaker};
use crate::wifi::point::{Station, announced};
use crate::wifi::radio::{RadioError, Refused, beside};
use crate::wifi::supplicant::SupplicantError;
use std::fmt::Write as _;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use units::Dbm;
use wire::dhcp::{Kind, Message, Options};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/faults.txt");
const BSSID: MacAddr = MacAddr::local(1);

/// A short name, and the sentence.
type Said = (&'static str, String);

#[test]
fn every_sentence_is_the_one_of_the_golden_file() {
    let parts: [(&str, Vec<Said>); 9] = [
        ("the radio", radio()),
        ("what a radio can do", abilities()),
        ("an interface", interfaces()),
        ("the only place of a driver", places()),
        ("an access point that must not be joined", weaker()),
        ("an attempt to join, and an association", attempts()),
        ("wpa_supplicant", supplicant()),
        ("NetworkManager and systemd-resolved", buses()),
        ("secrets and logins", secrets()),
    ];
    let mut text = String::new();
    for (part, all) in parts {
        let _ = writeln!(text, "# {part}");
        for (name, sentence) in all {
            let _ = writeln!(text, "{name}: {sentence}");
        }
        text.push('\n');
    }
    if std::env::var_os("SLOWHAND_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &text).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap();
    for (now, then) in text.lines().zip(golden.lines()) {
        assert_eq!(
            now, then,
            "write {GOLDEN} anew with SLOWHAND_GOLDEN=1 if this is meant"
        );
    }
    assert_eq!(text.lines().count(), golden.lines().count());
}

fn unanswered() -> RequestError {
    RequestError::NoAnswer { seconds: 2 }
}

fn io_error() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

fn radio() -> Vec<Said> {
    let name = || "phy0".to_owned();
    let read = ReadError {
        what: "radios",
        source: unanswered(),
    };
    let all = [
        RadioError::Read(read),
        RadioError::None,
        RadioError::NotNamed(name()),
        RadioError::Several("phy0, phy1".into()),
        RadioError::NoStations(name()),
        RadioError::Blocked(name()),
        RadioError::TurnedOff(name()),
        RadioError::Gone(name()),
    ];
    let named = |error: &RadioError| match error {
        RadioError::Read(_) => "read",
        RadioError::None => "none",
        RadioError::NotNamed(_) => "not-named",
        RadioError::Several(_) => "several",
        RadioError::NoStations(_) => "no-stations",
        RadioError::Blocked(_) => "blocked",
        RadioError::TurnedOff(_) => "turned-off",
        RadioError::Gone(_) => "gone",
    };
    Vec::from(all.map(|error| (named(&error), error.to_string())))
}

/// As `slowhand doctor` says it.
fn abilities() -> Vec<Said> {
    let plain = Wiphy {
        name: "phy0".into(),
        types: Types::of(&[IfType::Station, IfType::Monitor]),
        software: Types::of(&[IfType::Monitor]),
        visits: true,
        ..Wiphy::default()
    };
    let forbidden = Wiphy {
        frequencies: vec![Frequency {
            mhz: 2_412,
            disabled: true,
            listen_first: false,
            radar: false,
        }],
        ..plain.clone()
    };
    let deaf = Wiphy {
        types: Types::of(&[IfType::Station]),
        software: Types::default(),
        ..plain.clone()
    };
    let stationless = Wiphy {
        types: Types::default(),
        ..plain.clone()
    };
    let switch = |soft, hard| Switch {
        name: "phy0".into(),
        soft,
        hard,
    };
    let said = |wiphy: &Wiphy, others: &[(&str, IfType)], switches: &[Switch]| {
        let around = able::Around {
            interfaces: &["wlan0"],
            others,
            managed: !others.is_empty(),
            switches,
            ..able::Around::default()
        };
        able::finding(wiphy, around).unwrap_err()
    };
    vec![
        ("one-station", said(&plain, &[], &[])),
        ("no-stations", said(&stationless, &[], &[])),
        ("no-monitor", said(&deaf, &[], &[])),
        ("no-channel", said(&forbidden, &[], &[])),
        ("blocked", said(&plain, &[], &[switch(true, false)])),
        ("turned-off", said(&plain, &[], &[switch(true, true)])),
        ("taken", said(&plain, &[("wlan0", IfType::Station)], &[])),
    ]
}

fn interfaces() -> Vec<Said> {
    let name = "slow-w2".parse().unwrap();
    let station = StationError {
        name,
        source: unanswered(),
    };
    let refused = |rivals: &[String]| Refused {
        name,
        why: "Device or resource busy".into(),
        beside: beside(rivals),
    };
    vec![
        ("not-created", in_words(&station)),
        ("not-up", in_words(&refused(&[]))),
        (
            "not-up-beside",
            in_words(&refused(&["wlan0".into(), "mesh0".into()])),
        ),
    ]
}

fn places() -> Vec<Said> {
    let name = "wlan0".parse().unwrap();
    let kept = || BusError::Kept(Duration::from_secs(4));
    let given_back = |why| takeover::given_back(name, why, Duration::from_secs(60));
    let gone = || LinkError::Gone { ifindex: 3 };
    let take = |error: TakeError| match error {
        TakeError::Kept { .. } => ("not-taken", in_words(&error)),
        TakeError::Up { .. } => ("not-down", in_words(&error)),
    };
    let give = |error: GiveBackError| match error {
        GiveBackError::Open(_) | GiveBackError::List(_) => ("not-listed", in_words(&error)),
        GiveBackError::NoManager(_) => ("no-manager", in_words(&error)),
        GiveBackError::Refused { .. } => ("not-back", in_words(&error)),
        GiveBackError::Down { .. } => ("not-up-again", in_words(&error)),
    };
    vec![
        ("choice", takeover::CHOICE.to_owned()),
        ("nothing-heard", takeover::nothing_heard(name)),
        ("is-down", takeover::is_down(name)),
        ("not-started", takeover::not_started(name)),
        ("given-back", given_back(Reason::Idle)),
        ("wanted-back", given_back(Reason::Wanted)),
        ("refused", given_back(Reason::Refused)),
        ("all-paused", takeover::all_paused(name)),
        ("not-managed", takeover::not_managed(name)),
        ("beside-iwd", takeover::beside_iwd(name)),
        take(TakeError::Kept { name, source: kept() }),
        take(TakeError::Up { name, source: gone() }),
        give(ListError(unanswered()).into()),
        give(GiveBackError::NoManager(name)),
        give(GiveBackError::Refused { name, source: kept() }),
        give(GiveBackError::Down { name, source: gone() }),
    ]
}

fn weaker() -> Vec<Said> {
    let all = [
        Weaker::Open,
        Weaker::Broken,
        Weaker::NoWpa3,
        Weaker::LessThanWpa3,
        Weaker::NoOwe,
        Weaker::LessThanOwe,
        Weaker::KeyForWpa3,
        Weaker::Unsupported,
        Weaker::Login,
        Weaker::NoLogin,
        Weaker::Protected,
    ];
    let named = |weaker: Weaker| match weaker {
        Weaker::Open => "open",
        Weaker::Broken => "broken",
        Weaker::NoWpa3 => "no-wpa3",
        Weaker::LessThanWpa3 => "less-than-wpa3",
        Weaker::NoOwe => "no-owe",
        Weaker::LessThanOwe => "less-than-owe",
        Weaker::KeyForWpa3 => "key-for-wpa3",
        Weaker::Unsupported => "unsupported",
        Weaker::Login => "login",
        Weaker::NoLogin => "no-login",
        Weaker::Protected => "protected",
    };
    Vec::from(all.map(|weaker| (named(weaker), weaker.to_string())))
}

/// A thread's state with one access point, whose interface is at this stage. The inlet keeps it connected.
pub(super) fn worker(now: Instant, stage: Stage) -> (Worker, Inlet) {
    let (sender, inlet) = inlet().unwrap();
    let (_, orders) = std::sync::mpsc::channel();
    let (_, woken) = UnixStream::pair().unwrap();
    let nowhere = Path::new("/nonexistent/slowhand");
    let network = |ssid: &str| Network {
        ssid: ssid.into(),
        hidden: false,
        security: Security::Open,
        fixed: false,
        role: policy::Role::Primary,
        tariff: policy::Tariff::Flat,
    };
    let setup = Setup {
        radio: None,
        take_over: false,
        drawn: None,
        networks: vec![network("first"), network("second")],
        directory: nowhere.into(),
        leases: nowhere.into(),
        checks: true,
        asks: true,
    };
    let mut worker = Worker::new(Plan {
        setup,
        names: Vec::new(),
        inlet: sender,
        orders,
        woken,
        views: Views::default(),
    });
    worker.points.insert(BSSID, point(now, stage));
    (worker, inlet)
}

fn point(now: Instant, stage: Stage) -> Point {
    let bss = Bss {
        bssid: BSSID,
        ssid: b"first".to_vec(),
        mhz: 2_437,
        signal: Dbm::from_dbm(-50),
        throughput: None,
        age: units::Duration::ZERO,
        offers: Offers::default(),
    };
    let mut point = Point::new(bss, 0, now);
    point.station = Some(Station {
        name: "slow-w1".parse().unwrap(),
        block: 0,
        mhz: 2_412,
        sought: 2_412,
        ifindex: 9,
        mac: MacAddr::local(2),
        stage,
        since: now,
        returns: false,
        client: None,
        lease: None,
        resolves: None,
    });
    point
}

/// Why an access point is not joined after this event.
fn after(stage: Stage, what: What) -> String {
    let now = Instant::now();
    let (mut worker, _inlet) = worker(now, stage);
    let event = Event {
        interface: "slow-w1".into(),
        what,
    };
    worker.take_event(now, &event);
    worker.points[&BSSID].why.clone().unwrap()
}

/// Why it is not joined after its stage has taken too long.
fn overdue(stage: Stage) -> String {
    let now = Instant::now();
    let (mut worker, _inlet) = worker(now, stage);
    worker.tend(worker.points[&BSSID].deadline(false).unwrap());
    worker.points[&BSSID].why.clone().unwrap()
}

fn declined() -> String {
    let (mut worker, _inlet) = worker(Instant::now(), Stage::Addressing);
    let message = Message {
        is_reply: false,
        kind: Kind::Decline,
        transaction: 5,
        client: MacAddr::local(2),
        has: Ipv4Addr::UNSPECIFIED,
        yours: Ipv4Addr::UNSPECIFIED,
        options: Options {
            requested: Some(Ipv4Addr::new(10, 0, 1, 42)),
            ..Options::default()
        },
    };
    worker.decline(BSSID, &message);
    worker.points[&BSSID].why.clone().unwrap()
}

fn handshake_lost() -> String {
    let now = Instant::now();
    let (mut worker, _inlet) = worker(now, Stage::Joining);
    worker.proven.insert(0);
    let event = Event {
        interface: "slow-w1".into(),
        what: What::WrongKey,
    };
    worker.take_event(now, &event);
    worker.points[&BSSID].why.clone().unwrap()
}

fn absent() -> String {
    let (worker, _inlet) = worker(Instant::now(), Stage::Joined);
    let mut points = worker.view().points.into_iter();
    points.find_map(|point| point.why).unwrap()
}

fn attempts() -> Vec<Said> {
    let refused = after(Stage::Joining, What::Refused { status: 17 });
    let disconnected = after(Stage::Joined, What::Disconnected { reason: 4 });
    let slow_w1 = "slow-w1".parse().unwrap();
    vec![
        ("absent", absent()),
        ("wrong-key", after(Stage::Joining, What::WrongKey)),
        ("handshake-lost", handshake_lost()),
        ("login-refused", after(Stage::Joining, What::LoginRefused)),
        ("login-untrusted", after(Stage::Joining, What::Untrusted)),
        ("association-refused", refused),
        ("no-answer", overdue(Stage::Joining)),
        ("no-address", overdue(Stage::Addressing)),
        ("address-taken", declined()),
        ("disconnected", disconnected),
        ("silent", overdue(Stage::Lost)),
        ("portal", announced(&slow_w1, "http://portal.example/", false)),
        (
            "portal-api",
            announced(&slow_w1, "https://portal.example/api", true),
        ),
    ]
}

fn supplicant() -> Vec<Said> {
    let directory = SupplicantError::Directory {
        path: "/run/slowhand/wifi".into(),
        source: io_error(),
    };
    let all = [
        SupplicantError::Start(io_error()),
        directory,
        SupplicantError::Silent,
        SupplicantError::Talk(io_error()),
        SupplicantError::Refused("IFNAME=slow-w1 SET_NETWORK 0 psk".into()),
    ];
    let named = |error: &SupplicantError| match error {
        SupplicantError::Start(_) => "not-started",
        SupplicantError::Directory { .. } => "directory",
        SupplicantError::Silent => "silent",
        SupplicantError::Talk(_) => "no-answer",
        SupplicantError::Refused(_) => "refused",
    };
    Vec::from(all.map(|error| (named(&error), error.to_string())))
}

fn buses() -> Vec<Said> {
    let call = BusError::Call {
        what: "Managed=false",
        source: Box::new(zbus::Error::Unsupported),
    };
    let named = |error: &BusError| match error {
        BusError::Unnoticed => "unnoticed",
        BusError::Unknown => "unknown",
        BusError::Kept(_) => "kept",
        BusError::Call { .. } => "call",
    };
    let kept = BusError::Kept(Duration::from_secs(3));
    let all = [BusError::Unnoticed, BusError::Unknown, kept, call];
    Vec::from(all.map(|error| (named(&error), error.to_string())))
}

fn secrets() -> Vec<Said> {
    let login = |text: &str| text.parse::<Login>().unwrap_err();
    let all = [
        login("eap=PEAP\nidentity\n"),
        login("ssid=\"other\"\n"),
        login("identity=\"me\"\n"),
        login("eap=PEAP\nidentity=\"me\"\n"),
        login("eap=PEAP\nidentity=\"me\"\nca_cert=\"/etc/ssl/certs/ca-certificates.crt\"\n"),
    ];
    let named = |error: &LoginError| match error {
        LoginError::Form(_) => "login-form",
        LoginError::Variable { .. } => "login-variable",
        LoginError::Missing(..) => "login-missing",
        LoginError::Unchecked => "login-unchecked",
        LoginError::AnyName => "login-any-name",
    };
    let mut said = Vec::from(all.map(|error| (named(&error), error.to_string())));
    let secret: Result<Secret, SecretError> = "short".parse();
    said.push(("secret", secret.unwrap_err().to_string()));
    said
}

//! `[air]`, and what access points and walkers may say of their own radios.

mod sound;

use scenario::{ErrorModel, Plan, Rules, Thresholds};
use sound::{edited, messages};
use units::{Bytes, Db, Dbm};

/// In front of the first table, and behind the access point's and the walker's places.
const TOP: &str = "duration_s = 30";
const AP: &str = "at_m = [1, 2]";
const CLIENT: &str = "at_m = [0, 0]";

fn plan(place: &str, keys: &str) -> Plan {
    edited(place, &format!("{place}\n{keys}")).unwrap()
}

fn of_ap(plan: &Plan) -> Thresholds {
    plan.access_points().next().unwrap().1.thresholds
}

#[test]
fn without_an_air_table_values_are_the_standards() {
    let usual = edited(TOP, TOP).unwrap();
    assert_eq!(usual.rules, Rules::default());
    assert_eq!(of_ap(&usual), Thresholds::default());
    let said = plan(
        TOP,
        "air = { attempts = 7, preamble_db = 4, capture_db = 10, eifs = \"after-header\", countdown = \"standard\", \
         no_retry_bit_on_rate_change = false, carrier_sense_dbm = -82, energy_detection_dbm = -62 }",
    );
    assert_eq!(said.rules, Rules::default());
    assert_eq!(said.client().thresholds, Thresholds::default());
}

#[test]
fn receiver_parameters_come_from_the_place_or_the_access_point() {
    let receiver = |plan: &Plan| {
        let of = plan.access_points().next().unwrap().1.propagation;
        (of.noise_figure, of.implementation_loss, of.error_model)
    };
    let keys = "noise_figure_db = 4.5, implementation_loss_db = 0, error_model";
    let place = plan(TOP, &format!("place = {{ {keys} = \"table\" }}"));
    let (figure, none) = (Db::from_centi(450), Db::from_db(0));
    assert_eq!(receiver(&place), (figure, none, ErrorModel::Table));
    let own = plan(AP, "error_model = \"yans\"\nnoise_figure_db = 10");
    assert_eq!(
        receiver(&own),
        (Db::from_db(10), Db::from_db(5), ErrorModel::Yans)
    );
    let refused = messages(edited(AP, &format!("{AP}\nerror_model = \"Nist\"")));
    assert_eq!(
        refused,
        ["bad.toml:6:15: `error_model` is \"Nist\"; give \"nist\", \"yans\" or \"table\""]
    );
}

#[test]
fn air_values_apply_to_all_stations() {
    let rules = |keys: &str| plan(TOP, &format!("air = {{ {keys} }}")).rules;
    assert_eq!(rules("attempts = 4").attempts, Some(4));
    assert_eq!(rules("attempts = \"unlimited\"").attempts, None);
    assert_eq!(rules("capture_db = 5.5").capture, Some(Db::from_centi(550)));
    assert_eq!(rules("capture_db = \"never\"").capture, None);
    assert_eq!(rules("preamble_db = 6").preamble, Db::from_db(6));
    assert!(rules("eifs = \"after-any-error\"").eifs_after_any_error);
    assert!(rules("countdown = \"busy-counts-as-slot\"").busy_counts_as_slot);
    assert!(rules("no_retry_bit_on_rate_change = true").no_retry_bit_on_rate_change);
}

#[test]
fn a_radio_may_differ_from_what_the_air_says() {
    let general = "air = { rts_threshold_bytes = 500, carrier_sense_dbm = -90, energy_detection_dbm = -70 }";
    let everybody = Thresholds {
        rts: Some(Bytes::new(500)),
        carrier_sense: Dbm::from_dbm(-90),
        energy_detection: Dbm::from_dbm(-70),
    };
    let both = plan(TOP, general);
    assert_eq!((of_ap(&both), both.client().thresholds), (everybody, everybody));
    let ap = plan(AP, "rts_threshold_bytes = 1000\ncarrier_sense_dbm = -75");
    let own = Thresholds {
        rts: Some(Bytes::new(1_000)),
        carrier_sense: Dbm::from_dbm(-75),
        ..Thresholds::default()
    };
    assert_eq!(of_ap(&ap), own);
    assert_eq!(ap.client().thresholds, Thresholds::default());
    let client = plan(CLIENT, "energy_detection_dbm = -50");
    assert_eq!(client.client().thresholds.energy_detection, Dbm::from_dbm(-50));
    assert_eq!(of_ap(&client), Thresholds::default());
}

#[test]
fn invalid_values_are_refused_with_their_place() {
    let table = [
        (
            TOP,
            "air = { attempts = 0 }",
            "bad.toml:3:20: `attempts` is 0; give a whole number from 1 to 255",
        ),
        (
            TOP,
            "air = { attempts = \"many\" }",
            "bad.toml:3:20: `attempts` is \"many\"; give \"unlimited\"",
        ),
        (
            TOP,
            "air = { capture_db = false }",
            "bad.toml:3:22: `capture_db` is false; give a number from 0 to 60 dB",
        ),
        (
            TOP,
            "air = { retries = 7 }",
            "bad.toml:3:9: unknown key `retries` in [air]; known here: attempts, preamble_db, capture_db, eifs, countdown, \
             no_retry_bit_on_rate_change, rts_threshold_bytes, carrier_sense_dbm, energy_detection_dbm",
        ),
        (
            AP,
            "carrier_sense_dbm = -120",
            "bad.toml:6:21: `carrier_sense_dbm` is -120; give a number from -110 to 0 dBm",
        ),
        (
            AP,
            "rts_threshold_bytes = 70000",
            "bad.toml:6:23: `rts_threshold_bytes` is 70000; give a whole number from 0 to 65535",
        ),
        (
            CLIENT,
            "energy_detection_dbm = -90",
            "bad.toml:23:24: energy is detected from -90.00 dBm, below the -82.00 dBm of preambles; raise `energy_detection_dbm`, or lower `carrier_sense_dbm`",
        ),
        (
            TOP,
            "air = { carrier_sense_dbm = -60 }",
            "bad.toml:3:29: energy is detected from -62.00 dBm, below the -60.00 dBm of preambles; raise `energy_detection_dbm`, or lower `carrier_sense_dbm`",
        ),
    ];
    for (place, keys, expected) in table {
        let found = messages(edited(place, &format!("{place}\n{keys}")));
        assert_eq!(found, [expected], "{keys}");
    }
}

#[test]
fn carrier_sense_keys_are_refused_on_the_wfq_medium() {
    let coarse = |place: &str, keys: &str| {
        let text = sound::SOUND
            .replace(TOP, &format!("{TOP}\nmedium = \"wfq\""))
            .replace(AP, &format!("{AP}\nwfq = {{ packet_ms = 1 }}"))
            .replace(place, &format!("{place}\n{keys}"));
        messages(sound::read(&text, &[]))
    };
    assert_eq!(
        coarse(TOP, "air = { attempts = 4 }"),
        [
            "bad.toml:3:1: [air] has no effect with `medium = \"wfq\"`, which models no carrier sense; remove it, or `medium = \"wfq\"`"
        ]
    );
    assert_eq!(
        coarse(CLIENT, "carrier_sense_dbm = -90"),
        [
            "bad.toml:25:21: `carrier_sense_dbm` has no effect with `medium = \"wfq\"`, which models no carrier sense; remove it, or `medium = \"wfq\"`"
        ]
    );
}

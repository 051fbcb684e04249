//! Boots the virtual machine and runs trials in it.
//!
//! `make test-wifi` also runs each trial several times, and compares the medians with what they must
//! reach.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guest::image::{self, Freshness, Image, ImageError};
use guest::machine::{self, Job, MachineError, Outcome};
use guest::packages::PackagesError;
use guest::tool;
use guest::trials;
use serde_json::Value;

/// Time on this host for one trial. Time in the guest does not depend on it.
const LIMIT: Duration = Duration::from_secs(900);
/// Bytes of a trial's download, and bytes after which an access point is killed.
const DOWNLOAD: (u64, u64) = (8_000_000, 1_000_000);

/// The image, or `None` with the reason where it cannot be had.
fn image() -> Option<Image> {
    if let Some(missing) = tool::missing() {
        println!("skipped: {missing}");
        return None;
    }
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guest");
    match image::ready(&cache, Freshness::Cached, &mut |what| println!("{what}")) {
        Ok(image) => Some(image),
        Err(ImageError::Packages(error @ PackagesError::Lists(_))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}: {error:?}"),
    }
}

/// A directory for results, empty.
fn share(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Programs of this project, by name.
fn built(names: &[&str]) -> Vec<PathBuf> {
    let meter = Path::new(env!("CARGO_BIN_EXE_wifi-meter"));
    names.iter().map(|name| meter.with_file_name(name)).collect()
}

/// Runs a trial, and returns its figures.
fn figures(image: &Image, name: &str) -> Value {
    let trial = trials::named(name).unwrap();
    let programs = built(trial.programs);
    let share = share(name);
    let job = Job {
        script: trial.script,
        programs: &programs,
        scenario: trial.scenario,
        share: &share,
        limit: LIMIT,
    };
    let Outcome { code, console } = machine::run(image, &job, &mut |_| {}).unwrap();
    assert_eq!(code, 0, "{name}; logs in {}:\n{console}", share.display());
    let figures = fs::read_to_string(share.join("figures.json")).unwrap();
    serde_json::from_str(&figures).unwrap()
}

/// The transfer is whole, went on over the second access point, and the fault fell into it.
fn assert_survived(figures: &Value) {
    let download = &figures["download"];
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(download["sha256"], figures["sent_sha256"], "{figures:#}");
    assert_eq!(number(&download["bytes"]), DOWNLOAD.0, "{figures:#}");
    assert!(number(&figures["first_bytes"]) > 0, "{figures:#}");
    let after_fault = DOWNLOAD.0 - DOWNLOAD.1;
    assert!(number(&figures["second_bytes"]) > after_fault / 2, "{figures:#}");
}

#[test]
fn linux_alone_survives_a_killed_access_point() {
    let Some(image) = image() else { return };
    assert_survived(&figures(&image, "kernel-alone"));
}

#[test]
fn slowhand_survives_a_killed_access_point() {
    let Some(image) = image() else { return };
    assert_survived(&figures(&image, "slowhand"));
}

/// A figure of a trial.
fn number(figures: &Value, pointer: &str) -> f64 {
    let found = figures.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no {pointer} in {figures:#}"))
}

/// The Retry bit tells of lost attempts, the air loses what the scenario says, and the daemon knows it.
#[test]
fn retries_and_estimates_agree_with_what_the_air_has_lost() {
    let Some(image) = image() else { return };
    let figures = figures(&image, "loss-slowhand");
    let mut heard = 0.0;
    for ap in figures["retries"]["access_points"].as_array().unwrap() {
        heard += number(ap, "/heard");
        // Within four standard deviations of this many frames.
        let share = number(ap, "/configured_percent") / 100.0;
        let deviation = 100.0 * (share * (1.0 - share) / number(ap, "/heard")).sqrt();
        let error = number(ap, "/lost_alone_percent") - number(ap, "/configured_percent");
        assert!(error.abs() <= 4.0 * deviation, "{figures:#}");
    }
    assert!(heard >= 1_000.0, "{figures:#}");
    assert!(number(&figures, "/retries/worst_points") <= 1.0, "{figures:#}");
    assert!(number(&figures, "/estimates/loss_points/n") >= 5.0, "{figures:#}");
    assert!(
        number(&figures, "/estimates/loss_points/median") <= 5.0,
        "{figures:#}"
    );
}

#[test]
fn a_walk_uses_every_access_point_in_its_time() {
    let Some(image) = image() else { return };
    let figures = figures(&image, "walk-slowhand");
    for ap in figures["air"].as_array().unwrap() {
        assert!(number(ap, "/bytes") > 500_000.0, "{figures:#}");
    }
    for (pointer, most) in [("loss_points", 5.0), ("airtime_percent", 15.0)] {
        let error = |what| number(&figures, &format!("/estimates/{pointer}/{what}"));
        assert!(error("n") >= 5.0 && error("median") <= most, "{figures:#}");
    }
}

/// Without its medium, the kernel delivers every frame: a trial must not pass then.
#[test]
fn a_trial_whose_medium_has_died_fails() {
    let Some(image) = image() else { return };
    let share = share("dead-medium");
    let job = Job {
        script: ". /lib/box.sh\nradios 2\nmedium\nkill -KILL $MEDIUM\nwait $MEDIUM || true\nmedium_end\n",
        programs: &built(&["wifi-medium"]),
        scenario: trials::named("loss-alone").unwrap().scenario,
        share: &share,
        limit: LIMIT,
    };
    let Outcome { code, console } = machine::run(&image, &job, &mut |_| {}).unwrap();
    assert_eq!(code, 1, "{console}");
    assert!(console.contains("the medium has ended by itself"), "{console}");
}

#[test]
fn slowhand_joins_access_points_by_itself_and_leaves_the_host_as_it_was() {
    let Some(image) = image() else { return };
    assert_survived(&figures(&image, "joins"));
}

#[test]
fn slowhand_joins_four_access_points_and_refuses_impostors_and_wrong_keys() {
    let Some(image) = image() else { return };
    let figures = figures(&image, "joins-four");
    let download = &figures["download"];
    assert_eq!(download["sha256"], figures["sent_sha256"], "{figures:#}");
    assert_eq!(download["bytes"].as_u64(), Some(DOWNLOAD.0), "{figures:#}");
    assert_eq!(figures["subflows"], 4, "{figures:#}");
}

#[test]
fn exit_codes_files_and_the_time_limit_leave_the_guest() {
    let Some(image) = image() else { return };
    let share = share("limits");
    let run = |script: &str, limit| {
        let job = Job {
            script,
            programs: &[],
            scenario: None,
            share: &share,
            limit,
        };
        machine::run(&image, &job, &mut |_| {})
    };
    let ended = run("echo from the guest >/share/file; uname -r; exit 7", LIMIT).unwrap();
    assert_eq!(ended.code, 7, "{}", ended.console);
    assert!(ended.console.contains("6.12"), "{}", ended.console);
    assert_eq!(
        fs::read_to_string(share.join("file")).unwrap(),
        "from the guest\n"
    );
    let stopped = run("exit 0", Duration::ZERO);
    assert!(
        matches!(stopped, Err(MachineError::TimeLimit { .. })),
        "{stopped:?}"
    );
}

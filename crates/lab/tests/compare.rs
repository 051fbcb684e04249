//! Several runs side by side.

mod plans;

use lab::compare::{Compare, Progress};
use lab::stop::Stop;
use lab::world::Play;
use plans::{DOWNLOAD, two_cables};
use std::sync::Mutex;
use trace::PolicyName;
use units::Duration;

#[test]
fn runs_side_by_side_do_not_see_each_other() {
    let plan = two_cables(4, DOWNLOAD);
    let policies = ["mptcp", "tcp:left", "tcp:right", "slowhand"];
    let runs: Vec<Play<'_>> = policies
        .iter()
        .map(|name| Play::new(&plan, name.parse().unwrap()))
        .collect();
    let compare = Compare {
        side_by_side: 2,
        late: Duration::from_secs(10),
    };
    let ended = Mutex::new(Vec::new());
    let results = compare.run(&runs, &Stop::new(), &|progress| {
        if let Progress::Ends { run } = progress {
            ended.lock().unwrap().push(run);
        }
    });
    for (result, policy) in results.iter().zip(policies) {
        let played = result.as_ref().unwrap().as_ref().unwrap();
        assert_eq!(played.run.policy.to_string(), policy);
        assert!(
            played.run.intact() && played.run.bytes() > 500_000,
            "{:#?}",
            played.run
        );
    }
    let mut ended = ended.into_inner().unwrap();
    ended.sort_unstable();
    assert_eq!(ended, [0, 1, 2, 3]);
}

#[test]
fn a_late_run_is_repeated_alone_and_says_so() {
    let plan = two_cables(2, DOWNLOAD);
    let runs = [
        Play::new(&plan, PolicyName::Mptcp),
        Play::new(&plan, PolicyName::Mptcp),
    ];
    // Every packet is later than nothing at all.
    let compare = Compare {
        side_by_side: 2,
        late: Duration::ZERO,
    };
    let late = Mutex::new(Vec::new());
    let results = compare.run(&runs, &Stop::new(), &|progress| {
        if let Progress::Late { run, .. } = progress {
            late.lock().unwrap().push(run);
        }
    });
    assert_eq!(late.into_inner().unwrap(), [0, 1]);
    for result in results {
        let played = result.unwrap().unwrap();
        assert!(
            played.run.notes[0].starts_with("repeated alone: beside others the emulator was"),
            "{:?}",
            played.run.notes
        );
        assert_eq!(played.record.summary(), Some(&played.run));
    }
}

#[test]
fn after_a_stop_nothing_more_is_begun() {
    let plan = two_cables(60, DOWNLOAD);
    let runs: Vec<Play<'_>> = (0..3).map(|_| Play::new(&plan, PolicyName::Mptcp)).collect();
    let stop = Stop::new();
    let compare = Compare {
        side_by_side: 1,
        ..Compare::default()
    };
    let results = compare.run(&runs, &stop, &|progress| {
        if let Progress::Event { event, .. } = progress
            && event.t_ns > 500_000_000
        {
            stop.stop();
        }
    });
    assert!(results[0].as_ref().unwrap().as_ref().unwrap().stopped);
    assert!(results[1].is_none() && results[2].is_none());
}

//! The runner on small scenarios, and the files of every study.

use super::super::PAPERS;
use super::super::folder::{Files, Folder};
use super::*;

const SCENARIO: &str = "
    sentence = \"Two cables.\"
    duration_s = 6
    [cables.quick]
    rate_mbps = 8
    rtt_ms = 20
    [cables.slow]
    rate_mbps = 2
    rtt_ms = 20
    [flows.load]
    direction = \"down\"
";
const STUDY: &str = "
    seeds = 2
    warmup_s = 2
    [[figures]]
    title = \"A sweep\"
    x = \"rate\"
    y = \"goodput, Mb/s\"
    at = [4, 8]
    set = [\"cables.quick.rate_mbps={x}\"]
    cases = [{ name = \"tcp\", policy = \"tcp:quick\" }, { name = \"both\", policy = \"mptcp\" }]
    ratios = [{ name = \"gain\", of = \"both_sum\", over = [\"tcp_sum\"] }]
    differences = [{ name = \"more\", of = \"both_sum\", over = [\"both_sum\", \"tcp_sum\"] }]
    [[figures]]
    title = \"A table\"
    x = \"row\"
    y = \"goodput, Mb/s\"
    show = [\"load\", \"share slow load\"]
    also = [\"stall load\", \"rtt 25 slow\"]
    cases = [{ name = \"row\", set = [\"cables.slow.rate_mbps=4\"] }]
    [[figures]]
    title = \"Over time\"
    x = \"time, s\"
    y = \"goodput, Mb/s\"
    every_s = 2
    cases = [{ name = \"time\", policy = \"tcp:slow\" }]
    [[figures]]
    title = \"Combinations\"
    x = \"combination\"
    y = \"goodput, Mb/s\"
    combine = { quick = [8, 4], slow = [1, 2] }
    set = [\"cables.quick.rate_mbps={quick}\", \"cables.slow.rate_mbps={slow}\"]
    cases = [{ name = \"quick\", policy = \"tcp:quick\" }, { name = \"slow\", policy = \"tcp:slow\" }]
    ratios = [{ name = \"slower\", of = \"slow_sum\", over = [\"quick_sum\"] }]
    [[figures]]
    title = \"A sweep whose places have settings\"
    x = \"rate\"
    y = \"goodput, Mb/s\"
    at = [1, 2]
    at_set = [[\"cables.slow.rate_mbps=4\"], []]
    cases = [{ name = \"own\", policy = \"tcp:slow\" }]
";
const FILES: Files = &[("scenario.toml", SCENARIO), ("study.toml", STUDY)];
const PUBLISHED: &str = "[[figures]]\nname = \"tcp_sum_8\"\nvalue = 7.5\nwhere = \"a table\"\n";

fn folder(files: Files) -> Folder {
    Folder::read("test", PUBLISHED, "claims = []", files).unwrap()
}

#[test]
fn values_have_the_names_of_case_value_and_place() {
    let folder = folder(FILES);
    let Experiment { measured, figures } = run(&folder, &|_| ()).unwrap();
    let near = |name: &str, expected: f64| {
        let value = measured[name];
        assert!((value - expected).abs() < 0.05 * expected, "{name}: {value}");
    };
    // Headers take 5 % of the rate.
    near("tcp_sum_4", 3.8);
    near("tcp_sum_8", 7.6);
    near("tcp_sum_most", 7.6);
    let gain = |at: u8| 100.0 * measured[&format!("both_sum_{at}")] / measured[&format!("tcp_sum_{at}")];
    assert_eq!(measured["gain_8"], gain(8));
    assert_eq!(measured["gain_least"], gain(4).min(gain(8)));
    assert!(gain(8) > 105.0, "two cables carry more than one");
    assert_eq!(measured["more_8"], measured["both_sum_8"] - measured["tcp_sum_8"]);
    // Of 8 and 4 Mb/s.
    let share = measured["row_share_slow_load"];
    assert!((15.0..50.0).contains(&share), "{share}");
    near("time_sum_4", 1.9);
    near("time_sum_6", 1.9);
    assert!(measured["row_stall_load"] < 1.0);
    let rtt = measured["row_rtt_25_slow"];
    assert!((20.0..500.0).contains(&rtt), "{rtt} ms, of which the wire has 20");
    near("quick_sum_mean", 5.7);
    near("quick_sum_median", 5.7);
    near("slow_sum_least", 0.95);
    near("slow_sum_most", 1.9);
    near("slower_least", 12.5);
    near("slower_most", 50.0);
    near("own_sum_1", 3.8);
    near("own_sum_2", 1.9);
    let [sweep, table, time, combined, _] = &figures[..] else {
        panic!("five figures")
    };
    let ascending = |pair: &[[f64; 2]]| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1];
    let drawn = &combined.series[0].points;
    assert!(drawn.len() == 4 && drawn.windows(2).all(ascending), "{drawn:?}");
    let named: Vec<&str> = sweep.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(named, ["tcp", "both", "tcp, published"]);
    assert_eq!(sweep.series[2].points, [[8.0, 7.5]]);
    assert_eq!(table.series.len(), 2, "one for each column that is shown");
    assert_eq!(time.series[0].points.len(), 2);
}

#[test]
fn what_has_no_meaning_is_refused() {
    let refused = |study: &'static str| {
        let files: Files = Box::leak(Box::new([("scenario.toml", SCENARIO), ("study.toml", study)]));
        run(&folder(files), &|_| ()).err().unwrap()
    };
    let head = "seeds = 1\n[[figures]]\ntitle = \"A\"\nx = \"x\"\ny = \"y\"\n";
    for (rest, said) in [
        (
            "cases = [{ name = \"a\" }]\nshow = [\"other\"]",
            "no flow `other`",
        ),
        (
            "cases = [{ name = \"a\" }]\nevery_s = 1\nshow = [\"stall load\"]",
            "no value over time",
        ),
        (
            "cases = [{ name = \"a\" }]\nratios = [{ name = \"r\", of = \"a_sum\", over = [\"b_sum\"] }]",
            "no value `b_sum`",
        ),
        ("cases = [{ name = \"a\", scenario = \"b.toml\" }]", "no `b.toml`"),
        ("cases = [{ name = \"a\" }]\nat = [1]\nevery_s = 1", "several of"),
        (
            "cases = [{ name = \"a\" }]\nat = [1]\nat_set = [[], []]",
            "one for each",
        ),
        (
            "cases = [{ name = \"a\", set = [\"cables.slow.rtt_ms={b}\"] }]\ncombine = { b = [1] }\nat_set = [[]]",
            "`at_set` without `at`",
        ),
        (
            "cases = [{ name = \"a\" }]\nevery_s = 1\nat_set = [[]]",
            "`at_set` without `at`",
        ),
        (
            "cases = [{ name = \"a\", set = [\"cables.slow.rtt_ms={b}\"] }]\ncombine = { b = [1], c = [2] }",
            "no setting has `{c}`",
        ),
        ("cases = [{ name = \"a\", polity = \"mptcp\" }]", "polity"),
    ] {
        let error = format!(
            "{:#}",
            refused(Box::leak(format!("{head}{rest}").into_boxed_str()))
        );
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn gaps_are_not_measured_with_faults() {
    const AIR: &str = "sentence = \"Datagrams.\"\nduration_s = 2\n\
        [aps.near]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nrate_mbps = 54\n\
        backhaul = { rate_mbps = 20, rtt_ms = 4 }\n[walkers.client]\nat_m = [5, 0]\n\
        [flows.load]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"down\"\nevery_ms = 5\n\
        [[faults]]\nkind = \"down\"\nlink = \"near\"\nat_s = 1\n";
    const GAPS: &str = "seeds = 1\n[[figures]]\ntitle = \"A\"\nx = \"x\"\ny = \"y\"\n\
        show = [\"gap 50\"]\ncases = [{ name = \"a\" }]\n";
    let error = run(&folder(&[("scenario.toml", AIR), ("study.toml", GAPS)]), &|_| ());
    let error = format!("{:#}", error.err().unwrap());
    assert!(error.contains("`gap` is not measured with faults"), "{error}");
}

/// Every study of `papers/`.
fn studies() -> impl Iterator<Item = Folder> {
    let papers = PAPERS.iter().map(|paper| paper.folder().unwrap());
    papers.filter(|folder| folder.file("study.toml").is_ok())
}

#[test]
fn every_case_can_be_played() {
    let mut count = 0;
    for folder in studies() {
        let study = Study::read(&folder).unwrap();
        for figure in &study.figures {
            for job in study.jobs(figure).iter().filter(|job| job.seed == 1) {
                let plan = job.plan().unwrap();
                sim::check(&plan).unwrap();
                for flow in figure.values().filter_map(|value| value.quantity.flow()) {
                    assert!(plan.flows.iter().any(|known| known.name == flow), "{flow}");
                }
                if let Some(link) = job.case.policy.only_link() {
                    assert!(plan.link_index(link).is_some(), "{link}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 0);
}

#[test]
fn every_claim_is_about_a_value_that_is_measured() {
    for folder in studies() {
        let study = Study::read(&folder).unwrap();
        let mut measured = Figures::new();
        for figure in &study.figures {
            let jobs = study.jobs(figure);
            let trials: Vec<Trial> = jobs
                .iter()
                .map(|job| Trial::of_nothing(&job.plan().unwrap()))
                .collect();
            measured.extend(Table::of(&study, figure, &trials).unwrap().named());
        }
        let claims = folder.judge(&measured).unwrap();
        assert!(!claims.is_empty(), "{}", folder.id());
        for name in folder.names() {
            assert!(measured.contains_key(name), "{}: published `{name}`", folder.id());
        }
    }
}

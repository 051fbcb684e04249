use super::*;
use trace::{FlowMeter, PlaySchema, SetValue, TimesMs, World};
use units::{Duration, Instant};

/// A run with this goodput in Mb/s, whose first byte comes after `first_ms`, if it does.
fn run(policy: &str, seed: u64, set: &[(&str, SetValue)], (mbps, first_ms): (u64, Option<u64>)) -> Run {
    let mut meter = FlowMeter::new("download", Instant::ZERO);
    if let Some(ms) = first_ms {
        meter.read(Instant::from_millis(ms), mbps * 125_000);
    }
    meter.end(Instant::from_millis(1_000));
    let flow = meter.result(Instant::ZERO + Duration::from_secs(1), true, Vec::new());
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    Run {
        case: Case {
            world: None,
            set: set.collect(),
        },
        ..Run::of_flows(policy.parse().unwrap(), seed, 1.0, vec![flow])
    }
}

fn document(runs: Vec<Run>) -> PlayDocument {
    PlayDocument {
        schema: PlaySchema,
        scenario: "x".into(),
        world: World::Sim,
        seed: 1,
        runs,
        wall_s: 1.0,
    }
}

fn over_seeds() -> PlayDocument {
    let seeds = [(4, Some(10)), (2, Some(30)), (6, Some(20)), (8, None)];
    let mptcp = (1..)
        .zip(seeds)
        .map(|(seed, figures)| run("mptcp", seed, &[], figures));
    let slowhand = (1..5).map(|seed| run("slowhand", seed, &[], (9, Some(5))));
    document(mptcp.chain(slowhand).collect())
}

#[test]
fn without_a_swept_key_each_figure_is_a_distribution_over_the_seeds() {
    let document = over_seeds();
    let study = Study::of(&document);
    assert_eq!(study.headline(), "8 runs: 2 policies, 4 seeds");
    let plots = study.plots();
    let titles: Vec<&str> = plots.iter().map(|plot| plot.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "goodput over the seeds",
            "longest stall over the seeds",
            "first byte over the seeds"
        ]
    );
    let names: Vec<&str> = plots[0].curves.iter().map(|curve| curve.name.as_str()).collect();
    assert_eq!(names, ["mptcp", "slowhand"]);
    // The fourth run moved nothing, so its goodput is 0, and it never has a first byte.
    let goodput: Vec<[f64; 2]> = plots[0].curves[0].points.iter().copied().step_by(2).collect();
    assert_eq!(goodput, [[0.0, 0.0], [2.0, 0.25], [4.0, 0.5], [6.0, 0.75]]);
    let first_byte = plots[2].curves[0].points.last().unwrap();
    assert_eq!(first_byte, &[30.0, 0.75]);
}

#[test]
fn a_long_distribution_has_no_more_steps_than_the_picture() {
    let values: Vec<f64> = (0..12_345).map(f64::from).collect();
    let corners = steps(values, 12_345);
    assert!(corners.len() <= 2 * MOST_STEPS + 2, "{}", corners.len());
    assert_eq!(corners.last(), Some(&[12_344.0, 1.0]));
    assert!(corners.is_sorted_by(|one, next| one[1] <= next[1]));
}

/// Two policies, two seeds, and every combination of these values.
fn swept(keys: &[(&'static str, &[SetValue])]) -> PlayDocument {
    let mut sets: Vec<Vec<(&str, SetValue)>> = vec![Vec::new()];
    for (key, values) in keys {
        let with = |set: &Vec<_>, value: &SetValue| [&set[..], &[(*key, value.clone())]].concat();
        let of_set = |set| values.iter().map(|value| with(set, value)).collect::<Vec<_>>();
        sets = sets.iter().flat_map(of_set).collect();
    }
    let mut runs = Vec::new();
    for (place, set) in sets.iter().enumerate() {
        for policy in ["mptcp", "slowhand"] {
            let extra = u64::from(policy == "slowhand") * 100;
            runs.extend(
                [1, 3].map(|mbps| run(policy, mbps, set, (10 * place as u64 + mbps + extra, Some(1)))),
            );
        }
    }
    document(runs)
}

#[test]
fn a_swept_key_is_an_axis_with_the_spread_over_the_seeds() {
    let rates = [54, 6, 24].map(SetValue::Integer);
    let document = swept(&[("aps.near.rate_mbps", &rates)]);
    let study = Study::of(&document);
    assert_eq!(
        study.headline(),
        "12 runs: 2 policies, 2 seeds, 3 values of aps.near.rate_mbps"
    );
    let plot = &study.plots()[0];
    let labels: Vec<&str> = plot.ticks.iter().map(|(_, label)| label.as_str()).collect();
    assert_eq!(labels, ["6", "24", "54"], "in the order of the numbers");
    let mptcp = &plot.curves[0];
    assert_eq!(mptcp.points, [[6.0, 12.0], [24.0, 22.0], [54.0, 2.0]]);
    assert_eq!(mptcp.spread[0], [6.0, 11.0, 13.0]);
}

#[test]
fn words_stand_side_by_side_in_their_order() {
    let rates = [
        SetValue::Integer(54),
        SetValue::Text("auto".into()),
        SetValue::Integer(6),
    ];
    let document = swept(&[("rate", &rates)]);
    let plot = &Study::of(&document).plots()[0];
    let expected = [(0.0, "54"), (1.0, "auto"), (2.0, "6")].map(|(at, label)| (at, label.to_owned()));
    assert_eq!(plot.ticks, expected);
}

#[test]
fn each_value_of_another_key_is_a_curve_until_there_are_too_many() {
    let (rates, few) = ([6, 54].map(SetValue::Integer), [1, 2].map(SetValue::Integer));
    let document = swept(&[("rate", &rates), ("streams", &few)]);
    let plots = Study::of(&document).plots();
    assert_eq!(plots.len(), 6, "three figures over two keys");
    let names: Vec<&str> = plots[0].curves.iter().map(|curve| curve.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "mptcp, streams=1",
            "slowhand, streams=1",
            "mptcp, streams=2",
            "slowhand, streams=2"
        ]
    );
    let many: Vec<SetValue> = (1..8).map(SetValue::Integer).collect();
    let document = swept(&[("rate", &rates), ("streams", &many)]);
    let plot = &Study::of(&document).plots()[0];
    assert_eq!(plot.curves.len(), 2);
    assert!(
        plot.title.ends_with("all other values together"),
        "{}",
        plot.title
    );
}

#[test]
fn the_table_has_a_row_for_each_flow_of_each_group() {
    let document = over_seeds();
    let figures = Study::of(&document).table();
    assert_eq!(figures.header[..3], ["policy", "flow", "runs"]);
    assert_eq!(
        figures.rows,
        [
            [
                "mptcp", "download", "4", "3.000", "0.000", "6.000", "735", "990", "20.0", "30.0", "–", "–",
                "–"
            ],
            [
                "slowhand", "download", "4", "9.000", "9.000", "9.000", "995", "995", "5.0", "5.0", "–", "–",
                "–"
            ]
        ]
    );
    let text = crate::terminal::study(&document, "what it shows", crate::terminal::Paint::Plain, 120);
    assert!(text.starts_with("what it shows\n\npolicy "), "{text}");
    let svg = study_svg(&document);
    assert_eq!(svg.matches("<svg").count(), 4, "three plots in one picture");
}

#[test]
fn the_page_of_many_runs_is_self_contained_and_escapes_names() {
    let values = [SetValue::Text("<a>".into()), SetValue::Text("b".into())];
    let document = swept(&[("k", &values)]);
    let page = crate::study_page(&document, "shows <this>");
    assert!(page.contains("shows &lt;this&gt;") && page.contains("&lt;a&gt;") && !page.contains("<a>"));
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("http://www.w3.org/1999"));
    assert_eq!(page.matches("<figure>").count(), 3);
}

#[test]
fn the_table_has_times_of_replies_if_there_are_any() {
    let mut document = over_seeds();
    assert!(
        !Study::of(&document)
            .table()
            .header
            .contains(&"reply ms".to_owned())
    );
    for run in &mut document.runs {
        run.flows[0].reply = TimesMs::of(vec![Duration::from_millis(40); 3]);
    }
    let table = Study::of(&document).table();
    assert_eq!(table.header.len(), table.rows[0].len());
    assert_eq!(table.header[table.header.len() - 2..], ["reply ms", "99 %"]);
    assert!(table.rows[0].ends_with(&["40.00".to_owned(), "40.00".to_owned()]));
}

//! Tests of the sentences and figures in every output format.

mod synthetic;

use dash::terminal::{Paint, fitted, table};
use synthetic::comparison;
use trace::PolicyName;

#[test]
fn the_table_is_aligned_and_ordered() {
    let (_, document) = comparison();
    let text = table(&document, Paint::Plain);
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("policy"))
        .collect();
    let policies: Vec<&str> = lines[2..]
        .iter()
        .map_while(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(policies[..2], ["slowhand", "slowhand-no-window"]);
    let best = policies.iter().position(|policy| *policy == "tcp-best").unwrap();
    assert!(
        policies[best + 1..]
            .iter()
            .all(|policy| policy.starts_with("tcp:")),
        "{policies:?}"
    );
    let column = |line: &str| line.find(" Mb/s").map(|at| line[..at].chars().count());
    let ends: Vec<_> = lines[2..2 + policies.len()]
        .iter()
        .map(|line| column(line))
        .collect();
    assert!(ends.iter().all(|end| end.is_some() && *end == ends[0]), "{text}");
}

#[test]
fn the_congestion_controller_is_shown_if_there_is_one() {
    let (records, mut document) = comparison();
    let told =
        |document: &trace::PlayDocument| [table(document, Paint::Plain), dash::page(&records, document)];
    let [text, page] = told(&document);
    assert!(
        text.contains("seed 7; sender's congestion controller reno, server stock.\n"),
        "{text}"
    );
    assert!(page.contains("Sender's congestion controller: reno; a stock server."));
    for run in &mut document.runs {
        run.cc = None;
    }
    let [text, page] = told(&document);
    assert!(text.contains("seed 7.\n"), "{text}");
    for shown in [text, page] {
        assert!(!shown.contains("controller") && !shown.contains("stock server") && !shown.contains("reno"));
    }
}

#[test]
fn buffer_levels_are_shown_for_every_run_that_recorded_them() {
    let (_, mut document) = comparison();
    for run in &mut document.runs {
        run.levels = trace::Levels::default();
    }
    assert!(!table(&document, Paint::Plain).contains("buffered"));
    document.runs[0].levels = trace::Levels {
        server_queue_bytes: Some(410_000),
        window_bytes: Some(1_100_000),
        held_bytes: Some(52_000),
    };
    document.runs[1].levels.server_queue_bytes = Some(6_000_000);
    let (text, page) = (table(&document, Paint::Plain), dash::page(&[], &document));
    for (line, cells) in [
        (0, ["410 kB", "1.1 MB", "52 kB"]),
        (1, ["6.0 MB", "set by the kernel", "unknown"]),
    ] {
        let name = document.runs[line].policy.to_string();
        let told = text.split("buffered (means)").nth(1).unwrap();
        let told = told
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name.as_str()));
        assert!(cells.iter().all(|cell| told.unwrap().contains(cell)), "{text}");
        assert!(cells.iter().all(|cell| page.contains(cell)));
    }
}

#[test]
fn the_table_has_colour_only_on_request() {
    let (_, document) = comparison();
    let (plain, colour) = (table(&document, Paint::Plain), table(&document, Paint::Colour));
    assert!(!plain.contains('\x1b'));
    assert!(colour.contains("\x1b[1;31m"), "long stalls are highlighted");
    let mut stripped = colour;
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain, "colour changes only escapes");
}

#[test]
fn a_narrow_terminal_shows_every_figure_in_lines_that_fit() {
    let (_, mut document) = comparison();
    document.runs[0].notes = vec!["said once, at some length, of one run".to_owned()];
    let wide = table(&document, Paint::Plain);
    let widest = wide.lines().map(|line| line.chars().count()).max().unwrap();
    assert_eq!(fitted(&document, Paint::Plain, widest), wide);
    for width in 20..widest {
        let text = fitted(&document, Paint::Plain, width);
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= width, "{width}: {longest}\n{text}");
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        for run in &document.runs {
            let goodput = format!("{:.1}Mb/s", run.goodput_mbps());
            assert!(squeezed(&text).contains(&goodput), "{width}: {goodput}\n{text}");
            assert!(squeezed(&text).contains(&run.policy.to_string()), "{width}");
        }
    }
    let block = "\nslowhand\n    data: ";
    assert!(fitted(&document, Paint::Plain, 30).contains(block));
}

#[test]
fn control_characters_in_names_and_notes_are_escaped() {
    let (_, mut document) = comparison();
    document.scenario = "x\x1b[2J\nholds".to_owned();
    document.runs[0].notes = vec!["\u{9b}31m\rred".to_owned()];
    let text = table(&document, Paint::Plain);
    assert!(text.contains("Scenario x\\u{1b}[2J\\nholds, world "), "{text}");
    assert!(text.contains(": \\u{9b}31m\\rred\n"), "{text}");
}

#[test]
fn the_headline_agrees_with_the_figures() {
    let (_, mut document) = comparison();
    let bytes = document.run(&PolicyName::Slowhand).unwrap().bytes();
    let all = dash::headline(&document);
    assert!(
        all.starts_with(&format!(
            "slowhand moved {:.0} MB in 60 s without a stall. The best single network",
            bytes as f64 / 1e6
        )),
        "{all}"
    );
    assert!(
        all.contains("; hand-over ") && all.contains("; stock Multipath TCP "),
        "{all}"
    );
    document.runs.retain(|run| run.policy == PolicyName::Handover);
    let alone = dash::headline(&document);
    assert!(
        alone.starts_with("handover moved ") && alone.ends_with(", its longest stall 2.65 s."),
        "{alone}"
    );
    document.runs.clear();
    assert_eq!(dash::headline(&document), "Nothing was run.");
}

#[test]
fn several_seeds_are_averaged() {
    let (_, mut document) = comparison();
    document.runs.retain(|run| run.policy == PolicyName::Slowhand);
    let mut second = document.runs[0].clone();
    second.seed += 1;
    second.flows[0].bytes = 0;
    second.flows[0].longest_stall_ms = 400.0;
    document.runs.push(second);
    let half = document.runs[0].bytes() as f64 / 2e6;
    let expected =
        format!("slowhand moved {half:.0} MB in 60 s (mean of 2 seeds), its longest stall 400 ms.");
    assert_eq!(dash::headline(&document), expected);
    assert!(table(&document, Paint::Plain).contains("slowhand, seed 8"));
}

#[test]
fn data_not_received_intact_is_highlighted() {
    let (records, mut document) = comparison();
    document
        .runs
        .iter_mut()
        .for_each(|run| run.flows[0].intact = Some(false));
    assert!(table(&document, Paint::Plain).contains(" NO "));
    assert!(
        dash::page(&records, &document).contains("<td class=\"worst\"><span class=\"num\">NO</span></td>")
    );
}

use super::*;
use trace::{Event, What};
use units::{Duration, Instant};

fn read(millis: u64, bytes: u64) -> Event {
    Event::new(
        Instant::from_millis(millis),
        What::AppBytes {
            flow: "download".into(),
            bytes,
        },
    )
}

fn live() -> Live {
    let mut live = Live::new("slowhand", Duration::from_secs(8));
    for (millis, total) in [
        (500, 500_000),
        (1_000, 1_000_000),
        (2_000, 1_000_000),
        (3_000, 5_000_000),
    ] {
        live.observe(&read(millis, total));
    }
    live
}

#[test]
fn each_spark_is_one_second() {
    // 1 MB, nothing, 4 MB, and five more seconds to run.
    let line = progress(&[live()], 90, Paint::Plain);
    assert_eq!(
        line,
        "slowhand  ▂·█         32.0 Mb/s   5.0 MB  stall none        3/8 s\n"
    );
}

#[test]
fn lines_fit_the_width_and_share_one_scale() {
    let mut slow = Live::new("handover", Duration::from_secs(600));
    for second in 1..=600 {
        slow.observe(&read(second * 1_000, second * 500_000));
    }
    slow.observe(&Event::new(
        Instant::from_secs(600),
        What::Stall {
            flow: "d".into(),
            from_ns: 0,
            to_ns: 2_000_000_000,
        },
    ));
    let lines = progress(&[live(), slow], 100, Paint::Plain);
    assert!(lines.lines().all(|line| line.chars().count() <= 100), "{lines}");
    let second = lines.lines().nth(1).unwrap();
    assert!(
        second.contains("▁▁▁") && second.contains("300 MB") && second.contains("stall 2.00 s"),
        "{second}"
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let runs = [live(), Live::new("handover-warm", Duration::from_secs(60))];
    for width in 1..120 {
        let lines = progress(&runs, width, Paint::Plain);
        assert_eq!(lines.lines().count(), 2);
        assert!(
            lines.lines().all(|line| line.chars().count() <= width),
            "{width}: {lines}"
        );
    }
    assert_eq!(
        progress(&runs, 40, Paint::Plain),
        "slowhand       32.0 Mb/s 3/8 s\nhandover-warm  0.0 Mb/s 0/60 s\n"
    );
}

#[test]
fn a_stall_is_shown_while_it_lasts() {
    let mut live = live();
    live.observe(&read(3_400, 5_000_000));
    assert!(progress(&[live.clone()], 90, Paint::Plain).contains("stall none"));
    live.observe(&read(4_200, 5_000_000));
    let line = progress(&[live], 90, Paint::Plain);
    assert!(line.contains("waits 1.20 s"), "{line}");
}

#[test]
fn a_finished_run_is_marked_done() {
    let mut live = live();
    assert!(!live.is_done());
    let summary = Box::new(trace::tcp_best(&[single()]).unwrap());
    live.observe(&Event::new(Instant::from_secs(8), What::RunEnd { summary }));
    assert!(live.is_done() && live.bytes() == 5_000_000);
    assert!(progress(&[live], 90, Paint::Plain).ends_with("done\n"));
}

fn single() -> trace::Run {
    trace::Run {
        policy: trace::PolicyName::Tcp("lte".into()),
        case: trace::Case::default(),
        cc: Some("reno".into()),
        server: "stock".into(),
        seed: 1,
        duration_s: 10.0,
        flows: Vec::new(),
        links: Vec::new(),
        stations: Vec::new(),
        channels: Vec::new(),
        warmup_s: 0.0,
        energy_j: 0.0,
        optimal_mbps: 0.0,
        goodput_series: vec![1; 100],
        levels: trace::Levels::default(),
        notes: Vec::new(),
    }
}

#[test]
fn bars_have_a_resolution_of_an_eighth() {
    assert_eq!(bar(0.5, 4), "██  ");
    assert_eq!(bar(1.0 / 32.0, 4), "▏   ");
    assert_eq!(bar(7.0, 2), "██");
}

#[test]
fn plain_text_has_no_escapes() {
    assert!(!progress(&[live()], 90, Paint::Plain).contains('\x1b'));
    assert!(progress(&[live()], 90, Paint::Colour).contains('\x1b'));
}

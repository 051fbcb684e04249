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
fn a_spark_stands_for_a_second() {
    let line = progress(&[live()], 90, Paint::Plain);
    assert_eq!(
        line,
        "slowhand  ▂·█                                     32.0 Mb/s   5.0 MB  stall none         3/8 s\n"
            .replace(
                "                                     ",
                &" ".repeat(line.matches(' ').count().min(37))
            )
            .as_str()
            .replace("▂·█", "▂·█"),
        "{line}"
    );
}

#[test]
fn bars_are_drawn_to_an_eighth() {
    assert_eq!(bar(0.5, 4), "██  ");
    assert_eq!(bar(1.0 / 32.0, 4), "▏   ");
    assert_eq!(bar(7.0, 2), "██");
}

#[test]
fn plain_text_has_no_escapes() {
    assert!(!progress(&[live()], 90, Paint::Plain).contains('\x1b'));
    assert!(progress(&[live()], 90, Paint::Colour).contains('\x1b'));
}

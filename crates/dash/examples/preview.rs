//! Writes every output format of a synthetic comparison to a folder, to inspect while changing them:
//! `cargo run -p dash --example preview -- FOLDER`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use dash::terminal::{Live, Paint, progress, table};
use std::path::Path;
use trace::RunRecord;
use units::Duration;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let (records, document) = synthetic::comparison();
    std::fs::write(
        Path::new(&folder).join("page.html"),
        dash::page(&records, &document),
    )?;
    std::fs::write(
        Path::new(&folder).join("picture.svg"),
        dash::svg(&records, &document),
    )?;
    let lives: Vec<Live> = records.iter().map(live_at_two_thirds).collect();
    println!(
        "{}\n{}",
        progress(&lives, 120, Paint::Colour),
        table(&document, Paint::Colour)
    );
    Ok(())
}

/// State of the live display after two thirds of the run.
fn live_at_two_thirds(record: &RunRecord) -> Live {
    let start = record.start().expect("a run begins");
    let mut live = Live::new(
        start.policy.to_string(),
        Duration::from_secs_f64(start.plan.duration_s),
    );
    let early = |event: &&trace::Event| event.at().as_secs_f64() < start.plan.duration_s * 2.0 / 3.0;
    record
        .events
        .iter()
        .take_while(early)
        .for_each(|event| live.observe(event));
    live
}

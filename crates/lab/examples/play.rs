//! Plays a scenario once and prints what came of it: `play FILE POLICY [SEED]`, as root.

use lab::stop::Stop;
use lab::world::{Play, play};
use std::error::Error;
use std::path::Path;
use trace::What;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(policy)) = (arguments.next(), arguments.next()) else {
        return Err("usage: play FILE POLICY [SEED]".into());
    };
    let plan = scenario::load(Path::new(&file), &[])?;
    let mut what = Play::new(&plan, policy.parse()?);
    if let Some(seed) = arguments.next() {
        what.seed = seed.parse()?;
    }
    let played = play(&what, &Stop::new(), &mut |event| {
        let boring = matches!(
            event.what,
            What::Signal { .. }
                | What::Position { .. }
                | What::PathBytes { .. }
                | What::AppBytes { .. }
                | What::Lateness(_)
                | What::ServerQueue { .. }
                | What::RunStart(_)
                | What::RunEnd { .. }
                | What::Window { .. }
        );
        if !boring {
            println!("{:>8.3} {:?}", event.at().as_secs_f64(), event.what);
        }
    })?;
    let run = &played.run;
    for flow in &run.flows {
        println!("{flow:#?}");
    }
    println!(
        "{:.2} Mb/s of {:.2}; notes {:?}",
        run.goodput_mbps(),
        run.optimal_mbps,
        run.notes
    );
    println!(
        "emulator {:.2} cores, lateness {:?}",
        played.emulator.cores(),
        played.emulator.lateness.summary()
    );
    Ok(())
}

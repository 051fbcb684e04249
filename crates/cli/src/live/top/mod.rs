//! `slowhand top`: what each link and connection carries at the moment, drawn again every second.

mod rates;
mod screen;

use host::control::{AskError, Question, ask};
use host::document::{Connection, Status};
use host::place::Place;
use rates::{Between, Rates};
use screen::{Ended, Screen};
use show::Table;
use show::exit::{Refused, shown};
use show::terminal;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Show what each link and connection carries at the moment. `q` ends it.
///
/// Rates are payload per second since the page before. DOWN is received, UP is acknowledged by the peer.
/// Bytes that came over two links count once for their connection, and for each of the links.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand top
  slowhand top --every 0.5")]
pub struct Args {
    /// Seconds between two pages.
    #[arg(long, value_name = "S", default_value = "1", value_parser = interval)]
    every: Duration,

    #[command(flatten)]
    place: Place,
}

const LEAST: Duration = Duration::from_millis(200);
const MOST: Duration = Duration::from_secs(3_600);

fn interval(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let interval = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let allowed = interval.filter(|interval| (LEAST..=MOST).contains(interval));
    allowed.ok_or_else(|| "give seconds from 0.2 to 3600".to_owned())
}

/// Draws pages until the user ends it, or the daemon.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let on_terminal = io::stdin().is_terminal() && io::stdout().is_terminal() && !terminal::is_dumb();
    if !on_terminal {
        return Err(Refused::because(
            "`slowhand top` needs a terminal; use `slowhand status`, or `slowhand status --json` for programs",
        ));
    }
    let mut before = state(&args.place)?;
    let mut screen = Screen::open()?;
    // The first page needs two states, too, and should not be long in coming.
    let mut pause = LEAST;
    while screen.wait(pause)? == Ended::Due {
        let (at, status) = state(&args.place)?;
        let between = Between::of(&before.1, &status, at - before.0);
        let page = page(&status, &between, terminal::columns());
        screen.draw(&page, terminal::height(&io::stdout()))?;
        before = (at, status);
        pause = args.every;
    }
    Ok(ExitCode::SUCCESS)
}

/// A daemon that ends during an exchange hangs up. Asking again tells whether it has ended.
fn state(place: &Place) -> anyhow::Result<(Instant, Status)> {
    let status: Status = match ask(place, Question::Status) {
        Err(AskError::HungUp) => ask(place, Question::Status)?,
        answered => answered?,
    };
    Ok((Instant::now(), shown(&status)?))
}

/// One page for `width` columns.
fn page(status: &Status, between: &Between<'_>, width: usize) -> String {
    let head = format!(
        "slowhand, policy {}, up {:.0} s, {:.1} % of a core; q ends",
        status.policy,
        status.uptime_s,
        100.0 * status.cpu_s / status.uptime_s.max(1e-3),
    );
    let mut page = trace::wrapped(&head, width);
    page += "\n\n";
    page += &links(status, between).fitted(width);
    if !status.connections.is_empty() {
        page += "\n";
        page += &connections(status, between).fitted(width);
    }
    page
}

fn links(status: &Status, between: &Between<'_>) -> Table {
    let mut table = Table::new(&["LINK", "KIND", "STATE", "DOWN", "UP"]).numbers(3..5);
    for link in &status.links {
        let Rates { down, up } = between.link(&link.name);
        let star = if link.default_route { " *" } else { "" };
        table.row([
            &format!("{}{star}", link.name),
            &link.kind,
            &link.state,
            &down.to_string(),
            &up.to_string(),
        ]);
    }
    table
}

/// Connections with the greatest rates first, each with its subflows.
fn connections(status: &Status, between: &Between<'_>) -> Table {
    let mut table = Table::new(&["CONNECTION", "LINK", "STATE", "DOWN", "UP", "RTT"]).numbers(3..6);
    let mut busiest = Vec::from_iter(&status.connections);
    let carried = |connection: &Connection| {
        let Rates { down, up } = between.connection(connection);
        down + up
    };
    busiest.sort_by_key(|connection| std::cmp::Reverse(carried(connection)));
    for connection in busiest {
        let Rates { down, up } = between.connection(connection);
        let state = if connection.left_alone.is_some() {
            "left alone"
        } else {
            "open"
        };
        let remote = connection.remote.to_string();
        table.row([&remote, "", state, &down.to_string(), &up.to_string(), ""]);
        for subflow in &connection.subflows {
            let Rates { down, up } = between.subflow(connection, subflow);
            let rtt = subflow
                .srtt_ms
                .map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"));
            table.row([
                "",
                &subflow.link,
                &subflow.state,
                &down.to_string(),
                &up.to_string(),
                &rtt,
            ]);
        }
    }
    table
}

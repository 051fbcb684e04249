//! `slowhand demo --wifi`: a walk past real access points in a virtual machine, by Linux alone and with
//! slowhand.
//!
//! The program `wifi-box` beside this one builds the machine and runs the trials in it (docs/wifi-box.md).
//! This file shows what they have measured.
//!
//! # Checked by
//! `tests` below; the trials themselves in the crate `guest`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use dash::Plots;
use serde::Deserialize;
use serde_json::Value;
use show::exit::{Refused, print_text};
use show::output::{self, Output};
use show::{Table, tell, terminal};
use trace::{PaperFigure, PaperSeries};

/// The program that runs trials, and what else it takes along.
const RUNNER: &str = "wifi-box";
const TAKEN: [&str; 3] = ["wifi-meter", "wifi-medium", "slowhandd"];
/// The trials, each with what steers in it.
const TRIALS: [(&str, &str); 2] = [("walk-alone", "Linux alone"), ("joins-walk", "slowhand")];
const ABOUT: &str = "A walk of 55 m past three access points of one channel, and a download over MPTCP. slowhand joins them by \
    itself. Linux alone begins with an interface joined to each. hostapd, wpa_supplicant, mac80211 and MPTCP are real. The air is \
    modelled, frame by frame.";
const HEADER: [&str; 6] = [
    "steered by",
    "goodput, Mb/s",
    "longest gap, ms",
    "lost attempts, %",
    "error of losses, points",
    "error of airtimes, %",
];

/// Runs the trials, prints the table, writes the page.
pub fn run(html: &Path, svg: Option<&Path>) -> anyhow::Result<ExitCode> {
    let named = [("--html", Some(html)), ("--svg", svg)];
    let named = Vec::from_iter(
        named
            .into_iter()
            .filter_map(|(option, path)| Some((option, path?))),
    );
    output::distinct(&named, &[])?;
    let runner = runner()?;
    let page = Output::create(html)?;
    let picture = svg.map(Output::create).transpose()?;
    let cache = cache();
    let out = cache.join("demo");
    play(&runner, &cache, &out)?;
    let walks: Vec<Walk> = TRIALS
        .iter()
        .map(|(trial, who)| Walk::read(&out.join(trial), who))
        .collect::<Result<_, _>>()?;
    let rows: Vec<[String; HEADER.len()]> = walks.iter().map(Walk::row).collect();
    let mut table = Table::new(&HEADER).numbers(1..HEADER.len());
    for row in &rows {
        table.row(row.each_ref().map(String::as_str));
    }
    print_text(&format!("\n{}", table.fitted(terminal::columns())))?;
    let figures = figures(&walks);
    let headline = headline(&walks);
    let text = dash::plots_page(&Plots {
        eyebrow: "slowhand, WiFi in a virtual machine",
        headline: &headline,
        about: ABOUT,
        header: &HEADER,
        rows: &Vec::from_iter(rows.iter().map(|row| row.to_vec())),
        figures: &figures,
    });
    page.write(text.as_bytes())?;
    if let Some(picture) = picture {
        picture.write(dash::plot(&figures[0]).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the runner is: beside this program, as a build leaves it.
fn runner() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's folder")?;
    let missing = { [RUNNER].iter().chain(&TAKEN) }.find(|name| !own.with_file_name(name).is_file());
    match missing {
        None => Ok(own.with_file_name(RUNNER)),
        Some(name) => Err(Refused::because(format!(
            "the program `{name}` is not beside `{}`: packages do not have it; run `cargo build --workspace` in a source tree, then \
             target/debug/slowhand demo --wifi",
            own.display()
        ))),
    }
}

/// Where the image of the machine is kept.
fn cache() -> PathBuf {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let base = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("slowhand/wifi-box")
}

/// Runs all trials. The runner reports progress, and what is missing, on standard error.
fn play(runner: &Path, cache: &Path, out: &Path) -> anyhow::Result<()> {
    tell!("the virtual machine and its results are in {}", cache.display());
    let mut command = Command::new(runner);
    command.arg("run").args(TRIALS.map(|(trial, _)| trial));
    command.arg("--cache").arg(cache).arg("--out").arg(out);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot run {}", runner.display()))?;
    // Exit code 1 also means that a figure is not as it must be: then there is something to show.
    let whole = TRIALS
        .iter()
        .all(|(trial, _)| out.join(trial).join("figures.json").is_file());
    let played = status.success() || status.code() == Some(1) && whole;
    if !played {
        return Err(Refused::because(
            "the trials have failed; the lines above say why, and what to do",
        ));
    }
    Ok(())
}

/// What one trial has measured.
#[derive(Debug)]
struct Walk {
    who: &'static str,
    figures: Value,
    /// Bytes read by the application, by the second of the walk.
    read: BTreeMap<u64, u64>,
    /// Bytes over each access point, by the second of the walk.
    over: BTreeMap<String, BTreeMap<u64, u64>>,
}

/// A line of `samples` or `truth`.
#[derive(Debug, Deserialize)]
struct Line {
    t_s: f64,
    bytes: Option<u64>,
    ap: Option<String>,
    way: Option<String>,
    event: Option<String>,
}

fn lines(text: &str) -> anyhow::Result<Vec<Line>> {
    let lines: Result<_, _> = text.lines().map(serde_json::from_str).collect();
    lines.context("not the lines of a trial")
}

impl Walk {
    fn read(folder: &Path, who: &'static str) -> anyhow::Result<Self> {
        let text = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        Self::new(who, &text("figures.json")?, &text("samples")?, &text("truth")?)
            .with_context(|| folder.display().to_string())
    }

    fn new(who: &'static str, figures: &str, samples: &str, truth: &str) -> anyhow::Result<Self> {
        let (samples, truth) = (lines(samples)?, lines(truth)?);
        let began = truth.iter().find(|line| line.event.as_deref() == Some("begun"));
        let began = began.context("the walk has not begun")?.t_s;
        // A sample that begins just before the walk counts in its first second.
        let second = |line: &Line| (line.t_s - began).max(0.0) as u64;
        let mut walk = Self {
            who,
            figures: serde_json::from_str(figures).context("not the figures of a trial")?,
            read: BTreeMap::new(),
            over: BTreeMap::new(),
        };
        for line in &samples {
            *walk.read.entry(second(line)).or_default() += line.bytes.unwrap_or(0);
        }
        for line in truth.iter().filter(|line| line.t_s >= began) {
            if let (Some(ap), Some("down"), Some(bytes)) = (&line.ap, line.way.as_deref(), line.bytes) {
                let over = walk.over.entry(ap.clone()).or_default();
                *over.entry(second(line)).or_default() += bytes;
            }
        }
        Ok(walk)
    }

    fn number(&self, pointer: &str) -> Option<f64> {
        self.figures.pointer(pointer)?.as_f64()
    }

    /// Whole seconds of the download.
    fn seconds(&self) -> u64 {
        self.number("/download/duration_ms").unwrap_or(0.0) as u64 / 1_000
    }

    /// Goodput of the whole walk.
    fn mbps(&self) -> Option<f64> {
        Some(self.number("/download/bytes")? * 8e-3 / self.number("/download/duration_ms")?)
    }

    /// Share of first attempts that were lost on the air.
    fn lost_percent(&self) -> Option<f64> {
        let of = |key: &str| {
            let aps = self.figures["air"].as_array()?;
            Some(aps.iter().filter_map(|ap| ap[key].as_f64()).sum::<f64>())
        };
        Some(100.0 * of("first_lost")? / of("frames")?)
    }

    fn row(&self) -> [String; HEADER.len()] {
        let one = |number: Option<f64>| number.map_or("-".to_owned(), |number| format!("{number:.1}"));
        let error = |what: &str| {
            let of = |key| self.number(&format!("/estimates/{what}/{key}"));
            let both = of("median").zip(of("p95"));
            both.map_or("-".to_owned(), |(median, p95)| {
                format!("{median:.1}, 95 %: {p95:.1}")
            })
        };
        [
            self.who.to_owned(),
            one(self.mbps()),
            one(self.number("/download/longest_gap_ms")),
            one(self.lost_percent()),
            error("loss_points"),
            error("airtime_percent"),
        ]
    }
}

fn headline(walks: &[Walk]) -> String {
    let said = walks.iter().map(|walk| {
        let mbps = walk.mbps().unwrap_or(0.0);
        let gap = walk.number("/download/longest_gap_ms").unwrap_or(0.0);
        format!("{} {mbps:.1} Mb/s with a longest gap of {gap:.0} ms", walk.who)
    });
    Vec::from_iter(said).join(", ")
}

/// Goodput of all trials, then what each access point carried in each of them.
fn figures(walks: &[Walk]) -> Vec<PaperFigure> {
    let goodput = walks.iter().map(|walk| series(walk.who, &walk.read, walk));
    let mut figures = vec![figure("Goodput of the download", goodput.collect())];
    for walk in walks {
        let over = walk.over.iter().map(|(ap, bytes)| series(ap, bytes, walk));
        let title = format!("Frames of each access point: {}", walk.who);
        figures.push(figure(&title, over.collect()));
    }
    figures
}

fn figure(title: &str, series: Vec<PaperSeries>) -> PaperFigure {
    PaperFigure {
        id: String::new(),
        title: title.to_owned(),
        x: "time, s".to_owned(),
        y: "Mb/s".to_owned(),
        series,
    }
}

fn series(name: &str, bytes: &BTreeMap<u64, u64>, walk: &Walk) -> PaperSeries {
    let rate = |second| bytes.get(&second).copied().unwrap_or(0) as f64 * 8e-6;
    PaperSeries {
        name: name.to_owned(),
        published: false,
        level: false,
        points: (0..walk.seconds())
            .map(|second| [second as f64 + 0.5, rate(second)])
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: &str = r#"{"download":{"bytes":5000000,"duration_ms":2000,"longest_gap_ms":75.04},
        "air":[{"frames":100,"first_lost":10},{"frames":300,"first_lost":30}],
        "estimates":{"loss_points":{"n":9,"median":1.0,"p95":2.5},"airtime_percent":{"n":0,"median":null,"p95":null}}}"#;
    const SAMPLES: &str = "{\"t_s\":9.95,\"bytes\":1000000}\n{\"t_s\":10.05,\"bytes\":1000000}\n{\"t_s\":11.5,\"bytes\":3000000}";
    const TRUTH: &str = "{\"t_s\":9.0,\"ap\":\"hall\",\"way\":\"down\",\"bytes\":7}\n{\"t_s\":10.0,\"event\":\"begun\"}\n\
        {\"t_s\":11.1,\"ap\":\"hall\",\"way\":\"down\",\"bytes\":500000}\n{\"t_s\":11.1,\"ap\":\"hall\",\"way\":\"up\",\"bytes\":9}\n\
        {\"t_s\":11.2,\"mhz\":2437,\"busy_us\":5}";

    #[test]
    fn a_walk_begins_with_the_scenario() {
        let walk = Walk::new("slowhand", FIGURES, SAMPLES, TRUTH).unwrap();
        let row = ["slowhand", "20.0", "75.0", "10.0", "1.0, 95 %: 2.5", "-"];
        assert_eq!(walk.row(), row);
        let drawn = figures(&[walk]);
        assert_eq!(drawn[0].series[0].points, [[0.5, 16.0], [1.5, 24.0]]);
        assert_eq!(drawn[1].series[0].name, "hall");
        assert_eq!(drawn[1].series[0].points, [[0.5, 0.0], [1.5, 4.0]]);
    }

    /// Programs of tests have a folder of their own, without the runner.
    #[test]
    fn a_missing_runner_names_the_remedy() {
        let error = runner().unwrap_err();
        assert!(error.is::<Refused>());
        assert!(error.to_string().contains("cargo build --workspace"), "{error}");
    }

    #[test]
    fn a_walk_that_has_not_begun_is_refused() {
        assert!(Walk::new("slowhand", FIGURES, SAMPLES, "").is_err());
    }
}

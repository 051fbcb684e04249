//! `wifi-box`: runs trials and scripts in the virtual machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use guest::image::{self, Freshness, Image};
use guest::machine::{self, Job};
use guest::trials::{self, Figure, Spread, TRIALS, Trial};
use serde_json::Value;

/// Runs real access points, wpa_supplicant and MPTCP in a small virtual machine, without a radio.
///
/// docs/wifi-box.md says what a script finds there.
#[derive(Debug, Parser)]
struct Usage {
    #[command(subcommand)]
    verb: Verb,
    /// Where the image of the virtual machine is kept.
    #[arg(long, global = true, value_name = "DIRECTORY", default_value = "target/guest")]
    cache: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the trials of this project.
    List,
    /// Download the packages and build the image.
    Build {
        /// Ask the distribution for newer packages, even if there is an image.
        #[arg(long)]
        newest: bool,
    },
    /// Run trials, and print their figures as JSON Lines. Without a name, all of them. The exit code is 1 if
    /// a script failed, or if the median of several runs is not what it must be.
    Run {
        /// Names of trials, or files with a script of your own.
        #[arg(value_name = "TRIAL|FILE")]
        what: Vec<String>,
        /// A program of this host for /usr/local/bin of the guest.
        #[arg(long = "program", value_name = "FILE")]
        programs: Vec<PathBuf>,
        /// A scenario for the air, in place of the trial's. A script finds it as /scenario.toml.
        #[arg(long, value_name = "FILE")]
        scenario: Option<PathBuf>,
        /// Directory for the results: one for each trial.
        #[arg(long, value_name = "DIRECTORY", default_value = "out/wifi-box")]
        out: PathBuf,
        /// How often each one runs.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
        /// Seconds of this host's time after which a trial is ended.
        #[arg(long, value_name = "SECONDS", default_value_t = 900)]
        limit: u64,
        /// Show the console of the guest.
        #[arg(long, short)]
        verbose: bool,
    },
}

/// What to run, and the name of its results.
struct Planned {
    name: String,
    script: String,
    scenario: Option<String>,
    programs: Vec<PathBuf>,
    figure: Option<Figure>,
}

/// What every run has in common.
struct Host {
    image: Image,
    out: PathBuf,
    limit: Duration,
    verbose: bool,
}

fn main() -> ExitCode {
    match run(Usage::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("wifi-box: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(usage: Usage) -> anyhow::Result<ExitCode> {
    match usage.verb {
        Verb::List => {
            for trial in TRIALS {
                println!("{:14} {}", trial.name, trial.about);
            }
            Ok(ExitCode::SUCCESS)
        }
        Verb::Build { newest } => {
            let freshness = if newest {
                Freshness::Newest
            } else {
                Freshness::Cached
            };
            let image = image::ready(&usage.cache, freshness, &mut tell)?;
            println!("{}", image.root.display());
            Ok(ExitCode::SUCCESS)
        }
        Verb::Run {
            what,
            programs,
            scenario,
            out,
            runs,
            limit,
            verbose,
        } => {
            let mut planned = plan(&what, &programs)?;
            if let Some(path) = scenario {
                replace_scenario(&mut planned, &path)?;
            }
            let image = image::ready(&usage.cache, Freshness::Cached, &mut tell)?;
            let host = Host {
                image,
                out,
                limit: Duration::from_secs(limit),
                verbose,
            };
            let mut passed = true;
            for planned in &planned {
                passed &= host.repeat(planned, runs)?;
            }
            Ok(if passed {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
    }
}

fn tell(what: &str) {
    eprintln!("wifi-box: {what}");
}

fn plan(what: &[String], programs: &[PathBuf]) -> anyhow::Result<Vec<Planned>> {
    if what.is_empty() {
        return TRIALS.iter().map(|trial| of_trial(trial, programs)).collect();
    }
    let one = |what: &String| match trials::named(what) {
        Some(trial) => of_trial(trial, programs),
        None => of_file(Path::new(what), programs),
    };
    what.iter().map(one).collect()
}

/// The programs of a trial are beside this one.
fn of_trial(trial: &Trial, programs: &[PathBuf]) -> anyhow::Result<Planned> {
    let own = std::env::current_exe().context("cannot find this program's directory")?;
    let built = trial.programs.iter().map(|program| own.with_file_name(program));
    Ok(Planned {
        name: trial.name.into(),
        script: trial.script.into(),
        scenario: trial.scenario.map(str::to_owned),
        programs: built.chain(programs.iter().cloned()).collect(),
        figure: Some(trial.figure),
    })
}

fn of_file(path: &Path, programs: &[PathBuf]) -> anyhow::Result<Planned> {
    let script = fs::read_to_string(path).with_context(|| {
        let name = path.display();
        format!("{name} is neither a trial (see `wifi-box list`) nor a script that can be read")
    })?;
    let own = std::env::current_exe().context("cannot find this program's directory")?;
    let ours = ["wifi-meter", "wifi-medium"].map(|program| own.with_file_name(program));
    Ok(Planned {
        name: path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        script,
        scenario: None,
        programs: ours.into_iter().chain(programs.iter().cloned()).collect(),
        figure: None,
    })
}

/// Gives this scenario to every script. Trials that run without one refuse it.
fn replace_scenario(planned: &mut [Planned], path: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    for planned in planned {
        let without = planned.figure.is_some() && planned.scenario.is_none();
        anyhow::ensure!(
            !without,
            "the trial {} has no scenario; leave out --scenario",
            planned.name
        );
        planned.scenario = Some(text.clone());
    }
    Ok(())
}

impl Host {
    /// Runs one script this often. Returns whether it always ended with exit code 0 and its figure is as it
    /// must be.
    fn repeat(&self, planned: &Planned, runs: u32) -> anyhow::Result<bool> {
        let name = &planned.name;
        let mut figures: Vec<Value> = Vec::new();
        for run in 1..=runs {
            let share = if runs == 1 {
                self.out.join(name)
            } else {
                self.out.join(format!("{name}-{run}"))
            };
            tell(&format!("{name}: run {run} of {runs}"));
            if !self.play(planned, &share)? {
                return Ok(false);
            }
            if let Ok(written) = fs::read_to_string(share.join("figures.json")) {
                print!("{written}");
                let read = serde_json::from_str(&written);
                figures.push(read.with_context(|| format!("{name}: figures.json is not JSON"))?);
            }
        }
        let Some(figure) = planned.figure else {
            return Ok(true);
        };
        let spread = figure
            .spread(&figures)
            .with_context(|| format!("{name}: a run has no figure {}", figure.pointer))?;
        let Spread { least, median, most } = spread;
        let must = figure
            .at_most
            .map_or(String::new(), |most| format!(", must be at most {most}"));
        tell(&format!(
            "{name}: {}: median {median} of {runs} ({least} to {most}){must}",
            figure.name
        ));
        Ok(figure.holds(spread))
    }

    /// Runs one script once. Returns whether it ended with exit code 0.
    fn play(&self, planned: &Planned, share: &Path) -> anyhow::Result<bool> {
        if share.exists() {
            fs::remove_dir_all(share).with_context(|| format!("cannot clear {}", share.display()))?;
        }
        fs::create_dir_all(share).with_context(|| format!("cannot create {}", share.display()))?;
        let job = Job {
            script: &planned.script,
            programs: &planned.programs,
            scenario: planned.scenario.as_deref(),
            share,
            limit: self.limit,
        };
        let mut hear = |line: &str| {
            if self.verbose || line.starts_with("box: ") {
                eprintln!("{line}");
            }
        };
        let outcome = machine::run(&self.image, &job, &mut hear)?;
        let console = share.join("console");
        fs::write(&console, &outcome.console)
            .with_context(|| format!("cannot write {}", console.display()))?;
        if outcome.code != 0 {
            let (name, console) = (&planned.name, console.display());
            tell(&format!(
                "{name}: exit code {}; the guest's console is in {console}",
                outcome.code
            ));
        }
        Ok(outcome.code == 0)
    }
}

//! `slowhand papers`: repeats figures and tables of papers, says which claims hold, and draws ours beside the
//! published points.

mod fig5;
mod folder;
mod steering;
mod study;
mod users;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant as Wall;

use trace::{PaperFigure, PapersDocument};

use folder::{Figures, Files, Folder};
use runs::progress::{self, Progress};
use show::exit::{self, Refused};
use show::output::Output;
use show::terminal;

/// Repeat figures and tables of research papers, and check which of their claims hold.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Papers:
  juggler-fig3    a download while the radio scans for a tenth of its time
  juggler-fig4    downloads over two access points by one radio
  juggler-fig5    a video over two access points by one radio
  juggler-fig6    BitTorrent over two access points by one radio
  juggler-fig7    a side channel to a peer for a tenth of the radio's time
  juggler-tab1    what it costs a radio to change between networks
  juggler-tab2    how soon a new access point is joined, and a fail-over
  nsdi15-11n      two access points within carrier sense in 802.11n
  nsdi15-dsl      several clients share three DSL lines on one channel
  nsdi15-fig2     two access points that are hidden from each other
  nsdi15-fig3     two access points within carrier sense
  nsdi15-fig5     how well a client estimates its access point's delivery probability
  nsdi15-fig6a    120 combinations of two access points of one channel
  nsdi15-fig6b    other hosts behind the good one of two access points
  nsdi15-fig6c    more and more access points beside a good one
  nsdi15-fig7     marks in 802.11n at several places
  nsdi15-fig8     a slow walk past five access points
  nsdi15-fig9     downloads of a client that does not move
  nsdi15-marks    when marks are set, and a fast walk
  nsdi15-switch   one radio that takes turns on two channels
  nsdi15-tab1     fairness: all close together
  nsdi15-tab2     fairness: a client close to one access point
  nsdi15-tab3     fairness: a client between two access points
  nsdi15-users    several clients that switch between three channels
  steering        which access points of one channel to use
  steering-changes  the same while the network changes

The claims, and where each is in its paper, are in papers/. Exit code 1: a claim does not hold.

Examples:
  slowhand papers
  slowhand papers nsdi15-users --html out")]
pub struct Args {
    /// Papers to repeat [default: all].
    ids: Vec<String>,

    /// Print one JSON document (schema slowhand.papers/1).
    #[arg(long)]
    json: bool,

    /// Write a page with all figures into this directory (papers.html), and each figure as a picture (SVG).
    /// Each file appears when it is complete.
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
}

/// The result of an experiment.
struct Experiment {
    measured: Figures,
    figures: Vec<PaperFigure>,
}

/// Gets the share of an experiment that is complete, from 0 to 1.
type Report<'r> = &'r dyn Fn(f64);

/// One folder of `papers/`, and the experiment for it.
struct Paper {
    id: &'static str,
    published: &'static str,
    claims: &'static str,
    files: Files,
    run: fn(&Folder, Report<'_>) -> anyhow::Result<Experiment>,
}

impl Paper {
    fn folder(&self) -> anyhow::Result<Folder> {
        Folder::read(self.id, self.published, self.claims, self.files)
    }
}

/// A folder of `papers/`, the function that runs it, and the other files that this function reads.
macro_rules! paper {
    ($id:literal, $run:path $(, $file:literal)*) => {
        Paper {
            id: $id,
            published: include_str!(concat!("../../../../papers/", $id, "/published.toml")),
            claims: include_str!(concat!("../../../../papers/", $id, "/claims.toml")),
            files: &[$(($file, include_str!(concat!("../../../../papers/", $id, "/", $file)))),*],
            run: $run,
        }
    };
}

const PAPERS: [Paper; 26] = [
    paper!("juggler-fig3", study::run, "study.toml", "scenario.toml"),
    paper!(
        "juggler-fig4",
        study::run,
        "study.toml",
        "scenario.toml",
        "one.toml",
        "mptcp.toml"
    ),
    paper!(
        "juggler-fig5",
        study::run,
        "study.toml",
        "scenario.toml",
        "one.toml",
        "cards.toml"
    ),
    paper!(
        "juggler-fig6",
        study::run,
        "study.toml",
        "scenario.toml",
        "one.toml"
    ),
    paper!(
        "juggler-fig7",
        study::run,
        "study.toml",
        "scenario.toml",
        "one.toml"
    ),
    paper!(
        "juggler-tab1",
        study::run,
        "study.toml",
        "scenario.toml",
        "one.toml"
    ),
    paper!(
        "juggler-tab2",
        study::run,
        "study.toml",
        "scenario.toml",
        "failover.toml"
    ),
    paper!("nsdi15-11n", study::run, "study.toml", "scenario.toml"),
    paper!("nsdi15-dsl", study::run, "study.toml", "scenario.toml"),
    paper!(
        "nsdi15-fig2",
        study::run,
        "study.toml",
        "scenario.toml",
        "udp.toml",
        "episodes.toml"
    ),
    paper!(
        "nsdi15-fig3",
        study::run,
        "study.toml",
        "scenario.toml",
        "udp.toml",
        "udp-1.toml",
        "udp-2.toml",
        "probes.toml"
    ),
    paper!("nsdi15-fig5", fig5::run),
    paper!(
        "nsdi15-fig6a",
        study::run,
        "study.toml",
        "../steering/scenario-1.toml",
        "../steering/scenario-2.toml"
    ),
    paper!("nsdi15-fig6b", study::run, "study.toml", "scenario.toml"),
    paper!(
        "nsdi15-fig6c",
        study::run,
        "study.toml",
        "../steering/access-points.toml"
    ),
    paper!("nsdi15-fig7", study::run, "study.toml", "scenario.toml"),
    paper!("nsdi15-fig8", study::run, "study.toml", "scenario.toml"),
    paper!("nsdi15-fig9", study::run, "study.toml", "scenario.toml"),
    paper!(
        "nsdi15-marks",
        study::run,
        "study.toml",
        "scenario.toml",
        "walk.toml"
    ),
    paper!(
        "nsdi15-switch",
        study::run,
        "study.toml",
        "scenario.toml",
        "round-trips.toml"
    ),
    paper!("nsdi15-tab1", study::run, "study.toml", "scenario.toml"),
    paper!("nsdi15-tab2", study::run, "study.toml", "scenario.toml"),
    paper!("nsdi15-tab3", study::run, "study.toml", "scenario.toml"),
    paper!("nsdi15-users", users::run),
    paper!("steering", steering::run),
    paper!(
        "steering-changes",
        study::run,
        "study.toml",
        "uplink.toml",
        "walk.toml",
        "air.toml",
        "clicks.toml"
    ),
];

/// Runs, judges, draws.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let chosen = chosen(&args.ids)?;
    if args.json {
        progress::lines_only();
    }
    if let Some(directory) = &args.html {
        std::fs::create_dir_all(directory).map_err(|error| {
            let shown = directory.display();
            Refused::because(format!(
                "{shown}: {error}; choose a directory that you may write to"
            ))
        })?;
    }
    let document = document(&chosen)?;
    if let Some(directory) = &args.html {
        write_pages(directory, &document)?;
    }
    if args.json {
        exit::print_document(&document)?;
    } else {
        exit::print(terminal::fitted(&text(&document)).as_bytes())?;
    }
    Ok(if document.claims.iter().all(|claim| claim.holds) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn chosen(ids: &[String]) -> anyhow::Result<Vec<&'static Paper>> {
    if ids.is_empty() {
        return Ok(PAPERS.iter().collect());
    }
    let mut once = BTreeSet::new();
    ids.iter()
        .filter(|id| once.insert(*id))
        .map(|id| {
            PAPERS.iter().find(|paper| paper.id == id).ok_or_else(|| {
                let known: Vec<&str> = PAPERS.iter().map(|paper| paper.id).collect();
                Refused::because(format!(
                    "there is no paper `{id}`; use one of {}",
                    known.join(", ")
                ))
            })
        })
        .collect()
}

fn document(papers: &[&Paper]) -> anyhow::Result<PapersDocument> {
    let begun = Wall::now();
    let mut document = PapersDocument::default();
    let progress = Progress::new("papers", papers.len());
    for (index, paper) in papers.iter().enumerate() {
        progress.begin(index, paper.id);
        let folder = paper.folder()?;
        let experiment = (paper.run)(&folder, &|share| progress.part(index, share))?;
        document.claims.extend(folder.judge(&experiment.measured)?);
        document.figures.extend(experiment.figures);
        progress.end_with(
            index,
            format_args!("{}: paper {} of {}", paper.id, index + 1, papers.len()),
        );
    }
    document.wall_s = begun.elapsed().as_secs_f64();
    Ok(document)
}

fn write_pages(directory: &std::path::Path, document: &PapersDocument) -> anyhow::Result<()> {
    let write =
        |name: String, content: String| Output::create(&directory.join(name))?.write(content.as_bytes());
    for (place, figure) in document.figures.iter().enumerate() {
        let before = document.figures[..place].iter();
        let count = before.filter(|other| other.id == figure.id).count();
        write(format!("{}-{}.svg", figure.id, count + 1), dash::plot(figure))?;
    }
    write("papers.html".to_owned(), dash::papers(document))
}

fn text(document: &PapersDocument) -> String {
    let mut out = String::new();
    for claim in &document.claims {
        let verdict = if claim.holds {
            "holds        "
        } else {
            "DOES NOT HOLD"
        };
        let values = |values: &std::collections::BTreeMap<String, f64>| {
            let shown: Vec<String> = values
                .iter()
                .map(|(name, value)| format!("{name} {value:.4}"))
                .collect();
            shown.join(", ")
        };
        out += &format!("{verdict}  {}/{}: {}\n", claim.id, claim.name, claim.claim);
        out += &format!("               ours: {}\n", values(&claim.ours));
        if !claim.published.is_empty() {
            out += &format!("               published: {}\n", values(&claim.published));
        }
        if !claim.holds {
            out += &format!("               {}\n", claim.note);
        }
    }
    let held = document.claims.iter().filter(|claim| claim.holds).count();
    out + &format!(
        "\n{held} of {} claims hold, {:.1} s\n",
        document.claims.len(),
        document.wall_s
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_folder_is_registered_and_every_claim_has_a_reason() {
        let folders = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers")).unwrap();
        let mut names: Vec<String> = folders
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let mut known: Vec<&str> = PAPERS.iter().map(|paper| paper.id).collect();
        known.sort_unstable();
        assert_eq!(names, known);
        for paper in &PAPERS {
            paper.folder().unwrap();
        }
    }

    #[test]
    fn a_paper_named_twice_runs_once() {
        let ids = ["nsdi15-users", "nsdi15-users"].map(str::to_owned);
        assert_eq!(chosen(&ids).unwrap().len(), 1);
    }

    #[test]
    fn an_unknown_paper_is_refused_with_the_known_ones() {
        let error = chosen(&["nsdi15-fig55".to_owned()]).err().unwrap().to_string();
        assert!(
            error.contains("use one of juggler-fig3, juggler-fig4, juggler-fig5, juggler-fig6, juggler-fig7, juggler-tab1, juggler-tab2, nsdi15-11n"),
            "{error}"
        );
    }
}

//! Runs the blocks of the documents that are marked `run`, as a reader would: `sudo` available or not needed,
//! `slowhand` on the path.
//!
//! Scenarios are cut to a few seconds, so expectations about a minute need not hold. Everything else is as
//! written. `src/documents` checks the blocks that are not marked. `make demo`, `make test` and `make bench`
//! run this very test or take too long for it. `slowhand up` would manage the machine that tests it
//! (`tests/host.rs` does that in a namespace).

mod common;

use common::{Ran, Scratch, root};
use std::path::Path;
use std::process::{Command, Stdio};

/// Long enough for every link to be joined and used, and for what breaks to begin.
const SECONDS: u32 = 8;

/// A line of a block to run, and its place.
struct Line {
    place: String,
    command: String,
    needs_root: bool,
}

fn lines(document: &str) -> Vec<Line> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let (mut found, mut running) = (Vec::new(), None);
    for (index, line) in text.lines().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            let words: Vec<&str> = language.split_whitespace().collect();
            running = match words[..] {
                ["sh", "run"] => Some(false),
                ["sh", "run=root"] => Some(true),
                _ => None,
            };
        } else if let Some(needs_root) = running {
            found.push(Line {
                place: format!("{document}:{}", index + 1),
                command: line.to_owned(),
                needs_root,
            });
        }
    }
    found
}

/// A folder that looks like the root of the repository, with `sudo` and `slowhand` beside it.
fn desk(name: &str) -> Scratch {
    let desk = Scratch::new(&format!("documents-{name}"));
    std::os::unix::fs::symlink(root().join("scenarios"), desk.path("scenarios")).unwrap();
    std::fs::create_dir(desk.path("bin")).unwrap();
    common::written(&desk.path("bin/sudo"), "#!/bin/sh\nexec \"$@\"\n");
    let program = env!("CARGO_BIN_EXE_slowhand");
    let shortened = format!(
        "#!/bin/sh\ncase \"$*\" in\n*--help*|*--shell*) ;;\nplay*) set -- \"$@\" --set duration_s={SECONDS} ;;\nesac\nexec '{program}' \"$@\"\n"
    );
    common::written(&desk.path("bin/slowhand"), &shortened);
    desk
}

fn run(desk: &Scratch, command_line: &str) -> Ran {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", command_line]).stdin(Stdio::null());
    command.env("PATH", format!("{}:{path}", desk.path("bin").display()));
    command.current_dir(desk.path("")).output().unwrap().into()
}

#[test]
fn blocks_of_the_readme_marked_run_succeed() {
    let desk = desk("readme");
    run_all(&desk, "README.md", 4);
    if nix::unistd::geteuid().is_root() {
        let page = std::fs::read_to_string(desk.path("out/dead-but-up.html")).unwrap();
        assert!(page.starts_with("<!"), "the page that README.md writes");
    }
}

#[test]
fn the_guide_to_the_first_simulated_walk_works() {
    let desk = desk("guide");
    run_all(&desk, "docs/first-simulated-walk.md", 7);
    let table = std::fs::read_to_string(desk.path("out/walk.jsonl")).unwrap();
    assert!(table.contains("\"set.cells.lte.rate_mbps\""), "{table}");
    let page = std::fs::read_to_string(desk.path("out/compared.html")).unwrap();
    assert!(
        page.contains("\"label\":\"tcp:lte\""),
        "the page compares policies"
    );
}

#[test]
fn the_page_about_recordings_makes_one_and_replays_it() {
    let desk = desk("recordings");
    run_all(&desk, "docs/recordings.md", 2);
    assert!(desk.path("out/recordings/two-homes-slowhand-1.record").is_file());
}

#[test]
fn the_picture_with_and_without_a_relay_shows_both() {
    let desk = desk("relay");
    run_all(&desk, "docs/relay.md", 1);
    let page = std::fs::read_to_string(desk.path("out/relay.html")).unwrap();
    for policy in ["tcp:lte", "slowhand"] {
        assert!(page.contains(&format!("\"label\":\"{policy}\"")), "{policy}");
    }
}

/// One seed gives one picture, so it changes only with what it shows.
#[test]
fn the_picture_of_one_radio_is_what_its_command_draws() {
    let desk = desk("picture");
    let whole = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_slowhand"));
    common::written(&desk.path("bin/slowhand"), &whole);
    std::fs::create_dir(desk.path("docs")).unwrap();
    let picture = "docs/networks.svg";
    let ran = run(&desk, &block_that_names("docs/networks.md", picture));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert!(
        read(&desk.path(picture)) == read(&root().join(picture)),
        "{picture} is not what docs/networks.md says draws it; run that command, and check the figures in the text"
    );
}

/// The block of a document in which this file is written.
fn block_that_names(document: &str, file: &str) -> String {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let blocks = text.split("```sh\n").skip(1);
    let mut blocks = blocks.filter_map(|block| block.split_once("```"));
    let found = blocks.find(|(block, _)| block.contains(file));
    found.expect("a block that writes it").0.to_owned()
}

/// Runs the lines of a document that are marked, of which there are at least `least`.
fn run_all(desk: &Scratch, document: &str, least: usize) {
    let lines = lines(document);
    assert!(lines.len() >= least, "only {} lines are marked", lines.len());
    let root = nix::unistd::geteuid().is_root();
    for line in &lines {
        if line.needs_root && !root {
            println!("skipped: {} needs root", line.place);
            continue;
        }
        let ran = run(desk, &line.command);
        // What a scenario expects of a minute may not hold in seconds: that is for the scenario's own runs.
        let fine = ran.code == Some(0) || ran.code == Some(1) && told_of_failure(&ran);
        assert!(fine, "{}: {}: {ran:?}", line.place, line.command);
        println!("{}: {}: {:?}", line.place, line.command, ran.code);
    }
}

fn told_of_failure(ran: &Ran) -> bool {
    // With `--world both`, the world is in front.
    let said = |line: &str| line.contains("DOES NOT HOLD: ");
    ran.out.lines().chain(ran.err.lines()).any(said)
}

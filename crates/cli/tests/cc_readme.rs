//! Runs the blocks of `bpf/cc/README.md` that are marked `run=root`, from first to last, as a user would who
//! only wants the controllers. They run in a network namespace and with a BPF file system of their own.
//!
//! Names of controllers are global to the host. The one that the page uses gets another name for the run. It
//! then collides neither with a parallel run nor with the host's own.

mod common;

use common::{Ran, Scratch, root};
use std::fmt::Write as _;
use std::process::{Command, Stdio};

const PAGE: &str = "bpf/cc/README.md";
const NAME: &str = "slow_olia";

/// The marked blocks with their languages.
fn blocks(page: &str) -> Vec<(String, String)> {
    let (mut blocks, mut inside) = (Vec::<(String, String)>::new(), false);
    for line in page.lines() {
        if let Some(head) = line.strip_prefix("```") {
            let words: Vec<&str> = head.split_whitespace().collect();
            inside = words.get(1) == Some(&"run=root");
            if inside {
                blocks.push((words[0].to_owned(), String::new()));
            }
        } else if inside && let Some((_, block)) = blocks.last_mut() {
            writeln!(block, "{line}").unwrap();
        }
    }
    blocks
}

/// One script of all blocks; other languages than the shell's are put into files.
fn script(desk: &Scratch, blocks: &[(String, String)]) -> String {
    let mut script = "set -eux\nip link set lo up\nmount -t bpf bpf /sys/fs/bpf\n".to_owned();
    for (index, (language, block)) in blocks.iter().enumerate() {
        let file = desk.path(&format!("block-{index}"));
        let shown = file.display();
        match language.as_str() {
            "sh" => script += block,
            "python" => writeln!(script, "python3 {shown}").unwrap(),
            "c" => writeln!(
                script,
                "cc -Wall -Werror -xc {shown} -o {shown}.out && {shown}.out"
            )
            .unwrap(),
            other => panic!("{PAGE}: a block of {other} cannot be run"),
        }
        std::fs::write(&file, block).unwrap();
    }
    script
}

/// A folder that looks like the root of the repository, with `sudo` and `slowhand` on the path.
fn desk(name: &str) -> Scratch {
    let desk = Scratch::new("cc-readme");
    std::os::unix::fs::symlink(root().join("bpf"), desk.path("bpf")).unwrap();
    for folder in ["bin", "out"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    let program = env!("CARGO_BIN_EXE_slowhand");
    let renamed = format!(
        "#!/bin/sh\ncase \"$1 $2\" in\n'cc load') set -- \"$@\" --name {name} ;;\n'cc unload') set -- cc unload {name} ;;\nesac\nexec '{program}' \"$@\"\n"
    );
    for (file, text) in [("sudo", "#!/bin/sh\nexec \"$@\"\n"), ("slowhand", &renamed)] {
        common::written(&desk.path("bin").join(file), text);
    }
    desk
}

#[test]
fn the_commands_of_the_readme_work() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: {PAGE} needs root");
        return;
    }
    let name = format!("t_rm_{}", std::process::id() % 1_000_000);
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let blocks = blocks(&page.replace(NAME, &name));
    assert!(blocks.len() >= 8, "only {} blocks are marked", blocks.len());
    let desk = desk(&name);
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", &script(&desk, &blocks)]);
    command.env("PATH", format!("{}:{path}", desk.path("bin").display()));
    command.current_dir(desk.path("")).stdin(Stdio::null());
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains(&format!("unloaded {name}")), "{}", ran.out);
    assert!(desk.path("out/olia.bpf.o").is_file());
}

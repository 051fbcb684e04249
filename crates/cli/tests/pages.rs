//! Help, completions and manual pages.

mod common;

use common::{Scratch, daemon, slowhand};
use std::collections::BTreeSet;
use std::process::Command;

/// The verbs as `--help` lists them.
fn verbs() -> Vec<String> {
    let help = slowhand(&["--help"]).out;
    let list = help
        .split("Commands:\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    let verb = |line: &str| line.split_whitespace().next().map(str::to_owned);
    list.lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(verb)
        .collect()
}

#[test]
fn every_verb_has_help() {
    assert!(verbs().len() > 3, "{:?}", verbs());
    for verb in verbs().iter().filter(|verb| *verb != "help") {
        let help = slowhand(&[verb, "--help"]);
        assert_eq!(help.code, Some(0), "{verb}: {}", help.err);
        assert!(
            help.out.contains(&format!("Usage: slowhand {verb}")),
            "{verb}: {}",
            help.out
        );
    }
}

#[test]
fn the_daemon_has_help_a_manual_page_and_completions_of_its_own_and_the_same_version() {
    let asked = |option: &str| {
        let output = Command::new(daemon()).arg(option).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let help = asked("--help");
    assert!(help.contains("Usage: slowhandd [OPTIONS]"), "{help}");
    assert_eq!(options(&help), options(&slowhand(&["up", "--help"]).out));
    let version = asked("--version");
    assert_eq!(
        version.replace("slowhandd", "slowhand"),
        slowhand(&["--version"]).out
    );
    let scratch = Scratch::new("man-daemon");
    assert_eq!(
        slowhand(&["man", scratch.path("").to_str().unwrap()]).code,
        Some(0)
    );
    let page = std::fs::read_to_string(scratch.path("slowhandd.8")).unwrap();
    let page = page.replace("\\-", "-").replace("\\fB", " ").replace("\\fR", " ");
    assert_eq!(options(&page), options(&help));
    for shell in ["bash", "fish", "zsh"] {
        let script = slowhand(&["completions", shell, "slowhandd"]);
        assert_eq!(script.code, Some(0), "{shell}: {}", script.err);
        assert!(
            script.out.contains("slowhandd") && script.out.contains("state-dir"),
            "{shell}"
        );
    }
}

#[test]
fn every_shell_gets_a_script_with_every_verb() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = slowhand(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{shell}: {}", script.err);
        for verb in verbs() {
            assert!(script.out.contains(&verb), "{shell}: {verb}");
        }
    }
}

#[test]
fn bash_accepts_its_completion_script() {
    let scratch = Scratch::new("completions");
    let path = scratch.path("slowhand.bash");
    std::fs::write(&path, slowhand(&["completions", "bash"]).out).unwrap();
    let checked = Command::new("bash").arg("-n").arg(&path).output().unwrap();
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
}

#[test]
fn every_verb_has_a_manual_page() {
    let scratch = Scratch::new("man");
    let made = slowhand(&["man", scratch.path("man1").to_str().unwrap()]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let hidden = std::fs::read_dir(scratch.path("man1")).unwrap();
    let hidden = hidden.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .as_encoded_bytes()
            .starts_with(b".")
    });
    assert_eq!(hidden.count(), 0, "nothing temporary is left");
    let page = |name: &str| std::fs::read_to_string(scratch.path("man1").join(name)).unwrap();
    assert!(page("slowhand.1").contains(".TH"));
    for verb in verbs().iter().filter(|verb| *verb != "help") {
        assert!(
            page(&format!("slowhand-{verb}.1")).contains(".SH OPTIONS"),
            "{verb}"
        );
    }
}

/// The text of a page, as far as these tests need it.
fn plain(scratch: &Scratch, name: &str) -> String {
    let page = std::fs::read_to_string(scratch.path(name)).unwrap();
    let page = page.replace("\\-", "-").replace("\\*(Aq", "'");
    page.replace("\\fB", "").replace("\\fR", "").replace("\\&", "")
}

#[test]
fn the_configuration_has_a_manual_page_with_every_key_and_its_valid_values() {
    let scratch = Scratch::new("man-configuration");
    let made = slowhand(&["man", scratch.path("").to_str().unwrap()]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let page = plain(&scratch, "slowhand.toml.5");
    let tables = host::config::reference();
    assert!(tables.iter().map(|table| table.keys.len()).sum::<usize>() > 40);
    for table in tables {
        let heading = format!(".SH {}\n", table.header.unwrap_or("\"KEYS OF THE FILE\""));
        let (_, section) = page.split_once(&heading).unwrap_or_else(|| panic!("{heading}"));
        let section = section.split(".SH ").next().unwrap();
        for key in table.keys {
            let term = format!(".TP\n{} = {}\n", key.name, key.example);
            assert!(section.contains(&term), "{heading}: {term}");
            assert!(
                section.contains(&format!("Valid: {}.\n", key.valid.replace('`', ""))),
                "{heading}: {term}"
            );
        }
    }
}

#[test]
fn the_overview_names_every_page_of_a_verb_and_pages_that_exist() {
    let scratch = Scratch::new("man-overview");
    let made = slowhand(&["man", scratch.path("").to_str().unwrap()]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let page = plain(&scratch, "slowhand.7");
    for verb in verbs().iter().filter(|verb| *verb != "help") {
        assert!(page.contains(&format!(".TP\nslowhand-{verb}(1)\n")), "{verb}");
    }
    let both = page + &plain(&scratch, "slowhand.toml.5");
    let named = both.split([' ', ',', '\n', ':', ';', '.']).filter_map(|word| {
        let (name, section) = word.strip_suffix(')')?.split_once('(')?;
        (name.starts_with("slowhand") && section.len() == 1).then(|| format!("{name}.{section}"))
    });
    let named = BTreeSet::from_iter(named);
    assert!(named.len() > verbs().len(), "{named:?}");
    for name in named {
        assert!(scratch.path(&name).is_file(), "{name}");
    }
}

/// Every `--option` in a text.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    words
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .map(|word| word.trim_end_matches('-').to_owned())
        .collect()
}

#[test]
fn help_and_manual_pages_have_the_same_options() {
    let scratch = Scratch::new("man-options");
    assert_eq!(
        slowhand(&["man", scratch.path("").to_str().unwrap()]).code,
        Some(0)
    );
    for verb in verbs().iter().filter(|verb| *verb != "help") {
        let page = std::fs::read_to_string(scratch.path(&format!("slowhand-{verb}.1"))).unwrap();
        let page = page.replace("\\-", "-").replace("\\fB", " ").replace("\\fR", " ");
        let help = slowhand(&[verb, "--help"]).out;
        assert_eq!(options(&page), options(&help), "{verb}");
    }
}

#[test]
fn an_unwritable_directory_is_named() {
    let scratch = Scratch::new("man-file");
    let file = scratch.path("file");
    std::fs::write(&file, "").unwrap();
    let made = slowhand(&["man", file.join("man1").to_str().unwrap()]);
    assert_eq!(made.code, Some(2));
    assert!(
        made.err.contains("choose a directory that you may write to"),
        "{}",
        made.err
    );
}

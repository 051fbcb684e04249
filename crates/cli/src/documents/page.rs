//! Finds the commands in a document.

use std::path::Path;

/// Folders that hold no documents of ours.
const NOT_OURS: [&str; 4] = ["target", "out", ".git", "node_modules"];

/// A document.
pub struct Page {
    /// Relative to the root of the repository.
    pub path: String,
    text: String,
}

impl Page {
    /// Every Markdown file and the systemd unit.
    pub fn all(root: &Path) -> Vec<Self> {
        let mut pages = Vec::new();
        gather(root, "", &mut pages);
        pages
    }

    /// The commands with the numbers of their lines, as words.
    pub fn commands(&self) -> Vec<(usize, Vec<String>)> {
        let lines: Vec<(usize, String)> = if self.path.ends_with(".service") {
            started(&self.text)
        } else {
            let mut lines = fenced(&self.text);
            lines.extend(quoted(&self.text));
            lines
        };
        let split = |(number, line): (usize, String)| {
            let commands = simple_commands(&line).into_iter();
            commands.map(move |words| (number, words)).collect::<Vec<_>>()
        };
        lines.into_iter().flat_map(split).collect()
    }
}

fn gather(root: &Path, below: &str, pages: &mut Vec<Page>) {
    let entries = std::fs::read_dir(root.join(below)).unwrap();
    for entry in entries.map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let path = if below.is_empty() {
            name.clone()
        } else {
            format!("{below}/{name}")
        };
        if entry.file_type().unwrap().is_dir() {
            if !NOT_OURS.contains(&name.as_str()) {
                gather(root, &path, pages);
            }
        } else if name.ends_with(".md") || name.ends_with(".service") {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            pages.push(Page { path, text });
        }
    }
}

/// The lines of fenced blocks of shell. A line that ends in a backslash continues on the next one.
fn fenced(text: &str) -> Vec<(usize, String)> {
    let (mut lines, mut shell, mut inside) = (Vec::<(usize, String)>::new(), false, false);
    let mut goes_on = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            shell = inside && language.split_whitespace().next() == Some("sh");
            continue;
        }
        if !shell {
            continue;
        }
        let part = line.trim_end_matches('\\');
        match lines.last_mut() {
            Some((_, last)) if goes_on => last.push_str(part),
            _ => lines.push((index + 1, part.to_owned())),
        }
        goes_on = line.ends_with('\\');
    }
    lines
}

/// Commands of ours between backquotes, outside of blocks.
fn quoted(text: &str) -> Vec<(usize, String)> {
    const OURS: [&str; 7] = [
        "slowhand ",
        "sudo slowhand ",
        "slowhandd ",
        "sudo slowhandd ",
        "slowhand-relay ",
        "make ",
        "cargo xtask ",
    ];
    let mut inside = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            let spans = line.split('`').skip(1).step_by(2);
            let ours = spans.filter(|span| OURS.iter().any(|start| span.starts_with(start)));
            found.extend(ours.map(|span| (index + 1, span.to_owned())));
        }
    }
    found
}

/// What a systemd unit starts, by its name.
fn started(text: &str) -> Vec<(usize, String)> {
    let line = |(index, line): (usize, &str)| {
        let command = line.strip_prefix("Exec")?.split_once('=')?.1;
        Some((index + 1, command.trim_start_matches("/usr/bin/").to_owned()))
    };
    text.lines().enumerate().filter_map(line).collect()
}

/// The simple commands of a line as words, without comments, redirections and `sudo`.
pub fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut words = words(line).into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "#" => break,
            "&&" | "||" | ";" | "|" => commands.push(Vec::new()),
            ">" => drop(words.next()),
            "sudo" => {}
            _ => commands.last_mut().expect("there is always one").push(word),
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// Words as a shell splits them, with quotes of both kinds; substitutions stay as they are written.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, ';') => {
                words.extend(word.take());
                words.push(";".to_owned());
            }
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn shell_blocks_and_our_commands_are_found() {
    let page = Page {
        path: "a.md".to_owned(),
        text: "Type `make test`, not `ls`.\n```sh run\nsudo slowhand play a.toml --shell 'x; y' \\\n  --json > out # why\n\
               # words\ncd a && ls\n```\n```toml\nnot = \"this\"\n```\n"
            .to_owned(),
    };
    let found: Vec<(usize, String)> = page
        .commands()
        .into_iter()
        .map(|(line, words)| (line, words.join("|")))
        .collect();
    let expected = [
        (3, "slowhand|play|a.toml|--shell|x; y|--json"),
        (6, "cd|a"),
        (6, "ls"),
        (1, "make|test"),
    ];
    assert_eq!(found, expected.map(|(line, words)| (line, words.to_owned())));
}

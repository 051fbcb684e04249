//! slowhand.toml(5): every key of the configuration.

use super::page::Page;
use host::config::{DEFAULT, Table, reference};

const READING: [&str; 5] = [
    "The daemon slowhandd(8) reads this file when it starts, and again on `slowhand reload` or SIGHUP. Its format is \
     TOML. Every key is optional, except a link's interface and kind. Without a link in it, every adapter is used by \
     its kind.",
    "Files `conf.d/*.toml` beside it are read after it, in the order of their names. A later file replaces a value, the \
     table [relay] or [wifi] as a whole, and a link by its interface.",
    "The first error ends the reading. The message names the file, the line and the valid values. A daemon does not \
     start with an error, and a reload changes nothing.",
    "Only root, or the user that the daemon runs as, may own these files and write to them. Files with secrets must be \
     readable by the owner alone: `chmod 600`.",
    "Strings are in quotes, and numbers, `true` and `false` are not. The value behind each key is an example.",
];

const EXAMPLE: &str = "\
# Join the access points of one network, and use a phone by USB as backup.
[wifi]

[[wifi.network]]
ssid = \"home\"
psk_file = \"/etc/slowhand/home.psk\"

[[link]]
interface = \"usb0\"
name = \"phone\"
kind = \"cable\"
metered = true";

pub fn page() -> Page {
    let mut page = Page::new("slowhand.toml", "5", "configuration of slowhand");
    page.heading("SYNOPSIS").text(&format!("`{DEFAULT}`"));
    page.text("`/etc/slowhand/conf.d/*.toml`");
    page.heading("DESCRIPTION");
    for paragraph in READING {
        page.text(paragraph);
    }
    for table in reference() {
        add(&mut page, &table);
    }
    page.heading("EXAMPLES").lines(EXAMPLE);
    page.text("An example with every key is in `/usr/share/doc/slowhand/examples/slowhand.toml`.");
    page.heading("SEE ALSO");
    page.text(
        "slowhand(7), slowhand(1), slowhand-up(1), slowhand-reload(1), slowhand-wifi-import(1), slowhandd(8)",
    );
    page
}

fn add(page: &mut Page, table: &Table) {
    page.heading(table.header.unwrap_or("KEYS OF THE FILE"));
    if !table.about.is_empty() {
        page.text(&sentence(table.about));
    }
    for key in &table.keys {
        let term = format!("{} = {}", key.name, key.example);
        page.item(&term, &format!("{} Valid: {}.", sentence(key.about), key.valid));
    }
}

/// The comment of a line, as a sentence.
fn sentence(comment: &str) -> String {
    let mut letters = comment.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let end = if comment.ends_with('.') { "" } else { "." };
    first.into_iter().chain(letters).chain(end.chars()).collect()
}

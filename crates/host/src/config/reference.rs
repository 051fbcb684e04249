//! Every key of a configuration file with its meaning, for slowhand.toml(5).
//!
//! The meanings are the comments of `example.toml`, which `slowhand up --help` shows.
//!
//! # Checked by
//! `tests`: each table has its keys and no others.

use super::keys::{self, Key};

const EXAMPLE: &str = include_str!("example.toml");

/// Keys that are described by the table that they begin.
const TABLES: [&str; 5] = ["relay", "wifi", "networks", "flow", "link"];

/// A table of the file, or the file itself.
#[derive(Debug)]
pub struct Table {
    /// Its header, such as `[relay]`. `None`: the keys above all tables.
    pub header: Option<&'static str>,
    /// What it is for.
    pub about: &'static str,
    /// Its keys.
    pub keys: Vec<TableKey>,
}

/// A key of a table.
#[derive(Debug)]
pub struct TableKey {
    /// Its name.
    pub name: &'static str,
    /// A value that it may have, as in the file.
    pub example: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Its valid values.
    pub valid: &'static str,
}

/// Tables in the order of the example. The keys are in the order in which messages list them.
pub fn reference() -> Vec<Table> {
    let of_wifi = keys::OF_WIFI.iter().filter(|key| key.name != keys::NETWORK.name);
    let of_file = keys::OF_FILE.iter().filter(|key| !TABLES.contains(&key.name));
    vec![
        table(None, of_file),
        table(Some("[relay]"), &keys::OF_RELAY),
        table(Some("[wifi]"), of_wifi),
        table(Some("[[wifi.network]]"), &keys::OF_NETWORK),
        table(Some("[networks]"), &keys::OF_NETWORKS),
        table(Some("[[flow]]"), &keys::OF_FLOW),
        table(Some("[[link]]"), &keys::OF_LINK),
    ]
}

fn table(header: Option<&'static str>, known: impl IntoIterator<Item = &'static Key>) -> Table {
    let lines = Vec::from_iter(lines().filter(|line| line.table == header));
    let about = |name: &str| lines.iter().find(|line| line.name == name);
    let described = |key: &Key| {
        let line = about(key.name)?;
        Some(TableKey {
            name: key.name,
            example: line.value,
            about: line.about,
            valid: key.right,
        })
    };
    Table {
        header,
        about: about("").map_or("", |line| line.about),
        keys: known.into_iter().filter_map(described).collect(),
    }
}

/// A line of the example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    table: Option<&'static str>,
    /// The key. Empty: the line is the header.
    name: &'static str,
    value: &'static str,
    about: &'static str,
}

fn lines() -> impl Iterator<Item = Line> {
    let mut table = None;
    EXAMPLE.lines().filter_map(move |line| {
        let (content, about) = line.split_once(" # ").unwrap_or((line, ""));
        let (name, value) = match content.trim() {
            "" => return None,
            header if header.starts_with('[') => {
                table = Some(header);
                ("", "")
            }
            pair => pair.split_once(" = ")?,
        };
        Some(Line {
            table,
            name,
            value,
            about: about.trim(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_is_described_in_its_table() {
        let known: [(Option<&str>, &[Key]); 7] = [
            (None, &keys::OF_FILE),
            (Some("[relay]"), &keys::OF_RELAY),
            (Some("[wifi]"), &keys::OF_WIFI),
            (Some("[[wifi.network]]"), &keys::OF_NETWORK),
            (Some("[networks]"), &keys::OF_NETWORKS),
            (Some("[[flow]]"), &keys::OF_FLOW),
            (Some("[[link]]"), &keys::OF_LINK),
        ];
        let tables = reference();
        let headers = Vec::from_iter(tables.iter().map(|table| table.header));
        assert_eq!(headers, known.map(|(header, _)| header));
        for (table, (header, known)) in tables.iter().zip(known) {
            let begins_a_table = |name: &str| match header {
                None => TABLES.contains(&name),
                Some("[wifi]") => name == keys::NETWORK.name,
                Some(_) => false,
            };
            let known = known.iter().map(|key| key.name);
            let known = Vec::from_iter(known.filter(|name| !begins_a_table(name)));
            let described = Vec::from_iter(table.keys.iter().map(|key| key.name));
            assert_eq!(described, known, "{header:?}");
            assert!(header.is_none() || !table.about.is_empty(), "{header:?}");
            for key in &table.keys {
                assert!(
                    !key.about.is_empty() && !key.example.is_empty(),
                    "{header:?}: {}",
                    key.name
                );
            }
        }
    }

    #[test]
    fn the_example_has_no_other_tables_and_keys() {
        let described = |table: Table| {
            let names = Vec::from_iter(table.keys.into_iter().map(|key| key.name));
            names.into_iter().map(move |name| (table.header, name))
        };
        let described = BTreeSet::from_iter(reference().into_iter().flat_map(described));
        let keys = lines().filter(|line| !line.name.is_empty());
        assert_eq!(
            BTreeSet::from_iter(keys.map(|line| (line.table, line.name))),
            described
        );
    }
}

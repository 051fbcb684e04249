//! A Parquet file read back by a reader of its own, which knows the format's specification and nothing of the writer.
//!
//! # Sources
//! - Apache Parquet: `README.md` (a file's layout), `parquet.thrift` (the fields of the metadata), `Encodings.md` (plain).
//! - Apache Thrift, `thrift-compact-protocol.md`.

use proptest::prelude::*;
use std::collections::BTreeMap;
use trace::{Column, Table};

/// What a message in Thrift's compact protocol holds.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Flag(bool),
    Integer(i64),
    Octets(Vec<u8>),
    List(Vec<Self>),
    Struct(BTreeMap<i64, Self>),
}

impl Value {
    fn field(&self, id: i64) -> &Self {
        self.find(id)
            .unwrap_or_else(|| panic!("no field {id} in {self:?}"))
    }

    fn find(&self, id: i64) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields.get(&id),
            other => panic!("{other:?} is no struct"),
        }
    }

    fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => panic!("{other:?} is no number"),
        }
    }

    fn size(&self) -> usize {
        usize::try_from(self.integer()).unwrap()
    }

    fn text(&self) -> String {
        match self {
            Self::Octets(octets) => String::from_utf8(octets.clone()).unwrap(),
            other => panic!("{other:?} is no text"),
        }
    }

    fn list(&self) -> &[Self] {
        match self {
            Self::List(values) => values,
            other => panic!("{other:?} is no list"),
        }
    }
}

/// Octets that are taken from the front.
struct Octets<'o>(&'o [u8]);

impl<'o> Octets<'o> {
    fn take(&mut self, count: usize) -> &'o [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn octet(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().unwrap()
    }

    /// ULEB128.
    fn varint(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let octet = self.octet();
            number |= u64::from(octet & 0x7f) << shift;
            if octet < 0x80 {
                return number;
            }
        }
        panic!("a number of more than ten octets")
    }

    fn zigzag(&mut self) -> i64 {
        let number = self.varint();
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    /// A value of one of the compact protocol's types.
    fn value(&mut self, kind: u8) -> Value {
        match kind {
            1 => Value::Flag(true),
            2 => Value::Flag(false),
            3 => Value::Integer((self.octet() as i8).into()),
            4..=6 => Value::Integer(self.zigzag()),
            8 => {
                let length = self.varint() as usize;
                Value::Octets(self.take(length).to_vec())
            }
            9 => self.list(),
            12 => self.message(),
            other => panic!("type {other} is not in Parquet's metadata"),
        }
    }

    fn list(&mut self) -> Value {
        let header = self.octet();
        let length = match header >> 4 {
            15 => self.varint() as usize,
            short => short.into(),
        };
        Value::List((0..length).map(|_| self.value(header & 0x0f)).collect())
    }

    fn message(&mut self) -> Value {
        let (mut fields, mut id) = (BTreeMap::new(), 0);
        loop {
            let header = self.octet();
            if header == 0 {
                return Value::Struct(fields);
            }
            id = match header >> 4 {
                0 => self.zigzag(),
                step => id + i64::from(step),
            };
            let value = self.value(header & 0x0f);
            assert_eq!(fields.insert(id, value), None, "field {id} twice");
        }
    }
}

const MAGIC: &[u8] = b"PAR1";
const BOOLEAN: i64 = 0;
const INT64: i64 = 2;
const DOUBLE: i64 = 5;
const BYTE_ARRAY: i64 = 6;
/// Of repetition types, page types, encodings and codecs, what needs no more than is read here.
const REQUIRED: i64 = 0;
const DATA_PAGE: i64 = 0;
const PLAIN: i64 = 0;
const UNCOMPRESSED: i64 = 0;
const UTF8: i64 = 0;

/// The metadata, and where it begins.
fn footer(file: &[u8]) -> (Value, usize) {
    assert!(file.starts_with(MAGIC) && file.ends_with(MAGIC));
    let end = file.len() - 8;
    let length = u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize;
    let mut octets = Octets(&file[end - length..end]);
    let metadata = octets.message();
    assert!(octets.0.is_empty(), "octets behind the metadata");
    (metadata, end - length)
}

/// All columns by name, as the file has them.
fn read(file: &[u8]) -> Vec<(String, Column)> {
    let (metadata, end) = footer(file);
    assert_eq!(metadata.field(1).integer(), 1, "version");
    let rows = metadata.field(3).size();
    let (root, leaves) = metadata.field(2).list().split_first().unwrap();
    assert_eq!(root.field(5).size(), leaves.len());
    assert_eq!(root.find(1), None, "the root has no type");
    let [group] = metadata.field(4).list() else {
        panic!("one row group")
    };
    assert_eq!(group.field(3).size(), rows);
    let chunks = group.field(1).list();
    assert_eq!(chunks.len(), leaves.len());
    let mut at = MAGIC.len();
    let columns = std::iter::zip(leaves, chunks).map(|(leaf, chunk)| {
        let column = read_chunk(file, at, leaf, chunk.field(3), rows);
        at += chunk.field(3).field(7).size();
        (leaf.field(4).text(), column)
    });
    let columns = columns.collect();
    assert_eq!(at, end, "nothing lies between the columns and the metadata");
    assert_eq!(
        group.field(2).size(),
        end - MAGIC.len(),
        "the size of all of them"
    );
    columns
}

fn read_chunk(file: &[u8], at: usize, leaf: &Value, about: &Value, rows: usize) -> Column {
    let kind = leaf.field(1).integer();
    assert_eq!(leaf.field(3).integer(), REQUIRED);
    assert_eq!(about.field(1).integer(), kind);
    assert_eq!(about.field(3).list(), std::slice::from_ref(leaf.field(4)));
    assert_eq!(about.field(4).integer(), UNCOMPRESSED);
    assert_eq!(about.field(5).size(), rows);
    assert_eq!(about.field(6), about.field(7));
    assert_eq!(about.field(9).size(), at, "where its first page is");
    let mut octets = Octets(&file[at..at + about.field(7).size()]);
    let page = octets.message();
    assert_eq!(page.field(1).integer(), DATA_PAGE);
    assert_eq!(
        (page.field(2), page.field(3).size()),
        (page.field(3), octets.0.len())
    );
    assert_eq!(page.field(5).field(1).size(), rows);
    let encoding = page.field(5).field(2);
    assert_eq!(encoding.integer(), PLAIN);
    assert!(about.field(2).list().contains(encoding));
    // What is required has neither repetition nor definition levels: the values follow at once.
    let column = plain(&mut octets, kind, rows);
    assert!(octets.0.is_empty(), "octets behind the values");
    if kind == BYTE_ARRAY {
        assert_eq!(leaf.field(6).integer(), UTF8);
    }
    column
}

fn plain(octets: &mut Octets<'_>, kind: i64, rows: usize) -> Column {
    match kind {
        BOOLEAN => {
            let bits = octets.take(rows.div_ceil(8));
            Column::Flag((0..rows).map(|row| bits[row / 8] >> (row % 8) & 1 == 1).collect())
        }
        INT64 => Column::Integer((0..rows).map(|_| i64::from_le_bytes(octets.array())).collect()),
        DOUBLE => Column::Real((0..rows).map(|_| f64::from_le_bytes(octets.array())).collect()),
        BYTE_ARRAY => {
            let mut text = || {
                let length = u32::from_le_bytes(octets.array());
                String::from_utf8(octets.take(length as usize).to_vec()).unwrap()
            };
            Column::Text((0..rows).map(|_| text()).collect())
        }
        other => panic!("no column of ours has type {other}"),
    }
}

/// The same file again, of what was read from it.
fn written(columns: &[(String, Column)]) -> Vec<u8> {
    let mut table = Table::default();
    for (name, column) in columns {
        table.add(name, column.clone());
    }
    table.parquet()
}

/// Real numbers by their bits: no number equals the one that is none.
fn bits(column: &Column) -> Option<Vec<u64>> {
    match column {
        Column::Real(values) => Some(values.iter().map(|value| value.to_bits()).collect()),
        Column::Text(_) | Column::Integer(_) | Column::Flag(_) => None,
    }
}

fn column(rows: usize) -> impl Strategy<Value = Column> {
    prop_oneof![
        prop::collection::vec(".{0,20}", rows).prop_map(Column::Text),
        prop::collection::vec(any::<i64>(), rows).prop_map(Column::Integer),
        prop::collection::vec(any::<u64>().prop_map(f64::from_bits), rows).prop_map(Column::Real),
        prop::collection::vec(any::<bool>(), rows).prop_map(Column::Flag),
    ]
}

/// More columns than the short form of a list has room for, too.
fn columns() -> impl Strategy<Value = Vec<(String, Column)>> {
    (0_usize..40).prop_flat_map(|rows| prop::collection::vec((".{0,20}", column(rows)), 0..20))
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(columns in columns()) {
        let read = read(&written(&columns));
        prop_assert_eq!(read.len(), columns.len());
        for ((name, column), (known, expected)) in std::iter::zip(&read, &columns) {
            prop_assert_eq!(name, known);
            match (bits(column), bits(expected)) {
                (None, None) => prop_assert_eq!(column, expected),
                (read, written) => prop_assert_eq!(read, written),
            }
        }
    }
}

#[test]
fn a_table_of_thousands_of_rows_is_read_back() {
    let rows = 0..10_000_i64;
    let columns = [
        (
            "flow",
            Column::Text(rows.clone().map(|row| format!("flow-{row}")).collect()),
        ),
        (
            "seed",
            Column::Integer(rows.clone().map(|row| row - 5_000).collect()),
        ),
        (
            "goodput_mbps",
            Column::Real(rows.clone().map(|row| row as f64 / 3.0).collect()),
        ),
        ("stopped", Column::Flag(rows.map(|row| row % 3 == 0).collect())),
    ];
    let columns = columns.map(|(name, column)| (name.to_owned(), column));
    assert_eq!(read(&written(&columns)), columns);
}

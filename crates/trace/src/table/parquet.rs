//! Parquet files, as simple as they can be: one row group, one page for each column, plain encoding, no compression, no missing values.
//!
//! # Sources
//! - Apache Parquet, `README.md` (layout of a file) and `Encodings.md` (plain), `parquet.thrift` (the numbers of the metadata's fields).
//!
//! # Where we differ, and why
//! 1. A table of results has thousands of rows: pages, dictionaries and compression would be for millions. The crate `parquet` does all that, and
//!    takes longer to compile than the rest of this program.
//!
//! # Checked by
//! `tests/parquet.rs`: a reader that was written from the specification reads all values back; once, by the crate `parquet` 60.1, a table of 24 columns and
//! 1,000 rows.

use super::Column;
use super::thrift::Struct;

const MAGIC: &[u8; 4] = b"PAR1";
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const UNCOMPRESSED: i32 = 0;
const REQUIRED: i32 = 0;
const UTF8: i32 = 0;

impl Column {
    /// The number of its physical type.
    const fn kind(&self) -> i32 {
        match self {
            Self::Flag(_) => 0,
            Self::Integer(_) => 2,
            Self::Real(_) => 5,
            Self::Text(_) => 6,
        }
    }

    fn plain(&self) -> Vec<u8> {
        match self {
            Self::Flag(values) => bits(values),
            Self::Integer(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Real(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Text(values) => texts(values),
        }
    }
}

fn bits(values: &[bool]) -> Vec<u8> {
    let octet = |part: &[bool]| {
        part.iter()
            .enumerate()
            .fold(0, |octet, (bit, value)| octet | u8::from(*value) << bit)
    };
    values.chunks(8).map(octet).collect()
}

fn texts(values: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        out.extend_from_slice(value.as_bytes());
    }
    out
}

/// Where a column's page lies.
struct Chunk {
    offset: usize,
    length: usize,
}

/// The whole file.
pub(super) fn file(columns: &[(String, Column)], rows: usize) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let chunks: Vec<Chunk> = columns
        .iter()
        .map(|(_, column)| page(&mut out, column, rows))
        .collect();
    let metadata = metadata(columns, &chunks, rows).finish();
    out.extend_from_slice(&metadata);
    out.extend_from_slice(&(metadata.len() as u32).to_le_bytes());
    out.extend_from_slice(MAGIC);
    out
}

fn page(out: &mut Vec<u8>, column: &Column, rows: usize) -> Chunk {
    let (offset, values) = (out.len(), column.plain());
    let header = Struct::default()
        .i32(1, rows as i32)
        .i32(2, PLAIN)
        .i32(3, RLE)
        .i32(4, RLE);
    let page = Struct::default()
        .i32(1, 0)
        .i32(2, values.len() as i32)
        .i32(3, values.len() as i32)
        .nested(5, header);
    out.extend(page.finish());
    out.extend(values);
    Chunk {
        offset,
        length: out.len() - offset,
    }
}

fn metadata(columns: &[(String, Column)], chunks: &[Chunk], rows: usize) -> Struct {
    let root = Struct::default().text(4, "schema").i32(5, columns.len() as i32);
    let schema = std::iter::once(root).chain(columns.iter().map(|(name, column)| element(name, column)));
    let parts = columns
        .iter()
        .zip(chunks)
        .map(|((name, column), chunk)| part(name, column, chunk, rows));
    let group = Struct::default()
        .structs(1, parts.collect())
        .i64(2, chunks.iter().map(|chunk| chunk.length as i64).sum())
        .i64(3, rows as i64);
    Struct::default()
        .i32(1, 1)
        .structs(2, schema.collect())
        .i64(3, rows as i64)
        .structs(4, vec![group])
        .text(6, concat!("slowhand ", env!("CARGO_PKG_VERSION")))
}

fn element(name: &str, column: &Column) -> Struct {
    let element = Struct::default()
        .i32(1, column.kind())
        .i32(3, REQUIRED)
        .text(4, name);
    match column {
        Column::Text(_) => element.i32(6, UTF8),
        Column::Integer(_) | Column::Real(_) | Column::Flag(_) => element,
    }
}

fn part(name: &str, column: &Column, chunk: &Chunk, rows: usize) -> Struct {
    let about = Struct::default()
        .i32(1, column.kind())
        .i32s(2, &[PLAIN, RLE])
        .texts(3, &[name])
        .i32(4, UNCOMPRESSED)
        .i64(5, rows as i64)
        .i64(6, chunk.length as i64)
        .i64(7, chunk.length as i64)
        .i64(9, chunk.offset as i64);
    Struct::default().i64(2, chunk.offset as i64).nested(3, about)
}

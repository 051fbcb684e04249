//! A Parquet file read back by the reader of the crate `parquet`.

use bytes::Bytes;
use columns::{Column, Table};
use parquet::basic::{ConvertedType, Repetition, Type};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use proptest::prelude::*;

/// All columns by name, as the file has them.
fn read(file: Vec<u8>) -> Vec<(String, Column)> {
    let file = SerializedFileReader::new(Bytes::from(file)).unwrap();
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    assert_eq!(file.num_row_groups(), 1);
    let group = file.get_row_group(0).unwrap();
    let rows = file.metadata().file_metadata().num_rows() as usize;
    let columns = schema.columns().iter().enumerate();
    let columns = columns.map(|(index, about)| {
        assert_eq!(
            about.self_type().get_basic_info().repetition(),
            Repetition::REQUIRED
        );
        let column = match (about.physical_type(), about.converted_type()) {
            (Type::BYTE_ARRAY, ConvertedType::UTF8) => {
                let texts = values::<ByteArrayType>(&*group, index, rows);
                let text = |octets: &ByteArray| octets.as_utf8().unwrap().to_owned();
                Column::Text(texts.iter().map(text).collect())
            }
            (Type::INT64, ConvertedType::NONE) => Column::Integer(values::<Int64Type>(&*group, index, rows)),
            (Type::DOUBLE, ConvertedType::NONE) => Column::Real(values::<DoubleType>(&*group, index, rows)),
            (Type::BOOLEAN, ConvertedType::NONE) => Column::Flag(values::<BoolType>(&*group, index, rows)),
            other => panic!("no column of ours is {other:?}"),
        };
        (about.name().to_owned(), column)
    });
    columns.collect()
}

/// The values of one column.
fn values<T: DataType>(group: &dyn RowGroupReader, index: usize, rows: usize) -> Vec<T::T> {
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(index).unwrap());
    let mut values = Vec::new();
    // One more than there may be: nothing lies behind the last row.
    reader.read_records(rows + 1, None, None, &mut values).unwrap();
    assert_eq!(values.len(), rows);
    values
}

/// The file of these columns.
fn written(columns: &[(String, Column)]) -> Vec<u8> {
    let mut table = Table::default();
    for (name, column) in columns {
        table.add(name, column.clone());
    }
    table.parquet().unwrap()
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

fn columns() -> impl Strategy<Value = Vec<(String, Column)>> {
    (0_usize..40).prop_flat_map(|rows| prop::collection::vec((".{0,20}", column(rows)), 1..20))
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(columns in columns()) {
        let read = read(written(&columns));
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
fn numbers_that_compare_oddly_keep_their_bits() {
    let odd = Column::Real(vec![
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::MIN_POSITIVE / 2.0,
    ]);
    let read = read(written(&[("odd".to_owned(), odd.clone())]));
    assert_eq!(bits(&read[0].1), bits(&odd));
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
            "set.aps.near.rate_mbps",
            Column::Real(rows.clone().map(|row| row as f64 / 3.0).collect()),
        ),
        ("stopped", Column::Flag(rows.map(|row| row % 3 == 0).collect())),
    ];
    let columns = columns.map(|(name, column)| (name.to_owned(), column));
    assert_eq!(read(written(&columns)), columns);
}

#[test]
fn the_file_names_its_program() {
    let file = written(&[("seed".to_owned(), Column::Integer(vec![1]))]);
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    let file = SerializedFileReader::new(Bytes::from(file)).unwrap();
    let about = file.metadata().file_metadata();
    assert_eq!(
        about.created_by(),
        Some(concat!("slowhand ", env!("CARGO_PKG_VERSION")))
    );
}

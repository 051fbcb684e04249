//! Parquet files by the crate `parquet`: one row group, no compression, no missing values.
//!
//! # Checked by
//! `tests/parquet.rs`: the crate's own reader finds the names, the types and all values again.

use crate::column::Column;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// Why a table has no Parquet file.
#[derive(Debug, thiserror::Error)]
#[error(
    "the table does not fit into a Parquet file ({0}); name a file that does not end in .parquet to get JSON Lines"
)]
pub struct ParquetError(#[from] parquet::errors::ParquetError);

/// The whole file.
pub(super) fn parquet(columns: &[(String, Column)]) -> std::result::Result<Vec<u8>, ParquetError> {
    Ok(write(columns)?)
}

fn write(columns: &[(String, Column)]) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_created_by(concat!("slowhand ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(columns)?, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut columns = columns.iter();
    while let (Some(mut writer), Some((_, column))) = (group.next_column()?, columns.next()) {
        write_column(&mut writer, column)?;
        writer.close()?;
    }
    group.close()?;
    writer.into_inner()
}

fn schema(columns: &[(String, Column)]) -> Result<TypePtr> {
    let fields = columns.iter().map(|(name, column)| element(name, column));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    Ok(Arc::new(schema))
}

fn element(name: &str, column: &Column) -> Result<TypePtr> {
    let (physical, logical) = match column {
        Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Column::Integer(_) => (Physical::INT64, None),
        Column::Real(_) => (Physical::DOUBLE, None),
        Column::Flag(_) => (Physical::BOOLEAN, None),
    };
    let element = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(element))
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, column: &Column) -> Result<usize> {
    match column {
        Column::Text(values) => {
            let values: Vec<ByteArray> = values.iter().map(|value| value.as_str().into()).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, None, None)
        }
        Column::Integer(values) => writer.typed::<Int64Type>().write_batch(values, None, None),
        Column::Real(values) => writer.typed::<DoubleType>().write_batch(values, None, None),
        Column::Flag(values) => writer.typed::<BoolType>().write_batch(values, None, None),
    }
}

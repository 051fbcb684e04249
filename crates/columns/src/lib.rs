//! Results as a table: many runs, one row each or one for each flow, for programs that analyse them.
//!
//! [`Table::json_lines`] writes one object a row, [`Table::parquet`] writes columns. Both hold the same
//! values in the same order.

mod column;
mod file;

pub use column::Column;
pub use file::ParquetError;
use serde_json::Value;

/// A table: named columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    columns: Vec<(String, Column)>,
}

impl Table {
    /// Adds a column.
    ///
    /// # Panics
    /// If it is not as long as those before it.
    pub fn add(&mut self, name: impl Into<String>, column: Column) {
        if let Some((_, first)) = self.columns.first() {
            assert_eq!(first.len(), column.len(), "columns of one table are equally long");
        }
        self.columns.push((name.into(), column));
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// One JSON object a line, keys in the order of the columns.
    pub fn json_lines(&self) -> String {
        let row = |row: usize| {
            let cells = self.columns.iter();
            let cells =
                cells.map(|(name, column)| format!("{}:{}", Value::from(name.as_str()), column.json(row)));
            format!("{{{}}}\n", cells.collect::<Vec<_>>().join(","))
        };
        (0..self.rows()).map(row).collect()
    }

    /// A Parquet file: one row group, uncompressed.
    pub fn parquet(&self) -> Result<Vec<u8>, ParquetError> {
        file::parquet(&self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        table.add("flow", Column::Text(vec!["a".into(), "b\"c".into()]));
        table.add("seed", Column::Integer(vec![1, -2]));
        table.add("mbps", Column::Real(vec![0.5, 2.0]));
        table.add("stopped", Column::Flag(vec![false, true]));
        table
    }

    #[test]
    fn a_row_is_an_object() {
        let lines: Vec<Value> = table()
            .json_lines()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["flow"], "b\"c");
        assert_eq!(lines[1]["seed"], -2);
        assert_eq!(lines[0]["mbps"], 0.5);
        assert_eq!(lines[1]["stopped"], true);
    }

    #[test]
    #[should_panic(expected = "equally long")]
    fn columns_are_equally_long() {
        table().add("short", Column::Flag(vec![true]));
    }
}

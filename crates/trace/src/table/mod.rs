//! Results as a table: many runs, one row each or one for each flow, for programs that analyse them.
//!
//! [`Table::json_lines`] writes one object a row, [`Table::parquet`] the columns; both hold the same values in the same order.

mod parquet;
mod thrift;

use serde_json::Value;

/// A table: named columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    columns: Vec<(String, Column)>,
}

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Text.
    Text(Vec<String>),
    /// Whole numbers.
    Integer(Vec<i64>),
    /// Numbers.
    Real(Vec<f64>),
    /// Yes or no.
    Flag(Vec<bool>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Flag(values) => values.len(),
        }
    }

    fn json(&self, row: usize) -> Value {
        match self {
            Self::Text(values) => values[row].clone().into(),
            Self::Integer(values) => values[row].into(),
            Self::Real(values) => values[row].into(),
            Self::Flag(values) => values[row].into(),
        }
    }
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

    /// A Parquet file: one row group, plain, uncompressed.
    pub fn parquet(&self) -> Vec<u8> {
        parquet::file(&self.columns, self.rows())
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
    fn a_parquet_file_has_its_values_in_plain() {
        let file = table().parquet();
        assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
        let holds = |part: &[u8]| file.windows(part.len()).any(|window| window == part);
        assert!(holds(b"\x01\0\0\0a\x03\0\0\0b\"c"), "text with its lengths");
        assert!(holds(&[1_i64.to_le_bytes(), (-2_i64).to_le_bytes()].concat()));
        assert!(holds(&[0.5_f64.to_le_bytes(), 2_f64.to_le_bytes()].concat()));
        let footer = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
        let metadata = &file[file.len() - 8 - footer..file.len() - 8];
        // Field 1, a 32-bit number: version 1.
        assert_eq!(&metadata[..2], [0x15, 0x02]);
    }

    #[test]
    #[should_panic(expected = "equally long")]
    fn columns_are_equally_long() {
        table().add("short", Column::Flag(vec![true]));
    }
}

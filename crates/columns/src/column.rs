//! One column of a table.

use serde_json::Value;

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
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Flag(values) => values.len(),
        }
    }

    pub(crate) fn json(&self, row: usize) -> Value {
        match self {
            Self::Text(values) => values[row].clone().into(),
            Self::Integer(values) => values[row].into(),
            Self::Real(values) => values[row].into(),
            Self::Flag(values) => values[row].into(),
        }
    }
}

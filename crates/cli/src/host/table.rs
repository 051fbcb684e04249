//! Columns that line up.

/// Rows of cells, each column as wide as its widest cell, two spaces between; the last column is not padded.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(cell);
        let padding = width - cell.chars().count() + 2;
        line.extend(std::iter::repeat_n(' ', padding));
    }
    let mut line = line.trim_end().to_owned();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [
            vec!["LINK".into(), "STATE".into()],
            vec!["é".into(), "use".into()],
            vec!["wlan0".into()],
        ];
        assert_eq!(aligned(&rows), "LINK   STATE\né      use\nwlan0\n");
    }
}

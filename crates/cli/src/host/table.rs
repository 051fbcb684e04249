//! Columns that line up.

use trace::Shown;

/// Rows of cells, each column as wide as its widest cell, two spaces between; the last column is not padded. Names of interfaces, links and
/// the like do nothing to the terminal.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let shown = rows
        .iter()
        .map(|row| row.iter().map(|cell| Shown(cell).to_string()).collect());
    let rows: Vec<Vec<String>> = shown.collect();
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
        let hostile = [vec!["wl\x1b[2J\n".into(), "\u{202e}up".into()]];
        assert_eq!(aligned(&hostile), "wl\\u{1b}[2J\\n  \\u{202e}up\n");
    }
}

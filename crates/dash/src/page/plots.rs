//! The page of a few pictures with a table of figures. It has no script.

use super::{STYLE, escape};
use crate::svg::plot;
use std::fmt::Write;
use trace::PaperFigure;

/// Style of what only this page has.
const MORE: &str = "svg { max-width: 100%; height: auto; }\nfigure { margin: 0 0 16px; }\n\
    td:first-child, th:first-child { text-align: left; }";

/// What the page shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Plots<'p> {
    /// Where it was measured.
    pub eyebrow: &'p str,
    /// The main result, in a sentence.
    pub headline: &'p str,
    /// What was done.
    pub about: &'p str,
    /// The table's columns.
    pub header: &'p [&'p str],
    /// Its rows.
    pub rows: &'p [Vec<String>],
    /// The pictures.
    pub figures: &'p [PaperFigure],
}

/// Renders a self-contained page.
pub fn plots(page: &Plots<'_>) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>slowhand: {}</title>\
         <link rel=\"icon\" href=\"data:,\"><style>{STYLE}\n{MORE}</style></head>\n<body>\n\
         <header class=\"top\"><p class=\"eyebrow\">{}</p><h1>{}</h1><p class=\"about\">{}</p></header>\n<main>\n\
         <section class=\"card\"><h2>The figures</h2><table><thead><tr>",
        escape(page.headline),
        escape(page.eyebrow),
        escape(page.headline),
        escape(page.about),
    );
    for name in page.header {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(name));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in page.rows {
        let cells: String = row
            .iter()
            .map(|cell| format!("<td>{}</td>", escape(cell)))
            .collect();
        let _ = writeln!(out, "<tr>{cells}</tr>");
    }
    out.push_str("</tbody></table></section>\n<section class=\"card\"><h2>The walk</h2>\n");
    for figure in page.figures {
        let _ = writeln!(out, "<figure>{}</figure>", plot(figure));
    }
    out + "</section>\n</main>\n</body></html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::PaperSeries;

    #[test]
    fn a_page_has_its_figures_and_escapes_its_words() {
        let series = PaperSeries {
            name: "slowhand".into(),
            published: false,
            level: false,
            points: vec![[0.0, 1.0], [1.0, 2.0]],
        };
        let figure = PaperFigure {
            id: String::new(),
            title: "Goodput".into(),
            x: "time, s".into(),
            y: "Mb/s".into(),
            series: vec![series],
        };
        let page = plots(&Plots {
            eyebrow: "a box",
            headline: "1 < 2",
            about: "",
            header: &["who"],
            rows: &[vec!["<b>".into()]],
            figures: &[figure],
        });
        assert!(
            page.contains("<h1>1 &lt; 2</h1>") && page.contains("<td>&lt;b&gt;</td>"),
            "{page}"
        );
        assert_eq!(page.matches("<svg").count(), 1);
        assert!(!page.contains("<script"));
    }
}

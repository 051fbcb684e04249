//! The page of `slowhand papers`: every figure with our results beside the published points, and every claim
//! with whether it holds. One file without a script.

use crate::page::{STYLE, escape};
use crate::svg::plot;
use std::fmt::Write;
use trace::{Claim, PapersDocument};

/// Renders a self-contained page.
pub fn papers(document: &PapersDocument) -> String {
    let held = document.claims.iter().filter(|claim| claim.holds).count();
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>slowhand: papers</title><style>{STYLE}\n.claims td, .claims th {{ text-align: left; vertical-align: top; padding: 4px 12px 4px 0; }}\n\
         .claims .no {{ color: var(--stall); font-weight: 650; }}\nsvg {{ max-width: 100%; height: auto; }}</style></head>\n\
         <body><header class=\"top\"><p class=\"eyebrow\">slowhand, papers, simulated</p>\
         <h1>{held} of {} claims hold</h1></header><main>\n",
        document.claims.len()
    );
    for id in ids(document) {
        let _ = writeln!(out, "<section class=\"card\"><h2>{}</h2>", escape(id));
        for figure in document.figures.iter().filter(|figure| figure.id == id) {
            let _ = writeln!(out, "<figure>{}</figure>", plot(figure));
        }
        let claims = document.claims.iter().filter(|claim| claim.id == id);
        out.push_str(&table(claims));
        out.push_str("</section>\n");
    }
    let _ = writeln!(
        out,
        "</main><footer><p>Ran for {:.1} s. Red rings and dashed red lines are from the paper, everything else is ours.</p></footer></body></html>",
        document.wall_s
    );
    out
}

/// Ids of claims and figures, in order of first appearance.
fn ids(document: &PapersDocument) -> Vec<&str> {
    let mut ids: Vec<&str> = Vec::new();
    let claims = document.claims.iter().map(|claim| claim.id.as_str());
    for id in claims.chain(document.figures.iter().map(|figure| figure.id.as_str())) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

fn table<'c>(claims: impl Iterator<Item = &'c Claim>) -> String {
    let mut out = String::from(
        "<table class=\"claims\"><thead><tr><th scope=\"col\">claim</th><th scope=\"col\">kind</th><th scope=\"col\">published</th>\
         <th scope=\"col\">ours</th><th scope=\"col\">holds</th><th scope=\"col\">note</th></tr></thead><tbody>\n",
    );
    for claim in claims {
        let (class, holds) = if claim.holds { ("", "yes") } else { ("no", "no") };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{holds}</td><td>{}</td></tr>",
            escape(&claim.claim),
            claim.kind,
            values(claim.published.values()),
            values(claim.ours.values()),
            escape(&claim.note),
        );
    }
    out + "</tbody></table>\n"
}

fn values<'v>(values: impl Iterator<Item = &'v f64>) -> String {
    let shown: Vec<String> = values.map(|value| format!("{value:.4}")).collect();
    let short = shown
        .iter()
        .map(|text| text.trim_end_matches('0').trim_end_matches('.'));
    short.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{ClaimKind, PaperFigure, PaperSeries};

    #[test]
    fn a_page_shows_which_claims_hold_and_is_self_contained() {
        let claim = |name: &str, holds| Claim {
            id: "a-fig1".into(),
            name: name.into(),
            kind: ClaimKind::Order,
            claim: format!("{name} < more"),
            published: [("x".to_owned(), 64.0)].into(),
            ours: [("x".to_owned(), 61.25)].into(),
            holds,
            note: "because".into(),
        };
        let document = PapersDocument {
            claims: vec![claim("less", true), claim("least", false)],
            figures: vec![PaperFigure {
                id: "a-fig1".into(),
                title: "figure 1".into(),
                x: "x".into(),
                y: "y".into(),
                series: vec![PaperSeries {
                    name: "ours".into(),
                    published: false,
                    level: false,
                    points: vec![[0.0, 1.0], [1.0, 2.0]],
                }],
            }],
            ..PapersDocument::default()
        };
        let page = papers(&document);
        assert!(page.contains("1 of 2 claims hold") && page.contains("least &lt; more"));
        assert!(
            page.contains("<td>64</td><td>61.25</td><td class=\"no\">no</td>"),
            "{page}"
        );
        assert_eq!(page.matches("<svg").count(), 1);
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("href="));
    }
}

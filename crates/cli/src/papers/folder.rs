//! Reads a folder of `papers/`: the published points and the claims.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::Deserialize;
use trace::{Claim, ClaimKind};

/// Published points and claims of one figure.
#[derive(Debug)]
pub struct Folder {
    id: &'static str,
    /// Its other files, by their names.
    files: Files,
    published: Vec<Point>,
    claims: Vec<Stated>,
}

/// Files of a folder: names and texts.
pub type Files = &'static [(&'static str, &'static str)];

/// A published value.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// As claims call it.
    pub name: String,
    /// Its position on the figure's horizontal axis.
    pub x: Option<f64>,
    /// The value.
    pub value: f64,
    /// Where the paper says it.
    #[serde(rename = "where")]
    #[expect(dead_code, reason = "whoever reads the file wants to know")]
    pub place: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedFile {
    figures: Vec<Point>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimsFile {
    claims: Vec<Stated>,
}

/// A claim as its file states it: an order, a value near another, or a limit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    name: String,
    kind: ClaimKind,
    claim: String,
    ascending: Option<Vec<String>>,
    figure: Option<String>,
    near: Option<f64>,
    within: Option<f64>,
    at_most: Option<f64>,
    at_least: Option<f64>,
    reason: String,
    /// What a second experiment shows of the cause, where it does not hold.
    cause: Option<String>,
}

/// What an experiment measured, by the names that claims use.
pub type Figures = BTreeMap<String, f64>;

impl Folder {
    /// Reads published points and claims.
    pub fn read(id: &'static str, published: &str, claims: &str, files: Files) -> anyhow::Result<Self> {
        let published: PublishedFile =
            toml::from_str(published).with_context(|| format!("papers/{id}/published.toml"))?;
        let claims: ClaimsFile =
            toml::from_str(claims).with_context(|| format!("papers/{id}/claims.toml"))?;
        Ok(Self {
            id,
            files,
            published: published.figures,
            claims: claims.claims,
        })
    }

    /// Its name.
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// The text of one of its files.
    pub fn file(&self, name: &str) -> anyhow::Result<&'static str> {
        let found = self.files.iter().find(|(known, _)| *known == name);
        let (_, text) = found.with_context(|| format!("papers/{}: there is no `{name}`", self.id))?;
        Ok(text)
    }

    /// The published value of this name, if there is one.
    pub fn published(&self, name: &str) -> Option<f64> {
        let found = self.published.iter().find(|point| point.name == name);
        found.map(|point| point.value)
    }

    /// The names of all published values.
    #[cfg(test)]
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.published.iter().map(|point| point.name.as_str())
    }

    /// The published points that have a place in the figure.
    pub fn points(&self) -> Vec<[f64; 2]> {
        let placed = self.published.iter();
        placed.filter_map(|point| Some([point.x?, point.value])).collect()
    }

    /// A published value that has no place in the figure: it is said of all of it.
    pub fn value(&self, name: &str) -> anyhow::Result<f64> {
        self.published(name)
            .with_context(|| format!("papers/{}/published.toml: there is no `{name}`", self.id))
    }

    /// What holds of what was measured.
    pub fn judge(&self, measured: &Figures) -> anyhow::Result<Vec<Claim>> {
        self.claims
            .iter()
            .map(|stated| self.verdict(stated, measured))
            .collect()
    }

    fn verdict(&self, stated: &Stated, measured: &Figures) -> anyhow::Result<Claim> {
        let names = stated.names();
        let values: Vec<f64> = names
            .iter()
            .map(|name| measured.get(*name).copied())
            .collect::<Option<_>>()
            .with_context(|| {
                format!(
                    "{}: claim `{}` uses a value that the experiment does not measure",
                    self.id, stated.name
                )
            })?;
        let holds = stated
            .holds(&values)
            .with_context(|| format!("{}: claim `{}` has no condition", self.id, stated.name))?;
        let published = self
            .published
            .iter()
            .filter(|point| names.contains(&&*point.name));
        Ok(Claim {
            id: self.id.to_owned(),
            name: stated.name.clone(),
            kind: stated.kind,
            claim: stated.claim.clone(),
            published: published.map(|point| (point.name.clone(), point.value)).collect(),
            ours: names.iter().map(|name| (*name).to_owned()).zip(values).collect(),
            holds,
            note: stated.note(holds),
        })
    }
}

impl Stated {
    fn names(&self) -> Vec<&str> {
        let ascending = self.ascending.iter().flatten();
        ascending.chain(&self.figure).map(String::as_str).collect()
    }

    fn holds(&self, values: &[f64]) -> Option<bool> {
        let Self {
            near,
            within,
            at_most,
            at_least,
            ..
        } = *self;
        match (&self.ascending, near, within, at_most, at_least) {
            (Some(_), None, None, None, None) => Some(values.windows(2).all(|pair| pair[0] < pair[1])),
            (None, Some(near), Some(within), None, None) => Some((values.first()? - near).abs() <= within),
            (None, None, None, Some(most), None) => Some(*values.first()? <= most),
            (None, None, None, None, Some(least)) => Some(*values.first()? >= least),
            _ => None,
        }
    }

    fn note(&self, holds: bool) -> String {
        let tolerance = match (self.within, self.at_most, self.at_least) {
            (Some(within), ..) => format!("within {within}: {}", self.reason),
            (None, Some(most), _) => format!("at most {most}: {}", self.reason),
            (None, None, Some(least)) => format!("at least {least}: {}", self.reason),
            (None, None, None) => self.reason.clone(),
        };
        match &self.cause {
            Some(cause) if !holds => format!("{tolerance}; does not hold: {cause}"),
            _ => tolerance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: &str = "[[figures]]\nname = \"a\"\nx = 1\nvalue = 64\nwhere = \"table\"\n";

    fn judged(claim: &str) -> anyhow::Result<Vec<Claim>> {
        let claims =
            format!("[[claims]]\nname = \"c\"\nkind = \"number\"\nclaim = \"x\"\nreason = \"so\"\n{claim}\n");
        let folder = Folder::read("test", PUBLISHED, &claims, &[])?;
        let measured = [("a", 61.0), ("b", 70.0)].map(|(name, value)| (name.to_owned(), value));
        folder.judge(&measured.into())
    }

    #[test]
    fn claims_of_order_value_and_limit_are_judged() {
        for (claim, holds) in [
            ("ascending = [\"a\", \"b\"]", true),
            ("ascending = [\"b\", \"a\"]", false),
            ("figure = \"a\"\nnear = 64\nwithin = 5", true),
            ("figure = \"a\"\nnear = 64\nwithin = 2", false),
            ("figure = \"a\"\nat_most = 61", true),
            ("figure = \"b\"\nat_most = 61", false),
            ("figure = \"b\"\nat_least = 70", true),
            ("figure = \"a\"\nat_least = 70", false),
        ] {
            assert_eq!(judged(claim).unwrap()[0].holds, holds, "{claim}");
        }
    }

    #[test]
    fn a_claim_shows_both_sides_and_its_cause() {
        let claim = judged("figure = \"a\"\nnear = 64\nwithin = 2\ncause = \"see the sweep\"")
            .unwrap()
            .remove(0);
        assert_eq!((claim.published["a"], claim.ours["a"]), (64.0, 61.0));
        assert_eq!(claim.note, "within 2: so; does not hold: see the sweep");
    }

    #[test]
    fn a_value_that_was_not_published_is_an_error() {
        let folder = Folder::read("test", PUBLISHED, "claims = []", &[]).unwrap();
        assert_eq!(folder.value("a").unwrap(), 64.0);
        let error = folder.value("b").unwrap_err().to_string();
        assert_eq!(error, "papers/test/published.toml: there is no `b`");
    }

    #[test]
    fn a_claim_without_a_condition_is_an_error() {
        assert!(judged("figure = \"c\"\nat_most = 1").is_err());
        assert!(judged("figure = \"a\"").is_err());
        assert!(judged("figure = \"a\"\nat_moist = 1").is_err());
    }
}

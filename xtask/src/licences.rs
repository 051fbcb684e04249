//! Every package that a build uses has a licence that fits ours; the list is in `deny.toml`.

use anyhow::Context;
use serde::Deserialize;

use crate::Findings;
use crate::metadata::Metadata;
use crate::spdx;

#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

/// Reads the list and asks cargo for everything that is built.
pub fn check() -> anyhow::Result<Findings> {
    let text =
        std::fs::read_to_string("deny.toml").context("deny.toml: run this at the root of the repository")?;
    let deny: Deny = toml::from_str(&text).context("deny.toml")?;
    let metadata = Metadata::load()?;
    let wrong = metadata
        .packages
        .iter()
        .filter(|package| !spdx::satisfied(package.license.as_deref().unwrap_or(""), &deny.licenses.allow))
        .map(|package| {
            let licence = package.license.as_deref().unwrap_or("no licence expression");
            format!(
                "{} {}: {licence}; use another crate, or add it to deny.toml if it fits",
                package.name, package.version
            )
        })
        .collect();
    Ok(Findings {
        looked_at: format!("licences: {} packages", metadata.packages.len()),
        wrong,
    })
}

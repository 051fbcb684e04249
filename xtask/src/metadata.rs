//! What cargo knows of the workspace and of everything it is built from.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

/// `cargo metadata`, as far as the rules need it.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// The workspace's own packages and all they are built from.
    pub packages: Vec<Package>,
    /// Identifiers of the workspace's own packages.
    pub workspace_members: Vec<String>,
    /// What each package is really built from.
    pub resolve: Resolve,
}

/// The graph of packages.
#[derive(Debug, Deserialize)]
pub struct Resolve {
    nodes: Vec<Node>,
}

/// A package in the graph.
#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

/// A package that another one is built from.
#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

/// How: `None` for a normal dependency, otherwise `dev` or `build`.
#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

/// One package.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// Cargo's identifier.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SPDX expression.
    pub license: Option<String>,
    /// Declared dependencies of every kind.
    pub dependencies: Vec<Dependency>,
}

/// One declared dependency.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// Name of the package, as the registry or the workspace knows it.
    pub name: String,
    /// `None` for a normal dependency, otherwise `dev` or `build`.
    pub kind: Option<String>,
}

impl Metadata {
    /// Reads the metadata from cargo.
    pub fn load() -> anyhow::Result<Self> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--locked"])
            .output()
            .context("cannot run cargo metadata")?;
        anyhow::ensure!(
            output.status.success(),
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).context("cannot parse the output of cargo metadata")
    }

    /// What a program of ours links: the names of its normal dependencies and of theirs, each with the
    /// path that leads to it.
    pub fn linked(&self, program: &'static str) -> BTreeMap<&str, Vec<&str>> {
        let names: BTreeMap<&str, &str> = self
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package.name.as_str()))
            .collect();
        let mut ways = BTreeMap::new();
        let ours = self.workspace_members.iter().map(String::as_str);
        let mut open: Vec<(&str, Vec<&str>)> = ours
            .filter(|id| names.get(id) == Some(&program))
            .map(|id| (id, vec![program]))
            .collect();
        while let Some((id, way)) = open.pop() {
            let node = self.resolve.nodes.iter().find(|node| node.id == id);
            for edge in node.into_iter().flat_map(|node| &node.deps) {
                let is_normal = edge.dep_kinds.iter().any(|kind| kind.kind.is_none());
                let Some(&name) = names.get(edge.pkg.as_str()).filter(|_| is_normal) else {
                    continue;
                };
                if !ways.contains_key(name) {
                    let way = [&way[..], &[name]].concat();
                    ways.insert(name, way.clone());
                    open.push((&edge.pkg, way));
                }
            }
        }
        ways
    }

    /// The workspace's own packages, with the names of their normal dependencies.
    pub fn own(&self) -> BTreeMap<&str, Vec<&str>> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
            .map(|package| (package.name.as_str(), package.normal_dependencies()))
            .collect()
    }
}

impl Package {
    fn normal_dependencies(&self) -> Vec<&str> {
        self.dependencies
            .iter()
            .filter(|d| d.kind.is_none())
            .map(|d| d.name.as_str())
            .collect()
    }
}

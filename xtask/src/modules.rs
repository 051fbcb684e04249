//! Which file of a crate uses which: its module tree and the paths in it, parsed with `syn`. Test code is
//! left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// Re-exports of re-exports are followed this often.
const MOST_HOPS: u32 = 16;

/// A module, from the crate's root: `["daemon", "links"]`.
type ModulePath = Vec<String>;

/// One module, be it a file or a block in one.
#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    /// What its `use` lines call which path, as written.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules of which everything is imported.
    globs: Vec<Vec<String>>,
    /// Every path in its code, as written, and those of its private `use` lines.
    used: BTreeSet<Vec<String>>,
}

/// The modules of one crate.
#[derive(Debug, Default)]
pub struct Modules(BTreeMap<ModulePath, Module>);

impl Modules {
    /// Reads a crate from its `lib.rs` or `main.rs`.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let mut modules = Self::default();
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        modules.read_file(root, &folder, Vec::new())?;
        Ok(modules)
    }

    fn read_file(&mut self, file: &Path, folder: &Path, path: ModulePath) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        self.add(file, folder, path, &parsed.items)
    }

    fn add(&mut self, file: &Path, folder: &Path, path: ModulePath, items: &[Item]) -> anyhow::Result<()> {
        let mut reader = Reader::default();
        reader.module.file = file.to_owned();
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let inner = [path.as_slice(), std::slice::from_ref(&name)].concat();
                    let below = folder.join(&name);
                    match &module.content {
                        Some((_, items)) => self.add(file, &below, inner, items)?,
                        None => self.read_file(&place(folder, &name), &below, inner)?,
                    }
                }
                Item::Use(line) => {
                    let private = matches!(line.vis, Visibility::Inherited);
                    reader.import(&line.tree, &mut Vec::new(), private);
                }
                other => reader.visit_item(other),
            }
        }
        self.0.insert(path, reader.module);
        Ok(())
    }

    /// For each file, the other files of the crate whose items it uses.
    pub fn uses(&self) -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
        let mut uses: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for (path, module) in &self.0 {
            let used = uses.entry(module.file.clone()).or_default();
            let found = module
                .used
                .iter()
                .filter_map(|name| self.resolve(path, name, MOST_HOPS));
            used.extend(found.filter(|file| **file != module.file).cloned());
        }
        uses
    }

    /// The file that defines what `name` means in the module `at`; `None` if that is not in this crate.
    fn resolve(&self, at: &[String], name: &[String], hops: u32) -> Option<&PathBuf> {
        let hops = hops.checked_sub(1)?;
        let (first, rest) = name.split_first()?;
        match first.as_str() {
            "crate" => self.descend(&[], rest, hops),
            "self" => self.descend(at, rest, hops),
            "super" => self.descend(at.split_last()?.1, rest, hops),
            _ if self.means(at, first) => self.descend(at, name, hops),
            _ => None,
        }
    }

    /// Whether a name in a module is one of its modules or imports.
    fn means(&self, at: &[String], name: &str) -> bool {
        let child = [at, &[name.to_owned()]].concat();
        self.0.contains_key(&child)
            || self
                .0
                .get(at)
                .is_some_and(|module| module.imports.contains_key(name))
    }

    fn descend(&self, at: &[String], name: &[String], hops: u32) -> Option<&PathBuf> {
        let hops = hops.checked_sub(1)?;
        let module = self.0.get(at)?;
        let Some((first, rest)) = name.split_first() else {
            return Some(&module.file);
        };
        if first == "super" {
            return self.descend(at.split_last()?.1, rest, hops);
        }
        let child = [at, std::slice::from_ref(first)].concat();
        if self.0.contains_key(&child) {
            return self.descend(&child, rest, hops);
        }
        if let Some(path) = module.imports.get(first) {
            return self.resolve(at, &[path, rest].concat(), hops);
        }
        let globbed = module.globs.iter().find_map(|glob| {
            let target = self.module_of(at, glob)?;
            self.means(&target, first)
                .then(|| self.descend(&target, name, hops))?
        });
        globbed.or(Some(&module.file))
    }

    /// The module that a path names, if it is one of this crate.
    fn module_of(&self, at: &[String], name: &[String]) -> Option<ModulePath> {
        let (first, rest) = name.split_first()?;
        let target = match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => [at, rest].concat(),
            "super" => [at.split_last()?.1, rest].concat(),
            _ => [at, name].concat(),
        };
        self.0.contains_key(&target).then_some(target)
    }
}

fn place(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(format!("{name}.rs"));
    if file.exists() {
        file
    } else {
        folder.join(name).join("mod.rs")
    }
}

/// Collects what one module imports and uses.
#[derive(Default)]
struct Reader {
    module: Module,
}

impl Reader {
    fn import(&mut self, tree: &UseTree, before: &mut Vec<String>, private: bool) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(&path.tree, before, private);
                before.pop();
            }
            UseTree::Name(name) => {
                self.name(name.ident.to_string(), before, &name.ident.to_string(), private)
            }
            UseTree::Rename(name) => {
                self.name(name.rename.to_string(), before, &name.ident.to_string(), private)
            }
            UseTree::Glob(_) => self.module.globs.push(before.clone()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before, private);
                }
            }
        }
    }

    fn name(&mut self, known_as: String, before: &[String], name: &str, private: bool) {
        let mut path = before.to_vec();
        let known_as = if name == "self" {
            before.last().cloned().unwrap_or_default()
        } else {
            path.push(name.to_owned());
            known_as
        };
        if private {
            self.module.used.insert(path.clone());
        }
        self.module.imports.insert(known_as, path);
    }

    /// Paths in the tokens of a macro's call.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.found(&path);
                        path.clear();
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    colons = 0;
                    self.tokens(group.stream());
                }
                _ => colons = 0,
            }
        }
        self.found(&path);
    }

    fn found(&mut self, path: &[String]) {
        if !path.is_empty() {
            self.module.used.insert(path.to_vec());
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.found(&names);
        visit::visit_path(self, path);
    }

    /// `pub(crate)` names a place and uses nothing of it.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_item_use(&mut self, line: &'ast syn::ItemUse) {
        self.import(&line.tree, &mut Vec::new(), true);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }
}

pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string().starts_with("test"),
        meta => meta.path().is_ident("test"),
    })
}

pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

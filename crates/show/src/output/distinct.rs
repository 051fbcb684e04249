//! Checks that outputs differ from all inputs and from each other.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use trace::Shown;

use super::followed;
use crate::exit::Refused;

/// The file that a path leads to, under any name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Identity {
    /// Device and inode.
    File(u64, u64),
    /// Path at which it will be created.
    Missing(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(there) => Self::File(there.dev(), there.ino()),
            Err(_) => Self::Missing(place(&followed(path))),
        }
    }

    /// The file that standard output goes to, if it is one.
    fn of_standard_output() -> Option<Self> {
        let output = io::stdout().as_fd().try_clone_to_owned().ok()?;
        let there = File::from(output).metadata().ok()?;
        there.is_file().then(|| Self::File(there.dev(), there.ino()))
    }
}

/// Refuses an output that is an input, another output, or the target of standard output. Errors name each as
/// the user does: by option and path.
pub fn distinct(outputs: &[(&str, &Path)], inputs: &[(&str, PathBuf)]) -> anyhow::Result<()> {
    let read: Vec<(&str, Identity)> = inputs
        .iter()
        .map(|(what, path)| (*what, Identity::of(path)))
        .collect();
    let mut written: Vec<(&str, Identity)> = Vec::new();
    for &(option, path) in outputs {
        let identity = Identity::of(path);
        let shown = Shown(path.display());
        let same = |(_, other): &&(&str, Identity)| *other == identity;
        if let Some((what, _)) = read.iter().find(same) {
            return Err(Refused::because(format!(
                "{option} {shown}: this is {what}, which is read; name another file"
            )));
        }
        if let Some((other, _)) = written.iter().find(same) {
            return Err(Refused::because(format!(
                "{option} {shown}: {other} is the same file; name another for one of them"
            )));
        }
        if Identity::of_standard_output().as_ref() == Some(&identity) {
            return Err(Refused::because(format!(
                "{option} {shown}: standard output goes to the same file; name another"
            )));
        }
        written.push((option, identity));
    }
    Ok(())
}

/// The absolute path that a missing file will have. Existing folders are resolved to their real names, the
/// rest is taken literally.
fn place(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = absolute
        .ancestors()
        .find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    let Some((folder, mut place)) = there else {
        return absolute;
    };
    let rest = absolute.strip_prefix(folder).unwrap_or(&absolute);
    for component in rest.components() {
        match component {
            Component::ParentDir => {
                place.pop();
            }
            Component::Normal(name) => place.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    place
}

//! The kernel and the root file system of the guest, and the cache that keeps them.
//!
//! The image has a directory whose name is the hash of its packages' versions. A file beside it says which
//! image this source tree uses. Packages are resolved again when [`packages::PROGRAMS`] or
//! [`modules::WANTED`] changes, or on request. The cache keeps one image.
//!
//! # Checked by
//! `tests/wifi.rs`.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::cpio::Archive;
use crate::kernel::{self, KernelError};
use crate::modules::{self, MissingModule};
use crate::packages::{self, Apt, PackagesError, Selection};
use crate::tool::{self, ToolError};

/// Directories that packages leave out and programs expect.
const DIRECTORIES: [&str; 12] = [
    "dev",
    "proc",
    "sys",
    "run",
    "tmp",
    "root",
    "share",
    "etc",
    "var",
    "usr/local",
    "usr/local/bin",
    "lib64",
];

/// Parts of packages that no program of a trial reads.
const LEFT_OUT: [&str; 7] = [
    "usr/share",
    "usr/include",
    "usr/src",
    "boot",
    "var",
    "lib/udev",
    "usr/lib/udev",
];

/// Raise it when the image is built differently from the same packages and files.
const FORM: &str = "2";

/// A built image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The kernel, an ELF file.
    pub kernel: PathBuf,
    /// The root file system, a cpio archive.
    pub root: PathBuf,
    /// The kernel's package and the versions of all packages, one a line.
    pub packages: PathBuf,
}

/// Why there is no image.
#[derive(Debug, Error)]
pub enum ImageError {
    /// The host lacks something.
    #[error("{0}")]
    Host(String),
    /// No packages.
    #[error(transparent)]
    Packages(#[from] PackagesError),
    /// A tool failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The kernel could not be unpacked.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A module is not in the package.
    #[error(transparent)]
    Module(#[from] MissingModule),
    /// The package of the kernel has no kernel.
    #[error("{0} has no /boot/vmlinuz; clear the cache of the virtual machine and try again")]
    NoKernel(String),
    /// A file could not be used.
    #[error("cannot use {}; free some space or correct its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The error of a file operation on this path.
fn io(path: &Path) -> impl FnOnce(io::Error) -> ImageError + use<> {
    let path = path.to_owned();
    move |source| ImageError::Io { path, source }
}

/// Whether to ask the distribution for newer packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Use a built image if there is one.
    Cached,
    /// Resolve the packages again.
    Newest,
}

/// The image in this cache, built if need be. `tell` hears what is being done.
pub fn ready(cache: &Path, freshness: Freshness, tell: &mut dyn FnMut(&str)) -> Result<Image, ImageError> {
    if let Some(missing) = tool::missing() {
        return Err(ImageError::Host(missing));
    }
    fs::create_dir_all(cache).map_err(io(cache))?;
    // apt resolves relative paths against its own directories.
    let cache = &cache.canonicalize().map_err(io(cache))?;
    // Two builds at once would share the apt root.
    let lock = File::create(cache.join("lock")).map_err(io(cache))?;
    lock.lock().map_err(io(cache))?;
    let wanted = hash(
        [FORM]
            .iter()
            .chain(packages::PROGRAMS.iter())
            .chain(modules::WANTED.iter()),
    );
    let pointer = cache.join(format!("{wanted}.image"));
    if freshness == Freshness::Cached
        && let Ok(name) = fs::read_to_string(&pointer)
        && let Some(image) = built(&cache.join(name.trim()))
    {
        return Ok(image);
    }
    tell("resolving packages");
    let apt = Apt::new(&cache.join("apt"))?;
    let selection = apt.resolve()?;
    let name = hash(
        selection
            .packages
            .iter()
            .map(String::as_str)
            .chain([wanted.as_str()]),
    );
    let directory = cache.join(&name);
    if built(&directory).is_none() {
        clear(cache)?;
        build(&apt, &selection, &directory, tell)?;
    }
    fs::write(&pointer, &name).map_err(io(&pointer))?;
    built(&directory).ok_or(ImageError::NoKernel(selection.kernel))
}

fn built(directory: &Path) -> Option<Image> {
    let image = Image {
        kernel: directory.join("vmlinux"),
        root: directory.join("root.cpio"),
        packages: directory.join("packages"),
    };
    let whole = [&image.kernel, &image.root, &image.packages]
        .iter()
        .all(|file| file.is_file());
    whole.then_some(image)
}

/// Removes the images of other packages, and what an interrupted build has left.
fn clear(cache: &Path) -> Result<(), ImageError> {
    for entry in fs::read_dir(cache).map_err(io(cache))? {
        let path = entry.map_err(io(cache))?.path();
        let is_image = path.join("root.cpio").exists() || path.extension().is_some_and(|end| end == "new");
        if is_image {
            fs::remove_dir_all(&path).map_err(io(&path))?;
        }
    }
    Ok(())
}

/// Builds into a directory beside the final one, which is renamed when all is there.
fn build(
    apt: &Apt,
    selection: &Selection,
    directory: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<(), ImageError> {
    let work = directory.with_extension("new");
    let tree = work.join("tree");
    fs::create_dir_all(&tree).map_err(io(&tree))?;
    tell(&format!("downloading {} packages", selection.packages.len()));
    let archives = work.join("archives");
    let files = apt.download(selection, &archives)?;
    tell("unpacking");
    for file in &files {
        tool::run(tool::command("dpkg-deb").arg("--extract").arg(file).arg(&tree))?;
    }
    fs::remove_dir_all(&archives).map_err(io(&archives))?;
    tell("unpacking the kernel");
    let release = selection.kernel.trim_start_matches("linux-image-");
    let packed = tree.join(format!("boot/vmlinuz-{release}"));
    let packed = fs::read(&packed).map_err(|_| ImageError::NoKernel(selection.kernel.clone()))?;
    let unpacked = kernel::unpacked(&packed, &work.join("payload"))?;
    let kernel = work.join("vmlinux");
    fs::write(&kernel, unpacked).map_err(io(&kernel))?;
    keep_modules(&tree, release)?;
    tell("writing the root file system");
    let root = work.join("root.cpio");
    write_root(&tree, &root).map_err(io(&root))?;
    let packages = work.join("packages");
    let listed = format!("{}\n{}\n", selection.kernel, selection.packages.join("\n"));
    fs::write(&packages, listed).map_err(io(&packages))?;
    for spent in [tree, work.join("payload")] {
        let removed = if spent.is_dir() {
            fs::remove_dir_all(&spent)
        } else {
            fs::remove_file(&spent)
        };
        removed.map_err(io(&spent))?;
    }
    fs::rename(&work, directory).map_err(io(directory))
}

/// Leaves only the modules that the guest needs, unpacked, with an index of them.
fn keep_modules(tree: &Path, release: &str) -> Result<(), ImageError> {
    let merged = tree.join("usr/lib/modules");
    let modules = if merged.is_dir() {
        merged
    } else {
        tree.join("lib/modules")
    };
    let all = modules.join(release);
    let base = modules
        .ancestors()
        .nth(if modules.starts_with(tree.join("usr")) {
            3
        } else {
            2
        })
        .unwrap_or(tree);
    let indexed = |base: &Path| tool::run(tool::command("depmod").arg("-b").arg(base).arg(release));
    indexed(base)?;
    let read = |name: &str| {
        let path = all.join(name);
        fs::read_to_string(&path).map_err(io(&path))
    };
    let wanted = modules::closure(&modules::WANTED, &read("modules.dep")?, &read("modules.builtin")?)?;
    let kept = modules.join("kept");
    for path in &wanted {
        let (from, to) = (all.join(path), kept.join(path));
        let parent = to.parent().unwrap_or(&kept);
        fs::create_dir_all(parent).map_err(io(parent))?;
        if from.extension().is_some_and(|extension| extension == "xz") {
            let unpacked = tool::bytes(tool::command("xz").arg("-dc").arg(&from))?;
            let to = to.with_extension("");
            fs::write(&to, unpacked).map_err(io(&to))?;
        } else {
            fs::rename(&from, &to).map_err(io(&from))?;
        }
    }
    for index in ["modules.builtin", "modules.builtin.modinfo", "modules.order"] {
        fs::rename(all.join(index), kept.join(index)).map_err(io(&all))?;
    }
    fs::remove_dir_all(&all).map_err(io(&all))?;
    fs::rename(&kept, &all).map_err(io(&all))?;
    indexed(base)?;
    Ok(())
}

fn write_root(tree: &Path, root: &Path) -> io::Result<()> {
    for part in LEFT_OUT {
        let path = tree.join(part);
        if path.is_dir() {
            fs::remove_dir_all(&path)?;
        }
    }
    for directory in DIRECTORIES {
        fs::create_dir_all(tree.join(directory))?;
    }
    let mut archive = Archive::new(BufWriter::new(File::create(root)?));
    archive.tree(tree)?;
    // The first process's standard output, before devices are mounted.
    archive.device("dev/console", 5, 1)?;
    archive.finish()?;
    Ok(())
}

/// The first 16 digits of a hash over these texts.
fn hash<'a>(texts: impl IntoIterator<Item = impl AsRef<str> + 'a>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_ref());
        hash.update([0]);
    }
    let digest = hash.finalize();
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

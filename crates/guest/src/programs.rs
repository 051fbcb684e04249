//! Programs of this host for the guest, each with the libraries that it loads.
//!
//! The host's libraries replace the guest's of the same name. Programs of the guest run with newer ones, so
//! the host must be at least as new as Debian 12.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` runs such programs in the guest.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cpio::Archive;
use crate::tool::{self, ToolError};

/// Why a program cannot be taken along.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// It is not there.
    #[error("{} is missing; build it with `cargo build --workspace`", .0.display())]
    Missing(PathBuf),
    /// A library is missing on this host.
    #[error("{program} needs {library}, which this host does not have; install it")]
    Library {
        /// The program.
        program: String,
        /// The library.
        library: String,
    },
    /// A tool failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file could not be copied.
    #[error("cannot copy {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Adds these programs to `/usr/local/bin` of the guest, without their debugging symbols, and their libraries
/// where the host has them. `scratch` is a file that may be overwritten.
pub fn add<W: Write>(
    archive: &mut Archive<W>,
    programs: &[PathBuf],
    scratch: &Path,
) -> Result<(), ProgramError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| ProgramError::Io { path, source }
    };
    let mut libraries = BTreeSet::new();
    for program in programs {
        let Some(name) = program.file_name().filter(|_| program.is_file()) else {
            return Err(ProgramError::Missing(program.clone()));
        };
        libraries.extend(libraries_of(program)?);
        tool::run(tool::command("strip").arg("-o").arg(scratch).arg(program))?;
        let content = fs::read(scratch).map_err(io(scratch))?;
        let path = format!("usr/local/bin/{}", name.to_string_lossy());
        archive.file(&path, 0o755, &content).map_err(io(program))?;
    }
    for library in &libraries {
        let content = fs::read(library).map_err(io(library))?;
        let path = library.strip_prefix("/").unwrap_or(library).to_string_lossy();
        archive.file(&path, 0o755, &content).map_err(io(library))?;
    }
    Ok(())
}

fn libraries_of(program: &Path) -> Result<Vec<PathBuf>, ProgramError> {
    let listed = tool::run(tool::command("ldd").arg(program))?;
    loaded(&listed).map_err(|library| ProgramError::Library {
        program: program.display().to_string(),
        library,
    })
}

/// The files in what `ldd` prints, or the name of a library that it has not found.
fn loaded(listed: &str) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for line in listed.lines() {
        let line = line.trim();
        let (library, file) = line.split_once(" => ").unwrap_or((line, line));
        if file == "not found" {
            return Err(library.to_owned());
        }
        // The kernel provides linux-vdso.so.1, which has no path.
        if file.starts_with('/') {
            let path = file.split(" (").next().unwrap_or(file);
            files.push(path.into());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_ldd_prints() {
        let listed = "\
\tlinux-vdso.so.1 (0x00007ffe6b5f2000)
\tlibelf.so.1 => /lib/x86_64-linux-gnu/libelf.so.1 (0x00007f1)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)
";
        let files = ["/lib/x86_64-linux-gnu/libelf.so.1", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(loaded(listed), Ok(files.map(PathBuf::from).to_vec()));
    }

    #[test]
    fn a_library_that_is_not_found_is_named() {
        let listed = "\tlibelf.so.1 => not found\n";
        assert_eq!(loaded(listed), Err("libelf.so.1".into()));
    }

    #[test]
    fn a_program_that_was_not_built_names_the_remedy() {
        let mut archive = Archive::new(Vec::new());
        let error = add(
            &mut archive,
            &["/nonexistent/slowhand".into()],
            Path::new("/dev/null"),
        )
        .unwrap_err();
        assert!(error.to_string().contains("cargo build --workspace"), "{error}");
    }
}

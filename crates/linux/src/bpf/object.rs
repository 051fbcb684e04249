//! Loads an embedded object, and explains to the user why that fails.

use super::LoadError;
use super::map::{Map, Plain};
use crate::rights;
use libbpf_rs::{MapCore, Object, ObjectBuilder, OpenObject, PrintLevel};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Once;

/// Most bytes shown of the verifier's log. The refusal is at its end.
const LOG_BYTES: usize = 2_000;

/// Aligns its bytes for an ELF header, because ELF sections are read in place.
#[repr(C, align(16))]
pub(super) struct Aligned<B: ?Sized>(pub(super) B);

/// An object file compiled by the build script.
pub(super) struct Embedded {
    pub(super) name: &'static str,
    pub(super) elf: &'static Aligned<[u8]>,
}

macro_rules! embedded {
    ($name:literal) => {
        $crate::bpf::object::Embedded {
            name: $name,
            elf: &$crate::bpf::object::Aligned(*include_bytes!(concat!(
                env!("OUT_DIR"),
                "/",
                $name,
                ".bpf.o"
            ))),
        }
    };
}
pub(super) use embedded;

/// A loaded object. Its programs and maps live as long as a descriptor of them.
pub(super) struct Loaded {
    object: Object,
}

impl Embedded {
    /// Loads only `programs` of the object. All its maps are created.
    pub(super) fn load(&self, programs: &[&str]) -> Result<Loaded, LoadError> {
        self.load_changed(programs, |_| {})
    }

    /// Loads the object after `change` has modified it.
    pub(super) fn load_changed(
        &self,
        programs: &[&str],
        change: impl FnOnce(&mut OpenObject),
    ) -> Result<Loaded, LoadError> {
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(LoadError::NoBtf);
        }
        keep_log();
        LOG.take();
        let object = self
            .open_and_load(programs, change)
            .map_err(|error| self.explain(&error))?;
        Ok(Loaded { object })
    }

    fn open_and_load(
        &self,
        programs: &[&str],
        change: impl FnOnce(&mut OpenObject),
    ) -> libbpf_rs::Result<Object> {
        let mut open = ObjectBuilder::default()
            .name(self.name)?
            .open_memory(&self.elf.0)?;
        for mut program in open.progs_mut() {
            let wanted = programs.iter().any(|name| program.name() == *name);
            program.set_autoload(wanted);
        }
        change(&mut open);
        open.load()
    }

    fn explain(&self, error: &libbpf_rs::Error) -> LoadError {
        let log = LOG.take();
        match error.kind() {
            libbpf_rs::ErrorKind::PermissionDenied if !looks_like_verifier(&log) => not_permitted(),
            libbpf_rs::ErrorKind::OutOfMemory => LoadError::Exhausted(io::ErrorKind::OutOfMemory.into()),
            _ if log.contains("mptcp") && log.contains("not found") => LoadError::NoMptcp(tail(&log)),
            _ => LoadError::Refused {
                program: self.name,
                log: format!("{error:#}\n{}", tail(&log)),
            },
        }
    }
}

impl Loaded {
    /// # Panics
    /// If the object has no such program. The object is embedded, so that is a bug.
    pub(super) fn program(&self, name: &str) -> io::Result<OwnedFd> {
        let program = self.object.progs().find(|program| program.name() == name);
        program
            .expect("the embedded object has this program")
            .as_fd()
            .try_clone_to_owned()
    }

    /// # Panics
    /// If the object has no such map, or one of other sizes. The object is embedded, so that is a bug.
    pub(super) fn map<K: Plain, V: Plain>(&self, name: &str) -> io::Result<Map<K, V>> {
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.expect("the embedded object has this map");
        assert_eq!(map.key_size() as usize, size_of::<K>(), "key of {name}");
        assert_eq!(map.value_size() as usize, size_of::<V>(), "value of {name}");
        Ok(Map::new(map.as_fd().try_clone_to_owned()?))
    }

    /// Registers the structure of function pointers called `name` in the kernel, until the descriptor is
    /// closed.
    ///
    /// # Panics
    /// If the object has no such structure. The object is embedded, so that is a bug.
    pub(super) fn register(&mut self, name: &str) -> libbpf_rs::Result<OwnedFd> {
        let map = self.object.maps_mut().find(|map| map.name() == name);
        let link = map
            .expect("the embedded object has this structure")
            .attach_struct_ops()?;
        Ok(link.as_fd().try_clone_to_owned()?)
    }
}

thread_local! {
    /// libbpf's output during a load on this thread. Loading is synchronous, so a thread sees only its own
    /// output.
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a printer that keeps libbpf's output for the error instead of writing to standard error. libbpf
/// has one printer per process.
fn keep_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| {
            LOG.with_borrow_mut(|log| log.push_str(&line));
        })));
    });
}

/// Whether the verifier refused. It also returns EACCES and EPERM, but writes a log.
fn looks_like_verifier(log: &str) -> bool {
    log.contains("BEGIN PROG LOAD LOG")
}

/// Checks capabilities first: without them every kernel refuses, locked down or not.
fn not_permitted() -> LoadError {
    let lacking = rights::lacking_for_bpf();
    if !lacking.is_empty() {
        return LoadError::NotPermitted(lacking);
    }
    let lockdown = std::fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return LoadError::LockedDown(lockdown.trim().to_owned());
    }
    LoadError::Forbidden
}

fn tail(log: &str) -> String {
    let from = log.len().saturating_sub(LOG_BYTES);
    let from = (from..log.len())
        .find(|&at| log.is_char_boundary(at))
        .unwrap_or(log.len());
    log[from..].trim().to_owned()
}

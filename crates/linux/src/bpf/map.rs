//! A BPF map with typed keys and values.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A type without padding for which every bit pattern is valid, so that it can be copied to and from the
/// kernel byte by byte.
///
/// # Safety
/// The implementer must be `repr(C)` or a primitive integer. It must have no padding, references or invalid
/// values.
pub(super) unsafe trait Plain: Copy + Default {}

// SAFETY: a primitive integer.
unsafe impl Plain for u32 {}
// SAFETY: a primitive integer.
unsafe impl Plain for u64 {}

/// A map shared by a program and this process.
#[derive(Debug)]
pub(super) struct Map<K, V> {
    fd: OwnedFd,
    types: PhantomData<fn(K) -> V>,
}

impl<K: Plain, V: Plain> Map<K, V> {
    /// Wraps a map. The caller has checked that its key and value sizes are those of `K` and `V`.
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self {
            fd,
            types: PhantomData,
        }
    }

    /// The descriptor, for pinning.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Sets an entry, whether or not it exists.
    pub(super) fn set(&self, key: K, value: V) -> io::Result<()> {
        self.update(key, value, libbpf_sys::BPF_ANY)
    }

    /// Adds an entry. An existing one keeps its value.
    pub(super) fn insert(&self, key: K, value: V) -> io::Result<()> {
        match self.update(key, value, libbpf_sys::BPF_NOEXIST) {
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
            other => other,
        }
    }

    fn update(&self, key: K, value: V, flags: u32) -> io::Result<()> {
        let (key, value) = ((&raw const key).cast(), (&raw const value).cast());
        // SAFETY: both point to live values of the map's key and value size.
        let code =
            unsafe { libbpf_sys::bpf_map_update_elem(self.fd.as_raw_fd(), key, value, u64::from(flags)) };
        check(code).map(drop)
    }

    /// Reads an entry, or `None` if it does not exist.
    pub(super) fn value(&self, key: K) -> io::Result<Option<V>> {
        let mut value = V::default();
        // SAFETY: both point to live values of the map's key and value size; any bits are a valid `V`.
        let code = unsafe {
            let (key, value) = ((&raw const key).cast(), (&raw mut value).cast());
            libbpf_sys::bpf_map_lookup_elem(self.fd.as_raw_fd(), key, value)
        };
        absent_is_none(check(code)).map(|found| found.map(|_| value))
    }

    /// Removes an entry and returns whether it existed.
    pub(super) fn remove(&self, key: K) -> io::Result<bool> {
        // SAFETY: the pointer is to a live value of the map's key size.
        let code = unsafe { libbpf_sys::bpf_map_delete_elem(self.fd.as_raw_fd(), (&raw const key).cast()) };
        absent_is_none(check(code)).map(|found| found.is_some())
    }
}

/// Converts libbpf's result: a negative value is an error number.
pub(super) fn check(code: i32) -> io::Result<i32> {
    if code < 0 {
        Err(io::Error::from_raw_os_error(-code))
    } else {
        Ok(code)
    }
}

fn absent_is_none(result: io::Result<i32>) -> io::Result<Option<i32>> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        other => other.map(Some),
    }
}

//! A BPF map with typed keys and values.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A type whose every bit pattern is a value, without padding: it may be copied from and to the kernel byte by byte.
///
/// # Safety
/// The implementer must be `repr(C)` or a primitive integer, and have no padding, references or invalid values.
pub(super) unsafe trait Plain: Copy + Default {}

// SAFETY: a primitive integer.
unsafe impl Plain for u32 {}
// SAFETY: a primitive integer.
unsafe impl Plain for u64 {}

/// One map that a program and we share.
#[derive(Debug)]
pub(super) struct Map<K, V> {
    fd: OwnedFd,
    types: PhantomData<fn(K) -> V>,
}

impl<K: Plain, V: Plain> Map<K, V> {
    /// Takes over a map whose key and value sizes have been checked to be those of `K` and `V`.
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self {
            fd,
            types: PhantomData,
        }
    }

    /// For pinning.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Writes, whether or not there is an entry.
    pub(super) fn set(&self, key: K, value: V) -> io::Result<()> {
        self.update(key, value, libbpf_sys::BPF_ANY)
    }

    /// Writes unless there is an entry already, whose value then stays.
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

    /// The value now, if there is an entry.
    pub(super) fn value(&self, key: K) -> io::Result<Option<V>> {
        let mut value = V::default();
        // SAFETY: both point to live values of the map's key and value size; any bits are a valid `V`.
        let code = unsafe {
            let (key, value) = ((&raw const key).cast(), (&raw mut value).cast());
            libbpf_sys::bpf_map_lookup_elem(self.fd.as_raw_fd(), key, value)
        };
        absent_is_none(check(code)).map(|found| found.map(|_| value))
    }

    /// Removes the entry; says whether there was one.
    pub(super) fn remove(&self, key: K) -> io::Result<bool> {
        // SAFETY: the pointer is to a live value of the map's key size.
        let code = unsafe { libbpf_sys::bpf_map_delete_elem(self.fd.as_raw_fd(), (&raw const key).cast()) };
        absent_is_none(check(code)).map(|found| found.is_some())
    }
}

/// libbpf's convention: the negated error number.
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

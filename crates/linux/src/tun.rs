//! TUN devices: interfaces whose packets a program reads and writes.
//!
//! The device disappears when its descriptor is closed, so nothing outlives the process that made it.
//!
//! # Sources
//! - `Documentation/networking/tuntap.rst`; `include/uapi/linux/if_tun.h` (Linux 6.18).
//!
//! # Checked by
//! The tests of `lab::tun`; `crates/cli/tests/host/networks.rs`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use thiserror::Error;

/// Where the kernel offers TUN devices.
pub const DEVICE: &str = "/dev/net/tun";

const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
const TUN_F_CSUM: libc::c_ulong = 1;

/// Why a TUN device could not be made.
#[derive(Debug, Error)]
pub enum CreateError {
    /// There is no such device file.
    #[error("{DEVICE} is missing; load it with `modprobe tun` or give the container that device")]
    NoDevice,
    /// Not allowed.
    #[error("creating the TUN device {name} needs CAP_NET_ADMIN; run as root")]
    NotPermitted {
        /// Its name.
        name: String,
    },
    /// The name is taken.
    #[error("an interface {name} already exists in this namespace; remove it")]
    Exists {
        /// The name.
        name: String,
    },
    /// Longer than an interface name may be, or empty.
    #[error("`{name}` is not an interface name; use 1 to 15 characters")]
    BadName {
        /// The name.
        name: String,
    },
    /// Another error of the kernel.
    #[error("TUN device {name}: {request} failed")]
    Kernel {
        /// Its name.
        name: String,
        /// The request that failed.
        request: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Creates the device in the namespace of the calling thread: down, without an address. `flags` are `IFF_*`.
/// The descriptor does not block. The request that the kernel has filled in is returned with it.
pub fn attach(name: &str, flags: libc::c_int) -> Result<(File, libc::ifreq), CreateError> {
    let mut request = request(name, flags)?;
    let file = open(name)?;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`.
    let attached = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) };
    if attached < 0 {
        return Err(refused(name, io::Error::last_os_error()));
    }
    Ok((file, request))
}

/// Leaves checksums of sent packets to the device that transmits them, for one from which no packet is read.
///
/// The kernel may route a packet to another device after it was made, and translate its address. Without
/// this, one of several segments (`UDP_SEGMENT`) then gets a wrong checksum, at least in Linux 6.18.
pub fn leave_checksums(device: &File, name: &str) -> Result<(), CreateError> {
    // SAFETY: TUNSETOFFLOAD takes a number.
    let set = unsafe { libc::ioctl(device.as_raw_fd(), TUNSETOFFLOAD, TUN_F_CSUM) };
    if set < 0 {
        return Err(CreateError::Kernel {
            name: name.to_owned(),
            request: "leaving checksums to other devices",
            source: io::Error::last_os_error(),
        });
    }
    Ok(())
}

fn request(name: &str, flags: libc::c_int) -> Result<libc::ifreq, CreateError> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() >= libc::IFNAMSIZ || bytes.contains(&0) {
        return Err(CreateError::BadName {
            name: name.to_owned(),
        });
    }
    // SAFETY: an `ifreq` of zeros is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    Ok(request)
}

fn refused(name: &str, source: io::Error) -> CreateError {
    let name = name.to_owned();
    match source.raw_os_error() {
        Some(libc::EPERM) => CreateError::NotPermitted { name },
        Some(libc::EBUSY | libc::EEXIST) => CreateError::Exists { name },
        _ => CreateError::Kernel {
            name,
            request: "making",
            source,
        },
    }
}

fn open(name: &str) -> Result<File, CreateError> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(DEVICE);
    opened.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => CreateError::NoDevice,
        io::ErrorKind::PermissionDenied => CreateError::NotPermitted {
            name: name.to_owned(),
        },
        _ => CreateError::Kernel {
            name: name.to_owned(),
            request: "opening the device file",
            source,
        },
    })
}

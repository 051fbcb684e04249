//! TUN devices: the two ends of every software link.
//!
//! Reading the descriptor returns what the kernel sends over the device. What is written to the descriptor
//! arrives on the device. The device disappears when its descriptor is closed, so nothing outlives a lab,
//! however that ends.
//!
//! Every packet has a virtio-net header in front. One read may therefore return a whole TCP burst that is not
//! yet cut into segments, and one write may deliver several segments of it.
//!
//! # Sources
//! - `Documentation/networking/tuntap.rst`; `include/uapi/linux/{if_tun,virtio_net}.h` (Linux 6.18).
//!
//! # Checked by
//! `tests`; `tests/emulator.rs` with traffic on them.

pub use linux::tun::{CreateError, DEVICE};

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

/// Length of the virtio-net header in front of every packet.
pub const VNET_LEN: usize = 10;

/// Packets that the kernel queues until we read them: enough for a burst while the emulator is kept off its
/// processor.
const QUEUE_LEN: libc::c_int = 4_096;

const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
const TUNSETLINK: libc::Ioctl = 0x4004_54cd;
const TUNSETCARRIER: libc::Ioctl = 0x4004_54e2;
/// `ARPHRD_IEEE80211_RADIOTAP`.
const RADIOTAP: libc::c_ulong = 803;
/// Creates the device without carrier (Linux 6.2 and later; older kernels ignore the flag).
const IFF_NO_CARRIER: libc::c_int = 0x0040;
const TUN_F_CSUM: libc::c_ulong = 1;
const TUN_F_TSO4: libc::c_ulong = 2;
const TUN_F_TSO6: libc::c_ulong = 4;

/// One TUN device in the namespace of the thread that made it.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Creates the device: down, with carrier, without an address.
    pub fn create(name: &str) -> Result<Self, CreateError> {
        Self::create_with(name, 0)
    }

    /// Creates the device: down, without carrier, without an address. If a carrier is removed and restored at
    /// once, the change is noticed up to a second late. The kernel polls lost carriers no more often, in all
    /// namespaces together (`net/core/link_watch.c`).
    pub fn unplugged(name: &str) -> Result<Self, CreateError> {
        Self::create_with(name, IFF_NO_CARRIER)
    }

    fn create_with(name: &str, flags: libc::c_int) -> Result<Self, CreateError> {
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR | flags;
        let (file, request) = linux::tun::attach(name, flags)?;
        let name = name.to_owned();
        let tun = Self { file, name };
        tun.configure(request)?;
        Ok(tun)
    }

    /// Creates a device whose link type is an 802.11 monitor with radiotap headers: down. Each write begins
    /// with packet information, and listeners on the device get what follows it.
    pub fn monitor(name: &str) -> Result<Self, CreateError> {
        let (file, _) = linux::tun::attach(name, libc::IFF_TUN)?;
        let name = name.to_owned();
        let tun = Self { file, name };
        // SAFETY: TUNSETLINK takes its argument by value.
        check(unsafe { libc::ioctl(tun.fd(), TUNSETLINK, RADIOTAP) })
            .map_err(|source| tun.error("setting the link type", source))?;
        Ok(tun)
    }

    fn configure(&self, request: libc::ifreq) -> Result<(), CreateError> {
        let offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
        // SAFETY: TUNSETOFFLOAD takes its argument by value.
        check(unsafe { libc::ioctl(self.fd(), TUNSETOFFLOAD, offloads) })
            .map_err(|source| self.error("setting the offloads", source))?;
        self.set_queue_len(request)
    }

    fn set_queue_len(&self, mut request: libc::ifreq) -> Result<(), CreateError> {
        request.ifr_ifru.ifru_metric = QUEUE_LEN;
        // SAFETY: opens a socket; the result is checked.
        let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        check(socket).map_err(|source| self.error("opening a socket for the queue length", source))?;
        // SAFETY: SIOCSIFTXQLEN reads one `ifreq`; the socket is ours and closed once.
        let set = check(unsafe { libc::ioctl(socket, libc::SIOCSIFTXQLEN, &raw const request) });
        // SAFETY: as above.
        unsafe { libc::close(socket) };
        set.map_err(|source| self.error("setting the queue length", source))
    }

    fn error(&self, request: &'static str, source: io::Error) -> CreateError {
        CreateError::Kernel {
            name: self.name.clone(),
            request,
            source,
        }
    }

    /// The name of its interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets or clears the carrier, as plugging a cable does. Fails while the device is down.
    pub fn set_carrier(&self, carrier: bool) -> io::Result<()> {
        let on = libc::c_int::from(carrier);
        // SAFETY: TUNSETCARRIER reads one int.
        check(unsafe { libc::ioctl(self.fd(), TUNSETCARRIER, &raw const on) })
    }

    /// Another handle to the same device.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            file: self.file.try_clone()?,
            name: self.name.clone(),
        })
    }

    /// Reads one packet with its header; `WouldBlock` when there is none.
    pub(crate) fn read(&self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&self.file).read_vectored(into)
    }

    /// Writes one packet with its header.
    pub(crate) fn write(&self, packet: &[IoSlice<'_>]) -> io::Result<usize> {
        (&self.file).write_vectored(packet)
    }

    fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.fd()
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::netns::Netns;
    use linux::rtnl::Rtnl;

    fn inside<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        Netns::new().expect("these tests need root").run(work).unwrap()
    }

    fn link(name: &str) -> Option<linux::rtnl::Link> {
        Rtnl::open().unwrap().link_named(name.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_device_exists_until_its_descriptor_is_closed() {
        inside(|| {
            let tun = Tun::create("wire").unwrap();
            assert_eq!(link("wire").unwrap().kind.as_deref(), Some("tun"));
            let second = tun.try_clone().unwrap();
            drop(tun);
            assert!(link("wire").is_some(), "another handle is open");
            drop(second);
            assert!(link("wire").is_none());
        });
    }

    #[test]
    fn the_carrier_can_be_switched() {
        inside(|| {
            let tun = Tun::create("wire").unwrap();
            let ifindex = link("wire").unwrap().ifindex;
            Rtnl::open().unwrap().set_up(ifindex, true).unwrap();
            assert!(link("wire").unwrap().carrier);
            tun.set_carrier(false).unwrap();
            assert!(!link("wire").unwrap().carrier);
            tun.set_carrier(true).unwrap();
            assert!(link("wire").unwrap().carrier);
        });
    }

    #[test]
    fn a_device_can_start_without_carrier() {
        inside(|| {
            let tun = Tun::unplugged("wire").unwrap();
            let ifindex = link("wire").unwrap().ifindex;
            Rtnl::open().unwrap().set_up(ifindex, true).unwrap();
            assert!(!link("wire").unwrap().carrier);
            tun.set_carrier(true).unwrap();
            assert!(link("wire").unwrap().carrier);
        });
    }

    #[test]
    fn a_taken_or_invalid_name_is_refused() {
        inside(|| {
            let _first = Tun::create("wire").unwrap();
            assert!(matches!(Tun::create("wire"), Err(CreateError::Exists { .. })));
            for name in ["", "a-name-that-is-too-long"] {
                assert!(
                    matches!(Tun::create(name), Err(CreateError::BadName { .. })),
                    "{name}"
                );
            }
        });
    }
}

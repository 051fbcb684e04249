//! The packet socket on a monitor interface.

use super::{Sighting, digest};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use thiserror::Error;
use units::MacAddr;

/// `ARPHRD_IEEE80211_RADIOTAP`.
const RADIOTAP: u16 = 803;
/// Bytes read from a frame. Its headers are shorter.
const BEGINNING: usize = 256;
/// Frames read per call.
const BATCH: usize = 32;
/// Receive buffer in bytes, for about 500 ms of small frames. The kernel's default holds 167 frames.
const RECEIVE_BUFFER: libc::c_int = 4 << 20;

/// Why a monitor interface could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// CAP_NET_RAW is missing.
    #[error("listening to frames needs CAP_NET_RAW: run as root")]
    NotPermitted,
    /// The interface does not exist.
    #[error("there is no interface {0}; make one with `iw dev wlan0 interface add mon0 type monitor`")]
    NoDevice(String),
    /// The interface is not in monitor mode.
    #[error(
        "{device} is not a monitor interface (its type is {kind}, radiotap is {RADIOTAP}); make one with `iw dev wlan0 interface add mon0 type monitor`"
    )]
    NotRadiotap {
        /// The interface.
        device: String,
        /// Its type.
        kind: u16,
    },
    /// Any other kernel error.
    #[error("{request} on {device}")]
    Kernel {
        /// The interface.
        device: String,
        /// The request that failed.
        request: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// An open monitor interface. It is readable ([`AsRawFd`]) when frames are pending.
#[derive(Debug)]
pub struct Capture {
    socket: OwnedFd,
    us: Vec<MacAddr>,
    missed: u64,
}

impl Capture {
    /// Opens `device` in the calling thread's namespace for a client with these addresses.
    pub fn open(device: &str, us: &[MacAddr]) -> Result<Self, OpenError> {
        let kernel = |request, source: io::Error| OpenError::Kernel {
            device: device.to_owned(),
            request,
            source,
        };
        let socket = packet_socket().map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => OpenError::NotPermitted,
            _ => kernel("a packet socket", error),
        })?;
        let (index, kind) = about(&socket, device).map_err(|error| match error.raw_os_error() {
            Some(libc::ENODEV) => OpenError::NoDevice(device.to_owned()),
            _ => kernel("reading the interface type", error),
        })?;
        if kind != RADIOTAP {
            let device = device.to_owned();
            return Err(OpenError::NotRadiotap { device, kind });
        }
        bind(&socket, index).map_err(|error| kernel("binding", error))?;
        // Without the privilege to exceed the host's limit, the limit must suffice.
        let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .or_else(|_| set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER));
        Ok(Self {
            socket,
            us: us.to_vec(),
            missed: 0,
        })
    }

    /// Passes the pending frames to `hear` and returns how many of any kind were pending.
    pub fn read(&mut self, mut hear: impl FnMut(Sighting)) -> io::Result<usize> {
        let mut frames = [[0_u8; BEGINNING]; BATCH];
        let mut lengths = [0_usize; BATCH];
        let mut total = 0;
        loop {
            let count = receive(&self.socket, &mut frames, &mut lengths)?;
            for (frame, &length) in frames.iter().zip(&lengths).take(count) {
                let shown = &frame[..length.min(BEGINNING)];
                if let Some(sighting) = digest(shown, length, &self.us) {
                    hear(sighting);
                }
            }
            total += count;
            if count < BATCH {
                return Ok(total);
            }
        }
    }

    /// Frames dropped for lack of buffer space, in total.
    pub fn missed(&mut self) -> io::Result<u64> {
        let mut stats = [0_u32; 2];
        let mut length = size_of_val(&stats) as libc::socklen_t;
        // SAFETY: the option fills two 32-bit numbers, and `length` says that there is room for them.
        let got = unsafe {
            libc::getsockopt(
                self.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut length,
            )
        };
        check(got)?;
        // Reading resets the kernel's counters.
        self.missed += u64::from(stats[1]);
        Ok(self.missed)
    }
}

impl AsRawFd for Capture {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointers, and the result is checked. With protocol 0 nothing is received before the
    // bind to a device.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: just made, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Index and type of a device.
fn about(socket: &OwnedFd, device: &str) -> io::Result<(libc::c_int, u16)> {
    // SAFETY: an `ifreq` of zeros is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed();
    }
    // SAFETY: both requests read and write one `ifreq`; the fields that they fill are the ones read.
    unsafe {
        check(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFINDEX,
            &raw mut request,
        ))?;
        let index = request.ifr_ifru.ifru_ifindex;
        check(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFHWADDR,
            &raw mut request,
        ))?;
        Ok((index, request.ifr_ifru.ifru_hwaddr.sa_family))
    }
}

fn bind(socket: &OwnedFd, index: libc::c_int) -> io::Result<()> {
    // SAFETY: an address of zeros is a valid one.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: `address` is a `sockaddr_ll` and `length` its size.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

fn set(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the option reads one int, and `length` is its size.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            length,
        )
    })
    .map(drop)
}

/// Reads the beginnings of the next frames, with the whole length of each.
fn receive(
    socket: &OwnedFd,
    frames: &mut [[u8; BEGINNING]; BATCH],
    lengths: &mut [usize; BATCH],
) -> io::Result<usize> {
    let mut parts = frames.each_mut().map(|frame| libc::iovec {
        iov_base: frame.as_mut_ptr().cast(),
        iov_len: BEGINNING,
    });
    // SAFETY: headers of zeros are valid ones, without addresses and control data.
    let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for (header, part) in headers.iter_mut().zip(&mut parts) {
        header.msg_hdr.msg_iov = part;
        header.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: every header points to one part and every part to a buffer of its length. All outlive the
    // call.
    let count = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            BATCH as libc::c_uint,
            libc::MSG_TRUNC,
            std::ptr::null_mut(),
        )
    };
    match check(count) {
        Ok(count) => {
            for (length, header) in lengths.iter_mut().zip(&headers) {
                *length = header.msg_len as usize;
            }
            Ok(count as usize)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error),
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

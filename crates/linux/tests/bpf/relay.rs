//! A pair of TUN devices connected by a relay that inspects every packet.

use crate::net::{Hosts, run};
use linux::netns::Netns;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const IPV6_HEADER_BYTES: usize = 40;
const PROTOCOL_TCP: u8 = 6;
const SYN: u8 = 0x02;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_MPTCP: u8 = 30;

/// The relay's effect on packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Passes packets unchanged.
    Honest,
    /// Removes MPTCP options from all segments except SYNs, as some middleboxes do.
    Stripping,
}

/// Packets that left the client after the last [`Relay::forget`].
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// TCP segments, without SYNs.
    pub segments: u64,
    /// Segments of any kind with a wrong TCP checksum.
    pub bad_checksums: u64,
    /// Segments without an MPTCP option, SYNs excluded.
    pub without_mptcp: u64,
    /// Largest announced window, in bytes.
    pub largest_window: u64,
    /// The client's window scale from its SYN. [`Relay::forget`] keeps it.
    scale: u8,
}

/// Carries packets in both directions until drop.
pub struct Relay {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

impl Relay {
    /// Connects two hosts by TUN devices `t1` with these addresses: the client's, the server's.
    pub fn between(hosts: &Hosts, addresses: [&str; 2], wire: Wire) -> Self {
        let client = tun(&hosts.client, addresses);
        let server = tun(&hosts.server, [addresses[1], addresses[0]]);
        let (seen, stop) = (
            Arc::new(Mutex::new(Seen::default())),
            Arc::new(AtomicBool::new(false)),
        );
        let (client_too, server_too) = (duplicate(&client), duplicate(&server));
        let look_up = Arc::clone(&seen);
        let up = carry(client, server, stop.clone(), move |packet| {
            look(
                &mut look_up.lock().expect("no thread panicked with the lock"),
                packet,
            );
            pass(wire, packet);
        });
        let down = carry(server_too, client_too, stop.clone(), move |packet| {
            pass(wire, packet)
        });
        Self {
            seen,
            stop,
            workers: vec![up, down],
        }
    }

    pub fn seen(&self) -> Seen {
        self.seen
            .lock()
            .expect("no thread panicked with the lock")
            .clone()
    }

    pub fn forget(&self) {
        let mut seen = self.seen.lock().expect("no thread panicked with the lock");
        *seen = Seen {
            scale: seen.scale,
            ..Seen::default()
        };
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            worker.join().expect("the relay ends when stopped");
        }
    }
}

fn duplicate(file: &File) -> File {
    file.try_clone().expect("a descriptor")
}

/// Creates a TUN device without packet information, up, with a point-to-point address.
pub fn tun(host: &Netns, [own, peer]: [&str; 2]) -> File {
    let device = host.run(open_tun).expect("enter the host");
    let prefix = if own.contains(':') { "128 nodad" } else { "32" };
    run(host, "ip link set t1 up");
    run(host, &format!("ip addr add {own} peer {peer}/{prefix} dev t1"));
    device
}

fn open_tun() -> File {
    // SAFETY: a path that ends in zero. The descriptor is checked.
    let fd = unsafe {
        libc::open(
            c"/dev/net/tun".as_ptr(),
            libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC,
        )
    };
    assert!(fd >= 0, "/dev/net/tun: {}", std::io::Error::last_os_error());
    // SAFETY: the kernel has just given us this descriptor.
    let device = unsafe { File::from_raw_fd(fd) };
    let mut request = [0_u8; 40];
    request[..2].copy_from_slice(b"t1");
    let flags = i16::try_from(libc::IFF_TUN | libc::IFF_NO_PI).expect("flags are 16 bits");
    request[16..18].copy_from_slice(&flags.to_ne_bytes());
    // SAFETY: `request` is a whole `struct ifreq`.
    let code = unsafe { libc::ioctl(fd, TUNSETIFF, request.as_mut_ptr()) };
    assert!(code >= 0, "TUNSETIFF: {}", std::io::Error::last_os_error());
    device
}

fn carry(
    mut from: File,
    mut to: File,
    stop: Arc<AtomicBool>,
    mut treat: impl FnMut(&mut [u8]) + Send + 'static,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut packet = vec![0_u8; 65_536];
        while !stop.load(Ordering::Relaxed) {
            wait_readable(&from);
            while let Ok(length) = from.read(&mut packet) {
                treat(&mut packet[..length]);
                // A full queue at the far end drops the packet, as a link may.
                let _ = to.write(&packet[..length]);
            }
        }
    })
}

fn pass(wire: Wire, packet: &mut [u8]) {
    let Some((pseudo_sum, at)) = tcp_at(packet) else {
        return;
    };
    let tcp = &mut packet[at..];
    if wire == Wire::Honest || tcp[13] & SYN != 0 {
        return;
    }
    let header = usize::from(tcp[12] >> 4) * 4;
    strip_mptcp(&mut tcp[20..header]);
    tcp[16..18].fill(0);
    let checksum = !fold(pseudo_sum + sum(tcp));
    tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
}

/// Overwrites MPTCP options with NOPs.
fn strip_mptcp(mut options: &mut [u8]) {
    loop {
        match *options {
            [] | [0, ..] | [_] => return,
            [1, ref mut rest @ ..] => options = rest,
            [kind, length, ..] => {
                let length = usize::from(length).clamp(2, options.len());
                let (option, rest) = options.split_at_mut(length);
                if kind == OPTION_MPTCP {
                    option.fill(1);
                }
                options = rest;
            }
        }
    }
}

fn wait_readable(device: &File) {
    let mut poll = libc::pollfd {
        fd: device.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&raw mut poll, 1, 20) };
}

fn look(seen: &mut Seen, packet: &[u8]) {
    let Some((pseudo_sum, at)) = tcp_at(packet) else {
        return;
    };
    let tcp = &packet[at..];
    if fold(pseudo_sum + sum(tcp)) != 0xffff {
        seen.bad_checksums += 1;
    }
    if tcp[13] & SYN != 0 {
        seen.scale = window_scale(tcp).unwrap_or(0);
        return;
    }
    seen.segments += 1;
    seen.without_mptcp += u64::from(option(tcp, OPTION_MPTCP).is_none());
    let window = u64::from(u16::from_be_bytes([tcp[14], tcp[15]])) << seen.scale;
    seen.largest_window = seen.largest_window.max(window);
}

/// Partial checksum of the pseudo header (RFC 9293 §3.1), and the offset of the segment.
fn tcp_at(packet: &[u8]) -> Option<(u32, usize)> {
    let (addresses, at) = match packet.first()? >> 4 {
        4 if packet[9] == PROTOCOL_TCP => (&packet[12..20], usize::from(packet[0] & 15) * 4),
        6 if packet[6] == PROTOCOL_TCP => (&packet[8..40], IPV6_HEADER_BYTES),
        _ => return None,
    };
    let length = u32::try_from(packet.len() - at).expect("a packet is short");
    Some((sum(addresses) + u32::from(PROTOCOL_TCP) + length, at))
}

fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    let twice = (once & 0xffff) + (once >> 16);
    u16::try_from(twice).expect("two folds leave 16 bits")
}

fn window_scale(tcp: &[u8]) -> Option<u8> {
    option(tcp, OPTION_WINDOW_SCALE).and_then(|scale| scale.first().copied())
}

/// Value of the first option of this kind.
fn option(tcp: &[u8], wanted: u8) -> Option<&[u8]> {
    let mut options = &tcp[20..usize::from(tcp[12] >> 4) * 4];
    loop {
        match *options {
            [] | [0, ..] | [_] => return None,
            [1, ref rest @ ..] => options = rest,
            [kind, length, ..] => {
                let length = usize::from(length).max(2);
                if kind == wanted {
                    return options.get(2..length);
                }
                options = options.get(length..)?;
            }
        }
    }
}

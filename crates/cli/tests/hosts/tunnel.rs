//! Two TUN devices whose packets are handed over: a link without hardware addresses and without a gateway.

use crate::wait::readable;
use lab::tun::Tun;
use linux::netns::Netns;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A packet with its virtio-net header.
const LONGEST: usize = 70_000;
const LOOK: Duration = Duration::from_millis(200);

/// The link, until it is dropped.
pub struct Tunnel {
    near: Tun,
    /// The name of the far device.
    pub far: String,
    over: Arc<AtomicBool>,
    carrier: Option<JoinHandle<()>>,
}

impl Tunnel {
    /// Makes both devices: down, without addresses.
    pub fn new((near_netns, near): (&Netns, &str), (far_netns, far): (&Netns, &str)) -> Self {
        let near = near_netns.run(|| Tun::create(near).unwrap()).unwrap();
        let far_tun = far_netns.run(|| Tun::create(far).unwrap()).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, near_end) = (Arc::clone(&over), near.try_clone().unwrap());
        let carrier = std::thread::spawn(move || {
            let mut packet = vec![0; LONGEST];
            while !is_over.load(Ordering::Relaxed) {
                hand_over(near_end.as_raw_fd(), far_tun.as_raw_fd(), &mut packet);
            }
        });
        Self {
            near,
            far: far.to_owned(),
            over,
            carrier: Some(carrier),
        }
    }

    /// Gives the host's end a carrier or takes it.
    pub fn plug(&self, plugged: bool) {
        self.near.set_carrier(plugged).unwrap();
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        drop(self.carrier.take().map(JoinHandle::join));
    }
}

/// Waits for packets at either end and gives all that are there to the other.
fn hand_over(a: RawFd, b: RawFd, packet: &mut [u8]) {
    readable([a, b], LOOK);
    for (from, to) in [(a, b), (b, a)] {
        loop {
            // SAFETY: reads into a buffer of this length.
            let length = unsafe { libc::read(from, packet.as_mut_ptr().cast(), packet.len()) };
            let Ok(length) = usize::try_from(length) else {
                break;
            };
            // SAFETY: writes what was read; a device that is down loses it, as a wire does.
            unsafe { libc::write(to, packet.as_ptr().cast(), length) };
        }
    }
}

//! What a lever does, measured in the sender's queues.

use super::rig::{Manual, PATIENCE};
use crate::bpf::restore_subflows;
use crate::diag::{Diag, States};
use crate::netns::Netns;
use crate::testing::Patience;
use std::time::{Duration, Instant};
use units::Bytes;

/// Small compared with what an unmodified sender queues.
pub(super) const SMALL: Bytes = Bytes::from_kib(32);
/// An unmodified sender queues more than this within seconds on two links of 40 Mb/s, however short their
/// round trips.
pub(super) const DEEP: u64 = 400_000;
/// Upper limit of a limited queue. Retransmissions count twice, and a burst may exceed the limit.
pub(super) const BOUNDED: u64 = 150_000;
/// The small limit, and a burst that may exceed it. Excludes bytes in flight, of which a queue before the
/// link may hold any number.
pub(super) const UNSENT: u64 = 100_000;
/// On these links the engine sets the smallest window that it ever sets, and 1/4 more for a while.
pub(super) const BOUNDED_BY_ENGINE: u64 = 300_000;
/// Bytes transferred before a window has come down.
pub(super) const SETTLED: u64 = 8_000_000;
/// Long enough for a queue to grow again if it may.
const A_WHILE: Duration = Duration::from_secs(1);

/// Bytes that this host's senders have assigned to their subflows and that are not acknowledged.
pub(super) fn queued(host: &Netns) -> u64 {
    host.run(|| {
        let mut sum = 0;
        let mut diag = Diag::open().unwrap();
        let add = |socket: &crate::diag::TcpSocket| {
            if let Some(info) = socket.info.filter(|_| socket.subflow.is_some()) {
                let in_flight = info.bytes_sent - info.bytes_retrans - info.bytes_acked;
                sum += (info.notsent + in_flight).get();
            }
        };
        diag.each_tcp(States::CONNECTED, add).unwrap();
        sum
    })
    .unwrap()
}

/// Bytes that this host's senders have in flight, over MPTCP or plain TCP.
pub(super) fn in_flight(host: &Netns) -> u64 {
    host.run(|| {
        let mut sum = Bytes::ZERO;
        let add = |socket: &crate::diag::TcpSocket| {
            if let Some(info) = socket.info {
                sum += info.bytes_sent - info.bytes_retrans - info.bytes_acked;
            }
        };
        Diag::open().unwrap().each_tcp(States::CONNECTED, add).unwrap();
        sum.get()
    })
    .unwrap()
}

/// The most unsent bytes on any of this host's subflows.
pub(super) fn unsent(host: &Netns) -> u64 {
    host.run(|| {
        let mut most = 0;
        let look = |socket: &crate::diag::TcpSocket| {
            if let Some(info) = socket.info.filter(|_| socket.subflow.is_some()) {
                most = most.max(info.notsent.get());
            }
        };
        Diag::open().unwrap().each_tcp(States::CONNECTED, look).unwrap();
        most
    })
    .unwrap()
}

pub(super) fn eventually(what: &str, host: &Netns, mut holds: impl FnMut(u64) -> bool) {
    let mut until = Patience::of(PATIENCE);
    loop {
        let bytes = queued(host);
        if holds(bytes) {
            return;
        }
        assert!(until.lasts(), "waited too long for {what}: {bytes} bytes queued");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The largest value of `read` during [`A_WHILE`], sampled between steps.
pub(super) fn most(read: impl Fn() -> u64, mut step: impl FnMut(Duration)) -> u64 {
    let until = Instant::now() + A_WHILE;
    let mut most = 0;
    while Instant::now() < until {
        step(Duration::from_millis(10));
        most = most.max(read());
    }
    most
}

/// [`most`] beside a daemon that is stepped by hand.
pub(super) fn most_beside(daemon: &mut Manual, read: impl Fn() -> u64) -> u64 {
    most(read, |time| daemon.for_a_while(time))
}

/// Waits until the values stay at or below `bound` for a while: bytes allowed earlier are still sent, and a
/// loss makes a long queue look short for a moment. Then asserts that they stay there: in such a while an
/// unmodified window would exceed the bound.
pub(super) fn settles_within(bound: u64, mut most: impl FnMut() -> u64) {
    let mut until = Patience::of(PATIENCE);
    loop {
        let most = most();
        if most <= bound {
            break;
        }
        assert!(until.lasts(), "{most} bytes wait, {bound} may");
    }
    let most = most();
    assert!(most <= bound, "{most} bytes wait again, {bound} may");
}

/// A thread's capability sets: effective, permitted, inheritable. Lower and upper 32 bits.
#[repr(C)]
struct Sets([[u32; 3]; 2]);

fn capabilities(call: libc::c_long, sets: &mut Sets) {
    #[repr(C)]
    struct Header(u32, i32);
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header(VERSION_3, 0);
    // SAFETY: both structures have the kernel's layout and outlive the call. It affects only this thread.
    let code = unsafe { libc::syscall(call, &raw const header, &raw mut *sets) };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
}

/// Runs `work` with the capabilities to configure networks, and no other of root's.
pub(super) fn without_bpf<T>(work: impl FnOnce() -> T) -> T {
    const NETWORKS: u32 = 1 << 12 | 1 << 13;
    let mut before = Sets([[0; 3]; 2]);
    capabilities(libc::SYS_capget, &mut before);
    let [low, high] = before.0;
    capabilities(
        libc::SYS_capset,
        &mut Sets([[NETWORKS, low[1], low[2]], [0, high[1], high[2]]]),
    );
    let done = work();
    capabilities(libc::SYS_capset, &mut before);
    done
}

/// Runs `work` on a thread to which the kernel refuses iterators over sockets (`BPF_ITER_CREATE`), as if
/// memory had run out.
pub(super) fn without_walks<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const BPF_ITER_CREATE: u32 = 33;
    // Offsets in `struct seccomp_data`: the number of the call, and the lower half of its first argument.
    const CALL: u32 = 0;
    const ARGUMENT: u32 = if cfg!(target_endian = "little") { 16 } else { 20 };
    let step = |code: u32, jf, k| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    let (load, equal, end) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let filtered = move || {
        let mut steps = [
            step(load, 0, CALL),
            step(equal, 3, libc::SYS_bpf as u32),
            step(load, 0, ARGUMENT),
            step(equal, 1, BPF_ITER_CREATE),
            step(end, 0, libc::SECCOMP_RET_ERRNO | libc::ENOMEM as u32),
            step(end, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog {
            len: steps.len() as u16,
            filter: steps.as_mut_ptr(),
        };
        let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
        // SAFETY: the program and its steps outlive the call. It affects only this thread, which ends with
        // the work.
        let code = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
        assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
        work()
    };
    let done = std::thread::scope(|scope| scope.spawn(filtered).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Sockets of the calling thread's namespace that still have exactly this limit. The call removes it.
pub(super) fn limited_to(limit: Bytes) -> usize {
    let found = restore_subflows().unwrap();
    found
        .subflows
        .iter()
        .filter(|subflow| subflow.before == limit)
        .count()
}

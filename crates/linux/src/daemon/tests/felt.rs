//! What a lever does, as it is felt: in the queues of whoever sends.

use super::rig::{Manual, PATIENCE};
use crate::bpf::restore_subflows;
use crate::diag::{Diag, States};
use crate::netns::Netns;
use crate::testing::Patience;
use std::time::{Duration, Instant};
use units::Bytes;

/// Small beside what a stock sender queues.
pub(super) const SMALL: Bytes = Bytes::from_kib(32);
/// A stock sender queues more than this within seconds on two links of 40 Mb/s, however short their round trips.
pub(super) const DEEP: u64 = 400_000;
/// What was sent twice counts twice, and a burst may pass the limit.
pub(super) const BOUNDED: u64 = 150_000;
/// The small limit and a burst that may pass it. What is under way is not in it: that a queue before the link may hold, whatever the limit.
pub(super) const UNSENT: u64 = 100_000;
/// What the engine allows on these links is the least that it ever sets, and a quarter more for a while.
pub(super) const BOUNDED_BY_ENGINE: u64 = 300_000;
/// So much is moved before a window has come down.
pub(super) const SETTLED: u64 = 8_000_000;
/// Long enough for a queue to grow again where it may.
const A_WHILE: Duration = Duration::from_secs(1);

/// What this host's senders have assigned to their subflows and not got acknowledged.
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

/// What this host's senders have under way, over MPTCP or plain TCP.
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

/// The most that waits unsent on one of this host's subflows.
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
        assert!(until.lasts(), "waited in vain for {what}: {bytes} bytes queued");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The most that is read within a while of steps.
pub(super) fn most(read: impl Fn() -> u64, mut step: impl FnMut(Duration)) -> u64 {
    let until = Instant::now() + A_WHILE;
    let mut most = 0;
    while Instant::now() < until {
        step(Duration::from_millis(10));
        most = most.max(read());
    }
    most
}

/// The same beside a daemon that is stepped by hand.
pub(super) fn most_beside(daemon: &mut Manual, read: impl Fn() -> u64) -> u64 {
    most(read, |time| daemon.for_a_while(time))
}

/// Waits until no more than `bound` is read for a while: what was allowed before is still sent, and a loss makes a long queue look short for a
/// moment. Asserts that it then stays so: more than a stock window passes in such a while.
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

/// A thread's capabilities: effective, permitted, inheritable; the lower half and the upper.
#[repr(C)]
struct Sets([[u32; 3]; 2]);

fn capabilities(call: libc::c_long, sets: &mut Sets) {
    #[repr(C)]
    struct Header(u32, i32);
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header(VERSION_3, 0);
    // SAFETY: both structures have the layout of the kernel's and live through the call; only this thread is concerned.
    let code = unsafe { libc::syscall(call, &raw const header, &raw mut *sets) };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
}

/// Does something that may configure networks, and nothing else that root may.
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

/// Does something on a thread to which the kernel gives no walk over sockets (`BPF_ITER_CREATE`), for lack of memory as it were.
pub(super) fn without_walks<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const BPF_ITER_CREATE: u32 = 33;
    // Offsets in `struct seccomp_data`: the number of the call, the lower half of its first argument.
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
        // SAFETY: the program and its steps live through the call; only this thread, which ends with the work, is concerned.
        let code = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
        assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
        work()
    };
    let done = std::thread::scope(|scope| scope.spawn(filtered).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// How many sockets of the calling thread's namespace still have this very limit. Looking takes it off.
pub(super) fn limited_to(limit: Bytes) -> usize {
    let found = restore_subflows().unwrap();
    found
        .subflows
        .iter()
        .filter(|subflow| subflow.before == limit)
        .count()
}

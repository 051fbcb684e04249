//! Runs the program in the kernel on synthetic packets and compares it with the golden vectors.

use super::*;
use crate::bpf::map::check;
use libbpf_sys::{bpf_prog_test_run_opts, bpf_test_run_opts};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

const GOLDEN: &str = include_str!("../../../../../golden/mark.csv");

/// The kernel runs a test packet as if it arrived on the loopback, the first interface of every namespace.
const LOOPBACK: u32 = 1;
const SLOT: u32 = 7;

/// Size of `struct __sk_buff` (include/uapi/linux/bpf.h) in words, and the field with a packet's number of
/// segments.
const CONTEXT_WORDS: usize = 48;
const GSO_SEGS: usize = 41;
const GSO_SIZE: usize = 44;

const ETHERNET_HEADER: usize = 14;
const ECT0: u8 = 2;
const CE: u8 = 3;

/// Whether the tests of this module can run. Without root they print that they are skipped.
fn can_run() -> bool {
    // SAFETY: no arguments, no memory.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("skipped: needs root for BPF");
    }
    root
}

/// Lines of the golden file: accumulator before, rate, weight, marks due, accumulator after.
fn golden() -> impl Iterator<Item = [u64; 5]> {
    let number = |text: &str| text.parse().expect("golden/mark.csv holds integers");
    let row = move |line: &str| {
        let cells: Vec<u64> = line.split(',').map(number).collect();
        cells.try_into().expect("golden/mark.csv has five columns")
    };
    GOLDEN
        .lines()
        .filter(|line| !line.starts_with(['#', 'b']))
        .map(row)
}

/// A loaded marker with the slot for the test packets.
fn marker() -> (Loaded, Marker) {
    let loaded = OBJECT.load(&["marker"]).expect("load");
    let marker = Marker::from_object(&loaded, Hook::Ingress).expect("descriptors");
    marker.slots.set(LOOPBACK, SLOT).expect("set");
    (loaded, marker)
}

/// An Ethernet frame with a UDP packet that has a complete IPv4 header, or with an IPv6 packet.
fn frame(ipv6: bool, ecn: u8) -> Vec<u8> {
    let mut frame = vec![0_u8; ETHERNET_HEADER + 60];
    let ip = ETHERNET_HEADER;
    if ipv6 {
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame[ip..ip + 8].copy_from_slice(&[0x6a, 0x85 | ecn << 4, 0xcd, 0xef, 0, 20, 17, 64]);
    } else {
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[ip..ip + 10].copy_from_slice(&[0x45, 0xb8 | ecn, 0, 60, 1, 2, 0x40, 0, 64, 17]);
        frame[ip + 12..ip + 20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let checksum = !ones_sum(&frame[ip..ip + 20]);
        frame[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
    }
    frame
}

fn ones_sum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let once = (sum & 0xffff) + (sum >> 16);
    u16::try_from((once & 0xffff) + (once >> 16)).expect("two folds leave 16 bits")
}

/// Runs the program once and returns the resulting frame.
fn run(program: BorrowedFd<'_>, frame: &[u8], weight: u32) -> Vec<u8> {
    let mut context = [0_u32; CONTEXT_WORDS];
    context[GSO_SEGS] = weight;
    context[GSO_SIZE] = 1_000;
    let mut out = vec![0_u8; frame.len()];
    let mut options = bpf_test_run_opts {
        sz: size_of::<bpf_test_run_opts>() as _,
        data_in: frame.as_ptr().cast(),
        data_size_in: u32::try_from(frame.len()).expect("a frame is short"),
        data_out: out.as_mut_ptr().cast(),
        data_size_out: u32::try_from(out.len()).expect("a frame is short"),
        ctx_in: context.as_mut_ptr().cast(),
        ctx_size_in: u32::try_from(size_of_val(&context)).expect("a context is short"),
        repeat: 1,
        ..bpf_test_run_opts::default()
    };
    // SAFETY: every pointer in `options` is to a live buffer of the size beside it.
    check(unsafe { bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) }).expect("test run");
    assert_eq!(options.retval.cast_signed(), -1, "the next program decides");
    out
}

#[test]
fn the_program_matches_the_golden_vectors() {
    if !can_run() {
        return;
    }
    let (loaded, marker) = marker();
    let program = loaded.program("marker").expect("descriptor");
    for [before, rate, weight, due, after] in golden() {
        marker.rates.set(SLOT, rate).expect("set");
        marker
            .tallies
            .set(
                SLOT,
                Tally {
                    sum: before,
                    ..Tally::default()
                },
            )
            .expect("set");
        let weight32 = u32::try_from(weight).expect("a weight is 16 bits");
        let out = run(program.as_fd(), &frame(false, ECT0), weight32);
        let tally = marker.tallies.value(SLOT).expect("read").expect("a slot");
        let case = format!("{before} {rate} {weight}");
        assert_eq!((tally.sum, tally.asked, tally.made), (after, due, due), "{case}");
        assert_eq!(tally.ect, weight, "{case}");
        assert_eq!(out[ETHERNET_HEADER + 1] & CE == CE, due > 0, "{case}");
    }
}

#[test]
fn only_the_two_bits_change_and_the_header_stays_valid() {
    if !can_run() {
        return;
    }
    let (loaded, marker) = marker();
    let program = loaded.program("marker").expect("descriptor");
    marker.rates.set(SLOT, Ratio::ONE.as_raw()).expect("set");
    for ipv6 in [false, true] {
        for ecn in 0..=CE {
            let leaves_as = if ecn == 0 { 0 } else { CE };
            let out = run(program.as_fd(), &frame(ipv6, ecn), 1);
            assert_eq!(out, frame(ipv6, leaves_as), "IPv6 {ipv6}, ECN {ecn}");
        }
    }
    let counters = marker.counters(MarkSlot(SLOT)).expect("read");
    let expected = MarkCounters {
        ect: 4,
        not_ect: 2,
        ce: 2,
        asked: 4,
        made: 4,
        segments: 4,
    };
    assert_eq!(counters, expected);
}

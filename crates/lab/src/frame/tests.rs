use super::*;
use packets::{PRIVATE, SERVER, tcp, tcp_v6};
use proptest::prelude::*;
use wire::checksum;

#[path = "../../../wire/tests/packets/mod.rs"]
mod packets;

proptest! {
    #[test]
    fn a_split_burst_equals_its_segments(
        payload in prop::collection::vec(any::<u8>(), 400..2_000),
        mss in 100usize..400,
        cut in any::<prop::sample::Index>(),
        v6 in any::<bool>(),
    ) {
        let whole = if v6 { tcp_v6(&payload) } else { tcp(SERVER, PRIVATE, &payload) };
        let ip = Header::parse(&whole).unwrap();
        let vnet = Vnet { segment: mss as u16, partial: true, ..Vnet::default() };
        let burst = Burst::of(vnet, ip, &whole, whole.len()).unwrap();
        prop_assert_eq!(usize::from(burst.segments), payload.len().div_ceil(mss));
        let first = cut.index(usize::from(burst.segments)) as u16;
        let head = burst.head(&whole, first, first, false);
        let (from, to) = burst.payload_of(first, first);
        prop_assert_eq!(burst.packet_len(first), ip.len + 20 + to - from);
        let mut segment = head.bytes()[10..].to_vec();
        segment.extend(&payload[from..to]);
        check_segment(&segment, &whole, ip, from, to == payload.len());
    }
}

/// One segment as the kernel would have cut it; its checksum is left to be finished.
fn check_segment(segment: &[u8], whole: &[u8], ip: Header, from: usize, last: bool) {
    let l4 = &segment[ip.len..];
    let sequence = |packet: &[u8]| u32::from_be_bytes(packet[ip.len + 4..ip.len + 8].try_into().unwrap());
    assert_eq!(sequence(segment) - sequence(whole), from as u32);
    assert_eq!(l4[13] & 0x08 != 0, last, "PSH on the last segment only");
    assert_eq!(l4[13] & 0x80 != 0, from == 0, "CWR on the first segment only");
    let addresses = if ip.v6 { &segment[8..40] } else { &segment[12..20] };
    let pseudo = checksum::pseudo_header(addresses, 6, l4.len());
    assert_eq!(l4[16..18], pseudo.to_be_bytes());
    if ip.v6 {
        assert_eq!(segment[4..6], (l4.len() as u16).to_be_bytes());
    } else {
        assert_eq!(segment[2..4], (segment.len() as u16).to_be_bytes());
        assert_eq!(checksum::fold(checksum::sum(&segment[..20])), 0xffff);
    }
}

#[test]
fn the_virtio_header_survives_a_round_trip() {
    let vnet = Vnet {
        partial: true,
        segment: 1_448,
        v6: true,
        header_len: 72,
        transport: 40,
        checksum: 16,
    };
    assert_eq!(Vnet::parse(&vnet.encode()), Some(vnet));
    assert_eq!(Vnet::parse(&[0, 3, 0, 0, 0, 0, 0, 0, 0, 0]), None, "a UDP burst");
}

#[test]
fn slots_are_reused_and_tails_released() {
    let mut slab = Slab::new();
    for round in 0..1_000u32 {
        let slot = slab.vacant();
        let read = if round % 3 == 0 { 40_000 } else { 1_510 };
        slab.buffers(slot)[0][..20].copy_from_slice(&[0x45; 20]);
        slab.filled(slot, read);
        assert_eq!(slab.len(slot), read - 10);
        let whole: usize = slab.whole(slot).iter().map(|piece| piece.len()).sum();
        assert_eq!(whole, read);
        let ip = Header::parse(&[0x45; 20]).unwrap();
        slab.enter(slot, ip, None);
        slab.leave(slot, 1);
    }
    assert_eq!(slab.in_use(), 0);
    assert!(
        slab.footprint() < 1 << 20,
        "one chunk and two tails are enough: {}",
        slab.footprint()
    );
}

#[test]
fn a_burst_larger_than_a_slot_continues_in_a_tail() {
    let mut slab = Slab::new();
    let slot = slab.vacant();
    let mut counter = 0u8;
    for buffer in &mut slab.buffers(slot) {
        buffer.fill_with(|| {
            counter = counter.wrapping_add(1);
            counter
        });
    }
    slab.filled(slot, 5_010);
    let [near, far] = slab.bytes(slot, 1_000, 3_000);
    let joined: Vec<u8> = [near, far].concat();
    assert_eq!(joined.len(), 2_000);
    assert!(
        joined.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)),
        "no seam"
    );
    let [near, far] = slab.bytes(slot, 4_000, 4_500);
    assert_eq!((near.len(), far.len()), (0, 500));
}

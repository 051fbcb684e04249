use super::*;
use crate::mptcp_pm::Token;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use units::{Bitrate, Bytes};

/// Offset and length in bytes of every member of a structure, from the running kernel's BTF.
fn layout(structure: &str) -> Option<BTreeMap<String, usize>> {
    let mut command = std::process::Command::new("bpftool");
    command.args(["btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "raw"]);
    let Ok(output) = command.output() else {
        println!("skipped: needs bpftool to compare with the kernel's BTF");
        return None;
    };
    if !output.status.success() {
        println!("skipped: this kernel has no readable BTF");
        return None;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let header = format!("] STRUCT '{structure}' ");
    let members = text
        .lines()
        .skip_while(|line| !line.contains(&header))
        .skip(1)
        .take_while(|l| l.starts_with('\t'));
    Some(members.map(member).collect())
}

/// `\t'tcpi_rtt' type_id=23 bits_offset=544`.
fn member(line: &str) -> (String, usize) {
    let name = line.split('\'').nth(1).unwrap().to_owned();
    let bits = line.split("bits_offset=").nth(1).unwrap();
    let digits: String = bits.chars().take_while(char::is_ascii_digit).collect();
    (name, digits.parse::<usize>().unwrap() / 8)
}

/// A structure of zeros except for one member.
fn image(layout: &BTreeMap<String, usize>, member: &str, value: &[u8]) -> Vec<u8> {
    let at = layout[member];
    let mut bytes = vec![0; at + value.len()];
    bytes[at..].copy_from_slice(value);
    bytes
}

/// A member's name, and the field of the parsed structure that it fills.
type Case<T> = (&'static str, fn(&T) -> u64);

fn lies_where_the_kernel_has_it<T>(structure: &str, parse: fn(&[u8]) -> T, width: usize, cases: &[Case<T>]) {
    let Some(layout) = layout(structure) else { return };
    for (member, part) in cases {
        let value = &7u64.to_le_bytes()[..width];
        let value: Vec<u8> = if cfg!(target_endian = "little") {
            value.to_vec()
        } else {
            value.iter().rev().copied().collect()
        };
        assert_eq!(
            part(&parse(&image(&layout, member, &value))),
            7,
            "{structure}.{member}"
        );
    }
}

#[test]
fn narrow_tcp_fields() {
    let cases: [Case<TcpInfo>; 5] = [
        ("tcpi_state", |i| i.state as u64),
        ("tcpi_retransmits", |i| i.retransmits.into()),
        ("tcpi_probes", |i| i.probes.into()),
        ("tcpi_backoff", |i| i.backoff.into()),
        ("tcpi_options", |i| i.options.0.into()),
    ];
    lies_where_the_kernel_has_it("tcp_info", TcpInfo::parse, 1, &cases);
    let cases: [Case<TcpInfo>; 2] = [
        ("tcpi_total_rto", |i| i.total_rto.into()),
        ("tcpi_total_rto_recoveries", |i| i.total_rto_recoveries.into()),
    ];
    lies_where_the_kernel_has_it("tcp_info", TcpInfo::parse, 2, &cases);
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap()
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}

#[test]
fn tcp_fields_of_32_bits() {
    let cases: [Case<TcpInfo>; 38] = [
        ("tcpi_rto", |i| us(i.rto)),
        ("tcpi_ato", |i| us(i.ato)),
        ("tcpi_snd_mss", |i| i.snd_mss.into()),
        ("tcpi_rcv_mss", |i| i.rcv_mss.into()),
        ("tcpi_unacked", |i| i.unacked.into()),
        ("tcpi_sacked", |i| i.sacked.into()),
        ("tcpi_lost", |i| i.lost.into()),
        ("tcpi_retrans", |i| i.retrans.into()),
        ("tcpi_last_data_sent", |i| ms(i.last_data_sent)),
        ("tcpi_last_data_recv", |i| ms(i.last_data_recv)),
        ("tcpi_last_ack_recv", |i| ms(i.last_ack_recv)),
        ("tcpi_pmtu", |i| i.pmtu.into()),
        ("tcpi_rcv_ssthresh", |i| i.rcv_ssthresh.into()),
        ("tcpi_rtt", |i| us(i.rtt)),
        ("tcpi_rttvar", |i| us(i.rttvar)),
        ("tcpi_snd_ssthresh", |i| i.snd_ssthresh.unwrap().into()),
        ("tcpi_snd_cwnd", |i| i.snd_cwnd.into()),
        ("tcpi_reordering", |i| i.reordering.into()),
        ("tcpi_rcv_rtt", |i| us(i.rcv_rtt.unwrap_or_default())),
        ("tcpi_rcv_space", |i| i.rcv_space.get()),
        ("tcpi_total_retrans", |i| i.total_retrans.into()),
        ("tcpi_segs_out", |i| i.segs_out.into()),
        ("tcpi_segs_in", |i| i.segs_in.into()),
        ("tcpi_notsent_bytes", |i| i.notsent.get()),
        ("tcpi_min_rtt", |i| us(i.min_rtt.unwrap_or_default())),
        ("tcpi_data_segs_in", |i| i.data_segs_in.into()),
        ("tcpi_data_segs_out", |i| i.data_segs_out.into()),
        ("tcpi_delivered", |i| i.delivered.into()),
        ("tcpi_delivered_ce", |i| i.delivered_ce.into()),
        ("tcpi_dsack_dups", |i| i.dsack_dups.into()),
        ("tcpi_reord_seen", |i| i.reord_seen.into()),
        ("tcpi_rcv_ooopack", |i| i.rcv_ooopack.into()),
        ("tcpi_snd_wnd", |i| i.snd_wnd.into()),
        ("tcpi_rcv_wnd", |i| i.rcv_wnd.into()),
        ("tcpi_rehash", |i| i.rehash.into()),
        ("tcpi_total_rto_time", |i| ms(i.total_rto_time)),
        ("tcpi_received_ce", |i| i.received_ce.into()),
        (
            "tcpi_ca_state",
            |i| if i.ca_state == CaState::Open { 7 } else { 0 },
        ),
    ];
    lies_where_the_kernel_has_it("tcp_info", TcpInfo::parse, 4, &cases);
}

#[test]
fn tcp_fields_of_64_bits() {
    let cases: [Case<TcpInfo>; 9] = [
        ("tcpi_pacing_rate", |i| i.pacing_rate.unwrap().as_bps() / 8),
        ("tcpi_bytes_acked", |i| i.bytes_acked.get()),
        ("tcpi_bytes_received", |i| i.bytes_received.get()),
        ("tcpi_delivery_rate", |i| i.delivery_rate.as_bps() / 8),
        ("tcpi_busy_time", |i| us(i.busy_time)),
        ("tcpi_rwnd_limited", |i| us(i.rwnd_limited)),
        ("tcpi_sndbuf_limited", |i| us(i.sndbuf_limited)),
        ("tcpi_bytes_sent", |i| i.bytes_sent.get()),
        ("tcpi_bytes_retrans", |i| i.bytes_retrans.get()),
    ];
    lies_where_the_kernel_has_it("tcp_info", TcpInfo::parse, 8, &cases);
}

#[test]
fn mptcp_fields() {
    let narrow: [Case<MptcpInfo>; 9] = [
        ("mptcpi_subflows", |i| i.subflows.into()),
        ("mptcpi_add_addr_signal", |i| i.add_addr_signal.into()),
        ("mptcpi_add_addr_accepted", |i| i.add_addr_accepted.into()),
        ("mptcpi_subflows_max", |i| i.subflows_max.into()),
        ("mptcpi_add_addr_signal_max", |i| i.add_addr_signal_max.into()),
        ("mptcpi_add_addr_accepted_max", |i| i.add_addr_accepted_max.into()),
        ("mptcpi_local_addr_used", |i| i.local_addr_used.into()),
        ("mptcpi_local_addr_max", |i| i.local_addr_max.into()),
        ("mptcpi_subflows_total", |i| i.subflows_total.into()),
    ];
    lies_where_the_kernel_has_it("mptcp_info", MptcpInfo::parse, 1, &narrow);
    let words: [Case<MptcpInfo>; 6] = [
        ("mptcpi_flags", |i| {
            if i.fallback && i.remote_key_received { 7 } else { 0 }
        }),
        ("mptcpi_token", |i| i.token.map_or(0, |Token(token)| token.into())),
        ("mptcpi_retransmits", |i| i.retransmits.into()),
        ("mptcpi_last_data_sent", |i| ms(i.last_data_sent)),
        ("mptcpi_last_data_recv", |i| ms(i.last_data_recv)),
        ("mptcpi_last_ack_recv", |i| ms(i.last_ack_recv)),
    ];
    lies_where_the_kernel_has_it("mptcp_info", MptcpInfo::parse, 4, &words);
    let long: [Case<MptcpInfo>; 7] = [
        ("mptcpi_write_seq", |i| i.write_seq),
        ("mptcpi_snd_una", |i| i.snd_una),
        ("mptcpi_rcv_nxt", |i| i.rcv_nxt),
        ("mptcpi_bytes_retrans", |i| i.bytes_retrans.get()),
        ("mptcpi_bytes_sent", |i| i.bytes_sent.get()),
        ("mptcpi_bytes_received", |i| i.bytes_received.get()),
        ("mptcpi_bytes_acked", |i| i.bytes_acked.get()),
    ];
    lies_where_the_kernel_has_it("mptcp_info", MptcpInfo::parse, 8, &long);
}

proptest! {
    #[test]
    fn truncated_fields_are_zero(bytes in proptest::collection::vec(any::<u8>(), 0..TcpInfo::LEN + 40)) {
        let whole_fields = bytes.len() / 8 * 8;
        let mut padded = bytes[..whole_fields].to_vec();
        let (tcp, mptcp) = (TcpInfo::parse(&padded), MptcpInfo::parse(&padded));
        padded.resize(padded.len().max(TcpInfo::LEN), 0);
        prop_assert_eq!(tcp, TcpInfo::parse(&padded));
        prop_assert_eq!(mptcp, MptcpInfo::parse(&padded));
        let _ = (TcpInfo::parse(&bytes), MptcpInfo::parse(&bytes));
    }
}

#[test]
fn unset_values_are_none() {
    let mut bytes = vec![0xff; TcpInfo::LEN];
    bytes[76..80].copy_from_slice(&0x7fff_ffffu32.to_ne_bytes());
    let info = TcpInfo::parse(&bytes);
    assert_eq!(
        (info.min_rtt, info.snd_ssthresh, info.pacing_rate),
        (None, None, None)
    );
    assert_eq!(
        TcpInfo::parse(&[]),
        TcpInfo {
            pacing_rate: Some(Bitrate::from_bps(0)),
            snd_ssthresh: Some(0),
            ..TcpInfo::default()
        }
    );
    assert_eq!(TcpInfo::parse(&[]).bytes_acked, Bytes::new(0));
}

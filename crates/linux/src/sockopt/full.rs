//! `struct mptcp_full_info`: a header with pointers to two arrays that the kernel fills.

use super::{ADDRS_LEN, MOST_SUBFLOWS};
use crate::info::{MptcpInfo, TcpInfo};
use crate::mptcp_pm::Subflow;
use crate::netlink::{u16_at, u32_at};
use std::net::{IpAddr, SocketAddr};

const HEADER_LEN: usize = 40;
const REQUEST_LEN: usize = HEADER_LEN + MptcpInfo::LEN;
/// `struct mptcp_subflow_info`: an id, padding, and the addresses.
const SUBFLOW_LEN: usize = 8 + ADDRS_LEN;
const STORAGE_LEN: usize = ADDRS_LEN / 2;

/// One subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowInfo {
    /// Numbers a connection's subflows from 1, and is never reused.
    pub id: u32,
    /// Both its addresses.
    pub ends: Subflow,
    /// Its counters.
    pub tcp: TcpInfo,
}

/// A connection and all its subflows, with the buffers that the kernel fills.
#[derive(Debug)]
pub struct FullInfo {
    /// The connection's counters.
    pub mptcp: MptcpInfo,
    /// Its subflows.
    pub subflows: Vec<SubflowInfo>,
    request: Box<[u8; REQUEST_LEN]>,
    subflow_room: Box<[u8]>,
    tcp_room: Box<[u8]>,
}

impl Default for FullInfo {
    fn default() -> Self {
        Self::new()
    }
}

impl FullInfo {
    /// Creates an empty value and allocates all memory that is ever needed.
    pub fn new() -> Self {
        Self {
            mptcp: MptcpInfo::default(),
            subflows: Vec::with_capacity(MOST_SUBFLOWS),
            request: Box::new([0; REQUEST_LEN]),
            subflow_room: vec![0; MOST_SUBFLOWS * SUBFLOW_LEN].into_boxed_slice(),
            tcp_room: vec![0; MOST_SUBFLOWS * TcpInfo::LEN].into_boxed_slice(),
        }
    }

    /// The option's input value: sizes and addresses of the arrays.
    pub(super) fn request(&mut self) -> &mut [u8] {
        let subflow_room = self.subflow_room.as_mut_ptr() as u64;
        let tcp_room = self.tcp_room.as_mut_ptr() as u64;
        self.request.fill(0);
        self.put_u32(4, TcpInfo::LEN);
        self.put_u32(12, SUBFLOW_LEN);
        self.put_u32(20, MOST_SUBFLOWS);
        self.request[24..32].copy_from_slice(&subflow_room.to_ne_bytes());
        self.request[32..40].copy_from_slice(&tcp_room.to_ne_bytes());
        &mut self.request[..]
    }

    /// Parses what the kernel wrote, `len` bytes of it into the request.
    pub(super) fn read(&mut self, len: usize) {
        let word = |at| u32_at(&self.request[..], at).unwrap_or(0) as usize;
        let tcp_len = word(0).min(TcpInfo::LEN);
        let subflow_len = word(8).min(SUBFLOW_LEN);
        let count = word(16).min(MOST_SUBFLOWS);
        self.mptcp = MptcpInfo::parse(
            self.request[..len.min(REQUEST_LEN)]
                .get(HEADER_LEN..)
                .unwrap_or_default(),
        );
        let subflows = self
            .subflow_room
            .chunks_exact(SUBFLOW_LEN)
            .map(|element| &element[..subflow_len]);
        let tcps = self
            .tcp_room
            .chunks_exact(TcpInfo::LEN)
            .map(|element| &element[..tcp_len]);
        self.subflows.clear();
        self.subflows
            .extend(subflows.zip(tcps).take(count).filter_map(|(subflow, tcp)| {
                let ends = subflow_ends(subflow.get(8..)?)?;
                Some(SubflowInfo {
                    id: u32_at(subflow, 0)?,
                    ends,
                    tcp: TcpInfo::parse(tcp),
                })
            }));
    }

    fn put_u32(&mut self, at: usize, value: usize) {
        let value = u32::try_from(value).expect("a few hundred");
        self.request[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
}

/// Parses `struct mptcp_subflow_addrs`.
pub(super) fn subflow_ends(bytes: &[u8]) -> Option<Subflow> {
    Some(Subflow {
        local: sockaddr(bytes)?,
        remote: sockaddr(bytes.get(STORAGE_LEN..)?)?,
    })
}

fn sockaddr(bytes: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let addr = match i32::from(u16_at(bytes, 0)?) {
        libc::AF_INET => IpAddr::from(*bytes.get(4..)?.first_chunk::<4>()?),
        libc::AF_INET6 => IpAddr::from(*bytes.get(8..)?.first_chunk::<16>()?),
        _ => return None,
    };
    Some(SocketAddr::new(addr, port))
}

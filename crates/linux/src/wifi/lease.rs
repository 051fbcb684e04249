//! The packet socket of a DHCP client, and the address and route that a lease becomes.

use super::dhcp::Lease;
use super::station::metric;
use crate::rtnl::{Address, IfName, Prefix, Protocol, Route, Rtnl, Table};
use socket2::{Domain, SockAddr, SockAddrStorage, Socket, Type};
use std::error::Error;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, RawFd};
use units::MacAddr;
use wire::dhcp::{self, Message};

/// `RTPROT_DHCP`.
const BY_DHCP: Protocol = Protocol(16);
const LONGEST_PACKET: usize = 1_500;

/// Sends and receives the messages of one interface, which needs no address.
#[derive(Debug)]
pub(super) struct Port {
    socket: Socket,
    to: SockAddr,
}

impl Port {
    pub(super) fn open(ifindex: u32) -> io::Result<Self> {
        // With protocol 0 nothing is received before the filter is in place.
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, None)?;
        socket.set_nonblocking(true)?;
        socket.attach_filter(&only_dhcp())?;
        let to = address(ifindex, MacAddr::new([0xff; 6]));
        socket.bind(&to)?;
        Ok(Self { socket, to })
    }

    pub(super) fn send(&self, from: Ipv4Addr, message: &Message) -> io::Result<()> {
        let packet = dhcp::to_servers(from, &message.write());
        self.socket.send_to(&packet, &self.to).map(drop)
    }

    /// The next message, without waiting.
    pub(super) fn receive(&self) -> Option<Message> {
        let mut packet = [0; LONGEST_PACKET];
        loop {
            let length = (&self.socket).read(&mut packet).ok()?;
            let message = dhcp::to_client(&packet[..length]).and_then(Message::parse);
            if message.is_some() {
                return message;
            }
        }
    }
}

impl AsRawFd for Port {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Takes whole packets of UDP to the client's port. The first byte is that of the IP header.
fn only_dhcp() -> [socket2::SockFilter; 9] {
    let load = |kind: u32, at: u32| socket2::SockFilter::new((libc::BPF_LD | kind) as u16, 0, 0, at);
    let equals = |value: u32, other: u8| {
        socket2::SockFilter::new(
            (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            0,
            other,
            value,
        )
    };
    let give = |bytes: u32| socket2::SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, bytes);
    let any_set = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
    let header_length = (libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH) as u16;
    [
        load(libc::BPF_B | libc::BPF_ABS, 9),
        equals(17, 6),
        load(libc::BPF_H | libc::BPF_ABS, 6),
        socket2::SockFilter::new(any_set, 4, 0, 0x1fff),
        socket2::SockFilter::new(header_length, 0, 0, 0),
        load(libc::BPF_H | libc::BPF_IND, 2),
        equals(dhcp::CLIENT_PORT.into(), 1),
        give(LONGEST_PACKET as u32),
        give(0),
    ]
}

/// A hardware address on an interface, for packets of IPv4.
fn address(ifindex: u32, mac: MacAddr) -> SockAddr {
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: the storage is larger than a `sockaddr_ll`, for which all zeros are valid.
    let link = unsafe { storage.view_as::<libc::sockaddr_ll>() };
    link.sll_family = libc::AF_PACKET as u16;
    link.sll_protocol = (libc::ETH_P_IP as u16).to_be();
    link.sll_ifindex = ifindex as i32;
    link.sll_halen = 6;
    link.sll_addr[..6].copy_from_slice(&mac.octets());
    // SAFETY: the family and the length are those of what was just written.
    unsafe { SockAddr::new(storage, size_of::<libc::sockaddr_ll>() as libc::socklen_t) }
}

/// Gives the address to the interface, with a default route. The daemon makes an uplink of them.
pub(super) fn apply(
    rtnl: &mut Rtnl,
    (name, ifindex): (&IfName, u32),
    lease: &Lease,
) -> Result<(), Box<dyn Error>> {
    let prefix = Prefix::new(IpAddr::V4(lease.address), lease.prefix_len)?;
    rtnl.add_address(&Address::new(ifindex, prefix))?;
    if let Some(router) = lease.router {
        let router = IpAddr::V4(router);
        let any = Prefix::any(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let mut route = Route::new(Table::MAIN, any);
        route.oif = Some(ifindex);
        route.gateway = Some(router);
        route.onlink = !prefix.contains(router);
        route.metric = metric(name);
        route.protocol = BY_DHCP;
        rtnl.add_route(&route)?;
    }
    Ok(())
}

/// Takes the address away. Its routes go with it.
pub(super) fn remove(rtnl: &mut Rtnl, ifindex: u32, lease: &Lease) {
    if let Ok(prefix) = Prefix::new(IpAddr::V4(lease.address), lease.prefix_len) {
        // The interface may be gone already.
        let _ = rtnl.del_address(&Address::new(ifindex, prefix));
    }
}

//! The packet sockets of a DHCP client, and the address and route that a lease becomes.

use super::grant::Lease;
use super::station::metric;
use crate::rtnl::{Address, AddressFlags, IfName, Prefix, Protocol, Route, Rtnl, Table};
use socket2::{Domain, SockAddr, SockAddrStorage, Socket, Type};
use std::error::Error;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, RawFd};
use units::MacAddr;
use wire::arp;
use wire::dhcp::{self, Message};

/// `RTPROT_DHCP`.
const BY_DHCP: Protocol = Protocol(16);
const LONGEST_PACKET: usize = 1_500;

/// Sends and receives the messages of one interface, which needs no address.
#[derive(Debug)]
pub(super) struct Port {
    socket: Socket,
    ifindex: u32,
    /// For ARP, while an address is probed.
    arp: Option<Socket>,
}

impl Port {
    pub(super) fn open(ifindex: u32) -> io::Result<Self> {
        // With protocol 0 nothing is received before the filter is in place.
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, None)?;
        socket.set_nonblocking(true)?;
        socket.attach_filter(&only_dhcp())?;
        socket.bind(&everybody(ifindex, libc::ETH_P_IP))?;
        Ok(Self {
            socket,
            ifindex,
            arp: None,
        })
    }

    pub(super) fn send(&self, from: Ipv4Addr, message: &Message) -> io::Result<()> {
        let packet = dhcp::to_servers(from, &message.write());
        let to = everybody(self.ifindex, libc::ETH_P_IP);
        self.socket.send_to(&packet, &to).map(drop)
    }

    /// Sends an ARP message. From then on [`Port::receive_arp`] has those of others.
    pub(super) fn send_arp(&mut self, message: &arp::Message) -> io::Result<()> {
        let to = everybody(self.ifindex, libc::ETH_P_ARP);
        if self.arp.is_none() {
            let socket = Socket::new(Domain::PACKET, Type::DGRAM, None)?;
            socket.set_nonblocking(true)?;
            socket.bind(&to)?;
            self.arp = Some(socket);
        }
        match &self.arp {
            Some(socket) => socket.send_to(&message.write(), &to).map(drop),
            None => Ok(()),
        }
    }

    /// The next message of ARP, without waiting.
    pub(super) fn receive_arp(&self) -> Option<arp::Message> {
        let mut socket = self.arp.as_ref()?;
        let mut packet = [0; LONGEST_PACKET];
        loop {
            let length = socket.read(&mut packet).ok()?;
            let message = arp::Message::parse(&packet[..length]);
            if message.is_some() {
                return message;
            }
        }
    }

    /// No address is probed any more.
    pub(super) fn close_arp(&mut self) {
        self.arp = None;
    }

    /// Readable when a message is pending.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let both = [Some(&self.socket), self.arp.as_ref()];
        both.into_iter().flatten().map(AsRawFd::as_raw_fd)
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

/// All hosts behind an interface, for packets of this protocol (`ETH_P_*`).
fn everybody(ifindex: u32, protocol: libc::c_int) -> SockAddr {
    let mac = MacAddr::new([0xff; 6]);
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: the storage is larger than a `sockaddr_ll`, for which all zeros are valid.
    let link = unsafe { storage.view_as::<libc::sockaddr_ll>() };
    link.sll_family = libc::AF_PACKET as u16;
    link.sll_protocol = (protocol as u16).to_be();
    link.sll_ifindex = ifindex as i32;
    link.sll_halen = 6;
    link.sll_addr[..6].copy_from_slice(&mac.octets());
    // SAFETY: the family and the length are those of what was just written.
    unsafe { SockAddr::new(storage, size_of::<libc::sockaddr_ll>() as libc::socklen_t) }
}

/// Gives the address to the interface, with a route to its network and a default one. The daemon makes an
/// uplink of them.
///
/// The kernel's own route to the network would have metric 0. Then packets to a network that the user is on,
/// too, would leave the user's link.
pub(super) fn apply(
    rtnl: &mut Rtnl,
    (name, ifindex): (&IfName, u32),
    lease: &Lease,
) -> Result<(), Box<dyn Error>> {
    let prefix = Prefix::new(IpAddr::V4(lease.address), lease.prefix_len)?;
    rtnl.add_address(&Address {
        flags: AddressFlags::NO_PREFIX_ROUTE,
        ..Address::new(ifindex, prefix)
    })?;
    let route = |to| Route {
        oif: Some(ifindex),
        metric: metric(name),
        protocol: BY_DHCP,
        ..Route::new(Table::MAIN, to)
    };
    if prefix.len() < 32 {
        rtnl.add_route(&Route {
            src: Some(lease.address.into()),
            ..route(prefix.network())
        })?;
    }
    if let Some(router) = lease.router {
        let router = IpAddr::V4(router);
        rtnl.add_route(&Route {
            gateway: Some(router),
            onlink: !prefix.contains(router),
            ..route(Prefix::any(IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
        })?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtnl::Rtnl;
    use crate::testing::{Pair, index};
    use std::time::{Duration, Instant};

    const OURS: MacAddr = MacAddr::local(1);

    /// Whether another host answers our probe for an address, within the time.
    fn is_taken(port: &mut Port, address: Ipv4Addr, patience: Duration) -> bool {
        port.send_arp(&arp::Message::probe(OURS, address)).unwrap();
        let until = Instant::now() + patience;
        while Instant::now() < until {
            let mut heard = std::iter::from_fn(|| port.receive_arp());
            if heard.any(|message| message.conflicts(OURS, address)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }

    #[test]
    fn packets_to_a_network_of_the_user_stay_on_the_users_link() {
        let Some(pair) = Pair::joined(2) else { return };
        let work = || {
            let mut rtnl = Rtnl::open().unwrap();
            let name: IfName = "w1".parse().unwrap();
            let ifindex = index(&mut rtnl, "w1");
            // The user is on 10.0.0.0/24 over w0. An access point gives an address there, too.
            let lease = Lease::of_test(Ipv4Addr::new(10, 0, 0, 77), 24);
            let connected = |rtnl: &mut Rtnl| {
                let routes = rtnl.routes().unwrap();
                let network = "10.0.0.0/24".parse().unwrap();
                let routes = routes
                    .iter()
                    .filter(|route| route.table == Table::MAIN && route.dst == network);
                let mut metrics = Vec::from_iter(routes.map(|route| (route.metric, route.oif)));
                metrics.sort_unstable();
                metrics
            };
            let before = connected(&mut rtnl);
            assert_eq!(before.len(), 1);
            apply(&mut rtnl, (&name, ifindex), &lease).unwrap();
            let with = connected(&mut rtnl);
            assert_eq!(with[0], before[0], "the user's comes first");
            assert_eq!(with[1..], [(metric(&name), Some(ifindex))]);
            remove(&mut rtnl, ifindex, &lease);
            assert_eq!(connected(&mut rtnl), before);
        };
        pair.client.run(work).unwrap();
    }

    #[test]
    fn a_kernel_that_has_an_address_answers_the_probe_for_it_and_for_no_other() {
        let Some(pair) = Pair::joined(1) else { return };
        let work = || {
            let ifindex = index(&mut Rtnl::open().unwrap(), "w0");
            let mut port = Port::open(ifindex).unwrap();
            assert_eq!(port.descriptors().count(), 1);
            let theirs = is_taken(&mut port, Ipv4Addr::new(10, 0, 0, 2), Duration::from_secs(20));
            let free = is_taken(&mut port, Ipv4Addr::new(10, 0, 0, 9), Duration::from_millis(300));
            assert_eq!((theirs, free), (true, false));
            assert_eq!(port.descriptors().count(), 2);
            port.close_arp();
            assert_eq!(port.descriptors().count(), 1);
        };
        pair.client.run(work).unwrap();
    }
}

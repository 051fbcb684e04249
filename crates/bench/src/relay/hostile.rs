//! `relay-hostile`: requests of strangers, and of a client for what it may not reach. None may arrive.
//!
//! Behind the relay is a host that has the forbidden addresses and listens there. Whatever reaches it is
//! egress.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use linux::netns::Netns;
use linux::rtnl::{Address, AddressFlags, IfName, Prefix, Route, Rtnl, Table, VethPeer};
use socket2::Protocol;
use trace::BenchRow;
use units::Rng;
use wire::mobility::Key;

use super::rig::{self, Rig};
use super::{Goal, judged};
use crate::declaration::Setup;

const REQUESTS: u64 = 100_000;
const THREADS: u64 = 8;
const PORT: u16 = 8_080;
/// How long a stranger waits for a reply that may never come.
const WAITS: Duration = Duration::from_secs(10);
/// Private, shared and link-local addresses, and that of a cloud's metadata.
const FORBIDDEN: [Ipv4Addr; 6] = [
    Ipv4Addr::new(10, 9, 9, 9),
    Ipv4Addr::new(100, 64, 0, 9),
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(172, 16, 0, 9),
    Ipv4Addr::new(192, 168, 9, 9),
    Ipv4Addr::new(198, 18, 0, 9),
];
/// Interface number of the loopback.
const LOOPBACK: u32 = 1;

/// What a run of strangers led to.
struct Outcome {
    egress: u64,
    answered: u64,
    grown: u64,
}

/// Runs the benchmark. The figure is the number of connections that reached a forbidden address.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let outcome = attack(REQUESTS, setup.seed)?;
    let row = setup.only_row().trials(&[outcome.egress as f64]);
    let row = row
        .with("requests", REQUESTS)
        .with("answered", outcome.answered)
        .with("memory_grown_kib", outcome.grown / 1024);
    Ok(vec![judged(row, Goal { must: 0.0, aim: 0.0 })])
}

fn attack(requests: u64, seed: u64) -> anyhow::Result<Outcome> {
    let rig = Rig::new(&[])?;
    let inside = Inside::behind(&rig.netns)?;
    let before = rig::resident(rig.process()?)?;
    let mut threads = Vec::new();
    for thread in 0..THREADS {
        let share = requests / THREADS + u64::from(thread < requests % THREADS);
        let (relay, key) = (rig.relay.address(), rig.key.clone());
        let mut random = Rng::named(seed, &format!("hostile/{thread}"));
        let work = move || (0..share).filter(|_| strike(relay, &key, &mut random)).count() as u64;
        threads.push(std::thread::spawn(rig::netns_of(&rig.netns, work)?));
    }
    let mut answered = 0;
    for thread in threads {
        answered += thread
            .join()
            .map_err(|_| anyhow::anyhow!("a stranger panicked; please report this"))?;
    }
    let after = rig::resident(rig.process()?)?;
    Ok(Outcome {
        egress: inside.reached.load(Ordering::Relaxed),
        answered,
        grown: after.saturating_sub(before),
    })
}

/// One request. Returns whether a reply came; a relay may also just close.
fn strike(relay: SocketAddr, key: &Key, random: &mut Rng) -> bool {
    let protocol = match random.below(2) {
        0 => Protocol::TCP,
        _ => Protocol::MPTCP,
    };
    let mut struck = || -> io::Result<bool> {
        let mut stream = rig::connect(relay, protocol)?;
        stream.set_read_timeout(Some(WAITS))?;
        stream.write_all(&message(key, random))?;
        stream.shutdown(Shutdown::Write)?;
        Ok(stream.read(&mut [0; 64])? > 0)
    };
    struck().unwrap_or(false)
}

/// A message that must lead nowhere.
fn message(key: &Key, random: &mut Rng) -> Vec<u8> {
    let forbidden = forbidden(random);
    match random.below(6) {
        // Another protocol.
        0 => (0..random.below(200)).map(|_| random.next_u64() as u8).collect(),
        // A key that the relay does not know.
        1 => rig::request(&Key::new([random.next_u64() as u8; 32]), forbidden),
        // A valid request of which one byte has changed.
        2 => {
            let mut bytes = rig::request(key, forbidden);
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
            bytes
        }
        // A part of one.
        3 => {
            let mut bytes = rig::request(key, forbidden);
            bytes.truncate(random.below(bytes.len() as u64) as usize);
            bytes
        }
        // A valid key, and a destination beyond its rights.
        _ => rig::request(key, forbidden),
    }
}

/// A forbidden address, as such or hidden in an IPv6 address.
fn forbidden(random: &mut Rng) -> SocketAddr {
    let v4 = FORBIDDEN[random.below(FORBIDDEN.len() as u64) as usize];
    let [a, b, c, d] = v4.octets().map(u16::from);
    let (high, low) = (a << 8 | b, c << 8 | d);
    let address: IpAddr = match random.below(4) {
        0 => v4.to_ipv6_mapped().into(),
        1 => [0x64, 0xff9b, 0, 0, 0, 0, high, low].into(),
        2 => [0x2002, high, low, 0, 0, 0, 0, 1].into(),
        _ => v4.into(),
    };
    (address, PORT).into()
}

/// A host with the forbidden addresses. It counts the connections that reach it.
struct Inside {
    reached: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    _netns: Netns,
}

impl Inside {
    fn behind(relay: &Netns) -> anyhow::Result<Self> {
        let netns = Netns::new()?;
        let [near, far] = ["inside", "outside"].map(str::parse::<IfName>);
        let (near, far) = (near?, far?);
        relay.run(|| wire_up(near, far, &netns))??;
        netns.run(|| furnish(far))??;
        let listener = netns.run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)))??;
        // A destination that is allowed shows that the host can be reached at all.
        anyhow::ensure!(
            relay.run(|| reachable(&listener))?,
            "the host behind the relay cannot be reached, so this run has no result; please report this"
        );
        let (reached, over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (counts, ends) = (reached.clone(), over.clone());
        listener.set_nonblocking(true)?;
        std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok(_) => drop(counts.fetch_add(1, Ordering::Relaxed)),
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        Ok(Self {
            reached,
            over,
            _netns: netns,
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Whether a connection from the relay's host arrives.
fn reachable(listener: &TcpListener) -> bool {
    let connected = rig::connect((FORBIDDEN[0], PORT).into(), Protocol::TCP);
    connected.is_ok() && listener.accept().is_ok()
}

fn wire_up(near: IfName, far: IfName, netns: &Netns) -> anyhow::Result<()> {
    let mut rtnl = Rtnl::open()?;
    rtnl.add_veth(
        near,
        VethPeer {
            name: far,
            netns: Some(netns),
        },
    )?;
    let ifindex = up(&mut rtnl, near)?;
    for address in FORBIDDEN {
        let mut route = Route::new(Table::MAIN, Prefix::host(address.into()));
        route.oif = Some(ifindex);
        rtnl.add_route(&route)?;
    }
    give(&mut rtnl, ifindex, Ipv4Addr::new(192, 0, 2, 1))
}

fn furnish(far: IfName) -> anyhow::Result<()> {
    let mut rtnl = Rtnl::open()?;
    let ifindex = up(&mut rtnl, far)?;
    for address in FORBIDDEN {
        give(&mut rtnl, LOOPBACK, address)?;
    }
    let mut route = Route::new(Table::MAIN, Prefix::ANY_V4);
    route.oif = Some(ifindex);
    rtnl.add_route(&route)?;
    Ok(())
}

fn up(rtnl: &mut Rtnl, name: IfName) -> anyhow::Result<u32> {
    let link = rtnl.link_named(name)?;
    let link = link.ok_or_else(|| anyhow::anyhow!("{} vanished; please report this", name.as_str()))?;
    rtnl.set_up(link.ifindex, true)?;
    Ok(link.ifindex)
}

fn give(rtnl: &mut Rtnl, ifindex: u32, address: Ipv4Addr) -> anyhow::Result<()> {
    let mut address = Address::new(ifindex, Prefix::host(address.into()));
    address.flags = AddressFlags::NO_DAD;
    Ok(rtnl.add_address(&address)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_reach_nothing_and_the_relay_stays_small() {
        let outcome = attack(400, 1).unwrap();
        assert_eq!(outcome.egress, 0);
        assert!(outcome.answered > 0, "some get an error");
        assert!(outcome.grown < 16 << 20, "{} bytes", outcome.grown);
    }
}

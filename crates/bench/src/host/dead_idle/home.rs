//! A host with two lines and a server beyond both. Each line's router answers for itself, whatever happens to
//! its uplink.
//!
//! ```text
//! client 10.0.i.1 -- 10.0.i.2 router 10.1.i.1 -- 10.1.i.2 server, 203.0.113.1
//! ```

use anyhow::Context as _;
use linux::netns::Netns;
use linux::rtnl::{Address, Prefix, Protocol, Route, Rtnl, Table, VethPeer};
use linux::sysctl::{self, Key};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process::Command;

/// Address of the server, and of the resolver on it.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
pub const LINES: u8 = 2;

/// All namespaces, removed when this is dropped.
pub struct Home {
    pub client: Netns,
    pub server: Netns,
    routers: Vec<Netns>,
}

impl Home {
    pub fn new() -> anyhow::Result<Self> {
        let home = Self {
            client: Netns::new()?,
            server: Netns::new()?,
            routers: (0..LINES).map(|_| Netns::new()).collect::<Result<_, _>>()?,
        };
        for netns in home.routers.iter().chain([&home.client, &home.server]) {
            // The kernel's own IPv6 packets must not be counted.
            netns.run(|| sysctl::write(&Key::new("net.ipv6.conf.all.disable_ipv6"), "1"))??;
        }
        home.server.run(|| give("lo", SERVER, 32))??;
        for line in 0..LINES {
            home.lay(line)?;
        }
        Ok(home)
    }

    fn lay(&self, line: u8) -> anyhow::Result<()> {
        let router = &self.routers[usize::from(line)];
        let link = format!("line{line}");
        join((&self.client, &link), (router, "home"))?;
        join((&self.server, &link), (router, "uplink"))?;
        let inside = |host| Ipv4Addr::new(10, 0, line, host);
        let outside = |host| Ipv4Addr::new(10, 1, line, host);
        let everything = Ipv4Addr::UNSPECIFIED;
        self.client.run(|| {
            give(&link, inside(1), 24)?;
            lead_out(line)
        })??;
        self.server.run(|| {
            give(&link, outside(2), 24)?;
            lead(&link, (inside(0), 24), outside(1), 0)
        })??;
        router.run(|| {
            give("home", inside(2), 24)?;
            give("uplink", outside(1), 24)?;
            lead("uplink", (everything, 0), outside(2), 0)
        })??;
        self.connect(line, true)
    }

    /// Sets whether the router of a line forwards packets. It answers for itself either way.
    pub fn connect(&self, line: u8, connected: bool) -> anyhow::Result<()> {
        let value = if connected { "1" } else { "0" };
        let router = &self.routers[usize::from(line)];
        let set = router.run(|| {
            let key = Key::new("net.ipv4.ip_forward");
            sysctl::write(&key, value)?;
            sysctl::read(&key)
        })??;
        anyhow::ensure!(
            set == value,
            "net.ipv4.ip_forward of the router of line {line} cannot be set"
        );
        Ok(())
    }

    /// Makes the router of a line lose this share of what it forwards, in percent.
    pub fn lose(&self, line: u8, percent: u8) -> anyhow::Result<()> {
        let rules = format!(
            "table inet lossy {{ chain forward {{ type filter hook forward priority 0; \
             numgen random mod 100 < {percent} drop; }}; }}"
        );
        let mut nft = Command::new("nft");
        self.routers[usize::from(line)].prepare(&mut nft);
        let done = nft.arg(rules).status()?;
        anyhow::ensure!(done.success(), "the router of line {line} takes no rules");
        Ok(())
    }

    /// Sets one of the client's lines up or down.
    pub fn set_up(&self, line: u8, up: bool) -> anyhow::Result<()> {
        let link = format!("line{line}");
        self.client.run(|| {
            let mut rtnl = Rtnl::open()?;
            let ifindex = index(&mut rtnl, &link)?;
            Ok(rtnl.set_up(ifindex, up)?)
        })?
    }

    /// Sets one of the client's lines up again, with the route that it had: the kernel removed that one.
    pub fn restore(&self, line: u8) -> anyhow::Result<()> {
        self.set_up(line, true)?;
        self.client.run(|| lead_out(line))?
    }

    /// The line that the client's new connections use.
    pub fn route(&self) -> anyhow::Result<u8> {
        let local = self.client.run(|| {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect((SERVER, 9))?;
            socket.local_addr()
        })??;
        match local.ip() {
            IpAddr::V4(v4) => Ok(v4.octets()[2]),
            IpAddr::V6(v6) => anyhow::bail!("a connection would begin at {v6}, which no line has"),
        }
    }

    /// Packets that the client's lines have carried so far, in both directions.
    pub fn packets(&self) -> anyhow::Result<u64> {
        let text = self
            .client
            .run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))??;
        let lines = text.lines().filter(|line| line.trim_start().starts_with("line"));
        let packets = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            Some(words.get(2)?.parse::<u64>().ok()? + words.get(10)?.parse::<u64>().ok()?)
        };
        lines
            .map(|line| {
                packets(line)
                    .with_context(|| format!("/proc/net/dev: cannot read the counters of this line: {line}"))
            })
            .sum()
    }
}

fn join((near, name): (&Netns, &str), (far, far_name): (&Netns, &str)) -> anyhow::Result<()> {
    let (name, far_name) = (name.parse()?, far_name.parse()?);
    let peer = VethPeer {
        name: far_name,
        netns: Some(far),
    };
    near.run(|| Rtnl::open()?.add_veth(name, peer).map_err(anyhow::Error::from))?
}

/// Sets a link up with this address.
fn give(link: &str, address: Ipv4Addr, length: u8) -> anyhow::Result<()> {
    let mut rtnl = Rtnl::open()?;
    let ifindex = index(&mut rtnl, link)?;
    rtnl.add_address(&Address::new(ifindex, Prefix::new(address.into(), length)?))?;
    Ok(rtnl.set_up(ifindex, true)?)
}

/// The client's default route over a line, as an administrator would have it.
fn lead_out(line: u8) -> anyhow::Result<()> {
    let (everything, router) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::new(10, 0, line, 2));
    lead(
        &format!("line{line}"),
        (everything, 0),
        router,
        100 + u32::from(line),
    )
}

/// Routes this network over that link and next hop, as an administrator would.
fn lead(link: &str, network: (Ipv4Addr, u8), gateway: Ipv4Addr, metric: u32) -> anyhow::Result<()> {
    let mut rtnl = Rtnl::open()?;
    let oif = Some(index(&mut rtnl, link)?);
    let route = Route {
        oif,
        gateway: Some(gateway.into()),
        metric,
        protocol: Protocol::BOOT,
        ..Route::new(Table::MAIN, Prefix::new(network.0.into(), network.1)?)
    };
    Ok(rtnl.add_route(&route)?)
}

fn index(rtnl: &mut Rtnl, link: &str) -> anyhow::Result<u32> {
    let found = rtnl.link_named(link.parse()?)?;
    found
        .map(|link| link.ifindex)
        .with_context(|| format!("{link} is not there"))
}

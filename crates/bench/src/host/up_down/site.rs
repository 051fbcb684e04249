//! A host with two providers, and a server beyond both.
//!
//! ```text
//! host 192.0.2.2, 2001:db8:1::2 (eth0, preferred) ---- internet: both routers, and the server
//!      198.51.100.2, 2001:db8:2::2 (wlan0) -----------           203.0.113.1, 2001:db8:f::1
//! ```
//!
//! The user has also set what slowhand sets: MPTCP limits, an endpoint, buffers, and a table and a rule with
//! numbers that slowhand prefers.

use super::inside::{feed, ip, ip6};
use super::snapshot::Snapshot;
use anyhow::Context as _;
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use linux::sysctl::{self, Key};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

/// Addresses of the server.
pub const SERVER: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0xf, 0, 0, 0, 0, 1)),
];
/// The link that the user prefers.
const PREFERRED: &str = "eth0";
/// Time for the kernel to set up the links and their addresses.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Both machines, removed when this is dropped.
pub struct Site {
    pub host: Netns,
    pub internet: Netns,
}

impl Site {
    /// Builds the site, and waits until every address is usable.
    pub fn new() -> anyhow::Result<Self> {
        let site = Self {
            host: Netns::new()?,
            internet: Netns::new()?,
        };
        for netns in [&site.host, &site.internet] {
            for conf in ["all", "default"] {
                set(netns, &format!("net.ipv6.conf.{conf}.accept_dad"), "0")?;
            }
        }
        // A lost first SYN must not make later connections plain TCP.
        set(&site.host, "net.mptcp.blackhole_timeout", "0")?;
        set(&site.host, "net.ipv4.tcp_rmem", "8192 262144 4194304")?;
        site.connect()?;
        site.configure()?;
        Ok(site)
    }

    fn connect(&self) -> anyhow::Result<()> {
        let far = format!("/proc/{}/fd/{}", std::process::id(), self.internet.as_raw_fd());
        let pairs = ["eth0", "wlan0"]
            .map(|link| format!("link add {link} type veth peer name p-{link} netns {far}\n"))
            .concat();
        ip(&self.host, &pairs)?;
        ip(
            &self.internet,
            "address add 203.0.113.1 dev lo
             address add 2001:db8:f::1 dev lo
             address add 192.0.2.1/24 dev p-eth0
             address add 2001:db8:1::1/64 dev p-eth0
             address add 198.51.100.1/24 dev p-wlan0
             address add 2001:db8:2::1/64 dev p-wlan0
             link set p-eth0 up
             link set p-wlan0 up",
        )?;
        Ok(())
    }

    fn configure(&self) -> anyhow::Result<()> {
        ip(
            &self.host,
            "link set eth0 up
             link set wlan0 up
             address add 192.0.2.2/24 dev eth0
             address add 2001:db8:1::2/64 dev eth0
             address add 198.51.100.2/24 dev wlan0
             address add 2001:db8:2::2/64 dev wlan0
             route add default via 192.0.2.1 dev eth0 metric 100 proto dhcp
             route add default via 2001:db8:1::1 dev eth0 metric 100
             route add default via 198.51.100.1 dev wlan0 metric 600 proto dhcp
             route add default via 2001:db8:2::1 dev wlan0 metric 600
             route add 10.9.0.0/16 via 198.51.100.1 dev wlan0 table 51830
             rule add pref 31000 to 10.9.0.0/16 lookup 51830
             mptcp limits set subflows 3 add_addr_accepted 1
             mptcp endpoint add 192.0.2.2 dev eth0 subflow",
        )?;
        let since = Instant::now();
        while !self.host.run(is_ready)?? {
            anyhow::ensure!(
                since.elapsed() < PATIENCE,
                "the links of a host have not come up within {} s",
                PATIENCE.as_secs()
            );
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Takes a snapshot of the host once the kernel has added all routes that belong to its addresses.
    pub fn settled(&self) -> anyhow::Result<Snapshot> {
        let mut last = Snapshot::of(&self.host)?;
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            std::thread::sleep(5 * LOOK_EVERY);
            let next = Snapshot::of(&self.host)?;
            if next == last {
                return Ok(next);
            }
            last = next;
        }
        anyhow::bail!("the idle host still changes after {} s", PATIENCE.as_secs())
    }

    /// Whether slowhand has joined the other link to a connection. No other program does.
    pub fn is_joined(&self) -> anyhow::Result<bool> {
        let words = "ss --no-header --tcp --numeric state established src 198.51.100.2";
        let words: Vec<&str> = words.split(' ').collect();
        Ok(!feed(&self.host, &words, "")?.is_empty())
    }

    /// Drops everything returning over the preferred link, which stays up.
    pub fn silence(&self) -> anyhow::Result<()> {
        ip(&self.internet, "route replace blackhole 192.0.2.2/32")?;
        ip6(&self.internet, "route replace blackhole 2001:db8:1::2/128")?;
        Ok(())
    }

    /// Restores the return path over both links.
    pub fn hear(&self) -> anyhow::Result<()> {
        ip(&self.internet, "route flush type blackhole")?;
        ip6(&self.internet, "route flush type blackhole")?;
        Ok(())
    }

    /// Whether new connections use another link than the one that the user prefers.
    pub fn is_overridden(&self) -> anyhow::Result<bool> {
        let asked = || -> anyhow::Result<bool> {
            let mut rtnl = Rtnl::open()?;
            let preferred = rtnl.link_named(PREFERRED.parse()?)?;
            let preferred = preferred.with_context(|| format!("{PREFERRED} is gone"))?.ifindex;
            let way = rtnl.lookup(SERVER[0], None).and_then(|route| route.oif);
            Ok(way != Some(preferred))
        };
        self.host.run(asked)?
    }
}

fn set(netns: &Netns, key: &str, value: &str) -> anyhow::Result<()> {
    Ok(netns.run(|| sysctl::write(&Key::new(key), value))??)
}

/// Whether all links of the calling thread's namespace have carrier, and all addresses are usable.
fn is_ready() -> anyhow::Result<bool> {
    let mut rtnl = Rtnl::open()?;
    let running = rtnl.links()?.iter().all(|link| link.loopback || link.running());
    let tentative = rtnl.addresses()?.iter().any(|address| address.flags.tentative());
    Ok(running && !tentative)
}

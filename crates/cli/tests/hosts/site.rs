//! One host and its surroundings, in namespaces without names. Two of the same shape are equal to the last
//! address.

use crate::inside;
use crate::serve::Server;
use crate::tunnel::Tunnel;
use crate::uplink::Uplink;
use crate::wait;
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;

/// The machine that slowhand runs on.
pub const HOST: &str = "host";
/// Everything behind the providers: their routers and a server.
pub const INTERNET: &str = "internet";
/// The server.
pub const SERVER: [&str; 2] = ["203.0.113.1", "2001:db8:f::1"];
/// A server that the user wants to reach through a tunnel only.
pub const SECRET: [&str; 2] = ["203.0.113.66", "2001:db8:f::66"];

/// A neighbour that sends probes, beside the host itself.
#[derive(Debug, Clone)]
pub struct ProbingHost {
    /// Where the question comes from.
    pub place: &'static str,
    /// From this address; any of its own if there is none.
    pub from: Option<IpAddr>,
    /// The host routes for it: it asks for the destinations as well as for the host.
    pub routed: bool,
}

/// A host, its providers and its neighbours.
pub struct Site {
    places: BTreeMap<&'static str, Netns>,
    /// Ways to the Internet; the first is the one that the user prefers.
    pub uplinks: Vec<Uplink>,
    /// What the host may want to reach.
    pub destinations: Vec<IpAddr>,
    /// What may be reached through a tunnel only: to find it at a provider is a leak.
    pub secrets: Vec<IpAddr>,
    /// Several routes are equal, and the user has no preference among them.
    pub spreads: bool,
    /// Neighbours that probe the host.
    pub askers: Vec<ProbingHost>,
    /// Marks that programs of this host set on their packets.
    pub marks: Vec<u32>,
    /// `slowhand.toml`; empty: every adapter by its kind.
    pub config: String,
    servers: Vec<Server>,
    tunnels: Vec<Tunnel>,
}

impl Site {
    /// A host and an Internet that have nothing to do with each other yet.
    pub fn new() -> Self {
        let mut site = Self {
            places: BTreeMap::new(),
            uplinks: Vec::new(),
            destinations: SERVER.iter().map(|address| address.parse().unwrap()).collect(),
            secrets: Vec::new(),
            spreads: false,
            askers: Vec::new(),
            marks: Vec::new(),
            config: String::new(),
            servers: Vec::new(),
            tunnels: Vec::new(),
        };
        site.place(HOST);
        site.place(INTERNET);
        // A lost first SYN must not make later connections plain TCP.
        site.set(HOST, "net/mptcp/blackhole_timeout", "0");
        site.forwards(INTERNET);
        // Routers are set up for good.
        site.set(INTERNET, "net/ipv6/conf/all/keep_addr_on_down", "1");
        site.nft(
            INTERNET,
            "add table inet gate
             add chain inet gate mute { type filter hook prerouting priority -300; }
             add chain inet gate source { type filter hook prerouting priority -200; }
             add chain inet gate clear { type filter hook prerouting priority -250; }
             add counter inet gate leak",
        );
        for address in SERVER.iter().chain(&SECRET) {
            site.ip(INTERNET, &format!("address add {address} dev lo"));
        }
        site.serve(HOST);
        site.serve(INTERNET);
        site
    }

    /// Adds a machine with nothing but a loopback.
    pub fn place(&mut self, name: &'static str) {
        self.places.insert(name, Netns::new().unwrap());
        for conf in ["all", "default", "lo"] {
            self.set(name, &format!("net/ipv6/conf/{conf}/accept_dad"), "0");
            self.set(name, &format!("net/ipv4/conf/{conf}/send_redirects"), "0");
            // As routers do: an address is answered for on its own link only.
            self.set(name, &format!("net/ipv4/conf/{conf}/arp_ignore"), "1");
        }
    }

    /// The namespace of a machine.
    pub fn netns(&self, place: &str) -> &Netns {
        &self.places[place]
    }

    /// The namespace of the host.
    pub fn host(&self) -> &Netns {
        self.netns(HOST)
    }

    /// Adds addresses that the host may want to reach.
    pub fn may_want(&mut self, addresses: &[&str]) {
        let parsed = addresses.iter().map(|address| address.parse::<IpAddr>().unwrap());
        self.destinations.extend(parsed);
    }

    /// Answers whoever connects to this machine, until the site is gone.
    pub fn serve(&mut self, place: &str) {
        self.servers.push(Server::start(self.netns(place)));
    }

    /// Lets a machine pass on what is not for itself.
    pub fn forwards(&self, place: &str) {
        self.set(place, "net/ipv4/ip_forward", "1");
        self.set(place, "net/ipv6/conf/all/forwarding", "1");
    }

    /// Sets a kernel parameter.
    pub fn set(&self, place: &str, key: &str, value: &str) {
        let path = format!("/proc/sys/{key}");
        let written = self.netns(place).run(|| std::fs::write(&path, value)).unwrap();
        written.unwrap_or_else(|error| panic!("{place}: {path}: {error}"));
    }

    /// Runs lines of `ip` on a machine; in rules without addresses they mean IPv4.
    pub fn ip(&self, place: &str, lines: &str) -> String {
        done(place, inside::ip(self.netns(place), lines))
    }

    /// Runs lines of `ip -6` on a machine.
    pub fn ip6(&self, place: &str, lines: &str) -> String {
        done(place, inside::ip6(self.netns(place), lines))
    }

    /// Runs lines of `nft` on a machine.
    pub fn nft(&self, place: &str, lines: &str) -> String {
        let lines = format!("{lines}\n");
        done(
            place,
            inside::feed(self.netns(place), &["nft", "-f", "-"], &lines),
        )
    }

    /// Connects two machines by a cable. Both ends are up, and their hardware addresses depend only on the
    /// names.
    pub fn cable(&self, (place, link): (&str, &str), (far_place, far): (&str, &str)) {
        let far_fd = self.netns(far_place).as_raw_fd();
        let at = format!("/proc/{}/fd/{far_fd}", std::process::id());
        let (mac, far_mac) = (mac_of(place, link), mac_of(far_place, far));
        let pair = format!(
            "link add {link} address {mac} type veth peer name {far} address {far_mac} netns {at}\nlink set {link} up"
        );
        self.ip(place, &pair);
        self.ip(far_place, &format!("link set {far} up"));
        self.await_carrier(place, link, true);
    }

    /// Joins the host and another machine by a link without hardware addresses, as modems and VPNs are.
    pub fn tunnel(&mut self, link: &str, (far_place, far): (&str, &str)) {
        let tunnel = Tunnel::new((self.host(), link), (self.netns(far_place), far));
        self.tunnels.push(tunnel);
        // The kernel would choose link-local addresses at random.
        self.ip(
            HOST,
            &format!("link set {link} addrgenmode none\nlink set {link} up"),
        );
        self.ip(
            far_place,
            &format!("link set {far} addrgenmode none\nlink set {far} up"),
        );
    }

    /// Plugs the far end of a link of the host in, or pulls it.
    pub fn plug(&self, uplink: usize, plugged: bool) {
        let Uplink {
            link,
            socket: (place, far),
            ..
        } = &self.uplinks[uplink];
        match self.tunnels.iter().find(|tunnel| tunnel.far == *far) {
            Some(tunnel) => tunnel.plug(plugged),
            None => {
                let state = if plugged { "up" } else { "down" };
                self.ip(place, &format!("link set {far} {state}"));
            }
        }
        self.await_carrier(HOST, link, plugged);
        if plugged {
            self.ip(INTERNET, &self.uplinks[uplink].far_lines);
        }
    }

    /// Waits until the kernel has noticed what happened at the far end.
    fn await_carrier(&self, place: &str, link: &str, carrier: bool) {
        let name = link.parse().unwrap();
        let noticed = || {
            let found = Rtnl::open().unwrap().link_named(name).unwrap();
            found.unwrap_or_else(|| panic!("no link {link}")).running() == carrier
        };
        wait::until(&format!("{place}: {link} has carrier: {carrier}"), || {
            self.netns(place).run(noticed).unwrap()
        });
    }

    /// Waits until every address can be used. Even without duplicate address detection the kernel enables
    /// IPv6 addresses in the background.
    pub fn await_addresses(&self, place: &str) {
        let waits = || {
            let addresses = Rtnl::open().unwrap().addresses().unwrap();
            addresses.iter().any(|address| address.flags.tentative())
        };
        wait::until(&format!("{place}: all addresses can be used"), || {
            !self.netns(place).run(waits).unwrap()
        });
    }

    /// Waits for the addresses of all machines.
    pub fn await_all_addresses(&self) {
        self.places.keys().for_each(|place| self.await_addresses(place));
    }

    /// The addresses of the host that others can reach it by, with the names of their links.
    pub fn addresses(&self) -> Vec<(String, IpAddr)> {
        let listed = || {
            let mut rtnl = Rtnl::open().unwrap();
            (rtnl.links().unwrap(), rtnl.addresses().unwrap())
        };
        let (links, addresses) = self.host().run(listed).unwrap();
        let name = |ifindex| {
            links
                .iter()
                .find(|link| link.ifindex == ifindex && !link.loopback)
        };
        let usable = addresses.iter().filter(|address| address.usable());
        usable
            .filter_map(|address| Some((name(address.ifindex)?.name.to_string(), address.addr())))
            .collect()
    }

    /// From now on packets to these addresses are counted that come to a provider.
    pub fn keep_secret(&mut self, addresses: &[&str]) {
        let mut rules = String::new();
        for address in addresses {
            let family = if address.contains(':') { "ip6" } else { "ip" };
            let _ = writeln!(
                rules,
                "add rule inet gate clear iifname \"p-*\" {family} daddr {address} counter name leak"
            );
        }
        self.nft(INTERNET, &rules);
        self.secrets
            .extend(addresses.iter().map(|address| address.parse::<IpAddr>().unwrap()));
    }

    /// How many packets to secret addresses came to a provider.
    pub fn leaked(&self) -> u64 {
        let text = self.nft(INTERNET, "list counter inet gate leak");
        let mut words = text.split_whitespace().skip_while(|word| *word != "packets");
        words.nth(1).unwrap().parse().unwrap()
    }

    /// A provider drops, in silence, all that it is to pass on from this link; its router itself answers.
    pub fn silence(&self, uplink: usize) {
        let far = &self.uplinks[uplink].far;
        let rules = format!(
            "add rule inet gate mute iifname {far} ip daddr 203.0.113.0/24 drop
             add rule inet gate mute iifname {far} ip6 daddr 2001:db8:f::/64 drop"
        );
        self.nft(INTERNET, &rules);
    }

    /// Every provider passes on everything.
    pub fn hear_all(&self) {
        self.nft(INTERNET, "flush chain inet gate mute");
    }
}

/// What a program printed that must have done its work.
fn done(place: &str, printed: anyhow::Result<String>) -> String {
    printed.unwrap_or_else(|error| panic!("{place}: {error:#}"))
}

/// A hardware address of one's own for every name.
pub fn mac_of(place: &str, link: &str) -> String {
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = format!("{place}/{link}").bytes().fold(0x811c_9dc5, fold);
    let [a, b, c, d] = hash.to_be_bytes();
    format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

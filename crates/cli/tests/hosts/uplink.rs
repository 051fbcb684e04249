//! A link of the host to a provider, and what the user's network manager does with it.

use crate::site::{HOST, INTERNET, Site, mac_of};

/// A way to the Internet.
#[derive(Debug, Clone)]
pub struct Uplink {
    /// The host's interface.
    pub link: String,
    /// The provider's.
    pub far: String,
    /// The other end of the host's cable: the provider's, if there is no switch between them.
    pub socket: (&'static str, String),
    /// Addresses and routes as the user wants them, in lines of `ip`; `LINK` stands for the interface.
    pub lines: String,
    /// What is set at the provider, in lines of `ip`.
    pub far_lines: String,
    /// What the user's network manager does beside, when it takes them away.
    pub leave: &'static str,
    /// What becomes of these lines when the provider gives other addresses: pairs of old and new text.
    pub other: Vec<(&'static str, &'static str)>,
}

/// One family of a provider.
#[derive(Debug, Clone, Copy)]
pub struct Subnet {
    /// The host's address there.
    pub host: &'static str,
    /// The one that it gets next.
    pub next: &'static str,
    /// The router's address.
    pub router: &'static str,
    /// What the provider lets through from this customer.
    pub customer: &'static str,
    /// How the default route begins, such as `via 192.0.2.1`; empty: there is none.
    pub default: &'static str,
}

/// A provider that drops what does not come from its customer's addresses (BCP 38).
#[derive(Debug, Clone, Copy)]
pub struct Provider {
    /// The host's interface.
    pub link: &'static str,
    /// IPv4.
    pub v4: Option<Subnet>,
    /// IPv6.
    pub v6: Option<Subnet>,
    /// How the default routes end, such as `metric 100`.
    pub metric: &'static str,
}

/// The cable that users prefer.
pub const ETH0: Provider = Provider {
    link: "eth0",
    v4: Some(Subnet {
        host: "192.0.2.2/24",
        next: "192.0.2.9/24",
        router: "192.0.2.1/24",
        customer: "192.0.2.0/24",
        default: "via 192.0.2.1",
    }),
    v6: Some(Subnet {
        host: "2001:db8:1::2/64",
        next: "2001:db8:1::9/64",
        router: "2001:db8:1::1/64",
        customer: "2001:db8:1::/64",
        default: "via 2001:db8:1::1",
    }),
    metric: "metric 100",
};

/// The WiFi beside it.
pub const WLAN0: Provider = Provider {
    link: "wlan0",
    v4: Some(Subnet {
        host: "198.51.100.2/24",
        next: "198.51.100.9/24",
        router: "198.51.100.1/24",
        customer: "198.51.100.0/24",
        default: "via 198.51.100.1",
    }),
    v6: Some(Subnet {
        host: "2001:db8:2::2/64",
        next: "2001:db8:2::9/64",
        router: "2001:db8:2::1/64",
        customer: "2001:db8:2::/64",
        default: "via 2001:db8:2::1",
    }),
    metric: "metric 600",
};

impl Provider {
    fn subnets(&self) -> impl Iterator<Item = Subnet> {
        self.v4.into_iter().chain(self.v6)
    }

    /// What the user's network manager sets.
    pub fn uplink(&self) -> Uplink {
        let addresses = self
            .subnets()
            .map(|net| format!("address add {} dev LINK", net.host));
        let defaults = self.subnets().filter(|net| !net.default.is_empty());
        let routes =
            defaults.map(|net| format!("route replace default {} dev LINK {}", net.default, self.metric));
        Uplink {
            link: self.link.to_owned(),
            far: format!("p-{}", self.link),
            socket: (INTERNET, format!("p-{}", self.link)),
            lines: addresses.chain(routes).collect::<Vec<_>>().join("\n"),
            far_lines: String::new(),
            leave: "",
            other: self.subnets().map(|net| (net.host, net.next)).collect(),
        }
    }
}

impl Uplink {
    /// Gives both ends the other's hardware address. The kernel avoids gateways that did not answer, so its
    /// choice of route would depend on when somebody last probed them.
    fn know_each_other(&mut self, provider: &Provider) {
        let (own, routers) = (mac_of(HOST, provider.link), mac_of(INTERNET, &self.far));
        for net in provider.subnets() {
            let [host, next, router] =
                [net.host, net.next, net.router].map(|address| address.split('/').next().unwrap());
            self.lines += &format!("\nneigh replace {router} lladdr {routers} dev LINK nud reachable");
            for address in [host, next] {
                let known = format!(
                    "neigh replace {address} lladdr {own} dev {} nud permanent\n",
                    self.far
                );
                self.far_lines += &known;
            }
        }
    }
}

impl Site {
    /// Adds a provider behind a cable.
    pub fn provider(&mut self, provider: &Provider) {
        self.provider_with(provider, |_| {});
    }

    /// Adds a provider whose lines `change` has modified.
    pub fn provider_with(&mut self, provider: &Provider, change: impl FnOnce(&mut Uplink)) {
        let far = format!("p-{}", provider.link);
        self.cable((HOST, provider.link), (INTERNET, &far));
        self.customer(provider, change);
    }

    /// Makes a link that is there already one to a provider.
    pub fn customer(&mut self, provider: &Provider, change: impl FnOnce(&mut Uplink)) {
        let mut uplink = provider.uplink();
        change(&mut uplink);
        for net in provider.subnets() {
            let address = format!("address add {} dev {}", net.router, uplink.far);
            self.ip(INTERNET, &address);
            self.accept_only(&uplink.far, net.customer);
        }
        for family in ["ipv4", "ipv6"] {
            let key = format!("net/{family}/neigh/{}/base_reachable_time_ms", provider.link);
            self.set(HOST, &key, "3600000");
        }
        uplink.know_each_other(provider);
        self.ip(INTERNET, &uplink.far_lines);
        self.uplinks.push(uplink);
        self.configure(self.uplinks.len() - 1);
    }

    /// Lets a provider drop what comes over a link from elsewhere.
    pub fn accept_only(&self, far: &str, customer: &str) {
        let (family, own) = match customer.contains(':') {
            true => ("ip6", ", fe80::/10, ::"),
            false => ("ip", ""),
        };
        let rule =
            format!("add rule inet gate source iifname {far} {family} saddr != {{ {customer}{own} }} drop");
        self.nft(INTERNET, &rule);
    }

    /// Sets addresses and routes of a link as the user's network manager does.
    pub fn configure(&self, uplink: usize) {
        let Uplink { link, lines, .. } = &self.uplinks[uplink];
        self.ip(HOST, &lines.replace("LINK", link));
        self.await_addresses(HOST);
    }

    /// Takes addresses and routes of a link away, as a network manager does when the lease has ended.
    pub fn release(&self, uplink: usize) {
        let Uplink { link, leave, .. } = &self.uplinks[uplink];
        self.ip(
            HOST,
            &format!("address flush dev {link} scope global\nroute flush dev {link} proto boot\n{leave}"),
        );
        self.ip6(HOST, &format!("route flush dev {link} proto boot"));
    }

    /// The provider gives other addresses.
    pub fn renumber(&mut self, uplink: usize) {
        self.release(uplink);
        let Uplink { lines, other, .. } = &mut self.uplinks[uplink];
        for (old, new) in other {
            *lines = lines.replace(*old, new);
            std::mem::swap(old, new);
        }
        self.configure(uplink);
    }

    /// Renames the interface while it is up.
    pub fn rename(&mut self, uplink: usize, name: &str) {
        let old = std::mem::replace(&mut self.uplinks[uplink].link, name.to_owned());
        self.ip(HOST, &format!("link set dev {old} name {name}"));
    }

    /// Two interfaces get each other's name.
    pub fn swap_names(&mut self) {
        let [first, second] = [0, 1].map(|uplink| self.uplinks[uplink].link.clone());
        self.rename(0, "swap0");
        self.rename(1, &first);
        self.rename(0, &second);
    }

    /// Removes the interface of this provider from the machine and inserts it again: the same name, another
    /// index.
    pub fn replug(&mut self, uplink: usize, provider: &Provider) {
        let Uplink {
            link, far, far_lines, ..
        } = self.uplinks[uplink].clone();
        self.ip(HOST, &format!("link delete {link}"));
        self.cable((HOST, &link), (INTERNET, &far));
        let addresses = provider
            .subnets()
            .map(|net| format!("address add {} dev {far}\n", net.router));
        self.ip(INTERNET, &(addresses.collect::<String>() + &far_lines));
        self.configure(uplink);
    }

    /// Renames `eth0` to `eth9`, and back.
    pub fn rename_to_and_fro(&mut self, uplink: usize) {
        let old = &self.uplinks[uplink].link;
        let name = match old.strip_suffix('9') {
            Some(stem) => format!("{stem}0"),
            None => old.trim_end_matches('0').to_owned() + "9",
        };
        self.rename(uplink, &name);
    }
}

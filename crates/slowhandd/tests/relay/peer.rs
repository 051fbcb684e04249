//! Another mobile host of the same Internet, with a key of its own at the relay.

use crate::site::{Daemon, Echo, Links, Running, Site, cut, echo, serve, until};
use linux::netns::Netns;
use serde_json::Value;
use socket2::Protocol;
use std::net::Ipv4Addr;
use std::process::Command;

const PEERS: Links = Links {
    names: ["v0", "v1"],
    first: 10,
};

/// The host.
pub struct Peer<'s> {
    site: &'s Site,
    netns: Netns,
}

impl<'s> Peer<'s> {
    /// Connects it to the Internet of this site.
    pub fn of(site: &'s Site) -> Self {
        let netns = Netns::new().unwrap();
        site.attach(&netns, PEERS);
        site.key(&["add", "peer"]);
        Self { site, netns }
    }

    /// Runs its daemon, and waits until programs are redirected.
    pub fn up(&self) -> Daemon {
        let relay = self.site.through_relay_as("peer");
        let daemon = self.site.start(&self.netns, PEERS, &relay, "-peer");
        let redirected = || {
            let mut command = Command::new("nft");
            let listed = self.netns.prepare(command.args(["list", "ruleset"])).output();
            String::from_utf8_lossy(&listed.unwrap().stdout).contains("redirect to")
        };
        until("the peer's connections are redirected", redirected);
        until("the peer's daemon answers", || {
            self.site.ask_at("run-peer", "status").is_some()
        });
        daemon
    }

    /// The state of its daemon.
    pub fn status(&self) -> Value {
        self.site
            .ask_at("run-peer", "status")
            .expect("the peer's daemon answers")
    }

    /// A server of the peer on loopback that returns what it gets.
    pub fn echo(&self) -> (u16, Echo) {
        let (address, echo) = serve(&self.netns, Ipv4Addr::LOCALHOST.into(), Protocol::TCP, 0, echo);
        (address.port(), echo)
    }

    /// `slowhand meet` on the peer.
    pub fn meet(&self, words: &[&str]) -> Running {
        self.site.run_meet(&self.netns, "-peer", words)
    }

    /// Takes a link's packets away without a word to either end.
    pub fn cut(&self, link: &str) {
        cut(&self.netns, link);
        cut(&self.site.internet, link);
    }
}

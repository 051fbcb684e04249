//! What the tests share: namespaces of their own, pairs of them, and what other programs print.

use crate::netns::{CreateError, Netns};
use crate::rtnl::{Address, AddressFlags, IfName, Prefix, Rtnl, VethPeer};
use std::process::Command;

/// A fresh namespace, or the reason why this test cannot run here.
pub fn fresh() -> Option<Netns> {
    match Netns::new() {
        Ok(netns) => Some(netns),
        Err(CreateError::NotPermitted) => {
            println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs `work` in a fresh namespace.
pub fn inside(work: impl FnOnce() + Send) {
    if let Some(netns) = fresh() {
        netns.run(work).unwrap();
    }
}

/// What a command prints, run by the calling thread and so in its namespace.
pub fn output(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn name(text: &str) -> IfName {
    text.parse().unwrap()
}

pub fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

/// The number of the link called `text`.
pub fn index(rtnl: &mut Rtnl, text: &str) -> u32 {
    rtnl.link_named(name(text))
        .unwrap()
        .unwrap_or_else(|| panic!("no link {text}"))
        .ifindex
}

/// Makes a link `text` with carrier; what is sent over it is lost.
pub fn plug(text: &str) {
    let peer = VethPeer {
        name: name(&format!("{text}-far")),
        netns: None,
    };
    Rtnl::open().unwrap().add_veth(name(text), peer).unwrap();
    furnish(&format!("{text}-far"), &[]);
}

/// Takes a link up and gives it addresses that are usable at once.
pub fn furnish(link: &str, addresses: &[&str]) {
    let mut rtnl = Rtnl::open().unwrap();
    let ifindex = index(&mut rtnl, link);
    for text in addresses {
        let address = Address {
            flags: AddressFlags::NO_DAD,
            ..Address::new(ifindex, prefix(text))
        };
        rtnl.add_address(&address).unwrap();
    }
    rtnl.set_up(ifindex, true).unwrap();
}

/// A client and a server joined by `links` cables: link `i` is `w{i}` at both ends, with `10.0.{i}.1/24` and
/// `fd00:{i}::1/64` at the client, `.2` and `::2` at the server.
pub struct Pair {
    pub client: Netns,
    pub server: Netns,
}

impl Pair {
    pub fn joined(links: u8) -> Option<Self> {
        let pair = Self {
            client: fresh()?,
            server: fresh()?,
        };
        for i in 0..links {
            pair.client.run(|| pair.cable(i)).unwrap();
            pair.server.run(|| furnish_end(i, 2)).unwrap();
        }
        Some(pair)
    }

    fn cable(&self, i: u8) {
        let end = name(&format!("w{i}"));
        let peer = VethPeer {
            name: end,
            netns: Some(&self.server),
        };
        Rtnl::open().unwrap().add_veth(end, peer).unwrap();
        furnish_end(i, 1);
    }
}

fn furnish_end(i: u8, host: u8) {
    furnish(
        &format!("w{i}"),
        &[&format!("10.0.{i}.{host}/24"), &format!("fd00:{i}::{host}/64")],
    );
}

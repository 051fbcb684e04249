//! Packet formats that the lab and the probes need. This crate has no sockets and no policy.
//!
//! | module | contents |
//! |---|---|
//! | [`ip`] | IPv4 and IPv6 headers, ECN |
//! | [`checksum`] | the Internet checksum, full and incremental |
//! | [`nat`] | address translation at the edge of a private network |
//! | [`echo`] | ICMP and ICMPv6 echo |
//! | [`arp`] | whether another host has an IPv4 address |
//! | [`dhcp`] | DHCPv4 messages of a client |
//! | [`dns`] | a query to a resolver, and the addresses in its reply |
//! | [`dot11`] | 802.11 frame headers |
//! | [`beacon`] | what an access point says of itself |
//! | [`radiotap`] | reception metadata of a frame |
//! | [`pcapng`] | writes captures |
//! | [`convert`], [`cookie`] | requests to a relay, their replies and their authentication |
//! | [`socks`] | how a program asks for a connection to a server |
//! | [`mobility`] | signal reports from a mobile to a sender |
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod arp;
pub mod beacon;
pub mod checksum;
pub mod convert;
pub mod cookie;
pub mod dhcp;
pub mod dns;
pub mod dot11;
pub mod echo;
pub mod ip;
pub mod mobility;
pub mod nat;
pub mod pcapng;
pub mod radiotap;
pub mod socks;

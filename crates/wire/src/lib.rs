//! Bytes to values and back: what the lab and the probes must know of packets. No sockets, no policy.
//!
//! | module | what |
//! |---|---|
//! | [`ip`] | where an IPv4 or IPv6 header ends, ECN, setting CE |
//! | [`checksum`] | the Internet checksum, whole and by difference |
//! | [`nat`] | addresses rewritten at the edge of a private network |
//! | [`echo`] | ICMP and ICMPv6 echo |
//! | [`dns`] | one question to a resolver, and the addresses in its reply |
//! | [`dot11`] | headers of 802.11 frames |
//! | [`radiotap`] | what a radio says about a frame |
//! | [`pcapng`] | captures, written |
//! | [`mobility`] | what a mobile tells a sender of its signal |
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod checksum;
pub mod dns;
pub mod dot11;
pub mod echo;
pub mod ip;
pub mod mobility;
pub mod nat;
pub mod pcapng;
pub mod radiotap;

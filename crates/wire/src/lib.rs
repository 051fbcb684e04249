//! Bytes to values and back: what the lab and the probes must know of packets. No sockets, no policy.
//!
//! | module | what |
//! |---|---|
//! | [`ip`] | where an IPv4 or IPv6 header ends, ECN, setting CE |
//! | [`checksum`] | the Internet checksum, whole and by difference |
//! | [`nat`] | addresses rewritten at the edge of a private network |
//! | [`echo`] | ICMP and ICMPv6 echo |
#![cfg_attr(not(test), no_std)]

pub mod checksum;
pub mod echo;
pub mod ip;
pub mod nat;

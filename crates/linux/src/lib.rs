//! The real world: everything slowhand exchanges with a Linux kernel.
//!
//! | module | purpose | entry points |
//! |---|---|---|
//! | [`daemon`] | drives one `policy::Engine` over a namespace | `Daemon::start`, `Daemon::run` |
//! | [`mptcp_pm`] | the MPTCP path managers: commands and events | `Commands::open`, `Events::open` |
//! | [`rtnl`] | lists, changes and monitors links, addresses, routes, rules | `Rtnl::open`, `Watch::open` |
//! | [`diag`], [`info`] | all sockets, their `tcp_info` and `mptcp_info` | `Diag::open`, `Diag::tcp` |
//! | [`sockopt`] | options of a program's own sockets | `mptcp_info`, `full_info`, `is_fallback` |
//! | [`routing`] | a table per uplink; where new connections begin | `routing::Plan`, `routing::Routing` |
//! | [`orphans`] | closed connections at an endpoint about to be removed | `orphans::release` |
//! | [`probe`] | tests whether a host is reachable over one link | `Prober` |
//! | [`bpf`] | levers that need a BPF program | `WindowLever`, `UnsentLever`, `PacingLever` |
//! | [`conntrack`] | flows that the kernel tracks, by their marks | `Conntrack::open`, `Events::open` |
//! | [`nft`] | a table of nftables that ends with this process | `nft::Table::install` |
//! | [`tun`] | TUN devices | `tun::attach` |
//! | [`capture`] | frames heard on a monitor interface | `Capture::open`, `digest` |
//! | [`journal`] | a record on disk of all changes, and their undo | `Journal::open`, `Journal::undo` |
//! | [`seccomp`] | makes the TCP sockets of a program MPTCP ones | `seccomp::install`, `seccomp::serve` |
//! | [`sysctl`] | kernel parameters of a namespace | `sysctl::read`, `sysctl::path_manager` |
//! | [`nl80211`] | WiFi radios, interfaces and associations | `Nl80211::open`, `Events::open` |
//! | [`wifi`] | joins access points with `wpa_supplicant` and DHCP | `wifi::Prepared` |
//! | [`netstat`] | counters of a namespace's kernel | `netstat::counted` |
//! | [`netns`] | namespaces without names, and work inside them | `Netns::new`, `Netns::run` |
//! | [`portal`] | whether a link leads to the Internet | `portal::Inquiry::run` |
//! | [`resolvers`] | which hosts resolve names for a link | `resolvers::of_link` |
//! | [`claim`] | a single daemon per namespace | `Claim::take` |
//! | [`doctor`] | what this host lacks and how to get it | `doctor::checks`, `doctor::needs` |
//! | [`limits`] | resource limits of the process | `limits::raise_descriptors` |
//! | [`realtime`] | scheduling of the process | `realtime::request` |
//! | [`netlink`] | the layer under `mptcp_pm`, `rtnl` and `diag` | `Socket::open`, `Builder` |
//!
//! Everything works in the network namespace of the thread that opened it, and from then on from any thread.
//! Nothing here blocks for long: the kernel answers requests while they are sent. Event sources are
//! descriptors for `epoll` whose `next` never blocks.

pub mod bpf;
mod bus;
pub mod capture;
pub mod cla;
pub mod claim;
pub mod conntrack;
pub mod daemon;
pub mod diag;
pub mod doctor;
pub mod info;
pub mod journal;
pub mod limits;
pub mod mptcp_pm;
pub mod netlink;
pub mod netns;
pub mod netstat;
pub mod nft;
pub mod nl80211;
pub mod orphans;
mod place;
pub mod portal;
pub mod probe;
pub mod realtime;
pub mod redirect;
pub mod resolvers;
mod rights;
pub mod routing;
pub mod rtnl;
pub mod seccomp;
pub mod sockopt;
pub mod sysctl;
#[cfg(test)]
mod testing;
pub mod tun;
pub mod wifi;

//! The real world: everything slowhand says to a Linux kernel, and everything the kernel says back.
//!
//! | module | what it is | begins with |
//! |---|---|---|
//! | [`daemon`] | drives one `policy::Engine` over a namespace | `Daemon::start`, `Daemon::run` |
//! | [`mptcp_pm`] | the kernel's MPTCP path managers: commands and events | `Commands::open`, `Events::open` |
//! | [`rtnl`] | links, addresses, routes, rules: read, changed, watched | `Rtnl::open`, `Watch::open` |
//! | [`diag`], [`info`] | sockets of all programs, their `tcp_info` and `mptcp_info` | `Diag::open`, `Diag::tcp`, `Diag::mptcp` |
//! | [`sockopt`] | the same of a socket of one's own; congestion controllers | `mptcp_info`, `full_info`, `is_fallback` |
//! | [`routing`] | a table per uplink, and rules that lead to it; where new connections begin | `routing::Plan`, `routing::Routing::apply` |
//! | [`orphans`] | closed connections at an endpoint that goes | `orphans::release` |
//! | [`probe`] | is a host reachable over this one link? | `Prober` |
//! | [`bpf`] | what only a BPF program can do | `WindowLever`, `UnsentLever`, `PacingLever` |
//! | [`capture`] | what a monitor interface hears | `Capture::open`, `digest` |
//! | [`journal`] | what was changed, on disk, and how to take it back | `Journal::open`, `Journal::undo` |
//! | [`sysctl`] | kernel parameters of a namespace | `sysctl::read`, `sysctl::path_manager` |
//! | [`netstat`] | what a namespace's kernel counts by itself | `netstat::counted` |
//! | [`netns`] | namespaces without names, and work inside them | `Netns::new`, `Netns::run` |
//! | [`portal`], [`resolvers`] | whether a link leads to the Internet, and who resolves names for it | `portal::Check::run`, `resolvers::of_link` |
//! | [`claim`] | one daemon in a namespace | `Claim::take` |
//! | [`doctor`] | what this host lacks and how to get it | `doctor::checks`, `doctor::needs` |
//! | [`limits`], [`realtime`] | what the process may have, and how it is scheduled | `limits::raise_descriptors`, `realtime::request` |
//! | [`netlink`] | the layer under `mptcp_pm`, `rtnl` and `diag` | `Socket::open`, `Builder` |
//!
//! Everything works in the network namespace of the thread that opened it, and keeps working there from any thread.
//! Nothing here blocks for long: requests are answered while they are sent, and whatever waits for events is a
//! descriptor for `epoll` whose `next` never blocks.

pub mod bpf;
pub mod capture;
pub mod cla;
pub mod claim;
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
pub mod orphans;
pub mod portal;
pub mod probe;
pub mod realtime;
pub mod resolvers;
mod rights;
pub mod routing;
pub mod rtnl;
pub mod sockopt;
pub mod sysctl;
#[cfg(test)]
mod testing;

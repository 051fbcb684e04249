//! Detects when a namespace is gone: a veth pair has one end inside.
//!
//! The kernel removes both ends when it removes the namespace, and with it all devices, addresses, routes,
//! rules, endpoints and settings in it.
#![allow(dead_code, reason = "not every test stops a process")]

#[path = "../../../linux/src/testing/patience.rs"]
pub mod patience;

use linux::netns::Netns;
use linux::rtnl::{IfName, Rtnl, VethPeer};
use patience::Patience;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

/// One witness for each network namespace of a process.
pub struct Witnesses(Vec<IfName>);

impl Witnesses {
    /// Places the witnesses. Their near ends are in the namespace of `rtnl`. The namespace `except` is not
    /// one of the process's own.
    pub fn place(rtnl: &mut Rtnl, pid: u32, except: Option<u64>) -> Self {
        let namespaces = namespaces_of(pid, except);
        let names = namespaces.iter().enumerate().map(|(index, netns)| {
            let name: IfName = format!("w{index}").parse().unwrap();
            let peer = VethPeer {
                name: "witness".parse().unwrap(),
                netns: Some(netns),
            };
            rtnl.add_veth(name, peer).unwrap();
            name
        });
        Self(names.collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Waits until all are gone. Returns how long that took: the kernel removes namespaces in the background.
    pub fn watch_until_gone(&self, rtnl: &mut Rtnl, patience: Duration) -> Duration {
        let (begun, mut patience) = (Instant::now(), Patience::of(patience));
        for name in &self.0 {
            while rtnl.link_named(*name).unwrap().is_some() {
                assert!(patience.lasts(), "the namespace of {name} is still there");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let links = rtnl.links().unwrap();
        assert_eq!(links.len(), 1, "only a loopback is left: {links:?}");
        begun.elapsed()
    }
}

/// Stops a child, and returns when all of its threads have stopped or it has ended. It can then create no
/// namespace unnoticed.
pub fn stand_still(child: &Child) {
    // SAFETY: no pointers; the child has not been waited for, so the number is its.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGSTOP) }, 0);
    // SAFETY: a siginfo of zeros is a valid one.
    let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let wanted = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT;
    // SAFETY: `told` outlives the call. The child stays to be waited for.
    while unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut told, wanted) } != 0 {
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "{error}");
    }
}

/// Waits until no ended run holds the host's permission for a controller. A run that is just ending may keep
/// its line for a moment after it was read here. The line of a killed run stays until another run removes it.
pub fn assert_nothing_is_held_by_the_dead(patience: Duration) {
    let mut patience = Patience::of(patience);
    while let Some(line) = held_by_the_dead() {
        assert!(patience.lasts(), "a dead run still holds `{line}`");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn held_by_the_dead() -> Option<String> {
    let path = "/run/slowhand/net.ipv4.tcp_allowed_congestion_control";
    let record = std::fs::read_to_string(path).unwrap_or_default();
    let dead = |line: &&str| {
        let pid = line.split('\t').next().unwrap_or_default();
        !PathBuf::from(format!("/proc/{pid}")).exists()
    };
    record.lines().skip(1).find(dead).map(str::to_owned)
}

/// Opens the network namespaces to which the process has handles.
pub fn namespaces_of(pid: u32, except: Option<u64>) -> Vec<Netns> {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<(u64, Netns)> = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_netns =
            std::fs::read_link(&path).is_ok_and(|target| target.to_string_lossy().starts_with("net:["));
        let Some(netns) = is_netns.then(|| Netns::open(&path).ok()).flatten() else {
            continue;
        };
        let id = netns.id().unwrap();
        if Some(id) != except && found.iter().all(|(known, _)| *known != id) {
            found.push((id, netns));
        }
    }
    found.into_iter().map(|(_, netns)| netns).collect()
}

//! Checks the host for everything that slowhand uses, and tells how to get what is missing.
//!
//! Nothing is changed. Features are tried, and versions are not compared. A daemon starts only if none of
//! [`needs`] is missing, so its message never differs from this one.
//!
//! # Checked by
//! `tests`, as root and as nobody; `crates/cli/tests/host/start.rs`: `up` refuses with the same messages.

use crate::bpf::cc::Coupled;
use crate::bpf::{self, LoadError, UnsentLever, WindowKind, WindowLever};
use crate::bus::Bus;
use crate::netstat::counted;
use crate::nl80211::able::{self, Around};
use crate::nl80211::{IfType, Nl80211, Wiphy, rfkill};
use crate::rights;
use crate::rtnl::Rtnl;
use crate::sysctl::{self, PathManager, SysctlError};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::path::Path;

/// Importance of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// Slowhand does not work without it.
    Must,
    /// Slowhand works worse without it.
    Should,
    /// Only the lab needs it.
    Lab,
}

impl Need {
    /// A stable identifier.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Lab => "lab",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// A stable identifier.
    pub name: &'static str,
    /// Its importance.
    pub need: Need,
    /// `Ok`: what was found. `Err`: what is missing and how to get it.
    pub result: Result<String, String>,
}

impl Check {
    /// Whether the check passed.
    pub const fn is_ok(&self) -> bool {
        self.result.is_ok()
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, words) = match &self.result {
            Ok(found) => ("ok", found),
            Err(missing) => ("--", missing),
        };
        write!(f, "{mark}  {:<18} {words}", self.name)
    }
}

/// Runs all checks, the most important first.
pub fn checks() -> Vec<Check> {
    let others = [
        check("window-lever", Need::Should, window_lever()),
        check("tcx-chain", Need::Should, crate::bpf::chains_in_words()),
        check("unsent-lever", Need::Should, unsent_lever()),
        check("coupled", Need::Should, coupled()),
        check("buffers", Need::Should, buffers()),
        check("blackhole", Need::Should, blackhole()),
        check("real-time", Need::Should, real_time()),
        check("tun", Need::Lab, tun()),
        check("controllers", Need::Lab, controllers()),
    ];
    needs()
        .into_iter()
        .chain(others)
        .chain(radios(Path::new("/")))
        .collect()
}

/// What each WiFi radio can do. Nothing where there is none.
fn radios(root: &Path) -> Vec<Check> {
    let wifi = |result| check("wifi", Need::Should, result);
    let mut kernel = match Nl80211::open() {
        Ok(kernel) => kernel,
        Err(error) => {
            let names = rfkill::wifi_interfaces(root);
            let words = format!(
                "{}: {error}; without it their channels, signals and losses are not known",
                names.join(", ")
            );
            return Vec::from_iter((!names.is_empty()).then(|| wifi(Err(words))));
        }
    };
    let switches = rfkill::switches(root);
    let interfaces = kernel.interfaces().unwrap_or_default();
    match kernel.wiphys() {
        Ok(radios) => {
            let up = up();
            let found = |radio: &Wiphy| {
                let own = || interfaces.iter().filter(|one| one.wiphy == radio.index);
                let names = own().map(|one| one.name.as_str()).filter(|name| !name.is_empty());
                let others = own().filter(|one| up.contains(&one.name) && !crate::wifi::is_ours(&one.name));
                let others = Vec::from_iter(others.filter_map(|one| Some((one.name.as_str(), one.kind?))));
                // A kernel without rules names none.
                let country = kernel.country(radio.index).ok().flatten();
                let around = Around {
                    interfaces: &Vec::from_iter(names),
                    others: &others,
                    managed: able::Able::of(radio).stations == 1 && is_managed(&others),
                    switches: &switches,
                    country: country.as_deref(),
                };
                wifi(able::finding(radio, around))
            };
            let joins = || check("wifi-join", Need::Should, crate::wifi::supplicant_found());
            let joins = (!radios.is_empty()).then(joins);
            radios.iter().map(found).chain(joins).collect()
        }
        Err(error) => vec![wifi(Err(format!(
            "the radios cannot be listed: {}",
            error.source
        )))],
    }
}

/// Whether NetworkManager manages one of these station interfaces, and no iwd serves them.
fn is_managed(others: &[(&str, IfType)]) -> bool {
    let mut bus = Bus::default();
    let stations = others.iter().filter(|(_, kind)| *kind == IfType::Station);
    let mut names = stations.filter_map(|(name, _)| name.parse().ok());
    names.any(|name| matches!(bus.manages(name), Ok(Some(true)))) && !bus.has_iwd()
}

/// Names of the interfaces that are up.
fn up() -> Vec<String> {
    let links = Rtnl::open().ok().and_then(|mut rtnl| rtnl.links().ok());
    let links = links.unwrap_or_default().into_iter();
    links
        .filter(|link| link.up)
        .map(|link| link.name.to_string())
        .collect()
}

/// Runs the checks that must pass.
pub fn needs() -> Vec<Check> {
    vec![
        check("privileges", Need::Must, privileges()),
        check("mptcp", Need::Must, mptcp()),
        check("path-manager", Need::Must, path_manager()),
    ]
}

const fn check(name: &'static str, need: Need, result: Result<String, String>) -> Check {
    Check { name, need, result }
}

fn privileges() -> Result<String, String> {
    let missing = rights::lacking(&[rights::NET_ADMIN, rights::NET_RAW]);
    if !missing.is_empty() {
        return Err(format!(
            "{} missing; run as root, or give them to the service",
            missing.join(", ")
        ));
    }
    // In its own user namespace a process has every capability, but none over the outer namespaces.
    match Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW))) {
        Ok(_) => Ok("CAP_NET_ADMIN, CAP_NET_RAW".into()),
        Err(error) => Err(format!(
            "CAP_NET_RAW does not count in this network namespace ({error}): it belongs to another user namespace; run as root outside"
        )),
    }
}

fn mptcp() -> Result<String, String> {
    match sysctl::read(&sysctl::mptcp_enabled()).as_deref() {
        Ok("1") => Ok("net.mptcp.enabled = 1".into()),
        Ok(value) => Err(format!(
            "net.mptcp.enabled = {value}; switch it on: sysctl -w net.mptcp.enabled=1"
        )),
        Err(_) => Err("this kernel has no MPTCP; it needs 5.19 or newer with CONFIG_MPTCP=y".into()),
    }
}

fn path_manager() -> Result<String, String> {
    let Ok((key, value)) = sysctl::path_manager(PathManager::Userspace) else {
        return Err("no user-space path manager; the kernel needs to be 5.19 or newer".into());
    };
    if sysctl::read(&key).is_ok_and(|now| now == value) {
        return Ok(format!("{key} = {value}"));
    }
    match sysctl::writable(&key) {
        Ok(()) => Ok(format!("{key} takes `{value}`")),
        Err(SysctlError::ReadOnly(_)) => Err(format!(
            "/proc/sys is read-only here, as in most containers, and {key} is not `{value}`; start the container with --sysctl {key}={value}, or mount \
             /proc/sys writable"
        )),
        Err(error) => Err(error.to_string()),
    }
}

fn window_lever() -> Result<String, String> {
    let kind = |lever: WindowLever| (lever.kind(), lever.refused().map(ToString::to_string));
    window_in_words(WindowLever::load().map(kind))
}

/// Describes the loaded lever, and why the better one is not loaded.
fn window_in_words(loaded: Result<(WindowKind, Option<String>), LoadError>) -> Result<String, String> {
    match loaded {
        Ok((kind, None)) => Ok(format!("{kind:?}: the window field of outgoing segments")),
        Ok((kind, Some(why))) => Ok(format!("{kind:?}, the coarser method, because: {why}")),
        Err(error) => Err(format!(
            "{error}; without it only new connections can be limited, by their receive buffer (tcp_rmem): on all others a dying link costs a second \
             or more instead of 0.1 s"
        )),
    }
}

fn unsent_lever() -> Result<String, String> {
    match UnsentLever::load() {
        Ok(_) => Ok("limits unsent bytes on the subflows of uploads".into()),
        Err(error) => Err(format!(
            "{error}; without it a link that dies during an upload costs half a second or more"
        )),
    }
}

fn coupled() -> Result<String, String> {
    match bpf::cc::missing() {
        None => Ok(format!(
            "{} can be loaded",
            Coupled::ALL.map(Coupled::id).join(", ")
        )),
        Some(missing) => Err(format!(
            "{missing}; without it several paths through one bottleneck take more than their share"
        )),
    }
}

fn buffers() -> Result<String, String> {
    let key = sysctl::Key::new("net.ipv4.tcp_rmem");
    match sysctl::writable(&key) {
        Ok(()) => Ok(format!("{key} can be set while a subflow is joined")),
        Err(error) => Err(format!(
            "{error}; without it the server may have 80 kB in flight on a subflow that joins late"
        )),
    }
}

fn blackhole() -> Result<String, String> {
    if let Some(found) = blackholed() {
        return Err(found);
    }
    match sysctl::read(&sysctl::blackhole_timeout()).as_deref() {
        Ok("0") => Ok("net.mptcp.blackhole_timeout = 0".into()),
        Ok(seconds) => Err(format!(
            "net.mptcp.blackhole_timeout = {seconds}: a lost first SYN makes new connections plain TCP for that many seconds; \
             sysctl -w net.mptcp.blackhole_timeout=0"
        )),
        Err(_) => Ok("this kernel has no MPTCP blackhole detection".into()),
    }
}

/// Why new MPTCP connections of this host may be plain TCP at present.
pub fn blackholed() -> Option<String> {
    let seconds = sysctl::read(&sysctl::blackhole_timeout()).ok()?;
    let times = counted("MPTcpExt", "Blackhole")?;
    (seconds != "0" && times > 0).then(|| {
        format!(
            "a path has dropped MPTCP SYNs (counted: {times}); after each time the kernel makes plain TCP connections for up to {seconds} s; \
             sysctl -w net.mptcp.blackhole_timeout=0"
        )
    })
}

fn tun() -> Result<String, String> {
    match Path::new("/dev/net/tun").exists() {
        true => Ok("/dev/net/tun".into()),
        false => Err("no /dev/net/tun; `modprobe tun`, or pass the device to the container".into()),
    }
}

fn real_time() -> Result<String, String> {
    // SAFETY: reads the calling thread's policy and takes no pointers.
    let policy = unsafe { libc::sched_getscheduler(0) };
    let wanted = libc::sched_param { sched_priority: 1 };
    // SAFETY: `wanted` is valid for the call, and the policy is restored below.
    let allowed = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wanted) } == 0;
    if !allowed {
        return Err(
            "SCHED_FIFO is refused: a busy host delays the daemon's measurements; run as root, or see `ulimit -r` and the cgroup's \
             cpu.rt_runtime_us"
                .into(),
        );
    }
    let usual = libc::sched_param { sched_priority: 0 };
    // SAFETY: as above.
    unsafe { libc::sched_setscheduler(0, policy.max(0), &raw const usual) };
    Ok("SCHED_FIFO".into())
}

fn controllers() -> Result<String, String> {
    sysctl::read(&sysctl::Key::new("net.ipv4.tcp_available_congestion_control"))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::inside;

    #[test]
    fn nothing_is_missing_on_a_machine_that_runs_the_lab() {
        inside(|| {
            sysctl::write(&sysctl::blackhole_timeout(), "0").unwrap();
            let missing: Vec<String> = checks()
                .iter()
                .filter(|check| !check.is_ok())
                .map(Check::to_string)
                .collect();
            assert!(missing.is_empty(), "{missing:#?}");
        });
    }

    #[test]
    fn without_capabilities_the_alternative_is_named() {
        const NOBODY: libc::c_long = 65_534;
        let looked = std::thread::spawn(|| {
            // SAFETY: no pointers. The bare system call changes this thread only.
            let code = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
            (code == 0).then(|| [window_lever(), unsent_lever()])
        });
        let Some([window, unsent]) = looked.join().unwrap() else {
            println!("skipped: needs root (CAP_SETUID) to become nobody");
            return;
        };
        assert!(window.unwrap_err().contains("tcp_rmem"));
        assert!(unsent.unwrap_err().contains("upload"));
    }

    #[test]
    fn the_window_method_is_named_with_the_reason() {
        let egress = window_in_words(Ok((WindowKind::Egress, None))).unwrap();
        assert_eq!(egress, "Egress: the window field of outgoing segments");
        let why = LoadError::NoTcx.to_string();
        let clamp = window_in_words(Ok((WindowKind::Clamp, Some(why)))).unwrap();
        assert!(
            clamp.starts_with("Clamp, the coarser method, because: this kernel has no tcx links"),
            "{clamp}"
        );
        let none = window_in_words(Err(LoadError::NoBtf)).unwrap_err();
        assert!(
            none.starts_with("this kernel has no BTF") && none.contains("(tcp_rmem)"),
            "{none}"
        );
    }

    #[test]
    fn missing_features_come_with_their_fix() {
        inside(|| {
            sysctl::write(&sysctl::mptcp_enabled(), "0").unwrap();
            let checks = checks();
            let mptcp = checks.iter().find(|check| check.name == "mptcp").unwrap();
            assert!(
                mptcp
                    .result
                    .as_ref()
                    .unwrap_err()
                    .contains("sysctl -w net.mptcp.enabled=1"),
                "{mptcp}"
            );
        });
    }
}

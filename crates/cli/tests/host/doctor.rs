//! The exact sentence of `doctor` for everything that a kernel or a host may lack.

use crate::common::{Scratch, seeing};
use crate::rig::{Host, output};
use crate::start::without;
use serde_json::Value;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

const SYS_NICE: libc::c_ulong = 23;

/// The findings of `doctor` on a host that `change` makes another one for it.
fn findings(host: &Host, change: impl FnOnce(&mut Command)) -> Vec<Value> {
    let mut doctor = host.command("doctor");
    change(doctor.arg("--json"));
    let printed = doctor.output().unwrap();
    let document: Value = serde_json::from_slice(&printed.stdout).unwrap();
    document["checks"].as_array().unwrap().clone()
}

/// Asserts what one of the checks has found.
fn assert_finds(checks: &[Value], name: &str, passed: bool, finding: &str) {
    let check = checks.iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(
        (&check["ok"], &check["finding"]),
        (&Value::from(passed), &Value::from(finding))
    );
}

/// Without the right to real-time priority.
fn without_real_time(command: &mut Command) {
    without(command, SYS_NICE);
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let lower = move || {
        // SAFETY: `none` is valid for the call.
        match unsafe { libc::setrlimit(libc::RLIMIT_RTPRIO, &raw const none) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call.
    unsafe { command.pre_exec(lower) };
}

#[test]
fn each_missing_feature_is_named_with_its_consequence_or_its_fix() {
    let Some(host) = Host::new("lacks") else { return };
    let empty = Scratch::new("lacks");
    let old = Scratch::new("lacks-path-manager");
    std::fs::write(old.path("enabled"), "1\n").unwrap();
    let seen = |directory: &Path, place: &str| findings(&host, |doctor| seeing(doctor, directory, place));

    let checks = seen(&empty.path(""), "/proc/sys/net/mptcp");
    let none = "this kernel has no MPTCP; it needs 5.19 or newer with CONFIG_MPTCP=y";
    assert_finds(&checks, "mptcp", false, none);
    let checks = seen(&old.path(""), "/proc/sys/net/mptcp");
    let none = "no user-space path manager; the kernel needs to be 5.19 or newer";
    assert_finds(&checks, "path-manager", false, none);
    assert_finds(
        &checks,
        "blackhole",
        true,
        "this kernel has no MPTCP blackhole detection",
    );

    let checks = seen(&empty.path(""), "/sys/kernel/btf");
    let btf = "this kernel has no BTF (/sys/kernel/btf/vmlinux)";
    let window = "only new connections can be limited, by their receive buffer (tcp_rmem): on all others a dying link costs a second or more \
                  instead of 0.1 s";
    let window = format!("{btf}: it needs CONFIG_DEBUG_INFO_BTF=y; without it {window}");
    assert_finds(&checks, "window-lever", false, &window);
    let unsent = "a link that dies during an upload costs half a second or more";
    let unsent = format!("{btf}: it needs CONFIG_DEBUG_INFO_BTF=y; without it {unsent}");
    assert_finds(&checks, "unsent-lever", false, &unsent);
    let coupled = "several paths through one bottleneck take more than their share";
    let coupled = format!("{btf}; it needs CONFIG_DEBUG_INFO_BTF=y; without it {coupled}");
    assert_finds(&checks, "coupled", false, &coupled);

    let checks = seen(&empty.path(""), "/dev/net");
    let tun = "no /dev/net/tun; `modprobe tun`, or pass the device to the container";
    assert_finds(&checks, "tun", false, tun);
    let checks = findings(&host, without_real_time);
    let refused = "SCHED_FIFO is refused: a busy host delays the daemon's measurements; run as root, or see `ulimit -r` and the cgroup's \
                   cpu.rt_runtime_us";
    assert_finds(&checks, "real-time", false, refused);

    let set = || output("sysctl -w net.mptcp.blackhole_timeout=60");
    host.client.run(set).unwrap();
    let plain = "net.mptcp.blackhole_timeout = 60: a lost first SYN makes new connections plain TCP for that many seconds; sysctl -w \
                 net.mptcp.blackhole_timeout=0";
    assert_finds(&findings(&host, |_| {}), "blackhole", false, plain);
}

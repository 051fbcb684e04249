//! The unit for a service manager: what it allows is what the daemon needs, and no more than is said there.

use crate::common::{self, root};
use crate::connections::connection;
use crate::rig::{Host, furnish, output, until, words, write};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// More exposed it may not be, by what `systemd-analyze security` reckons.
const EXPOSURE: f64 = 2.8;
/// The same for the relay.
const EXPOSURE_OF_RELAY: f64 = 2.0;

fn unit() -> String {
    std::fs::read_to_string(root().join("dist/slowhand.service")).unwrap()
}

/// The words behind each `KEY=` of the unit, in their order.
fn setting(unit: &str, key: &str) -> Vec<String> {
    let lines = unit
        .lines()
        .filter_map(|line| line.strip_prefix(&format!("{key}=")));
    lines.map(str::to_owned).collect()
}

fn systemd_analyze(arguments: &[&str]) -> String {
    let mut command = Command::new("systemd-analyze");
    command.args(arguments).arg("--no-pager").current_dir(root());
    let output = command
        .output()
        .expect("`scripts/setup.sh test` installs systemd");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// The findings that the unit gives reasons for: `#   NAME  reason`.
fn explained(unit: &str) -> BTreeMap<String, String> {
    let lines = unit.lines().filter_map(|line| line.strip_prefix("#   "));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(name, reason)| (name.to_owned(), reason.trim().to_owned()))
        .collect()
}

#[test]
fn hardening_that_the_unit_omits_has_a_reason() {
    let security = ["security", "--offline=true", "dist/slowhand.service"];
    let found = systemd_analyze(&[&security[..], &["--json=short"]].concat());
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let open = found.as_array().unwrap().iter().filter(|row| row["set"] == false);
    let open: BTreeSet<_> = open.map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    let explained = explained(&unit());
    assert_eq!(
        open,
        explained.keys().cloned().collect(),
        "with {}",
        systemd_analyze(&["--version"])
    );
    assert!(
        explained.values().all(|reason| reason.len() > 10),
        "{explained:?}"
    );
    assert_exposed("slowhand.service", EXPOSURE);
}

/// What `systemd-analyze security` reckons for this unit is at most this.
fn assert_exposed(unit: &str, most: f64) {
    let told = systemd_analyze(&["security", "--offline=true", &format!("dist/{unit}")]);
    let (_, exposure) = told
        .split_once(&format!("Overall exposure level for {unit}: "))
        .unwrap();
    let exposure: f64 = exposure.split_whitespace().next().unwrap().parse().unwrap();
    assert!(exposure <= most, "{told}");
}

/// The relay faces the Internet, and needs no right of root.
#[test]
fn the_unit_of_the_relay_is_little_exposed() {
    assert_exposed("slowhand-relay.service", EXPOSURE_OF_RELAY);
}

const SYS_NICE: u32 = 23;

/// What a process gets from the unit alone.
struct Sandbox {
    rights: BTreeSet<u32>,
    real_time: u64,
    calls: BTreeSet<u32>,
    families: BTreeSet<u32>,
}

impl Sandbox {
    fn of(unit: &str) -> Self {
        let rights = setting(unit, "CapabilityBoundingSet").join(" ");
        let number = |name: &str| match name {
            "CAP_NET_ADMIN" => 12,
            "CAP_NET_RAW" => 13,
            "CAP_PERFMON" => 38,
            "CAP_BPF" => 39,
            other => panic!("{other} has no number here"),
        };
        let families = setting(unit, "RestrictAddressFamilies").join(" ");
        let family = |name: &str| match name {
            "AF_UNIX" => libc::AF_UNIX,
            "AF_INET" => libc::AF_INET,
            "AF_INET6" => libc::AF_INET6,
            "AF_NETLINK" => libc::AF_NETLINK,
            "AF_PACKET" => libc::AF_PACKET,
            other => panic!("{other} has no number here"),
        };
        Self {
            rights: rights.split_whitespace().map(number).collect(),
            families: families
                .split_whitespace()
                .map(|name| family(name).cast_unsigned())
                .collect(),
            real_time: setting(unit, "LimitRTPRIO")[0].parse().unwrap(),
            calls: allowed_calls(&setting(unit, "SystemCallFilter")),
        }
    }

    /// Applies the sandbox to a command, as the service manager does before it starts the program.
    fn put_on(&self, command: &mut Command) {
        let dropped = Vec::from_iter((0..41_u32).filter(|right| !self.rights.contains(right)));
        let limit = libc::rlimit {
            rlim_cur: self.real_time,
            rlim_max: self.real_time,
        };
        let filter = filter(&self.calls, &self.families);
        let put_on = move || {
            let program = libc::sock_fprog {
                len: filter.len().try_into().unwrap_or(u16::MAX),
                filter: filter.as_ptr().cast_mut(),
            };
            // SAFETY: `limit` and `program` outlive the calls, and all else are numbers.
            unsafe {
                // Where the limit cannot be raised, the capability stands for it.
                let limited = libc::setrlimit(libc::RLIMIT_RTPRIO, &raw const limit) == 0;
                let stands_in = |right: u32| !limited && limit.rlim_cur > 0 && right == SYS_NICE;
                for right in dropped.iter().filter(|right| !stands_in(**right)) {
                    checked(libc::prctl(
                        libc::PR_CAPBSET_DROP,
                        libc::c_ulong::from(*right),
                        0,
                        0,
                        0,
                    ))?;
                }
                checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
                let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
                checked(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program))
            }
        };
        // SAFETY: the closure makes system calls only.
        unsafe { command.pre_exec(put_on) };
    }
}

/// What the lines of a filter add and take away, one after another.
fn allowed_calls(lines: &[String]) -> BTreeSet<u32> {
    let numbers = numbers();
    // What a process cannot do without is always allowed.
    let mut names = expanded("@default");
    for line in lines {
        let (taken, words) = match line.strip_prefix('~') {
            Some(words) => (true, words),
            None => (false, &line[..]),
        };
        for name in words.split_whitespace().flat_map(expanded) {
            if taken {
                names.remove(&name);
            } else {
                names.insert(name);
            }
        }
    }
    names
        .iter()
        .filter_map(|name| numbers.get(name).copied())
        .collect()
}

/// The calls of a group; a call is its own.
fn expanded(name: &str) -> BTreeSet<String> {
    if !name.starts_with('@') {
        return BTreeSet::from([name.to_owned()]);
    }
    let told = systemd_analyze(&["syscall-filter", name]);
    let members = told.lines().skip(1).map(str::trim);
    let members = members.filter(|line| !line.is_empty() && !line.starts_with('#'));
    members.flat_map(expanded).collect()
}

/// This machine's number of each system call.
fn numbers() -> BTreeMap<String, u32> {
    let mut compiler = Command::new("cc")
        .args(["-E", "-dM", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut source = compiler.stdin.take().unwrap();
    source.write_all(b"#include <asm/unistd.h>\n").unwrap();
    drop(source);
    let told = String::from_utf8(compiler.wait_with_output().unwrap().stdout).unwrap();
    let named = told.lines().filter_map(|line| line.strip_prefix("#define __NR_"));
    let pairs = named.filter_map(|line| line.split_once(' '));
    pairs
        .filter_map(|(name, number)| Some((name.to_owned(), number.trim().parse().ok()?)))
        .collect()
}

/// A seccomp program that lets these pass and refuses all others with EPERM. It also refuses sockets of other
/// address families.
fn filter(calls: &BTreeSet<u32>, families: &BTreeSet<u32>) -> Vec<libc::sock_filter> {
    let statement = |code: u32, jf: u8, k: u32| libc::sock_filter {
        code: code.try_into().unwrap(),
        jt: 0,
        jf,
        k,
    };
    let load = |at: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, at);
    let equals = |k: u32, jf: u8| statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jf, k);
    let answer = |k: u32| statement(libc::BPF_RET | libc::BPF_K, 0, k);
    let refuse = |error: i32| answer(libc::SECCOMP_RET_ERRNO | error.cast_unsigned());
    // The number is the first field of what the filter sees. The first argument follows 16 bytes later.
    let mut program = vec![load(0)];
    let beyond = u8::try_from(2 * families.len() + 2).unwrap();
    program.push(equals(u32::try_from(libc::SYS_socket).unwrap(), beyond));
    program.push(load(16));
    for family in families {
        program.push(equals(*family, 1));
        program.push(answer(libc::SECCOMP_RET_ALLOW));
    }
    program.push(refuse(libc::EAFNOSUPPORT));
    for call in calls {
        program.push(equals(*call, 1));
        program.push(answer(libc::SECCOMP_RET_ALLOW));
    }
    program.push(refuse(libc::EPERM));
    program
}

/// How a process is scheduled, and how much it may open.
fn standing(pid: u32) -> (i32, i32, String) {
    let process = pid.try_into().unwrap();
    let mut param = libc::sched_param { sched_priority: -1 };
    // SAFETY: `param` is valid for the call.
    let policy = unsafe {
        libc::sched_getparam(process, &raw mut param);
        libc::sched_getscheduler(process)
    };
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let open = limits.lines().find(|line| line.starts_with("Max open files"));
    (
        policy & !libc::SCHED_RESET_ON_FORK,
        param.sched_priority,
        open.unwrap().to_owned(),
    )
}

/// Starts and ends one that carries a connection over both links; how it stood, and what it logged.
fn lived(host: &Host, command: Command, change: impl FnOnce(&mut Command)) -> ((i32, i32, String), String) {
    let before = host.state();
    let mut up = host.up_at(command, &["--cc", "olia"], change);
    let ends = connection(host);
    until("both links carry the connection", || {
        let status = host.json("status");
        let subflows = status["connections"][0]["subflows"].as_array();
        subflows.is_some_and(|subflows| subflows.len() == 2)
    });
    let stands = standing(up.child.id());
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    drop(ends);
    assert_eq!(host.state(), before);
    (stands, up.log())
}

fn checked(code: i32) -> std::io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Lets it open this many files, and as many as 4,096 if it asks.
fn open_files(command: &mut Command, many: u64) {
    let limit = libc::rlimit {
        rlim_cur: many,
        rlim_max: 4_096,
    };
    // SAFETY: `limit` is valid for the call.
    let lower = move || checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) });
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(lower) };
}

#[test]
fn a_daemon_of_the_unit_does_what_one_started_by_hand_does() {
    let Some(host) = Host::new("unit") else { return };
    // As many shells have it, and as service managers do.
    let (by_hand, log) = lived(&host, host.command("up"), |command| open_files(command, 256));
    assert!(!log.contains("warning: "), "{log}");
    assert_eq!(setting(&unit(), "RestrictRealtime"), [""; 0]);
    let sandbox = Sandbox::of(&unit());
    assert_eq!(setting(&unit(), "ExecStart"), ["/usr/bin/slowhandd"]);
    let (by_unit, log) = lived(&host, host.daemon(), |command| {
        open_files(command, 1_024);
        sandbox.put_on(command);
    });
    assert!(!log.contains("warning: "), "{log}");
    assert_eq!(by_unit, by_hand);
    assert_eq!((by_hand.0, by_hand.1), (libc::SCHED_FIFO, 1));
}

/// An address of the Internet: connections to private ones are not redirected.
const PUBLIC: &str = "198.51.100.1";

#[test]
fn a_daemon_of_the_unit_redirects_programs_to_its_agent() {
    let Some(host) = Host::new("unit-agent") else {
        return;
    };
    common::relay();
    host.server
        .run(|| furnish("lo", &format!("{PUBLIC}/32")))
        .unwrap();
    let additions = host.root.join("conf.d");
    std::fs::create_dir(&additions).unwrap();
    write(
        &additions.join("relay.toml"),
        "[relay]\nway = \"direct\"\n",
        0o644,
    );
    let listener = host.server.run(|| std::net::TcpListener::bind((PUBLIC, 0)));
    let listener = listener.unwrap().unwrap();
    let server = listener.local_addr().unwrap();
    let sandbox = Sandbox::of(&unit());
    let mut up = host.up_at(host.daemon(), &[], |command| sandbox.put_on(command));
    let tables = || host.client.run(|| output("nft list ruleset")).unwrap();
    until("programs are redirected", || tables().contains("redirect to"));
    let _program = host
        .client
        .run(|| std::net::TcpStream::connect(server))
        .unwrap()
        .unwrap();
    until("the agent carries the connection", || {
        let shown = &host.json("status")["agent"]["connections"][0];
        shown["server"] == server.to_string() && shown["way"] == "plain" && shown["uid"] == 0
    });
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    assert_eq!(tables(), "");
    let log = up.log();
    assert!(!log.contains("warning: "), "{log}");
}

//! `slowhand cc`: the program as users run it.

mod common;
#[path = "../../linux/src/testing/patience.rs"]
mod patience;

use common::{Ran, Scratch, program, seeing, slowhand};
use linux::netns::Netns;
use linux::rtnl::Rtnl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use patience::Patience;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use wire::mobility::{Key, Message};

/// A name that no other run at the same time has.
fn own_name(test: &str) -> String {
    format!("t_{test}_{}", std::process::id() % 1_000_000)
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn is_root() -> bool {
    let root = Uid::effective().is_root();
    if !root {
        eprintln!("skipped: needs root for BPF");
    }
    root
}

/// What `cc status` says of the controller with this name.
fn status(name: &str) -> Option<Value> {
    let ran = slowhand(&["cc", "status", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let document = document(&ran);
    assert_eq!(document["schema"], "slowhand.cc-status/1");
    let controllers = document["controllers"].as_array().unwrap();
    controllers.iter().find(|loaded| loaded["name"] == name).cloned()
}

/// `cc load` in the foreground.
struct Loaded(Child);

impl Loaded {
    fn start(arguments: &[&str]) -> Self {
        Self::start_where(arguments, |_| {})
    }

    /// Starts the command after `change` has modified it.
    fn start_where(arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = program();
        command.args(["cc", "load"]).args(arguments);
        change(&mut command);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        assert!(line.contains("is loaded until this command ends"), "{line}");
        Self(child)
    }

    fn end(self, signal: Signal) -> Ran {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
        self.0.wait_with_output().unwrap().into()
    }
}

/// A BPF file system of the test's own.
struct Bpffs {
    scratch: Scratch,
}

impl Bpffs {
    fn mount(test: &str) -> Self {
        let mounted = Self {
            scratch: Scratch::new(test),
        };
        std::fs::create_dir(mounted.root()).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "bpf", "bpf"])
            .arg(mounted.root())
            .status();
        assert!(mount.unwrap().success(), "mount a BPF file system");
        mounted
    }

    fn root(&self) -> PathBuf {
        self.scratch.path("bpf")
    }
}

impl Drop for Bpffs {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.root()).status();
        assert!(unmounted.unwrap().success(), "unmount it");
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let mut until = Patience::of(Duration::from_secs(10));
    while !done() {
        assert!(until.lasts(), "still waiting until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn list_names_all_four_controllers() {
    let ran = slowhand(&["cc", "list", "--json"]);
    let document = document(&ran);
    assert_eq!(document["schema"], "slowhand.cc-list/1");
    let ids: Vec<&str> = document["controllers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|listed| listed["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["lia", "olia", "balia", "cla"]);
    assert_eq!(ran.code == Some(0), document["missing"].is_null());
}

#[test]
fn an_unknown_controller_is_refused_with_the_known_ones() {
    let ran = slowhand(&["cc", "load", "vegas"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("lia, olia, balia, cla"), "{}", ran.err);
}

#[test]
fn a_controller_stays_loaded_until_the_command_ends() {
    if !is_root() {
        return;
    }
    let name = own_name("fg");
    let loaded = Loaded::start(&["olia", "--name", &name]);
    let shown = status(&name).expect("it is loaded");
    assert_eq!((&shown["id"], &shown["pinned"]), (&"olia".into(), &false.into()));
    assert_eq!(shown["registered"], true);

    let twice = slowhand(&["cc", "load", "lia", "--name", &name]);
    assert_eq!(twice.code, Some(2));
    assert!(twice.err.contains("choose another name"), "{}", twice.err);

    let ended = loaded.end(Signal::SIGTERM);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(status(&name).is_none_or(|left| left["registered"] == false));
}

#[test]
fn a_killed_loader_leaves_no_controller_loaded() {
    if !is_root() {
        return;
    }
    let (mounted, name) = (Bpffs::mount("cc-killed"), own_name("kl"));
    let dir = mounted.root().join("cc");
    let pinned = || -> BTreeSet<OsString> {
        let entries = std::fs::read_dir(mounted.root()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    // The kernel may have put something of its own there.
    let before = pinned();
    let loaded = Loaded::start(&["cla", "--name", &name, "--dir", dir.to_str().unwrap()]);
    assert_eq!(status(&name).expect("it is loaded")["registered"], true);

    assert_eq!(loaded.end(Signal::SIGKILL).code, None);
    until("it is registered no more", || {
        status(&name).is_none_or(|left| left["registered"] == false)
    });
    assert_eq!(pinned(), before);
    // The name is free again.
    let again = Loaded::start(&["cla", "--name", &name]);
    assert_eq!(again.end(Signal::SIGTERM).code, Some(0));
}

/// The loopback is the first link of every namespace.
const LOOPBACK: u32 = 1;

/// Datagrams that were read in the namespace.
fn datagrams_read(netns: &Netns) -> u64 {
    // The namespace is the thread's, not the process's.
    let counters = netns.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp"));
    let counters = counters.unwrap().unwrap();
    let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|name| name == "InDatagrams").unwrap();
    values.split(' ').nth(place).unwrap().parse().unwrap()
}

#[test]
fn a_listener_reports_received_and_forged_messages_at_its_end() {
    if !is_root() {
        return;
    }
    let (netns, scratch, name) = (Netns::new().unwrap(), Scratch::new("cc-listen"), own_name("ls"));
    netns
        .run(|| Rtnl::open().unwrap().set_up(LOOPBACK, true).unwrap())
        .unwrap();
    let key_file = scratch.path("report.key");
    std::fs::write(&key_file, "09".repeat(32)).unwrap();
    let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key_file, own).unwrap();
    let address = "127.0.0.1:7391";
    let loaded = Loaded::start_where(
        &[
            "cla",
            "--name",
            &name,
            "--listen",
            address,
            "--key-file",
            key_file.to_str().unwrap(),
        ],
        |command| {
            netns.prepare(command);
        },
    );
    let stamp = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    // Of a connection that there is not: it is heard, and there is no window to set.
    let message = Message {
        sender: 42,
        stamp_ns: stamp.as_nanos() as u64,
        token: 7,
        address_id: 1,
        handed_off: false,
        mobility_ppm: -900_000,
        quality_ppm: 100_000,
    };
    let [sealed, forged] = [9, 8].map(|byte| message.seal(&Key::new([byte; 32])));
    // They are read one after another: when the last one is, the two before it have been counted.
    netns
        .run(|| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            for datagram in [sealed, forged, sealed] {
                socket.send_to(&datagram, address).unwrap();
            }
        })
        .unwrap();
    until("all are read", || datagrams_read(&netns) == 3);
    let ended = loaded.end(Signal::SIGTERM);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let told = "received 1 reports and set 0 windows; dropped 1 forged, 0 stale and ";
    assert!(ended.err.contains(told), "{}", ended.err);
}

#[test]
fn a_pin_outlives_the_command_until_it_is_unloaded() {
    if !is_root() {
        return;
    }
    let mounted = Bpffs::mount("cc-pins");
    let (name, dir) = (own_name("pin"), mounted.root().join("cc"));
    let dir = dir.to_str().unwrap();

    let loaded = slowhand(&[
        "cc", "load", "lia", "--name", &name, "--pin", "--dir", dir, "--json",
    ]);
    assert_eq!(loaded.code, Some(0), "{}", loaded.err);
    assert_eq!(document(&loaded)["pinned"], true);
    assert_eq!(status(&name).expect("it stays")["registered"], true);

    let unloaded = slowhand(&["cc", "unload", &name, "--dir", dir, "--json"]);
    assert_eq!(unloaded.code, Some(0), "{}", unloaded.err);
    let told = serde_json::json!({"schema": "slowhand.cc-unload/1", "unloaded": [name]});
    assert_eq!(document(&unloaded), told);
    until("it is registered no more", || {
        status(&name).is_none_or(|left| left["registered"] == false)
    });
    let again = slowhand(&["cc", "unload", &name, "--dir", dir]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("is pinned under"), "{}", again.err);
}

#[test]
fn pinning_in_an_ordinary_directory_is_refused() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new("cc-nopin");
    let (name, dir) = (own_name("np"), scratch.path("cc"));
    let ran = slowhand(&[
        "cc",
        "load",
        "lia",
        "--name",
        &name,
        "--pin",
        "--dir",
        dir.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("mount -t bpf"), "{}", ran.err);
    assert!(status(&name).is_none_or(|left| left["registered"] == false));
}

/// What `cc load` says where it cannot be done, after `change` was made to the command.
fn refusal(test: &str, change: impl FnOnce(&mut Command)) -> String {
    let mut command = program();
    command.args(["cc", "load", "lia", "--name", &own_name(test)]);
    change(&mut command);
    let refused: Ran = command.output().unwrap().into();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    refused.err
}

/// The command takes the kernel for one that is locked down: what it says of itself is another.
fn on_a_locked_down_kernel(scratch: &Scratch, command: &mut Command) {
    std::fs::write(scratch.path("lockdown"), "none integrity [confidentiality]\n").unwrap();
    seeing(command, &scratch.path(""), "/sys/kernel/security");
}

#[test]
fn missing_capabilities_are_named() {
    if !is_root() {
        return;
    }
    let said = refusal("nr", give_up_rights);
    assert!(
        said.contains("CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN are missing"),
        "{said}"
    );
}

#[test]
fn missing_capabilities_are_not_blamed_on_lockdown() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new("cc-lockdown-nr");
    let said = refusal("ln", |command| {
        on_a_locked_down_kernel(&scratch, command);
        give_up_rights(command);
    });
    assert!(
        said.contains("CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN are missing"),
        "{said}"
    );
    assert!(!said.contains("locked down"), "{said}");
}

/// A refusal in spite of all rights stands in for lockdown. This cannot show that a locked-down kernel
/// refuses: only a reboot ends lockdown.
#[test]
fn a_refusal_by_a_locked_down_kernel_is_blamed_on_lockdown() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new("cc-lockdown");
    let said = refusal("ld", |command| {
        on_a_locked_down_kernel(&scratch, command);
        refuse_bpf(command);
    });
    let words = "locked down (none integrity [confidentiality])";
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_refusal_with_all_capabilities_and_no_lockdown_blames_neither() {
    if !is_root() {
        return;
    }
    let said = refusal("sf", refuse_bpf);
    assert!(
        said.contains("although this process has the capabilities"),
        "{said}"
    );
    assert!(
        !said.contains("missing") && !said.contains("locked down"),
        "{said}"
    );
}

#[test]
fn a_kernel_without_btf_is_reported() {
    if !is_root() {
        return;
    }
    let nothing = Scratch::new("cc-nothing");
    let on_such_a_kernel = |arguments: &[&str]| -> Ran {
        let mut command = program();
        seeing(command.args(arguments), &nothing.path(""), "/sys/kernel/btf");
        command.output().unwrap().into()
    };
    let listed = on_such_a_kernel(&["cc", "list", "--json"]);
    assert_eq!(listed.code, Some(1), "{}", listed.err);
    let missing = document(&listed)["missing"].as_str().unwrap().to_owned();
    assert!(missing.contains("CONFIG_DEBUG_INFO_BTF=y"), "{missing}");
    for arguments in [&["cc", "load", "cla"][..], &["cc", "status"]] {
        let refused = on_such_a_kernel(arguments);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains(&missing), "{arguments:?}: {}", refused.err);
    }
}

/// The command runs as root without any of root's capabilities.
fn give_up_rights(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    let give_up = || {
        for capability in 0..=63 {
            // SAFETY: no memory is touched; the bounding set of the child only.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(give_up) };
}

/// Makes the kernel refuse every bpf(2) of the command, whatever its rights: a filter of system calls
/// (seccomp(2)) returns EPERM.
fn refuse_bpf(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut filter = [
        // The number of the call comes first in what a filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_bpf as u32,
        ),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let refuse = move || {
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_mut_ptr(),
        };
        // SAFETY: the filter outlives the call, which copies it; it is the child's alone.
        match unsafe {
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
                &raw const program,
            )
        } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes a system call only.
    unsafe { command.pre_exec(refuse) };
}

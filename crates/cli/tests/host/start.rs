//! How a daemon starts, or refuses to: before it has changed anything, and in words that say what to do.

use crate::common::{Scratch, copied, written};
use crate::connections::connection;
use crate::rig::{Host, output, until, words, write};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const NET_ADMIN: libc::c_ulong = 12;
const NET_RAW: libc::c_ulong = 13;

fn checked(fine: bool) -> io::Result<()> {
    if fine {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Without a right, for it and its children.
pub(crate) fn without(command: &mut Command, right: libc::c_ulong) {
    // SAFETY: no pointers; one system call.
    let give_up = move || checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, right, 0, 0, 0) } == 0);
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(give_up) };
}

/// Makes parameters read-only, as in a container.
fn with_fixed_parameters(command: &mut Command) {
    let [none, all, sys] = ["none", "/", "/proc/sys"].map(|text| CString::new(text).unwrap());
    let fix = move || {
        let mount = |from: &CString, to: &CString, flags| {
            // SAFETY: C strings that outlive the call; the mounts of the child only.
            checked(
                unsafe {
                    libc::mount(
                        from.as_ptr(),
                        to.as_ptr(),
                        std::ptr::null(),
                        flags,
                        std::ptr::null(),
                    )
                } == 0,
            )
        };
        // SAFETY: no pointers.
        checked(unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0)?;
        mount(&none, &all, libc::MS_REC | libc::MS_PRIVATE)?;
        mount(&sys, &sys, libc::MS_BIND)?;
        mount(&none, &sys, libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY)
    };
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(fix) };
}

/// Root of a user namespace, but not of the one to which the network belongs.
fn as_a_stranger(command: &mut Command) {
    let leave = || {
        // SAFETY: no pointers.
        checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) } == 0)?;
        std::fs::write("/proc/self/uid_map", "0 0 1")
    };
    // SAFETY: as above, and three more that open, write and close a file.
    unsafe { command.pre_exec(leave) };
}

/// Asserts that `doctor` and `up` refuse in the same words, and that nothing was changed.
fn refused_as_by_the_doctor(host: &Host, check: &str, finding: &str, change: impl Fn(&mut Command)) {
    let before = host.state();
    let ask = |verb: &str, arguments: &[&str]| {
        let mut command = host.command(verb);
        change(&mut command);
        words(&command.args(arguments).output().unwrap())
    };
    let (code, doctor) = ask("doctor", &[]);
    let row = |text: &str| {
        let cells = |line: &str| Vec::from_iter(line.split_whitespace().map(str::to_owned)).join(" ");
        text.lines()
            .map(cells)
            .find(|row| row.starts_with("-- ") && row.contains(" must "))
    };
    let told = format!("-- {check} must {finding}");
    assert_eq!((code, row(&doctor)), (Some(1), Some(told.clone())), "{doctor}");
    let config = host.two_links();
    let (code, up) = ask("up", &["--config", config.to_str().unwrap()]);
    assert_eq!((code, row(&up)), (Some(2), Some(told)), "{up}");
    let verdict = "slowhand cannot work here yet";
    assert!(
        doctor.lines().last() == Some(verdict) && up.lines().last() == Some(verdict),
        "{doctor}{up}"
    );
    assert_eq!(host.state(), before);
    assert!(!host.root.join("run").exists());
}

#[test]
fn daemon_and_doctor_report_a_missing_requirement_alike() {
    let Some(host) = Host::new("no") else { return };
    let missing = |right| format!("{right} missing; run as root, or give them to the service");
    refused_as_by_the_doctor(&host, "privileges", &missing("CAP_NET_RAW"), |command| {
        without(command, NET_RAW);
    });
    refused_as_by_the_doctor(
        &host,
        "privileges",
        &missing("CAP_NET_ADMIN, CAP_NET_RAW"),
        |command| {
            without(command, NET_ADMIN);
            without(command, NET_RAW);
        },
    );
    let stranger = "CAP_NET_RAW does not count in this network namespace (Operation not permitted (os error 1)): it belongs to another user \
                    namespace; run as root outside";
    refused_as_by_the_doctor(&host, "privileges", stranger, as_a_stranger);
    let fixed = "/proc/sys is read-only here, as in most containers, and net.mptcp.path_manager is not `userspace`; start the container with \
                 --sysctl net.mptcp.path_manager=userspace, or mount /proc/sys writable";
    refused_as_by_the_doctor(&host, "path-manager", fixed, with_fixed_parameters);
    let set = |enabled: &'static str| {
        let parameter = format!("sysctl -w net.mptcp.enabled={enabled}");
        host.client.run(|| output(&parameter)).unwrap();
    };
    set("0");
    let off = "net.mptcp.enabled = 0; switch it on: sysctl -w net.mptcp.enabled=1";
    refused_as_by_the_doctor(&host, "mptcp", off, |_| {});
    set("1");
    host.up();
}

/// Replaces the daemon by a program that prints what it is given.
fn stand_in(path: &Path) {
    written(path, "#!/bin/sh\necho \"$$ $*\"\nexit 7\n");
}

#[test]
fn up_becomes_the_daemon_beside_it_with_the_same_arguments() {
    let scratch = Scratch::new("beside");
    let program = scratch.path("slowhand");
    copied(Path::new(env!("CARGO_BIN_EXE_slowhand")), &program);
    stand_in(&scratch.path("slowhandd"));
    for arguments in [&["--cc", "up", "--config", "a b"][..], &[]] {
        let mut command = Command::new(&program);
        command.arg("up").args(arguments).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        let pid = child.id();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            told.trim_end(),
            format!("{pid} {}", arguments.join(" ")).trim_end()
        );
        assert_eq!(output.status.code(), Some(7));
    }
}

#[test]
fn without_a_daemon_up_lists_the_searched_places() {
    let scratch = Scratch::new("no-daemon");
    let program = scratch.path("slowhand");
    copied(Path::new(env!("CARGO_BIN_EXE_slowhand")), &program);
    let beside = scratch.path("slowhandd");
    if ["/usr/libexec/slowhandd", "/usr/bin/slowhandd"]
        .iter()
        .any(|path| Path::new(path).exists())
    {
        println!("skipped: a daemon is installed on this machine");
        return;
    }
    let (code, told) = words(&Command::new(&program).arg("up").output().unwrap());
    let sentence = format!(
        "the daemon `slowhandd` is not installed; install it as one of {}, /usr/libexec/slowhandd, /usr/bin/slowhandd\n",
        beside.display()
    );
    assert_eq!((code, told), (Some(2), sentence));
    std::fs::write(&beside, "").unwrap();
    let (code, told) = words(&Command::new(&program).arg("up").output().unwrap());
    let sentence =
        "cannot start the daemon (Permission denied (os error 13)); check that you may execute this file";
    assert_eq!(
        (code, told),
        (Some(2), format!("{}: {sentence}\n", beside.display()))
    );
}

/// A container whose path manager was chosen outside.
#[test]
fn read_only_parameters_with_the_right_values_are_accepted() {
    let Some(host) = Host::new("fixed") else { return };
    let choose = || output("sysctl -w net.mptcp.path_manager=userspace");
    host.client.run(choose).unwrap();
    let before = host.state();
    let mut doctor = host.command("doctor");
    with_fixed_parameters(&mut doctor);
    let (code, text) = words(&doctor.output().unwrap());
    let buffers = "/proc/sys is read-only here, and net.ipv4.tcp_rmem cannot be changed; in a container, mount it writable or set the parameter \
                   from outside; without it the server may have 80 kB in flight on a subflow that joins late";
    assert!(code == Some(0) && text.contains(buffers), "{text}");
    let mut up = host.up_where(&[], with_fixed_parameters);
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
}

fn up_with(host: &Host, arguments: &[&str]) -> Output {
    let config = host.two_links();
    let mut command = host.command("up");
    command.arg("--config").arg(config).args(arguments);
    command.output().unwrap()
}

#[test]
fn a_controller_that_the_kernel_does_not_have_is_refused_before_anything_changes() {
    let Some(host) = Host::new("nonsense") else { return };
    let before = host.state();
    let known = host
        .client
        .run(|| output("sysctl -n net.ipv4.tcp_available_congestion_control"));
    assert!(known.unwrap().contains("reno"));
    for name in ["nonsense", "longer-than-any-name-the-kernel-has"] {
        let (code, text) = words(&up_with(&host, &["--cc", name]));
        let said = format!("this kernel has no congestion controller `{name}`; it has ");
        assert!(code == Some(2) && text.starts_with(&said), "{text}");
        assert!(
            text.ends_with(", and slowhand loads lia, olia, balia and cla\n"),
            "{text}"
        );
        assert!(!host.root.join("run").exists());
    }
    assert_eq!(host.state(), before);
}

#[test]
fn a_named_configuration_must_exist_and_be_writable_by_root_only() {
    let Some(host) = Host::new("named") else { return };
    let before = host.state();
    let refused = |path: &Path| words(&host.ask("up", &["--config", path.to_str().unwrap()]));
    let absent = host.root.join("nowhere.toml");
    let said = format!("{}: there is no such file\n", absent.display());
    assert_eq!(refused(&absent), (Some(2), said));
    let open = host.root.join("open.toml");
    write(&open, "", 0o666);
    let shown = open.display();
    let said = format!("{shown}: mode 0666, writable by others; run chmod go-w {shown}\n");
    assert_eq!(refused(&open), (Some(2), said));
    assert_eq!(host.state(), before);
}

/// Asserts that nothing of a failed start is left, nor of what it had loaded by then.
fn nothing_is_left(host: &Host, before: &str, controller: &str) {
    assert_eq!(host.state(), before);
    for socket in ["control.sock", "status.sock"] {
        let path = host.root.join("run").join(socket);
        assert!(!path.exists() || path.is_dir(), "{socket} is left");
    }
    let loaded = host
        .client
        .run(|| output("sysctl -n net.ipv4.tcp_available_congestion_control"));
    let loaded = loaded.unwrap();
    assert!(!loaded.contains(controller), "{loaded}");
}

#[test]
fn a_start_that_cannot_listen_changes_nothing() {
    let Some(host) = Host::new("deaf") else { return };
    let before = host.state();
    // All namespaces have one list of controllers, and another test loads `balia` at the same time.
    for socket in ["control.sock", "status.sock"] {
        let path = host.root.join("run").join(socket);
        std::fs::create_dir_all(&path).unwrap();
        let (code, text) = words(&up_with(&host, &["--cc", "lia"]));
        let said = format!(
            "{}: cannot listen (Is a directory (os error 21)); is its directory writable, and the path shorter than 108 bytes?\n",
            path.display()
        );
        assert_eq!((code, text), (Some(2), said));
        nothing_is_left(&host, &before, "slow_lia");
        std::fs::remove_dir(&path).unwrap();
    }
    let long = "r".repeat(120);
    let mut command = host.command_at("up", &long, "lib");
    let (code, text) = words(&command.arg("--config").arg(host.two_links()).output().unwrap());
    assert!(
        code == Some(2) && text.contains(&format!("{long}/control.sock: cannot listen (")),
        "{text}"
    );
    nothing_is_left(&host, &before, "slow_lia");
    // Whatever it had taken by then is free again.
    host.up();
}

#[test]
fn a_start_that_fails_late_leaves_nothing() {
    let Some(host) = Host::new("later") else { return };
    let before = host.state();
    std::fs::create_dir(host.root.join("lib")).unwrap();
    write(&host.root.join("lib/journal"), "something else\n", 0o600);
    let (code, text) = words(&up_with(&host, &["--cc", "balia"]));
    assert!(code == Some(2) && text.contains("lib/journal:1: "), "{text}");
    nothing_is_left(&host, &before, "slow_balia");
    write(&host.root.join("lib/journal"), "", 0o600);
    host.up();
}

#[test]
fn one_daemon_runs_in_a_namespace_wherever_its_directories_are() {
    let Some(host) = Host::new("two") else { return };
    let before = host.state();
    let mut first = host.up();
    let pid = first.child.id();
    let during = host.state();
    let said = format!(
        "slowhand is running already in this network namespace (process {pid}) with other directories; `slowhand down` with its --runtime-dir \
         ends it\n"
    );
    for verb in ["up", "down"] {
        let mut command = host.command_at(verb, "run-2", "lib-2");
        if verb == "up" {
            command.arg("--config").arg(host.two_links());
        }
        assert_eq!(
            words(&command.output().unwrap()),
            (Some(2), said.clone()),
            "{verb}"
        );
    }
    assert_eq!(host.state(), during);
    assert!(host.ask("status", &[]).status.success());
    // A namespace of its own is another host.
    let other = Host::new("two-other").unwrap();
    other.up();
    // Nothing of a killed one is in the way.
    first.kill();
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(host.state(), before);
    let mut second = host.up_at(host.command_at("up", "run-2", "lib-2"), &[], |_| {});
    let (code, text) = words(&host.command_at("down", "run-2", "lib-2").output().unwrap());
    assert_eq!(code, Some(0), "{text}");
    assert!(second.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
}

/// What a daemon says from its start to its end on a standard error like this.
fn said_to(host: &Host, stderr: &Path, journal: bool, arguments: &[&str]) -> String {
    let file = File::create(stderr).unwrap();
    let found = file.metadata().unwrap();
    let mut up = host.up_at(host.command("up"), arguments, |command| {
        command.stderr(Stdio::from(file));
        if journal {
            command.env("JOURNAL_STREAM", format!("{}:{}", found.dev(), found.ino()));
        }
    });
    let ends = connection(host);
    crate::rig::until("both links carry the connection", || {
        let status = host.json("status");
        let subflows = status["connections"][0]["subflows"].as_array();
        subflows.is_some_and(|subflows| subflows.len() == 2)
    });
    let carrier = |state: &str| output(&format!("ip link set w0 {state}"));
    host.server.run(|| carrier("down")).unwrap();
    crate::rig::until("the link is seen down", || {
        let why = words(&host.ask("why", &["desk"])).1;
        why.starts_with("desk: down")
    });
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    host.server.run(|| carrier("up")).unwrap();
    drop(ends);
    std::fs::read_to_string(stderr).unwrap()
}

/// No text that only a developer of slowhand understands.
fn assert_no_debug_output(log: &str) {
    let debug = ["LinkId", "ConnId", "SubflowId", "Some(", "{ "];
    assert!(!debug.iter().any(|word| log.contains(word)), "{log}");
}

#[test]
fn every_line_of_the_log_has_a_level_and_the_links_name() {
    let Some(host) = Host::new("log") else { return };
    let scratch = Scratch::new("log");
    let file = scratch.path("stderr");
    for (journal, info, warning) in [(false, "info: ", "warning: "), (true, "<6>", "<4>")] {
        let log = said_to(&host, &file, journal, &[]);
        let level = |line: &str| line.starts_with(info) || line.starts_with(warning);
        assert!(!log.is_empty() && log.lines().all(level), "{log}");
        for link in ["desk", "w1"] {
            assert!(log.contains(&format!("{info}{link}: use: ")), "{log}");
        }
        assert_no_debug_output(&log);
    }
    let log = said_to(&host, &file, false, &["-vv"]);
    for line in [
        "trace: desk: carrier down\n",
        "trace: connection ",
        "trace: w1: connection ",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    assert_no_debug_output(&log);
}

#[test]
fn a_recording_of_a_live_host_replays_identically_and_an_existing_file_is_refused() {
    let Some(host) = Host::new("record") else { return };
    let path = host.root.join("walk.record");
    let arguments = ["--record", path.to_str().unwrap()];
    let mut up = host.up_with(&arguments);
    let _connection = connection(&host);
    until("it is seen", || {
        let status = host.json("status");
        status["connections"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    });
    assert_eq!(words(&host.ask("down", &[])).0, Some(0));
    assert!(up.child.wait().unwrap().success());
    let replay = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowhand"));
        words(&command.arg("replay").arg(&path).args(more).output().unwrap())
    };
    let (code, text) = replay(&[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(": identical: "), "{text}");
    let (code, text) = replay(&["--policy", "mptcp"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(" decisions differ"), "{text}");
    let before = std::fs::read(&path).unwrap();
    let config = host.two_links();
    let (code, text) = words(&host.ask(
        "up",
        &[&["--config", config.to_str().unwrap()], &arguments[..]].concat(),
    ));
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("walk.record: exists already; name a new file"),
        "{text}"
    );
    assert!(std::fs::read(&path).unwrap() == before);
}

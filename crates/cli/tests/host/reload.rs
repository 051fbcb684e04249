//! `slowhand reload` and SIGHUP: the same process takes over the configuration as it is now.

use crate::connections::connection;
use crate::pty::terminal;
use crate::rig::{Host, Up, until, words};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

impl Host {
    /// Changes the configuration that the daemon was started with.
    fn with_policy(&self, policy: &str) -> PathBuf {
        self.config(&format!(
            "policy = \"{policy}\"\n[[link]]\ninterface = \"w0\"\nname = \"desk\"\nkind = \"cable\"\n\n\
             [[link]]\ninterface = \"w*\"\nkind = \"wifi\"\n"
        ))
    }

    fn policy(&self) -> String {
        self.json("status")["policy"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// What the service manager is told at a reload.
fn hears_a_reload(up: &Up) {
    let mut words = Vec::new();
    while words.last().is_none_or(|last: &String| last != "READY=1") {
        words.push(up.hears());
    }
    let reloading = |words: &String| words.starts_with("RELOADING=1\nMONOTONIC_USEC=");
    assert!(words.iter().any(reloading), "{words:?}");
    assert!(!words.iter().any(|words| words == "STOPPING=1"), "{words:?}");
}

#[test]
fn a_reload_takes_over_the_configuration_and_a_wrong_one_changes_nothing() {
    let Some(host) = Host::new("reload") else { return };
    let before = host.state();
    let mut up = host.up();
    let [_client, _server, _listener] = connection(&host);
    let joined = || {
        host.json("status")["connections"][0]["subflows"]
            .as_array()
            .map(Vec::len)
    };
    until("both links carry the connection", || joined() == Some(2));
    let managed = host.state();

    host.config("policy = \"mptpc\"\n");
    let (code, text) = words(&host.ask("reload", &[]));
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("not reloaded: ") && text.contains("mptpc"),
        "{text}"
    );
    assert!(text.contains("; the daemon continues as before"), "{text}");
    assert_eq!((host.policy(), host.state()), ("slowhand".to_owned(), managed));

    host.with_policy("mptcp");
    let (code, text) = words(&host.ask("reload", &[]));
    assert_eq!(code, Some(0), "{text}");
    let pid = up.child.id();
    assert_eq!(
        text,
        format!("slowhand (process {pid}) runs with the configuration as it is now\n")
    );
    assert_eq!(host.policy(), "mptcp");
    hears_a_reload(&up);
    until("the connection is known again", || joined() == Some(2));

    host.with_policy("slowhand");
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGHUP).unwrap();
    hears_a_reload(&up);
    until("the policy is the former one", || host.policy() == "slowhand");

    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
}

#[test]
fn a_recorded_daemon_refuses_to_reload() {
    let Some(host) = Host::new("reload-recorded") else {
        return;
    };
    let path = host.root.join("walk.record");
    let _up = host.up_with(&["--record", path.to_str().unwrap()]);
    let (code, text) = words(&host.ask("reload", &[]));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("a recording has one configuration"), "{text}");
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = words(&host.ask("reload", &[]));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("slowhand is not running here"), "{text}");
}

#[test]
fn a_daemon_whose_terminal_is_closed_restores_everything_and_ends() {
    let Some(host) = Host::new("reload-terminal") else {
        return;
    };
    let before = host.state();
    let (ours, theirs) = terminal(80);
    let mut up = host.up_where(&[], |command| {
        let adopt = || {
            // SAFETY: no pointers; two system calls.
            let adopted = unsafe { libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 };
            if adopted {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        };
        command.stdin(theirs);
        // SAFETY: the closure makes system calls only.
        unsafe { command.pre_exec(adopt) };
    });
    drop(ours);
    until("the daemon has ended", || up.child.try_wait().unwrap().is_some());
    assert!(up.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
}

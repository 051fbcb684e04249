//! Flows whose programs, sockets or destinations have a network of their own.

use crate::networks::{Echo, Flow, STEADY, done, new_flows_come_from, on_client, refused, with_networks};
use crate::rig::{Host, until};
use nix::unistd::{Uid, setfsuid};
use socket2::SockRef;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Command;

/// Asks the server once for the address that it sees.
const ASK: &str = "exec 3<>/dev/udp/10.255.0.1/7000; echo >&3; timeout 1 head -c 8 <&3";

/// What a program of the client prints.
fn prints(host: &Host, mut command: Command) -> String {
    host.client.prepare(&mut command);
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn exec(host: &Host, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowhand"));
    command.args(["exec", "--network", "w1"]);
    command.arg("--runtime-dir").arg(host.root.join("run"));
    command.arg("--").args(arguments);
    command
}

pub(crate) fn marked(mark: u32) -> impl Fn() -> UdpSocket + Send {
    move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        SockRef::from(&socket).set_mark(mark).unwrap();
        socket
    }
}

/// A socket that this user has made.
fn of_user(user: u32) -> impl Fn() -> UdpSocket + Send {
    move || {
        let own = setfsuid(Uid::from_raw(user));
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        setfsuid(own);
        socket
    }
}

/// A cgroup of this test. It is removed when this is dropped.
struct Cgroup {
    folder: PathBuf,
    name: String,
}

impl Cgroup {
    fn named(test: &str) -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mut lines = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
        let root = lines.next().unwrap().split(' ').nth(4).unwrap().to_owned();
        // As systemd names those of templates.
        let name = format!("slowhand-{}-{test}\\x2dx", std::process::id());
        Self {
            folder: PathBuf::from(root).join(&name),
            name,
        }
    }

    fn make(&self) {
        std::fs::create_dir(&self.folder).unwrap();
    }

    /// A program that enters it, and asks the server.
    fn command(&self) -> Command {
        let mut command = Command::new("bash");
        let enter = format!("echo $$ >'{}/cgroup.procs'", self.folder.display());
        command.args(["-c", &format!("{enter}; {ASK}")]);
        command
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}

#[test]
fn users_marks_and_destinations_choose_a_network() {
    let Some(host) = Host::new("wishes-rules") else {
        return;
    };
    let rules = "[[flow]]\nuser = 4242\nnetwork = \"w1\"\n[[flow]]\nmark = 7\nnetwork = \"w1\"\n";
    with_networks(&host, rules);
    let before = host.state();
    let up = host.up();
    let _echo = Echo::at(&host);
    Flow::with(&host, 7000, of_user(4242)).comes_from("10.0.1.1");
    Flow::with(&host, 7000, of_user(4243)).comes_from("10.0.0.1");
    let by_mark = Flow::with(&host, 7000, marked(7));
    assert_eq!(by_mark.local(), STEADY);
    by_mark.comes_from("10.0.1.1");
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    done(&host, &["add", "w1", "--to", "10.255.0.0/30"]);
    new_flows_come_from(&host, 7000, "10.0.1.1");
    done(&host, &["remove", "3"]);
    new_flows_come_from(&host, 7000, "10.0.0.1");
    // A rule for another mark takes its sockets, too, and lets them go again.
    done(&host, &["add", "w1", "--mark", "8"]);
    until("a flow with mark 8 comes from w1", || {
        Flow::with(&host, 7000, marked(8)).seen().as_deref() == Some("10.0.1.1")
    });
    done(&host, &["remove", "4"]);
    until("sockets with mark 8 are left alone", || {
        Flow::with(&host, 7000, marked(8)).local() == "10.0.0.1"
    });
    refused(&host, &["add", "w1", "--mark", "1325400065"], "slowhand's own");
    assert!(host.ask("down", &[]).status.success());
    drop(up);
    assert_eq!(host.state(), before);
}

/// As `wg-quick` sets up a tunnel for all traffic: packets without its mark go into the tunnel.
#[test]
fn a_marked_socket_goes_where_it_goes_without_slowhand() {
    let Some(host) = Host::new("wishes-marked") else {
        return;
    };
    with_networks(&host, "");
    for command in [
        "ip link add wg0 type veth peer name peer0",
        "ip link set peer0 up",
        "ip link set wg0 up",
        "ip address add 10.9.9.1/32 dev wg0",
        "ip route add default dev wg0 table 51820",
        "ip rule add not fwmark 51820 lookup 51820 priority 32764",
        "ip rule add lookup main suppress_prefixlength 0 priority 32763",
    ] {
        on_client(&host, command);
    }
    let _up = host.up();
    let _echo = Echo::at(&host);
    let of_tunnel = Flow::with(&host, 7000, marked(51_820));
    assert_eq!(of_tunnel.local(), "10.0.0.1");
    of_tunnel.comes_from("10.0.0.1");
    let through_it = Flow::to(&host, 7000);
    assert_eq!((through_it.local(), through_it.seen()), ("10.9.9.1".into(), None));
}

#[test]
fn a_cgroup_has_a_network_as_soon_as_it_exists() {
    let Some(host) = Host::new("wishes-cgroup") else {
        return;
    };
    let cgroup = Cgroup::named("wish");
    with_networks(
        &host,
        &format!("[[flow]]\ncgroup = '{}'\nnetwork = \"w1\"\n", cgroup.name),
    );
    let mut up = host.up();
    let _echo = Echo::at(&host);
    // Until then, its rule matches nothing.
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    // As a service that is started twice: the second cgroup of this name is another one.
    for _ in 0..2 {
        cgroup.make();
        until("its programs use w1", || {
            prints(&host, cgroup.command()) == "10.0.1.1"
        });
        Flow::to(&host, 7000).comes_from("10.0.0.1");
        until("its programs have ended", || {
            std::fs::remove_dir(&cgroup.folder).is_ok()
        });
    }
    refused(
        &host,
        &["add", "w1", "--cgroup", "no/such.slice"],
        "there is no cgroup `no/such.slice`",
    );
    up.kill();
    let said = up.log();
    let why = format!(
        "there is no cgroup `{}` now; rule 1 applies once it exists",
        cgroup.name
    );
    assert!(said.contains(&why), "{said}");
}

#[test]
fn a_program_uses_the_network_that_exec_names() {
    let Some(host) = Host::new("wishes-exec") else {
        return;
    };
    with_networks(&host, "[[flow]]\nuser = 65534\nnetwork = \"desk\"\n");
    let _up = host.up();
    let _echo = Echo::at(&host);
    let plain = ["bash", "-c", ASK];
    until("it comes from w1", || {
        prints(&host, exec(&host, &plain)) == "10.0.1.1"
    });
    // The wish comes before rules, and also holds for programs without rights.
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let as_nobody = [&nobody[..], &plain[..]].concat();
    assert_eq!(prints(&host, exec(&host, &as_nobody)), "10.0.1.1");
    // Each sees the rules of its own user once the wish is gone.
    let list = done(&host, &["list"]);
    let rules = list["flows"]["rules"].as_array().unwrap();
    assert_eq!((rules.len(), &rules[0]["number"]), (2, &255.into()), "{list}");
    assert_eq!(rules[0]["of"], "programs of `slowhand exec --network`");
    on_client(&host, "ip link set w1 down");
    until("it comes from desk while w1 is gone", || {
        prints(&host, exec(&host, &plain)) == "10.0.0.1"
    });
    Flow::to(&host, 7000).comes_from("10.0.0.1");
    let mut unprivileged = Command::new("setpriv");
    unprivileged.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    unprivileged
        .arg(env!("CARGO_BIN_EXE_slowhand"))
        .args(["exec", "--network", "w1", "--", "true"]);
    let refused = host.client.run(|| unprivileged.output().unwrap()).unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("only root may choose networks for programs"),
        "{said}"
    );
}

//! Compares events with the output of `ip mptcp monitor`.

use super::tests::{LONG, await_event};
use super::*;
use crate::testing::{Ends, Pair, Patience, output, wait_readable};
use std::collections::BTreeSet;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::process::{Child, Command as Program, Stdio};
use std::time::Duration;

/// A running `ip mptcp monitor` and its output so far.
struct Monitor {
    child: Child,
    text: String,
}

impl Monitor {
    fn start() -> Self {
        let mut command = Program::new("stdbuf");
        command
            .args(["-oL", "ip", "mptcp", "monitor"])
            .stdout(Stdio::piped());
        Self {
            child: command.spawn().unwrap(),
            text: String::new(),
        }
    }

    /// Reads what it prints within `timeout`. False if it prints nothing.
    fn read(&mut self, timeout: Duration) -> bool {
        let stdout = self.child.stdout.as_mut().unwrap();
        if !wait_readable(stdout.as_fd(), timeout) {
            return false;
        }
        let mut chunk = [0; 4096];
        let len = stdout.read(&mut chunk).unwrap();
        self.text.push_str(std::str::from_utf8(&chunk[..len]).unwrap());
        len > 0
    }

    fn await_line(&mut self, line: &str) {
        while !self.text.contains(line) {
            assert!(self.read(LONG), "{line}\nnot in\n{}", self.text);
        }
    }

    /// Waits until it listens. It does not report that, so this creates harmless events until it prints one.
    fn await_start(&mut self) {
        let mut deadline = Patience::of(LONG);
        let mut commands = Commands::open().unwrap();
        let addr = "10.0.0.1".parse().unwrap();
        let endpoint = Endpoint {
            port: Some(4567),
            ..Endpoint::new(addr, EndpointFlags::SIGNAL)
        };
        while !self.read(Duration::from_millis(50)) {
            assert!(deadline.lasts(), "`ip mptcp monitor` prints nothing");
            commands.add_endpoint(&endpoint).unwrap();
            commands.flush_endpoints().unwrap();
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn events_match_what_ip_prints() {
    let Some(pair) = Pair::joined(2) else { return };
    let (mut monitor, mut events) = pair
        .client
        .run(|| (Monitor::start(), Events::open().unwrap()))
        .unwrap();
    pair.client.run(|| monitor.await_start()).unwrap();
    while events.next().unwrap().is_some() {}
    pair.client
        .run(|| output("ip mptcp endpoint add 10.0.1.1 subflow"))
        .unwrap();
    let mut ends = pair.connect("10.0.0.2:5000");
    ends.greet();
    let mut ours = Vec::new();
    await_event(&mut events, |e| {
        ours.push(*e);
        matches!(e, Event::SubflowEstablished(_)).then_some(())
    });
    let lines: Vec<String> = ours.iter().filter_map(monitor_line).collect();
    assert_eq!(lines.len(), 3, "{ours:?}");
    lines.iter().for_each(|line| monitor.await_line(line));
}

/// All received events, in order.
struct Heard {
    events: Events,
    all: Vec<Event>,
}

impl Heard {
    fn until<T>(&mut self, wanted: impl Fn(&Event) -> Option<T>) -> T {
        let all = &mut self.all;
        await_event(&mut self.events, |event| {
            all.push(*event);
            wanted(event)
        })
    }
}

/// A connection with user-space path managers at both ends, on which every kind of event occurs.
struct Story {
    heard: Heard,
    commands: Commands,
    token: Token,
    server: Commands,
    /// The server's token for the connection.
    theirs: Token,
    ends: Ends,
    v6: bool,
}

impl Story {
    fn begin(pair: &Pair, v6: bool, events: Events) -> Self {
        let mut server = pair.server.run(|| Events::open().unwrap()).unwrap();
        let open = || Commands::open().unwrap();
        let commands = [&pair.client, &pair.server].map(|netns| netns.run(open).unwrap());
        let mut ends = pair.connect(if v6 { "[fd00:0::2]:5000" } else { "10.0.0.2:5000" });
        ends.greet();
        let established = |event: &Event| match event {
            Event::Established(connection) => Some(connection.token),
            _ => None,
        };
        let mut heard = Heard {
            events,
            all: Vec::new(),
        };
        let [commands, server_commands] = commands;
        Self {
            token: heard.until(established),
            heard,
            commands,
            server: server_commands,
            theirs: await_event(&mut server, established),
            ends,
            v6,
        }
    }

    fn address(&self, host: u8) -> IpAddr {
        let text = if self.v6 {
            format!("fd00:1::{host}")
        } else {
            format!("10.0.1.{host}")
        };
        text.parse().unwrap()
    }

    fn the_server_announces_and_takes_back(&mut self) {
        let local = LocalAddress {
            addr: self.address(2),
            id: AddressId(5),
            port: None,
            ifindex: None,
        };
        self.server.announce(self.theirs, &local).unwrap();
        self.heard
            .until(|event| matches!(event, Event::Announced(_)).then_some(()));
        self.server.remove(self.theirs, local.id).unwrap();
        self.heard
            .until(|event| matches!(event, Event::Removed(..)).then_some(()));
    }

    fn open_and_close_a_subflow(&mut self) {
        let new = NewSubflow {
            addr: self.address(1),
            id: AddressId(1),
            ifindex: None,
            backup: false,
            remote: SocketAddr::new(self.address(2), 5000),
        };
        self.commands.create_subflow(self.token, &new).unwrap();
        let subflow = self.heard.until(|event| match event {
            Event::SubflowEstablished(change) => Some(change.subflow),
            _ => None,
        });
        self.the_server_wants_it_as_backup(&subflow);
        self.commands.destroy_subflow(self.token, &subflow).unwrap();
        self.heard
            .until(|event| matches!(event, Event::SubflowClosed(_)).then_some(()));
    }

    fn the_server_wants_it_as_backup(&mut self, subflow: &Subflow) {
        let mirrored = Subflow {
            local: subflow.remote,
            remote: subflow.local,
        };
        // The join's last ACK may still be in transit. The error says to try again.
        let mut deadline = Patience::of(LONG);
        while let Err(error) = self.server.set_backup(self.theirs, &mirrored, true) {
            assert!(deadline.lasts(), "{error}");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.heard
            .until(|event| matches!(event, Event::SubflowPriority(_)).then_some(()));
    }

    fn end(mut self) -> Vec<Event> {
        drop(self.ends);
        self.heard
            .until(|event| matches!(event, Event::Closed(_)).then_some(()));
        self.heard.all
    }
}

fn every_event_of_a_connection_matches_what_ip_prints(v6: bool) {
    let Some(pair) = Pair::joined(2) else { return };
    for netns in [&pair.client, &pair.server] {
        let userspace = || std::fs::write("/proc/sys/net/mptcp/pm_type", "1").unwrap();
        netns.run(userspace).unwrap();
    }
    let listening = || {
        let mut monitor = Monitor::start();
        let mut events = Events::open().unwrap();
        monitor.await_start();
        while events.next().unwrap().is_some() {}
        (monitor, events)
    };
    let (mut monitor, events) = pair.client.run(listening).unwrap();
    let mut story = Story::begin(&pair, v6, events);
    story.the_server_announces_and_takes_back();
    story.open_and_close_a_subflow();
    let lines: BTreeSet<String> = story.end().iter().filter_map(monitor_line).collect();
    assert_eq!(lines.len(), 8, "each kind once: {lines:#?}");
    lines.iter().for_each(|line| monitor.await_line(line));
}

#[test]
fn every_event_of_a_connection_matches_what_ip_prints_v4() {
    every_event_of_a_connection_matches_what_ip_prints(false);
}

#[test]
fn every_event_of_a_connection_matches_what_ip_prints_v6() {
    every_event_of_a_connection_matches_what_ip_prints(true);
}

/// The part of a line of `ip mptcp monitor` that corresponds to the event. For listeners, iproute2 6.1 prints
/// only that an event occurred.
fn monitor_line(event: &Event) -> Option<String> {
    let address = |end: &str, ip: IpAddr| format!("{end}addr{}={ip}", if ip.is_ipv4() { 4 } else { 6 });
    let ends = |s: &Subflow| {
        let (from, to) = (address("s", s.local.ip()), address("d", s.remote.ip()));
        format!("{from} {to} sport={} dport={}", s.local.port(), s.remote.port())
    };
    let change = |c: &SubflowChange| {
        let ids = format!("remid={} locid={}", c.remote_id, c.local_id);
        format!(
            "{} {ids} {} backup={}",
            c.token,
            ends(&c.subflow),
            u8::from(c.backup)
        )
    };
    let initial = |c: &Connection| format!("{} remid=0 locid=0 {}", c.token, ends(&c.initial));
    let (name, rest) = match event {
        Event::Created(c) => ("CREATED", initial(c)),
        Event::Established(c) => ("ESTABLISHED", initial(c)),
        Event::Closed(token) => ("CLOSED", token.to_string()),
        Event::Announced(a) => {
            let to = address("d", a.remote.ip());
            let rest = format!("{} remid={} {to} dport={}", a.token, a.remote_id, a.remote.port());
            ("ANNOUNCED", rest)
        }
        Event::Removed(token, id) => ("REMOVED", format!("{token} remid={id}")),
        Event::SubflowEstablished(c) => ("SF_ESTABLISHED", change(c)),
        Event::SubflowClosed(c) => ("SF_CLOSED", change(c)),
        Event::SubflowPriority(c) => ("SF_PRIO", change(c)),
        Event::ListenerCreated(_) | Event::ListenerClosed(_) => return None,
    };
    Some(format!("[{name:>14}] token={rest}"))
}

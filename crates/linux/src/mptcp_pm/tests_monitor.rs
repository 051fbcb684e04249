//! Events against what `ip mptcp monitor` prints.

use super::tests::{LONG, await_event};
use super::*;
use crate::testing::{Pair, output, wait_readable};
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Child, Command as Program, Stdio};
use std::time::{Duration, Instant};

/// `ip mptcp monitor`, with everything it printed so far.
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

    /// Takes in what was printed within `timeout`; false if nothing was.
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

    /// It cannot say that it listens: events of no consequence are made until it prints one.
    fn await_start(&mut self) {
        let deadline = Instant::now() + LONG;
        let mut commands = Commands::open().unwrap();
        let addr = "10.0.0.1".parse().unwrap();
        let endpoint = Endpoint {
            port: Some(4567),
            ..Endpoint::new(addr, EndpointFlags::SIGNAL)
        };
        while !self.read(Duration::from_millis(50)) {
            assert!(Instant::now() < deadline, "`ip mptcp monitor` prints nothing");
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
fn events_are_what_ip_prints() {
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

/// The part of a line of `ip mptcp monitor` that says the same.
fn monitor_line(event: &Event) -> Option<String> {
    let ends = |s: &Subflow| {
        let (l, r) = (s.local, s.remote);
        format!(
            "saddr4={} daddr4={} sport={} dport={}",
            l.ip(),
            r.ip(),
            l.port(),
            r.port()
        )
    };
    Some(match event {
        Event::Created(c) => format!(
            "[       CREATED] token={} remid=0 locid=0 {}",
            c.token,
            ends(&c.initial)
        ),
        Event::Established(c) => format!(
            "[   ESTABLISHED] token={} remid=0 locid=0 {}",
            c.token,
            ends(&c.initial)
        ),
        Event::SubflowEstablished(c) => {
            let ids = format!("remid={} locid={}", c.remote_id, c.local_id);
            format!(
                "[SF_ESTABLISHED] token={} {ids} {} backup={}",
                c.token,
                ends(&c.subflow),
                u8::from(c.backup)
            )
        }
        _ => return None,
    })
}

//! Tests against the running kernel in fresh namespaces, and against the output of `ip mptcp`.

use super::*;
use crate::testing::{Ends, Pair, Patience, furnish, index, inside, output, plug};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

pub(super) const LONG: Duration = Duration::from_secs(10);

/// Returns the next event that `wanted` accepts, and skips others.
pub(super) fn await_event<T>(events: &mut Events, mut wanted: impl FnMut(&Event) -> Option<T>) -> T {
    let mut deadline = Patience::of(LONG);
    let mut seen = Vec::new();
    while deadline.lasts() {
        while let Some(event) = events.next().unwrap() {
            if let Some(found) = wanted(&event) {
                return found;
            }
            seen.push(event);
        }
        crate::testing::wait_readable(events.as_fd(), Duration::from_millis(100));
    }
    panic!("no such event; seen {seen:?}");
}

fn words(text: &str) -> Vec<Vec<String>> {
    text.lines()
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

#[test]
fn endpoints_match_what_ip_prints() {
    inside(|| {
        plug("d0");
        furnish("d0", &["192.0.2.7/24", "192.0.2.8/24", "2001:db8::7/64"]);
        let ifindex = index(&mut crate::rtnl::Rtnl::open().unwrap(), "d0");
        let mut commands = Commands::open().unwrap();
        let v4 = "192.0.2.7".parse().unwrap();
        let v6 = "2001:db8::7".parse().unwrap();
        let signal = EndpointFlags::SIGNAL;
        let subflow = EndpointFlags::SUBFLOW
            .with(EndpointFlags::BACKUP)
            .with(EndpointFlags::FULLMESH);
        let first = Endpoint {
            id: AddressId(9),
            port: Some(4567),
            ..Endpoint::new(v4, signal)
        };
        let second = Endpoint {
            id: AddressId(3),
            ifindex: Some(ifindex),
            ..Endpoint::new(v6, subflow)
        };
        commands.add_endpoint(&first).unwrap();
        commands.add_endpoint(&second).unwrap();

        assert_eq!(commands.endpoint(AddressId(9)).unwrap(), Some(first));
        assert_eq!(commands.endpoint(AddressId(10)).unwrap(), None);
        let mut listed = commands.endpoints().unwrap();
        listed.sort_by_key(|endpoint| endpoint.id);
        assert_eq!(listed, [second, first]);
        let mut shown = words(&output("ip mptcp endpoint show"));
        shown.sort();
        let named = second.to_string().replace(&format!("dev {ifindex}"), "dev d0");
        assert_eq!(shown, words(&format!("{first}\n{named}")));

        let again = commands.add_endpoint(&Endpoint {
            id: AddressId(4),
            ..second
        });
        assert!(matches!(again, Err(AddEndpointError::Exists { .. })), "{again:?}");
        commands.del_endpoint(AddressId(9), None).unwrap();
        assert!(matches!(
            commands.del_endpoint(AddressId(9), None),
            Err(DelEndpointError::Absent { .. })
        ));
        commands.flush_endpoints().unwrap();
        assert_eq!(commands.endpoints().unwrap(), []);
    });
}

#[test]
fn the_kernel_numbers_endpoints_and_changes_their_flags() {
    inside(|| {
        let mut commands = Commands::open().unwrap();
        let addr = "192.0.2.7".parse().unwrap();
        commands
            .add_endpoint(&Endpoint::new(addr, EndpointFlags::SUBFLOW))
            .unwrap();
        let [endpoint] = commands.endpoints().unwrap()[..] else {
            panic!()
        };
        assert_ne!(endpoint.id, AddressId(0));

        let flags = EndpointFlags::SUBFLOW.with(EndpointFlags::BACKUP);
        commands
            .set_endpoint_flags(&Endpoint { flags, ..endpoint })
            .unwrap();
        assert!(output("ip mptcp endpoint").contains("subflow backup"));
        commands.set_endpoint_flags(&endpoint).unwrap();
        assert_eq!(commands.endpoint(endpoint.id).unwrap(), Some(endpoint));

        let absent = Endpoint {
            id: AddressId(77),
            ..endpoint
        };
        let refused = commands.set_endpoint_flags(&absent);
        assert!(
            matches!(refused, Err(SetFlagsError::Absent { .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn too_many_endpoints_are_refused() {
    inside(|| {
        let mut commands = Commands::open().unwrap();
        let refused = (0..=255).find_map(|host| {
            let addr = std::net::IpAddr::from([192, 0, 2, host]);
            commands
                .add_endpoint(&Endpoint::new(addr, EndpointFlags::SUBFLOW))
                .err()
        });
        assert!(
            matches!(refused, Some(AddEndpointError::TooMany { .. })),
            "{refused:?}"
        );
        assert!(commands.endpoints().unwrap().len() >= 8);
    });
}

#[test]
fn an_endpoint_cannot_listen_on_a_foreign_address() {
    inside(|| {
        let mut commands = Commands::open().unwrap();
        let stranger = Endpoint {
            port: Some(4567),
            ..Endpoint::new("203.0.113.9".parse().unwrap(), EndpointFlags::SIGNAL)
        };
        let refused = commands.add_endpoint(&stranger);
        assert!(
            matches!(refused, Err(AddEndpointError::CannotListen { .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn limits_match_what_ip_prints() {
    inside(|| {
        let mut commands = Commands::open().unwrap();
        let limits = Limits {
            subflows: 5,
            add_addr_accepted: 3,
        };
        commands.set_limits(limits).unwrap();
        assert_eq!(commands.limits().unwrap(), limits);
        assert_eq!(output("ip mptcp limits").trim(), limits.to_string());
        let refused = commands
            .set_limits(Limits {
                subflows: 9,
                add_addr_accepted: 0,
            })
            .unwrap_err();
        assert!(
            refused.to_string().contains("limit greater than maximum"),
            "{refused}"
        );
        assert_eq!(commands.limits().unwrap(), limits);
    });
}

/// A connection whose client side uses the user-space path manager.
struct Session {
    pair: Pair,
    ends: Ends,
    events: Events,
    commands: Commands,
    token: Token,
    remote: SocketAddr,
}

impl Session {
    fn start(v6: bool, server_events: bool) -> Option<Self> {
        let pair = Pair::joined(3)?;
        pair.client
            .run(|| std::fs::write("/proc/sys/net/mptcp/pm_type", "1").unwrap())
            .unwrap();
        pair.server
            .run(|| std::fs::write("/proc/sys/net/mptcp/pm_type", "1").unwrap())
            .unwrap();
        let watched = if server_events { &pair.server } else { &pair.client };
        let (mut events, commands) = watched
            .run(|| (Events::open().unwrap(), Commands::open().unwrap()))
            .unwrap();
        let mut ends = pair.connect(if v6 { "[fd00:0::2]:5000" } else { "10.0.0.2:5000" });
        ends.greet();
        let connection = await_event(&mut events, |e| match e {
            Event::Established(connection) => Some(*connection),
            _ => None,
        });
        assert_eq!(connection.server_side, server_events);
        let (token, remote) = (connection.token, connection.initial.remote);
        Some(Self {
            pair,
            ends,
            events,
            commands,
            token,
            remote,
        })
    }

    fn join(&mut self, link: u8, backup: bool) -> SubflowChange {
        let v6 = self.remote.is_ipv6();
        let addr: std::net::IpAddr = if v6 {
            format!("fd00:{link}::1")
        } else {
            format!("10.0.{link}.1")
        }
        .parse()
        .unwrap();
        let remote: SocketAddr = if v6 {
            format!("[fd00:{link}::2]:5000")
        } else {
            format!("10.0.{link}.2:5000")
        }
        .parse()
        .unwrap();
        let new = NewSubflow {
            addr,
            id: AddressId(link),
            ifindex: None,
            backup,
            remote,
        };
        self.commands.create_subflow(self.token, &new).unwrap();
        let change = await_event(&mut self.events, |e| match e {
            Event::SubflowEstablished(change) => Some(*change),
            _ => None,
        });
        assert_eq!((change.subflow.local.ip(), change.subflow.remote), (addr, remote));
        assert_eq!((change.local_id, change.token), (AddressId(link), self.token));
        change
    }

    fn closed(&mut self) -> SubflowChange {
        await_event(&mut self.events, |e| match e {
            Event::SubflowClosed(change) => Some(*change),
            _ => None,
        })
    }
}

fn subflows_come_and_go(v6: bool) {
    let Some(mut session) = Session::start(v6, false) else {
        return;
    };
    let first = session.join(1, false);
    let second = session.join(2, true);
    let token = session.token;

    let known = session.commands.addresses_of(token).unwrap();
    assert_eq!(known.iter().map(|e| e.id.0).collect::<Vec<_>>(), [1, 2]);
    let one = session.commands.address_of(token, AddressId(2)).unwrap().unwrap();
    assert_eq!(one.addr, second.subflow.local.ip());
    assert_eq!(session.commands.address_of(token, AddressId(9)).unwrap(), None);

    session.commands.remove(token, first.local_id).unwrap();
    let again = session.commands.remove(token, first.local_id).unwrap_err();
    assert!(matches!(again, RemoveError::UnknownId { .. }), "{again:?}");
    // After RM_ADDR the peer closes the subflow too. Whichever side is first, the subflow ends.
    let destroyed = session.commands.destroy_subflow(token, &first.subflow);
    assert!(
        matches!(destroyed, Ok(()) | Err(DestroySubflowError::Absent { .. })),
        "{destroyed:?}"
    );
    assert_eq!(session.closed().subflow, first.subflow);

    session.commands.destroy_subflow(token, &second.subflow).unwrap();
    assert_eq!(session.closed().subflow, second.subflow);
    let absent = session.commands.destroy_subflow(token, &second.subflow);
    assert!(
        matches!(absent, Err(DestroySubflowError::Absent { .. })),
        "{absent:?}"
    );

    drop(session.ends);
    let closed = await_event(&mut session.events, |e| {
        if let Event::Closed(t) = e { Some(*t) } else { None }
    });
    assert_eq!(closed, token);
    // The event arrives shortly before the kernel frees the token.
    let mut deadline = Patience::of(LONG);
    while !matches!(
        session.commands.remove(token, AddressId(1)),
        Err(RemoveError::ConnectionGone { .. })
    ) {
        assert!(
            deadline.lasts(),
            "{token} still exists after its connection closed"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(session.pair);
}

#[test]
fn subflows_open_and_close_v4() {
    subflows_come_and_go(false);
}

#[test]
fn subflows_open_and_close_v6() {
    subflows_come_and_go(true);
}

fn priorities_change(v6: bool) {
    let Some(mut session) = Session::start(v6, false) else {
        return;
    };
    let mut server = session.pair.server.run(|| Events::open().unwrap()).unwrap();
    let join = session.join(1, true);
    let mirrored = Subflow {
        local: join.subflow.remote,
        remote: join.subflow.local,
    };
    let joined = await_event(&mut server, |e| match e {
        Event::SubflowEstablished(change) => Some(*change),
        _ => None,
    });
    assert_eq!((joined.subflow, joined.backup), (mirrored, true));
    for backup in [false, true] {
        // The join's last ACK may still be in transit. The error says to try again.
        let mut deadline = Patience::of(LONG);
        while let Err(error) = session.commands.set_backup(session.token, &join.subflow, backup) {
            assert!(
                matches!(error, SetBackupError::NotReady { .. }) && deadline.lasts(),
                "{error}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        let heard = await_event(&mut server, |e| match e {
            Event::SubflowPriority(change) => Some(*change),
            _ => None,
        });
        assert_eq!((heard.subflow, heard.backup), (mirrored, backup));
    }
    let nobody = Subflow {
        local: "10.9.9.9:1".parse().unwrap(),
        remote: "10.9.9.8:1".parse().unwrap(),
    };
    let refused = session.commands.set_backup(session.token, &nobody, true);
    assert!(
        matches!(refused, Err(SetBackupError::NotReady { .. })),
        "{refused:?}"
    );
}

#[test]
fn priorities_reach_the_peer_v4() {
    priorities_change(false);
}

#[test]
fn priorities_reach_the_peer_v6() {
    priorities_change(true);
}

fn announcements_reach_the_peer(v6: bool) {
    let Some(mut session) = Session::start(v6, true) else {
        return;
    };
    let mut client = session.pair.client.run(|| Events::open().unwrap()).unwrap();
    let addr = if v6 { "fd00:1::2" } else { "10.0.1.2" }.parse().unwrap();
    let local = LocalAddress {
        addr,
        id: AddressId(5),
        port: None,
        ifindex: None,
    };
    session.commands.announce(session.token, &local).unwrap();
    let heard = await_event(&mut client, |e| {
        if let Event::Announced(a) = e {
            Some(*a)
        } else {
            None
        }
    });
    assert_eq!(
        (heard.remote, heard.remote_id),
        (SocketAddr::new(addr, 5000), AddressId(5))
    );

    let conflict = LocalAddress {
        id: AddressId(6),
        ..local
    };
    let refused = session.commands.announce(session.token, &conflict);
    assert!(
        matches!(refused, Err(AnnounceError::IdConflict { .. })),
        "{refused:?}"
    );

    session.commands.remove(session.token, AddressId(5)).unwrap();
    let removed = await_event(&mut client, |e| {
        if let Event::Removed(_, id) = e {
            Some(*id)
        } else {
            None
        }
    });
    assert_eq!(removed, AddressId(5));
}

#[test]
fn announcements_reach_the_peer_v4() {
    announcements_reach_the_peer(false);
}

#[test]
fn announcements_reach_the_peer_v6() {
    announcements_reach_the_peer(true);
}

#[test]
fn invalid_subflows_give_the_reason() {
    let Some(mut session) = Session::start(false, false) else {
        return;
    };
    session.join(1, false);
    let token = session.token;
    let new = |addr: &str, id, remote: &str| NewSubflow {
        addr: addr.parse().unwrap(),
        id: AddressId(id),
        ifindex: None,
        backup: false,
        remote: remote.parse().unwrap(),
    };
    let mut create = |new| session.commands.create_subflow(token, &new).unwrap_err();
    let conflict = create(new("10.0.1.1", 9, "10.0.1.2:5000"));
    assert!(
        matches!(conflict, CreateSubflowError::IdConflict { .. }),
        "{conflict:?}"
    );
    let mismatch = create(new("10.0.2.1", 2, "[fd00:2::2]:5000"));
    assert!(
        matches!(mismatch, CreateSubflowError::FamilyMismatch { .. }),
        "{mismatch:?}"
    );
    let stranger = create(new("203.0.113.9", 2, "10.0.2.2:5000"));
    assert!(
        matches!(stranger, CreateSubflowError::AddressGone { .. }),
        "{stranger:?}"
    );
    let nowhere = create(new("10.0.2.1", 2, "203.0.113.9:5000"));
    assert!(
        matches!(nowhere, CreateSubflowError::NoRoute { .. }),
        "{nowhere:?}"
    );
    let gone = session
        .commands
        .create_subflow(Token(1), &new("10.0.2.1", 2, "10.0.2.2:5000"))
        .unwrap_err();
    assert!(
        matches!(gone, CreateSubflowError::ConnectionGone { .. }),
        "{gone:?}"
    );
}

#[test]
fn connections_of_the_in_kernel_path_manager_refuse_commands() {
    let Some(pair) = Pair::joined(1) else { return };
    let (mut events, mut commands) = pair
        .client
        .run(|| (Events::open().unwrap(), Commands::open().unwrap()))
        .unwrap();
    let _ends = pair.connect("10.0.0.2:5000");
    let token = await_event(&mut events, |e| {
        if let Event::Created(c) = e {
            Some(c.token)
        } else {
            None
        }
    });
    let refused = commands.remove(token, AddressId(0));
    assert!(
        matches!(refused, Err(RemoveError::NotUserspace { .. })),
        "{refused:?}"
    );
}

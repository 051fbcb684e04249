//! Every encoder against its decoder, without the kernel.

use super::address::Nested;
use super::event::{attr as ev, kind};
use super::*;
use crate::netlink::Messages;
use proptest::option;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

fn any_ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
    ]
}

fn any_subflow() -> impl Strategy<Value = Subflow> {
    let v4 = (any::<u32>(), any::<u32>())
        .prop_map(|(a, b)| (Ipv4Addr::from_bits(a).into(), Ipv4Addr::from_bits(b).into()));
    let v6 = (any::<u128>(), any::<u128>())
        .prop_map(|(a, b)| (Ipv6Addr::from_bits(a).into(), Ipv6Addr::from_bits(b).into()));
    let ips = prop_oneof![v4, v6];
    (ips, any::<(u16, u16)>()).prop_map(|((a, b), (p, q)): ((IpAddr, IpAddr), _)| Subflow {
        local: SocketAddr::new(a, p),
        remote: SocketAddr::new(b, q),
    })
}

fn any_endpoint() -> impl Strategy<Value = Endpoint> {
    (
        any_ip(),
        any::<u8>(),
        option::of(1u16..),
        any::<u32>(),
        option::of(1u32..),
    )
        .prop_map(|(addr, id, port, flags, ifindex)| {
            let flags = EndpointFlags::from_bits(flags);
            Endpoint {
                addr,
                id: AddressId(id),
                port,
                flags,
                ifindex,
            }
        })
}

fn any_connection() -> impl Strategy<Value = Connection> {
    (any::<u32>(), any_subflow(), any::<(bool, bool)>()).prop_map(
        |(token, initial, (server_side, deny_join_id0))| Connection {
            token: Token(token),
            initial,
            server_side,
            deny_join_id0,
        },
    )
}

fn any_change() -> impl Strategy<Value = SubflowChange> {
    let numbers = (any::<u32>(), any::<u8>(), any::<u8>(), any::<bool>());
    let rest = (
        option::of(1u32..),
        option::of(1u8..),
        option::of((0u32..9, any::<bool>())),
        option::of(any::<u32>()),
    );
    (any_subflow(), numbers, rest).prop_map(
        |(subflow, (token, local, remote, backup), (ifindex, error, reset, timeout_ms))| SubflowChange {
            token: Token(token),
            subflow,
            local_id: AddressId(local),
            remote_id: AddressId(remote),
            backup,
            ifindex,
            error,
            reset: reset.map(|(code, transient)| Reset {
                reason: ResetReason::from_code(code),
                transient,
            }),
            timeout_ms,
        },
    )
}

fn any_event() -> impl Strategy<Value = Event> {
    let remote = (any_subflow(), any::<(u32, u8)>()).prop_map(|(subflow, (token, id))| Announced {
        token: Token(token),
        remote_id: AddressId(id),
        remote: subflow.remote,
    });
    prop_oneof![
        any_connection().prop_map(Event::Created),
        any_connection().prop_map(Event::Established),
        any::<u32>().prop_map(|token| Event::Closed(Token(token))),
        remote.prop_map(Event::Announced),
        any::<(u32, u8)>().prop_map(|(token, id)| Event::Removed(Token(token), AddressId(id))),
        any_change().prop_map(Event::SubflowEstablished),
        any_change().prop_map(Event::SubflowClosed),
        any_change().prop_map(Event::SubflowPriority),
        any_subflow().prop_map(|s| Event::ListenerCreated(s.local)),
        any_subflow().prop_map(|s| Event::ListenerClosed(s.local)),
    ]
}

/// Encodes events as `net/mptcp/pm_netlink.c` does.
struct Writer(Builder);

impl Writer {
    fn event(event: &Event) -> Self {
        let mut writer = Self(Builder::new());
        match event {
            Event::Created(connection) => writer.start(kind::CREATED).connection(connection),
            Event::Established(connection) => writer.start(kind::ESTABLISHED).connection(connection),
            Event::Closed(token) => writer.start(kind::CLOSED).token(*token),
            Event::Announced(announced) => writer.start(kind::ANNOUNCED).announced(announced),
            Event::Removed(token, id) => writer.start(kind::REMOVED).token(*token).remote_id(*id),
            Event::SubflowEstablished(change) => writer.start(kind::SUB_ESTABLISHED).change(change),
            Event::SubflowClosed(change) => writer.start(kind::SUB_CLOSED).change(change),
            Event::SubflowPriority(change) => writer.start(kind::SUB_PRIORITY).change(change),
            Event::ListenerCreated(at) => writer.start(kind::LISTENER_CREATED).local(*at),
            Event::ListenerClosed(at) => writer.start(kind::LISTENER_CLOSED).local(*at),
        };
        writer
    }

    fn start(&mut self, kind: u8) -> &mut Self {
        self.0.start(31, 0).header(&[kind, 1, 0, 0]);
        self
    }

    fn token(&mut self, token: Token) -> &mut Self {
        self.0.u32(ev::TOKEN, token.0);
        self
    }

    fn remote_id(&mut self, id: AddressId) -> &mut Self {
        self.0.u8(ev::REM_ID, id.0);
        self
    }

    fn local(&mut self, at: SocketAddr) -> &mut Self {
        let kind = if at.is_ipv4() { ev::SADDR4 } else { ev::SADDR6 };
        self.0.ip(kind, at.ip()).attr(ev::SPORT, &at.port().to_be_bytes());
        self
    }

    fn remote(&mut self, at: SocketAddr) -> &mut Self {
        let kind = if at.is_ipv4() { ev::DADDR4 } else { ev::DADDR6 };
        self.0.ip(kind, at.ip()).attr(ev::DPORT, &at.port().to_be_bytes());
        self
    }

    fn announced(&mut self, announced: &Announced) -> &mut Self {
        self.token(announced.token)
            .remote_id(announced.remote_id)
            .remote(announced.remote)
    }

    fn connection(&mut self, connection: &Connection) -> &mut Self {
        self.token(connection.token)
            .local(connection.initial.local)
            .remote(connection.initial.remote);
        self.0.u8(ev::SERVER_SIDE, connection.server_side.into());
        self.0.u16(ev::FLAGS, connection.deny_join_id0.into());
        self
    }

    fn change(&mut self, change: &SubflowChange) -> &mut Self {
        self.token(change.token)
            .local(change.subflow.local)
            .remote(change.subflow.remote);
        self.remote_id(change.remote_id)
            .0
            .u8(ev::LOC_ID, change.local_id.0)
            .u8(ev::BACKUP, change.backup.into());
        if let Some(ifindex) = change.ifindex {
            self.0.u32(ev::IF_IDX, ifindex);
        }
        if let Some(error) = change.error {
            self.0.u8(ev::ERROR, error);
        }
        if let Some(reset) = change.reset {
            self.0
                .u32(ev::RESET_REASON, reason_code(reset.reason))
                .u32(ev::RESET_FLAGS, reset.transient.into());
        }
        if let Some(timeout) = change.timeout_ms {
            self.0.u32(ev::TIMEOUT, timeout);
        }
        self
    }
}

/// RFC 8684 §3.6, table of reasons.
fn reason_code(reason: ResetReason) -> u32 {
    match reason {
        ResetReason::Unspecified => 0,
        ResetReason::MptcpSpecific => 1,
        ResetReason::LackOfResources => 2,
        ResetReason::Prohibited => 3,
        ResetReason::TooMuchOutstanding => 4,
        ResetReason::UnacceptablePerformance => 5,
        ResetReason::Middlebox => 6,
        ResetReason::Other(code) => code,
    }
}

proptest! {
    #[test]
    fn endpoints_decode_to_what_was_encoded(endpoint in any_endpoint()) {
        let mut builder = Builder::new();
        endpoint.nested().write(start(&mut builder, 31, Command::AddAddr), attr::ADDR);
        let message = Messages::new(builder.as_bytes()).next().unwrap();
        prop_assert_eq!(Endpoint::parse(message.attrs(GENL_HEADER_LEN)), Some(endpoint));
    }

    #[test]
    fn addresses_decode_to_what_was_encoded(
        addr in option::of(any_ip()), id: Option<u8>, port: Option<u16>, flags: Option<u32>, ifindex: Option<u32>,
    ) {
        let nested = Nested { addr, id, port, flags, ifindex };
        let mut builder = Builder::new();
        nested.write(builder.start(31, 0), attr::ADDR_REMOTE);
        let message = Messages::new(builder.as_bytes()).next().unwrap();
        let read = Nested::read(message.attrs(0).find(attr::ADDR_REMOTE).unwrap().attrs());
        prop_assert_eq!(read, nested);
    }

    #[test]
    fn limits_decode_to_what_was_encoded(subflows: u32, add_addr_accepted: u32) {
        let mut builder = Builder::new();
        start(&mut builder, 31, Command::SetLimits)
            .u32(attr::RCV_ADD_ADDRS, add_addr_accepted)
            .u32(attr::SUBFLOWS, subflows);
        let message = Messages::new(builder.as_bytes()).next().unwrap();
        let read = Limits::parse(message.attrs(GENL_HEADER_LEN));
        prop_assert_eq!(read, Some(Limits { subflows, add_addr_accepted }));
    }

    #[test]
    fn events_decode_to_what_was_encoded(event in any_event()) {
        let mut writer = Writer::event(&event);
        let message = Messages::new(writer.0.as_bytes()).next().unwrap();
        prop_assert_eq!(Event::parse(&message), Some(event));
    }

    #[test]
    fn no_input_makes_the_parsers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for message in Messages::new(&bytes) {
            let _ = Event::parse(&message);
            let _ = Endpoint::parse(message.attrs(GENL_HEADER_LEN));
            let _ = Limits::parse(message.attrs(GENL_HEADER_LEN));
        }
    }
}

#[test]
fn flags_match_what_ip_prints() {
    let flags = EndpointFlags::SIGNAL
        .with(EndpointFlags::BACKUP)
        .with(EndpointFlags::FULLMESH);
    assert_eq!(flags.to_string(), "signal backup fullmesh");
    assert_eq!(EndpointFlags::NONE.to_string(), "");
    assert!(flags.contains(EndpointFlags::BACKUP) && !flags.contains(EndpointFlags::SUBFLOW));
}

//! Gets an address by DHCPv4: the conversation, without sockets.
//!
//! # Sources
//! - RFC 2131 §4.4: states of a client. §4.4.2: a client requests its known address first (INIT-REBOOT).
//!   §3.1, step 5: it declines an address in use, and waits ten seconds.
//! - RFC 5227 §2.1.1: how it finds out whether an address is in use.
//!
//! # Where we differ, and why
//! 1. A lease is renewed by broadcast from the beginning, as RFC 2131 allows from T2 on. A unicast would need
//!    a socket on the address, and would leave by the route of the moment.
//! 2. The first retry comes after 0.1 s instead of four: the way to an access point is short, a walking host
//!    has little time, and the first message is often lost. An access point drops what arrives before it has
//!    taken in the last message of the key exchange.
//! 3. Two ARP probes within 0.3 s, instead of three within up to 7 s: a walking host has little time. A
//!    renewed address is not probed again.
//!
//! # Checked by
//! `tests`; the trials of `guest`, with dnsmasq.

use super::grant::{Lease, lease, portal, relay};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use units::MacAddr;
use wire::arp;
use wire::dhcp::{Kind, Message, Options};

const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(8);
/// Requests for a known address before another one is taken.
const REBOOT_TRIES: u32 = 4;
/// Requests for an offered address before another offer is sought.
const REQUEST_TRIES: u32 = 6;
/// ARP probes for a new address, the pause between two, and the wait after the last.
const PROBES: u32 = 2;
const PROBE_PAUSE: Duration = Duration::from_millis(100);
const PROBE_WAIT: Duration = Duration::from_millis(200);
/// Pause after a declined address.
const DECLINED: Duration = Duration::from_secs(10);
/// Pause after a server has refused the address that it offered.
const REFUSED: Duration = Duration::from_secs(1);

/// What the client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Want {
    /// Send this message.
    Send(Message),
    /// Send this ARP probe.
    Probe(arp::Message),
    /// Another host has the address: send this message.
    Decline(Message),
    /// The address is valid from now on.
    Use(Lease),
    /// The address is not valid any more.
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reboot(Ipv4Addr),
    Select,
    Request { address: Ipv4Addr, server: Ipv4Addr },
    Probe { lease: Lease, server: Option<Ipv4Addr> },
    Bound(Lease),
    Renew(Lease),
}

/// A client on one interface.
#[derive(Debug)]
pub(super) struct Client {
    mac: MacAddr,
    transaction: u32,
    state: State,
    tries: u32,
    due: Instant,
    portal: Option<String>,
    relay: Option<String>,
}

impl Client {
    /// Begins. `known` is the address of the last visit.
    pub(super) const fn new(now: Instant, mac: MacAddr, transaction: u32, known: Option<Ipv4Addr>) -> Self {
        Self {
            mac,
            transaction,
            state: match known {
                Some(address) => State::Reboot(address),
                None => State::Select,
            },
            tries: 0,
            due: now,
            portal: None,
            relay: None,
        }
    }

    /// URL of the captive portal, if the server gives one.
    pub(super) fn portal(&self) -> Option<&str> {
        self.portal.as_deref()
    }

    /// Address or name and port of a relay, if the server announces one.
    pub(super) fn relay(&self) -> Option<&str> {
        self.relay.as_deref()
    }

    fn note(&mut self, message: &Message) {
        self.portal = portal(message);
        self.relay = relay(message);
    }

    /// When [`Client::tick`] next has work.
    pub(super) const fn wake_at(&self) -> Instant {
        self.due
    }

    /// The host was suspended. The lease has aged meanwhile, and its network may be another one by now, so it
    /// is renewed at once.
    pub(super) fn resumed(&mut self, now: Instant, slept: Duration) {
        let (State::Bound(mut lease) | State::Renew(mut lease)) = self.state else {
            return;
        };
        lease.until = lease.until.checked_sub(slept).unwrap_or(now);
        self.enter(now, State::Renew(lease));
    }

    /// Whether it waits for messages.
    pub(super) const fn listens(&self) -> bool {
        !matches!(self.state, State::Bound(_))
    }

    /// Whether it waits for ARP messages.
    pub(super) const fn probes(&self) -> bool {
        matches!(self.state, State::Probe { .. })
    }

    /// Does what is due.
    pub(super) fn tick(&mut self, now: Instant) -> Option<Want> {
        if now < self.due {
            return None;
        }
        match self.state {
            State::Reboot(_) if self.tries >= REBOOT_TRIES => self.enter(now, State::Select),
            State::Request { .. } if self.tries >= REQUEST_TRIES => self.enter(now, State::Select),
            State::Probe { lease, .. } => return Some(self.probe(now, lease)),
            State::Bound(lease) => self.enter(now, State::Renew(lease)),
            State::Renew(lease) if now >= lease.until => {
                self.enter(now, State::Select);
                return Some(Want::Drop);
            }
            _ => {}
        }
        let pause = (FIRST_RETRY * (1 << self.tries.min(8))).min(LONGEST_RETRY);
        self.tries += 1;
        self.due = now + pause;
        if let State::Renew(lease) = self.state {
            // Half of what is left, as RFC 2131 §4.4.5 demands, but not more often than at the beginning.
            let half = lease.until.saturating_duration_since(now) / 2;
            self.due = (now + half.max(LONGEST_RETRY)).min(lease.until.max(now + FIRST_RETRY));
        }
        Some(Want::Send(self.message()))
    }

    fn probe(&mut self, now: Instant, lease: Lease) -> Want {
        if self.tries >= PROBES {
            self.enter(now, State::Bound(lease));
            self.due = lease.renew;
            return Want::Use(lease);
        }
        self.tries += 1;
        let is_last = self.tries == PROBES;
        self.due = now + if is_last { PROBE_WAIT } else { PROBE_PAUSE };
        Want::Probe(arp::Message::probe(self.mac, lease.address))
    }

    /// Takes in a message of ARP: declines an address that another host has.
    pub(super) fn hear_arp(&mut self, now: Instant, message: &arp::Message) -> Option<Want> {
        let State::Probe { lease, server } = self.state else {
            return None;
        };
        if !message.conflicts(self.mac, lease.address) {
            return None;
        }
        let decline = Message {
            kind: Kind::Decline,
            options: Options {
                requested: Some(lease.address),
                server,
                ..Options::default()
            },
            ..self.message()
        };
        self.enter(now + DECLINED, State::Select);
        Some(Want::Decline(decline))
    }

    fn enter(&mut self, now: Instant, state: State) {
        (self.state, self.tries, self.due) = (state, 0, now);
        self.transaction = self.transaction.wrapping_add(1);
    }

    fn message(&self) -> Message {
        let (kind, has, requested, server) = match self.state {
            State::Select | State::Probe { .. } => (Kind::Discover, Ipv4Addr::UNSPECIFIED, None, None),
            State::Reboot(address) => (Kind::Request, Ipv4Addr::UNSPECIFIED, Some(address), None),
            State::Request { address, server } => {
                (Kind::Request, Ipv4Addr::UNSPECIFIED, Some(address), Some(server))
            }
            State::Bound(lease) | State::Renew(lease) => (Kind::Request, lease.address, None, None),
        };
        Message {
            is_reply: false,
            kind,
            transaction: self.transaction,
            client: self.mac,
            has,
            yours: Ipv4Addr::UNSPECIFIED,
            options: Options {
                requested,
                server,
                ..Options::default()
            },
        }
    }

    /// Takes in a message. Those of others, and late ones, change nothing.
    pub(super) fn hear(&mut self, now: Instant, message: &Message) -> Option<Want> {
        let is_ours =
            message.is_reply && message.client == self.mac && message.transaction == self.transaction;
        if !is_ours {
            return None;
        }
        match (message.kind, self.state) {
            (Kind::Offer, State::Select) => {
                let server = message.options.server?;
                // An offer that cannot be used is not answered. Another server may have a better one.
                let address = lease(now, message)?.address;
                let transaction = self.transaction;
                self.enter(now, State::Request { address, server });
                self.transaction = transaction;
                None
            }
            (Kind::Ack, State::Reboot(_) | State::Request { .. }) => {
                let (lease, server) = (lease(now, message)?, message.options.server);
                self.note(message);
                self.enter(now, State::Probe { lease, server });
                None
            }
            (Kind::Ack, State::Renew(_)) => {
                let lease = lease(now, message)?;
                self.note(message);
                self.enter(now, State::Bound(lease));
                self.due = lease.renew;
                Some(Want::Use(lease))
            }
            // The address of the last visit is void, and another one is sought at once.
            (Kind::Nak, State::Reboot(_)) => {
                self.enter(now, State::Select);
                None
            }
            // A server that refuses what it has just offered may do so again and again.
            (Kind::Nak, State::Request { .. }) => {
                self.enter(now + REFUSED, State::Select);
                None
            }
            (Kind::Nak, State::Renew(_)) => {
                self.enter(now, State::Select);
                Some(Want::Drop)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr::local(7);
    const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 42);
    const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);

    fn sent(client: &mut Client, now: Instant) -> Message {
        match client.tick(now) {
            Some(Want::Send(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn reply(to: &Message, kind: Kind) -> Message {
        Message {
            is_reply: true,
            kind,
            yours: OURS,
            options: Options {
                server: Some(ROUTER),
                router: Some(ROUTER),
                mask: Some(Ipv4Addr::new(255, 255, 254, 0)),
                lease_s: Some(1_000),
                ..Options::default()
            },
            ..to.clone()
        }
    }

    /// A client that has just got its lease.
    fn bound(now: Instant) -> (Client, Lease) {
        let mut client = Client::new(now, MAC, 5, None);
        let discover = sent(&mut client, now);
        assert_eq!(discover.kind, Kind::Discover);
        assert_eq!(client.hear(now, &reply(&discover, Kind::Offer)), None);
        let request = sent(&mut client, now);
        assert_eq!(request.kind, Kind::Request);
        assert_eq!(request.options.requested, Some(OURS));
        assert_eq!(request.options.server, Some(ROUTER));
        assert_eq!(client.hear(now, &reply(&request, Kind::Ack)), None);
        let lease = probed(&mut client);
        (client, lease)
    }

    /// Nobody answers the probes for the address.
    fn probed(client: &mut Client) -> Lease {
        for _ in 0..PROBES {
            assert!(client.probes());
            let at = client.wake_at();
            let probe = Want::Probe(arp::Message::probe(MAC, OURS));
            assert_eq!(client.tick(at), Some(probe));
        }
        let at = client.wake_at();
        match client.tick(at) {
            Some(Want::Use(lease)) => lease,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_offer_is_requested_and_the_lease_used() {
        let now = Instant::now();
        let (client, lease) = bound(now);
        assert_eq!(
            (lease.address, lease.prefix_len, lease.router),
            (OURS, 23, Some(ROUTER))
        );
        assert_eq!(client.wake_at(), now + Duration::from_secs(500));
        assert!(!client.listens());
    }

    #[test]
    fn a_message_that_is_lost_is_repeated_soon_then_less_often() {
        let now = Instant::now();
        let mut client = Client::new(now, MAC, 5, None);
        let first = sent(&mut client, now);
        let mut pause = || {
            let at = client.wake_at();
            assert_eq!(sent(&mut client, at), first);
            (at - now).as_millis()
        };
        assert_eq!([pause(), pause(), pause()], [100, 300, 700]);
    }

    #[test]
    fn a_lease_is_renewed_at_half_its_time_and_dropped_at_its_end() {
        let now = Instant::now();
        let (mut client, _) = bound(now);
        let half = now + Duration::from_secs(500);
        let request = sent(&mut client, half);
        assert_eq!((request.kind, request.has), (Kind::Request, OURS));
        let again = client.hear(half, &reply(&request, Kind::Ack));
        assert!(matches!(again, Some(Want::Use(_))), "{again:?}");
        let mut at = client.wake_at();
        let mut tries = 0;
        let end = loop {
            match client.tick(at) {
                Some(Want::Send(_)) => tries += 1,
                want => break want,
            }
            assert!(tries < 100);
            at = client.wake_at();
        };
        assert_eq!(end, Some(Want::Drop));
        assert_eq!(at, half + Duration::from_secs(1_000));
        assert_eq!(sent(&mut client, at).kind, Kind::Discover);
    }

    #[test]
    fn a_known_address_is_asked_for_first_and_given_up_when_refused() {
        let now = Instant::now();
        let mut client = Client::new(now, MAC, 5, Some(OURS));
        let request = sent(&mut client, now);
        assert_eq!(
            (request.kind, request.options.requested),
            (Kind::Request, Some(OURS))
        );
        assert_eq!(request.options.server, None);
        assert_eq!(client.hear(now, &reply(&request, Kind::Nak)), None);
        assert_eq!(sent(&mut client, now).kind, Kind::Discover);
        // Nobody answers.
        let mut silent = Client::new(now, MAC, 5, Some(OURS));
        let kinds = [0; 5].map(|_| {
            let at = silent.wake_at();
            (sent(&mut silent, at).kind, (at - now).as_millis())
        });
        let requests = [0, 100, 300, 700].map(|at| (Kind::Request, at));
        assert_eq!(kinds[..4], requests);
        assert_eq!(kinds[4], (Kind::Discover, 1_500));
    }

    #[test]
    fn after_a_suspend_a_lease_is_renewed_or_has_run_out() {
        let now = Instant::now();
        let (mut client, _) = bound(now);
        client.resumed(now, Duration::from_secs(100));
        let request = sent(&mut client, now);
        assert_eq!((request.kind, request.has), (Kind::Request, OURS));
        let (mut client, _) = bound(now);
        client.resumed(now, Duration::from_secs(2_000));
        assert_eq!(client.tick(now), Some(Want::Drop));
        assert_eq!(sent(&mut client, now).kind, Kind::Discover);
    }

    #[test]
    fn a_server_that_refuses_what_it_offers_is_asked_once_a_second() {
        let mut now = Instant::now();
        let mut client = Client::new(now, MAC, 5, None);
        for _ in 0..3 {
            let discover = sent(&mut client, now);
            assert_eq!(client.hear(now, &reply(&discover, Kind::Offer)), None);
            let request = sent(&mut client, now);
            assert_eq!(client.hear(now, &reply(&request, Kind::Nak)), None);
            assert_eq!(client.tick(now), None);
            now += REFUSED;
        }
        assert_eq!(sent(&mut client, now).kind, Kind::Discover);
    }

    #[test]
    fn an_address_that_another_host_has_is_declined_and_another_one_sought_after_ten_seconds() {
        let now = Instant::now();
        let mut client = Client::new(now, MAC, 5, Some(OURS));
        let request = sent(&mut client, now);
        assert_eq!(client.hear(now, &reply(&request, Kind::Ack)), None);
        assert!(matches!(client.tick(now), Some(Want::Probe(_))));
        let other = arp::Message {
            is_reply: true,
            sender: MacAddr::local(8),
            sender_ip: OURS,
            target: MAC,
            target_ip: Ipv4Addr::UNSPECIFIED,
        };
        let elsewhere = arp::Message {
            sender_ip: ROUTER,
            ..other
        };
        assert_eq!(client.hear_arp(now, &elsewhere), None);
        let Some(Want::Decline(decline)) = client.hear_arp(now, &other) else {
            panic!("not declined")
        };
        assert_eq!(
            (decline.kind, decline.has),
            (Kind::Decline, Ipv4Addr::UNSPECIFIED)
        );
        let options = (decline.options.requested, decline.options.server);
        assert_eq!(options, (Some(OURS), Some(ROUTER)));
        assert_eq!(client.tick(now + DECLINED - Duration::from_millis(1)), None);
        assert_eq!(sent(&mut client, now + DECLINED).kind, Kind::Discover);
        assert_eq!(client.hear_arp(now, &other), None, "it has no address to defend");
    }

    #[test]
    fn name_servers_a_portal_and_a_relay_come_with_the_lease() {
        let now = Instant::now();
        let mut client = Client::new(now, MAC, 5, Some(OURS));
        let request = sent(&mut client, now);
        let mut ack = reply(&request, Kind::Ack);
        ack.options.resolvers = vec![ROUTER, Ipv4Addr::UNSPECIFIED, Ipv4Addr::new(9, 9, 9, 9)];
        ack.options.portal = b"https://portal.example/api".to_vec();
        ack.options.relay = b"[2001:db8::1]:4433".to_vec();
        assert_eq!(client.hear(now, &ack), None);
        assert_eq!(client.portal(), Some("https://portal.example/api"));
        assert_eq!(client.relay(), Some("[2001:db8::1]:4433"));
        let lease = probed(&mut client);
        assert_eq!(lease.resolvers(), [ROUTER, Ipv4Addr::new(9, 9, 9, 9)]);
        for bad in [&b"javascript:alert(1)"[..], b"http://a b", b"http://\x1b[2J", b""] {
            ack.options.portal = bad.to_vec();
            assert_eq!(portal(&ack), None, "{bad:?}");
        }
        for bad in [
            &b"relay.example"[..],
            b":4433",
            b"relay:0",
            b"a b:1",
            b"\x1b[2J:1",
            b"",
        ] {
            ack.options.relay = bad.to_vec();
            assert_eq!(relay(&ack), None, "{bad:?}");
        }
    }

    #[test]
    fn replies_to_others_late_replies_and_nonsense_change_nothing() {
        let now = Instant::now();
        let mut client = Client::new(now, MAC, 5, None);
        let discover = sent(&mut client, now);
        let offer = reply(&discover, Kind::Offer);
        let wrong = |change: fn(&mut Message)| {
            let mut message = offer.clone();
            change(&mut message);
            message
        };
        let others = [
            wrong(|message| message.transaction += 1),
            wrong(|message| message.client = MacAddr::local(8)),
            wrong(|message| message.is_reply = false),
            wrong(|message| message.kind = Kind::Ack),
            wrong(|message| message.options.server = None),
            wrong(|message| message.yours = Ipv4Addr::BROADCAST),
            wrong(|message| message.yours = Ipv4Addr::LOCALHOST),
            wrong(|message| message.yours = Ipv4Addr::UNSPECIFIED),
            wrong(|message| message.options.mask = Some(Ipv4Addr::new(255, 0, 255, 0))),
            wrong(|message| message.options.mask = Some(Ipv4Addr::UNSPECIFIED)),
            wrong(|message| message.options.mask = Some(Ipv4Addr::new(254, 0, 0, 0))),
            wrong(|message| message.yours = Ipv4Addr::new(10, 0, 0, 0)),
            wrong(|message| message.yours = Ipv4Addr::new(10, 0, 1, 255)),
        ];
        for message in others {
            assert_eq!(client.hear(now, &message), None, "{message:?}");
            assert_eq!(client.tick(now), None, "{message:?}");
        }
        assert_eq!(client.hear(now, &offer), None);
        assert_eq!(sent(&mut client, now).kind, Kind::Request);
    }
}

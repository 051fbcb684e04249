//! Links that die while no connection is open, hosts that are absent, and links that only seem dead.

use super::spec;
use crate::*;
use std::collections::BTreeSet;
use units::{Duration, Instant};

pub(super) const S: Duration = Duration::from_secs(1);
pub(super) const MS: Duration = Duration::from_millis(1);
const STEP: Duration = Duration::from_millis(10);
/// A resolver of each link, and hosts that programs contact.
const RESOLVERS: [HostId; 2] = [HostId(1), HostId(2)];
pub(super) const SITE: HostId = HostId(10);
pub(super) const OTHER_SITE: HostId = HostId(11);

/// Links without connections, and hosts that reply over some of them.
pub(super) struct Host {
    pub(super) engine: Engine,
    pub(super) now: Instant,
    pub(super) reached: BTreeSet<(LinkId, HostId)>,
    /// Hosts for which programs wait.
    wanted: BTreeSet<(LinkId, HostId)>,
    replies: Vec<(Instant, LinkId, u32)>,
    pub(super) done: Vec<(Instant, Action)>,
    pub(super) rtt: Duration,
}

pub(super) const fn link(id: u16) -> LinkId {
    LinkId(id)
}

impl Host {
    /// This many cables. No host is known.
    fn with(links: u16) -> Self {
        let mut host = Self::blank();
        for id in 0..links {
            host.add(id, LinkKind::Cable, Role::Primary);
        }
        host
    }

    fn blank() -> Self {
        let config = Config {
            policy: Policy::Slowhand,
            peer_subflows: 2,
        };
        Self {
            engine: Engine::new(config),
            now: Instant::from_secs(1),
            reached: BTreeSet::new(),
            wanted: BTreeSet::new(),
            replies: Vec::new(),
            done: Vec::new(),
            rtt: 20 * MS,
        }
    }

    fn add(&mut self, id: u16, kind: LinkKind, role: Role) {
        let spec = spec(&format!("link{id}"), kind, role);
        self.about(id, LinkEvent::Appeared(spec));
        self.about(id, LinkEvent::Carrier(true));
        self.about(id, LinkEvent::Usable(true));
    }

    /// Two cables, each with a resolver beyond its next hop.
    pub(super) fn usual() -> Self {
        let mut host = Self::with(2);
        for (id, resolver) in [(0, RESOLVERS[0]), (1, RESOLVERS[1])] {
            host.about(id, LinkEvent::Host(resolver, HostEvent::Resolves { near: false }));
            host.reaches(&[id], &[resolver, SITE, OTHER_SITE]);
        }
        host
    }

    fn reaches(&mut self, links: &[u16], hosts: &[HostId]) {
        for &id in links {
            self.reached.extend(hosts.iter().map(|&host| (link(id), host)));
        }
    }

    /// Makes the link drop everything that would arrive over it.
    pub(super) fn dies(&mut self, id: u16) {
        self.reached.retain(|(of, _)| *of != link(id));
    }

    pub(super) fn about(&mut self, id: u16, event: LinkEvent) {
        self.engine.handle(self.now, Input::Link(link(id), event));
        self.carry_out();
    }

    pub(super) fn carry_out(&mut self) {
        while let Some(action) = self.engine.poll() {
            if let Action::Ask {
                link, host, probe, ..
            } = action
                && self.reached.contains(&(link, host))
            {
                self.replies.push((self.now + self.rtt, link, probe));
            }
            self.done.push((self.now, action));
        }
    }

    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            let now = self.now;
            let (due, later): (Vec<_>, Vec<_>) = self.replies.drain(..).partition(|reply| reply.0 <= now);
            self.replies = later;
            let rtt = self.rtt;
            for (_, LinkId(id), probe) in due {
                self.about(id, LinkEvent::ProbeAnswered { probe, rtt });
            }
            if now.as_nanos().is_multiple_of(S.as_nanos() as u64) {
                for (LinkId(id), host) in self.wanted.clone() {
                    self.about(id, LinkEvent::Host(host, HostEvent::Unanswered));
                }
            }
            self.engine.tick(now);
            self.carry_out();
        }
    }

    pub(super) fn state(&self, id: u16) -> Explanation {
        let all = self.engine.explain();
        all.into_iter().find(|told| told.link == link(id)).unwrap()
    }

    fn asked(&self, since: Instant) -> Vec<LinkId> {
        let asks = self.done.iter().filter(|(at, _)| *at >= since);
        let asks = asks.filter_map(|(_, action)| match action {
            Action::Ask { link, .. } => Some(*link),
            _ => None,
        });
        asks.collect()
    }

    pub(super) fn verbs(&self, since: Instant) -> Vec<Verb> {
        let done = self.done.iter().filter(|(at, _)| *at >= since);
        let notes = done.filter_map(|(_, action)| match action {
            Action::Note(note) if note.verb != Verb::Suspect => Some(note.verb),
            _ => None,
        });
        notes.collect()
    }

    /// The time until the link is found dead.
    fn dead_after(&mut self, id: u16, at_most: Duration) -> Duration {
        let cut = self.now;
        while self.state(id).state != "dead" {
            self.run(STEP);
            assert!(self.now - cut <= at_most, "{:?}", self.state(id));
        }
        self.now - cut
    }

    fn route(&self) -> Option<LinkId> {
        self.done.iter().rev().find_map(|(_, action)| match action {
            Action::DefaultRoute(Family::V4, link) => *link,
            _ => None,
        })
    }
}

#[test]
fn a_link_that_died_idle_is_found_by_the_first_attempt_to_use_it_and_comes_back() {
    let mut host = Host::usual();
    host.run(30 * S);
    assert_eq!(host.route(), Some(link(0)));
    host.dies(0);
    host.wanted.insert((link(0), SITE));
    let took = host.dead_after(0, 4 * S);
    assert!(took >= 500 * MS, "{took:?}");
    let told = host.state(0).why;
    assert!(
        told.starts_with("2 hosts did not reply to 4 probes over it in ")
            && told.contains(" ms; 1 replied over link1; "),
        "{told}"
    );
    host.run(100 * MS);
    assert_eq!(host.route(), Some(link(1)));
    host.wanted.clear();
    host.run(120 * S);
    assert_eq!(host.state(0).state, "dead");
    host.reaches(&[0], &[RESOLVERS[0], SITE]);
    host.run(7 * S);
    assert_eq!(host.state(0).state, "use");
}

#[test]
fn a_link_that_died_idle_is_found_by_a_probe_if_a_host_replies_over_another() {
    let mut host = Host::with(2);
    for id in [0, 1] {
        host.about(id, LinkEvent::Host(SITE, HostEvent::Resolves { near: false }));
    }
    host.reaches(&[0, 1], &[SITE]);
    host.run(100 * S);
    host.dies(0);
    let took = host.dead_after(0, 130 * S);
    assert!(took >= S, "{took:?}");
}

#[test]
fn one_host_is_proof_only_if_another_link_reaches_it() {
    let mut host = Host::with(2);
    host.reaches(&[1], &[SITE]);
    host.wanted.insert((link(0), SITE));
    host.dead_after(0, 4 * S);
    assert!(host.state(0).why.starts_with("1 host did not reply to 4 probes"));

    let mut host = Host::with(2);
    host.wanted.insert((link(0), SITE));
    let since = host.now;
    host.run(120 * S);
    assert!(host.verbs(since).iter().all(|verb| *verb == Verb::Use));
}

#[test]
fn a_host_that_is_off_proves_no_link_dead_that_reaches_another() {
    for elsewhere in [false, true] {
        let mut host = Host::usual();
        host.run(5 * S);
        // It may even be a host that this link alone cannot reach.
        host.reached
            .retain(|(over, of)| *of != SITE || elsewhere && *over == link(1));
        let since = host.now;
        host.wanted.insert((link(0), SITE));
        host.run(300 * S);
        assert_eq!(host.verbs(since), [], "{elsewhere}");
        let asked = host.asked(since).len();
        assert!((3..=20).contains(&asked), "{asked} probes");
    }
}

#[test]
fn links_that_are_silent_together_stay_as_they_are() {
    let mut host = Host::usual();
    host.run(5 * S);
    let since = host.now;
    host.reached.clear();
    host.wanted.extend([(link(0), SITE), (link(0), OTHER_SITE)]);
    host.run(60 * S);
    assert_eq!(host.verbs(since), []);
    host.reaches(&[1], &[RESOLVERS[1], SITE]);
    host.dead_after(0, 20 * S);
}

#[test]
fn a_program_that_receives_something_proves_life() {
    let mut host = Host::with(2);
    host.reaches(&[1], &[SITE]);
    host.wanted.insert((link(0), SITE));
    let since = host.now;
    for _ in 0..40 {
        host.run(500 * MS);
        host.about(0, LinkEvent::Host(OTHER_SITE, HostEvent::Heard));
    }
    assert_eq!(
        host.verbs(since)[..],
        [Verb::Use, Verb::Use][..host.verbs(since).len()]
    );
    host.dead_after(0, 20 * S);
    host.about(0, LinkEvent::Host(OTHER_SITE, HostEvent::Heard));
    assert_ne!(host.state(0).state, "dead");
}

#[test]
fn a_neighbours_broadcasts_prove_nothing() {
    let mut host = Host::usual();
    host.run(30 * S);
    host.dies(0);
    host.wanted.insert((link(0), SITE));
    for packets in 1..60 {
        host.about(0, LinkEvent::Received { packets });
        host.run(100 * MS);
    }
    assert_eq!(host.state(0).state, "dead");
    host.about(0, LinkEvent::Received { packets: 100 });
    assert_eq!(host.state(0).state, "dead");
    // A check that passes over it does.
    host.about(0, LinkEvent::Checkable);
    host.about(0, LinkEvent::Checked(Checked::Passed));
    assert_ne!(host.state(0).state, "dead");
}

#[test]
fn one_way_datagrams_raise_a_suspicion_but_prove_nothing() {
    let mut host = Host::usual();
    host.about(
        1,
        LinkEvent::Host(RESOLVERS[0], HostEvent::Resolves { near: false }),
    );
    host.reaches(&[1], &[RESOLVERS[0]]);
    host.run(50 * S);
    let since = host.now;
    let send = |host: &mut Host, seconds: u64| {
        for second in 1..=seconds {
            let sent = host.now.as_nanos() / 1_000_000_000 * 3 + second;
            host.about(0, LinkEvent::Traffic { sent, received: 7 });
            host.run(S);
        }
    };
    send(&mut host, 120);
    assert_eq!(host.verbs(since), []);
    let asked = host.asked(since).iter().filter(|over| **over == link(0)).count();
    assert!((3..=12).contains(&asked), "{asked}");
    host.dies(0);
    let cut = host.now;
    while host.state(0).state != "dead" {
        send(&mut host, 1);
        assert!(host.now - cut < 65 * S);
    }
}

#[test]
fn a_replying_next_hop_proves_nothing_and_a_silent_one_does() {
    let near = LinkEvent::Host(RESOLVERS[0], HostEvent::Resolves { near: true });
    let mut host = Host::usual();
    host.about(0, near.clone());
    host.run(30 * S);
    // The router is alive, its uplink is not.
    host.reached.retain(|reached| *reached != (link(0), SITE));
    host.wanted.insert((link(0), SITE));
    host.dead_after(0, 5 * S);
    host.run(30 * S);
    assert_eq!(host.state(0).state, "dead", "the router still replies");

    let mut host = Host::usual();
    host.about(0, near);
    host.run(100 * S);
    host.dies(0);
    host.dead_after(0, 130 * S);
    let told = host.state(0).why;
    assert!(
        told.starts_with("1 host stopped replying over it: 4 probes had no reply in ")
            && told.contains(" ms, while link1 works"),
        "{told}"
    );
    host.reaches(&[0], &[RESOLVERS[0]]);
    host.run(7 * S);
    assert_eq!(host.state(0).state, "use");
}

#[test]
fn a_resolver_that_never_replied_proves_nothing() {
    let mut host = Host::usual();
    host.dies(0);
    let since = host.now;
    host.run(600 * S);
    assert!(host.verbs(since).iter().all(|verb| *verb == Verb::Use));
    let to_it = host.asked(since).iter().filter(|over| **over == link(0)).count();
    assert!(to_it <= 2, "{to_it}");
}

#[test]
fn a_healthy_idle_hour_changes_nothing_and_costs_few_packets() {
    for links in [2, 5] {
        let mut host = Host::with(links);
        for id in 0..links {
            host.about(
                id,
                LinkEvent::Host(SITE, HostEvent::Resolves { near: id % 2 == 1 }),
            );
            host.reaches(&[id], &[SITE]);
        }
        host.run(S);
        let since = host.now;
        host.run(3_600 * S);
        assert_eq!(host.verbs(since), [], "{links}");
        let asks: Vec<Instant> = host
            .done
            .iter()
            .filter(|(_, action)| matches!(action, Action::Ask { .. }))
            .map(|(at, _)| *at)
            .collect();
        assert!((58..=63).contains(&asks.len()), "{links}: {}", asks.len());
        let over = host.asked(host.now - 600 * S);
        for id in 0..links {
            assert!(over.contains(&link(id)), "{links}: {over:?}");
        }
        for window in asks.windows(4) {
            assert!(window[3] - window[0] > 60 * S, "{links}: {window:?}");
        }
    }
}

#[test]
fn metered_links_and_sleeping_modems_are_left_alone_until_they_are_needed() {
    let mut host = Host::usual();
    let metered = Tariff::Metered { cap: None };
    host.add(2, LinkKind::Cable, Role::Backup);
    host.about(2, LinkEvent::Tariff(metered));
    host.add(3, LinkKind::Cellular, Role::Backup);
    for id in [2, 3] {
        host.about(id, LinkEvent::Host(SITE, HostEvent::Resolves { near: false }));
        host.reaches(&[id], &[SITE]);
    }
    host.run(300 * S);
    let costly = |host: &Host| {
        host.asked(Instant::ZERO)
            .into_iter()
            .filter(|link| link.0 >= 2)
            .count()
    };
    assert_eq!(costly(&host), 0);
    host.dies(0);
    host.dies(1);
    host.wanted.insert((link(0), SITE));
    host.dead_after(0, 7 * S);
    assert!(costly(&host) > 0);
}

#[test]
fn a_probe_that_could_not_be_sent_proves_nothing() {
    let mut host = Host::usual();
    host.run(30 * S);
    host.reached.retain(|(over, _)| *over != link(0));
    host.wanted.insert((link(0), SITE));
    let since = host.now;
    host.done.clear();
    for _ in 0..1_000 {
        host.run(STEP);
        let failed: Vec<u32> = host
            .done
            .drain(..)
            .filter_map(|(_, action)| match action {
                Action::Ask {
                    link: LinkId(0),
                    probe,
                    ..
                } => Some(probe),
                Action::Note(note) => {
                    assert_eq!(note.verb, Verb::Suspect, "{note:?}");
                    None
                }
                _ => None,
            })
            .collect();
        for probe in failed {
            host.about(0, LinkEvent::ProbeFailed { probe });
        }
    }
    assert!(host.now - since >= 10 * S);
    assert_eq!(host.state(0).state, "use");
}

#[test]
fn a_suspicion_is_explained_while_it_lasts() {
    let mut host = Host::usual();
    host.run(30 * S);
    host.dies(0);
    host.wanted.insert((link(0), SITE));
    let mut told = host.state(0);
    while told.state != "in-doubt" {
        host.run(STEP);
        told = host.state(0);
    }
    assert_eq!(
        told.why,
        "nothing beyond it has replied for 0 ms: 3 hosts are probed over it and over other links"
    );
}

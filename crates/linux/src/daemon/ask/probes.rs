//! Probes whether a link still reaches a peer, and receives the replies.
//!
//! # Where we differ, and why
//! 1. Many servers drop ICMP, and a TCP handshake costs the server an accepted connection. So each peer gets
//!    one echo when its first connection opens. Later probes of a peer that has never replied to an echo are
//!    both an echo and a handshake.
//! 2. A host that serves as evidence for a link ([`crate::daemon::ask::idle`]) gets one echo. If it resolves
//!    names and has not replied, it gets DNS queries from then on. Only hosts that a program waits for get a
//!    handshake.
//!
//! # Checked by
//! `ask::probes::tests`, `daemon::tests`.

use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::links::ways::Way;
use crate::probe::{Prober, SendError, Target};
use policy::LinkId;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;
use thiserror::Error;
use units::Instant;

/// Replies that come later say nothing about the present.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most probes in flight. Beyond that, the oldest is forgotten.
const MOST: usize = 256;
/// Most peers known to reply to echoes. Beyond that, all are tried anew.
const MOST_PEERS: usize = 4_096;

/// Why a probe could not be sent.
#[derive(Debug, Error)]
pub(crate) enum ProbeError {
    /// The link cannot carry it, or the socket failed.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// A probe in flight. The prober knows it by `2 number` (echo) and `2 number + 1` (handshake).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    number: u32,
    /// The engine's number for it. `None`: sent only to learn whether the peer replies.
    probe: Option<u32>,
    link: LinkId,
    peer: IpAddr,
    at: Instant,
}

/// Probes in flight, and which kinds each peer replies to.
#[derive(Debug)]
pub(crate) struct Probes {
    prober: Prober,
    book: Book,
    /// Whether peers are tried before a link is suspect.
    learns: bool,
}

#[derive(Debug, Default)]
struct Book {
    asked: VecDeque<Asked>,
    echoing: BTreeSet<IpAddr>,
    /// Hosts that have once been sent only an echo.
    tried: BTreeSet<IpAddr>,
    next: u32,
}

/// A host that is probed to learn whether a link is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Witness {
    /// Its address, and the port that a program used last.
    pub(crate) at: SocketAddr,
    /// Whether it resolves names.
    pub(crate) resolves: bool,
}

/// The kinds of probe for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Means {
    echo: bool,
    query: bool,
    handshake: bool,
}

/// The link and probe that a reply belongs to, and the round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) link: LinkId,
    pub(crate) probe: Option<u32>,
    pub(crate) rtt: Duration,
}

impl Book {
    /// Records a probe. Returns the number for the prober, and the probe that was forgotten for it, if any.
    fn ask(&mut self, now: Instant, link: LinkId, peer: IpAddr, probe: Option<u32>) -> (u32, Option<Asked>) {
        let forgotten = if self.asked.len() == MOST {
            self.asked.pop_front()
        } else {
            None
        };
        let number = self.next;
        self.next = self.next.wrapping_add(1) & (u32::MAX >> 1);
        self.asked.push_back(Asked {
            number,
            probe,
            link,
            peer,
            at: now,
        });
        (number, forgotten)
    }

    /// With `gently`, the cheapest probe that this host may reply to. Otherwise every kind that it may reply
    /// to.
    fn means(&mut self, host: Witness, gently: bool) -> Means {
        let peer = host.at.ip();
        let echoing = self.echoing.contains(&peer);
        if self.tried.len() == MOST_PEERS {
            self.tried.clear();
        }
        let first = self.tried.insert(peer);
        Means {
            echo: echoing || first || !gently || !host.resolves,
            query: host.resolves && !echoing && (!first || !gently),
            handshake: !host.resolves && !echoing && !gently,
        }
    }

    fn answer(&mut self, now: Instant, number: u32, by_echo: bool) -> Option<Answered> {
        let at = self.asked.iter().position(|asked| asked.number == number)?;
        let asked = self.asked.remove(at)?;
        if by_echo {
            if self.echoing.len() == MOST_PEERS {
                self.echoing.clear();
            }
            self.echoing.insert(asked.peer);
        }
        Some(Answered {
            link: asked.link,
            probe: asked.probe,
            rtt: now - asked.at,
        })
    }

    /// Removes a probe whose time is over.
    fn expired(&mut self, now: Instant) -> Option<Asked> {
        let old = self.asked.front().is_some_and(|asked| now - asked.at >= PATIENCE);
        if old { self.asked.pop_front() } else { None }
    }
}

impl Probes {
    pub(crate) fn open(learns: bool) -> io::Result<Self> {
        Ok(Self {
            prober: Prober::open()?,
            book: Book::default(),
            learns,
        })
    }

    /// Forgets which peers replied.
    #[cfg(test)]
    pub(crate) fn forget_peers(&mut self) {
        self.book.echoing.clear();
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.book.asked.front().map(|asked| asked.at + PATIENCE)
    }

    /// Sends an echo and, if the peer may not reply to echoes, starts a handshake.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        (link, way): (LinkId, &Way),
        peer: SocketAddr,
        probe: Option<u32>,
    ) -> Result<(), SendError> {
        let target = Target {
            link: way.name,
            from: way.address.addr(),
            to: peer.ip(),
        };
        let (number, forgotten) = self.book.ask(now, link, peer.ip(), probe);
        if let Some(forgotten) = forgotten {
            self.prober.give_up(forgotten.number * 2 + 1);
        }
        let handshake = probe.is_some() && !self.book.echoing.contains(&peer.ip());
        if handshake {
            self.prober.handshake(target, peer.port(), number * 2 + 1)?;
        }
        match self.prober.echo(target, number * 2) {
            // If this host may not send an echo, the handshake still works as a probe.
            Err(_) if handshake => Ok(()),
            result => result,
        }
    }

    /// Probes a host that serves as evidence for a link. Returns the number of packets sent.
    pub(crate) fn ask_host(
        &mut self,
        now: Instant,
        (link, way): (LinkId, &Way),
        host: Witness,
        question: (u32, bool),
    ) -> Result<u64, SendError> {
        let (probe, gently) = question;
        let target = Target {
            link: way.name,
            from: way.address.addr(),
            to: host.at.ip(),
        };
        let means = self.book.means(host, gently);
        let (number, forgotten) = self.book.ask(now, link, target.to, Some(probe));
        if let Some(forgotten) = forgotten {
            self.prober.give_up(forgotten.number * 2 + 1);
        }
        let mut sent = Vec::new();
        if means.handshake {
            sent.push(self.prober.handshake(target, host.at.port(), number * 2 + 1));
        }
        if means.query {
            sent.push(self.prober.query(target, number * 2 + 1));
        }
        if means.echo {
            sent.push(self.prober.echo(target, number * 2));
        }
        let packets = sent.iter().filter(|sent| sent.is_ok()).count() as u64;
        // One sent packet is enough.
        match sent.into_iter().find(Result::is_err) {
            Some(Err(error)) if packets == 0 => Err(error),
            _ => Ok(packets),
        }
    }

    /// Learns whether a peer replies to echoes, over the link on which its connection began.
    pub(crate) fn learn_peer(
        &mut self,
        now: Instant,
        link: LinkId,
        peer: SocketAddr,
        links: &Links,
        outlet: &mut Outlet,
    ) {
        if !self.learns || self.book.echoing.contains(&peer.ip()) {
            return;
        }
        let way = links.get(link).and_then(|link| link.way(peer.is_ipv6()));
        if let Some(way) = way
            && let Err(error) = self.ask(now, (link, &way), peer, None)
        {
            outlet.trouble("probing whether a peer answers ICMP echoes", &error);
        }
    }

    /// Forgets probes whose time is over.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(asked) = self.book.expired(now) {
            self.prober.give_up(asked.number * 2 + 1);
        }
    }

    /// Whether the socket with this inode belongs to one of these probes.
    pub(crate) fn owns(&self, inode: u32) -> bool {
        self.prober.owns(inode)
    }

    /// The next reply to a probe in flight.
    pub(crate) fn answered(&mut self, now: Instant) -> Option<Answered> {
        loop {
            let name = self.prober.answer()?;
            let answered = self.book.answer(now, name / 2, name % 2 == 0);
            if name % 2 == 0 {
                self.prober.give_up(name + 1);
            }
            if answered.is_some() {
                return answered;
            }
        }
    }
}

impl AsRawFd for Probes {
    fn as_raw_fd(&self) -> RawFd {
        self.prober.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: LinkId = LinkId(1);

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn a_reply_is_matched_once_and_timed() {
        let mut book = Book::default();
        let (first, _) = book.ask(Instant::from_millis(1), LINK, peer(1), Some(70));
        let (second, _) = book.ask(Instant::from_millis(2), LINK, peer(1), Some(71));
        let answered = book.answer(Instant::from_millis(31), second, true);
        assert_eq!(
            answered,
            Some(Answered {
                link: LINK,
                probe: Some(71),
                rtt: Duration::from_millis(29)
            })
        );
        assert_eq!(book.answer(Instant::from_millis(32), second, true), None);
        assert!(book.answer(Instant::from_millis(33), first, true).is_some());
    }

    #[test]
    fn only_an_echo_reply_shows_that_a_peer_echoes() {
        let mut book = Book::default();
        let (number, _) = book.ask(Instant::ZERO, LINK, peer(1), Some(1));
        book.answer(Instant::ZERO, number, false);
        assert!(!book.echoing.contains(&peer(1)));
        let (number, _) = book.ask(Instant::ZERO, LINK, peer(1), None);
        book.answer(Instant::ZERO, number, true);
        assert!(book.echoing.contains(&peer(1)));
    }

    #[test]
    fn a_host_gets_the_cheapest_probe_that_it_replies_to() {
        let host = |last, resolves| Witness {
            at: (peer(last), 443).into(),
            resolves,
        };
        let means = |echo, query, handshake| Means {
            echo,
            query,
            handshake,
        };
        let mut book = Book::default();
        assert_eq!(book.means(host(1, true), true), means(true, false, false));
        assert_eq!(book.means(host(1, true), true), means(false, true, false));
        assert_eq!(book.means(host(1, true), false), means(true, true, false));
        assert_eq!(book.means(host(2, false), true), means(true, false, false));
        assert_eq!(book.means(host(2, false), true), means(true, false, false));
        assert_eq!(book.means(host(2, false), false), means(true, false, true));
        for (last, resolves) in [(1, true), (2, false)] {
            book.echoing.insert(peer(last));
            assert_eq!(book.means(host(last, resolves), true), means(true, false, false));
            assert_eq!(book.means(host(last, resolves), false), means(true, false, false));
        }
    }

    #[test]
    fn probes_without_a_reply_are_forgotten() {
        let mut book = Book::default();
        for second in 0..3 {
            book.ask(Instant::from_secs(second), LINK, peer(1), None);
        }
        assert_eq!(book.expired(Instant::from_millis(4_999)), None);
        assert_eq!(
            book.expired(Instant::from_millis(6_500)).unwrap().at,
            Instant::ZERO
        );
        assert_eq!(
            book.expired(Instant::from_millis(6_500)).unwrap().at,
            Instant::from_secs(1)
        );
        assert_eq!(book.expired(Instant::from_millis(6_500)), None);
        let forgotten: Vec<_> = (0..MOST)
            .filter_map(|_| book.ask(Instant::from_secs(9), LINK, peer(1), None).1)
            .collect();
        assert_eq!(forgotten.len(), 1);
    }
}

//! Connections that stay open while things happen to their host.

use crate::reach::{self, Over, Probe, Source, Talk};
use crate::site::{HOST, Site};
use std::net::IpAddr;
use std::time::Duration;

/// A connection that both twins have.
struct Held {
    probe: Probe,
    without: Talk,
    with: Talk,
}

/// Connections on both twins that have worked so far on the one without slowhand.
#[derive(Default)]
pub struct Connections(Vec<Held>);

impl Connections {
    /// Opens the connections of the host that open on both twins. Interface sources are left out: their
    /// addresses stand for them.
    pub fn open(without: &Site, with: &Site, limit: Duration) -> Self {
        let mut probes = reach::all(without);
        // Where routes are equal, the twins' connections may have gone apart at once.
        let comparable = |source: &Source| match source {
            Source::Link(_) => false,
            Source::Any | Source::Mark(_) => !without.spreads,
            Source::Address(_) => true,
        };
        probes.retain(|probe| probe.place == HOST && comparable(&probe.source));
        let open = |probe: Probe| {
            Some(Held {
                without: probe.connect(without, limit).ok()?,
                with: probe.connect(with, limit).ok()?,
                probe,
            })
        };
        let opened = side_by_side(probes.into_iter(), open);
        Self(opened.into_iter().flatten().collect())
    }

    /// Forgets connections to these destinations over plain TCP.
    pub fn forget_tcp(&mut self, to: &[IpAddr]) {
        self.0
            .retain(|held| held.probe.over != Over::Tcp || !to.contains(&held.probe.to));
    }

    /// Uses all of them. Forgets those that have ended on the twin, and returns those that have ended where
    /// they should not.
    pub fn ended(&mut self, limit: Duration, late: Duration) -> Vec<Probe> {
        let ask = |held: &mut Held| {
            let twin = held.without.answers(limit);
            (twin, twin && !held.with.answers(late))
        };
        let asked = side_by_side(self.0.iter_mut(), ask);
        let mut answers = asked.iter();
        let mut ended = Vec::new();
        self.0.retain(|held| {
            let &(twin, wrong) = answers.next().unwrap();
            ended.extend(wrong.then(|| held.probe.clone()));
            twin && !wrong
        });
        ended
    }
}

/// Works on each on a thread of its own; in their order.
fn side_by_side<T: Send, R: Send>(all: impl Iterator<Item = T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = all.map(|one| scope.spawn(move || work(one))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

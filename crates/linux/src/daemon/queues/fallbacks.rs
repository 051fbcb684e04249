//! Connections that fell back to plain TCP: they are reported, and where that is asked for, how much their peers may have in flight is bounded.
//!
//! The engine leaves them alone, for they have one path and no MPTCP. The kernel tells nobody of those that fell back in their handshake. So sockets are listed
//! for each report, and, while a bound is asked for, from time to time. Which of them are meant:
//!
//! - those that a program of this host opened for MPTCP to a peer that has not agreed. They carry a token if they asked the peer, and none if
//!   the kernel had given up asking, because something on the way drops what asks for MPTCP;
//! - those of connections that the engine knew, and that fell back later.
//!
//! Both only over links of ours.
//!
//! # Sources
//! - RFC 8684 §3.7; net/mptcp/subflow.c (`subflow_finish_connect`), net/mptcp/ctrl.c (`mptcp_active_should_disable`), net/mptcp/diag.c
//!   (`subflow_get_info`), Linux 6.18.
//!
//! # Where we differ, and why
//! 1. Listing costs half a millisecond and more, and no event could take its place; so it is done five times a second, and never for more than a
//!    fiftieth of a processor. What a server queues before that is not prevented.
//! 2. Nothing is taken off when a bound ends with its socket; what is left at the end, or by a crash, is taken off by the journal.
//!
//! # Checked by
//! `daemon::tests::fallback`.

use crate::bpf::{ClampedSocket, FallbackLever, RunTime};
use crate::daemon::api::error::{StartError, chain};
use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::api::report::{FallbackBound, FallbackCause, FallbackReport};
use crate::daemon::flows::book::{Flows, Phase};
use crate::daemon::flows::names::{canonical, conn_of};
use crate::daemon::host::Host;
use crate::daemon::host::controllers::Controllers;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::queues::levers::{Lever, LeverError};
use crate::daemon::queues::walks::Walks;
use crate::diag::{Diag, DiagError, Ends, MptcpSubflow, States, TcpSocket};
use crate::journal::{Change, Journal, JournalError};
use policy::{ConnId, LinkId};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;
use thiserror::Error;
use units::{Bytes, Instant};

/// How often sockets are listed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A pause is so many times as long as the look before it.
const PAUSE_PER_LOOK: u32 = 50;
/// A list may leave a socket out while others close: one that is missing so many times in a row is closed.
const MISSES: u8 = 3;

/// Why connections that fell back are not bounded.
#[derive(Debug, Error)]
enum BoundError {
    /// They cannot be found.
    #[error(transparent)]
    Look(#[from] DiagError),
    /// What is set could not be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The lever could not be pulled.
    #[error(transparent)]
    Lever(#[from] LeverError),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Fallbacks {
    /// `None`: they are left alone, and listed only for a report.
    task: Option<Task>,
    /// By their sockets' cookies.
    known: BTreeMap<u64, Fallback>,
    lever: Lever<FallbackLever>,
    walks: Walks,
    /// Why nothing works at present.
    failed: Option<String>,
}

/// What is asked for, and the means.
#[derive(Debug)]
struct Task {
    window: Bytes,
    diag: Diag,
    next_look: Instant,
}

/// One socket whose connection fell back.
#[derive(Debug)]
struct Fallback {
    conn: Option<ConnId>,
    link: LinkId,
    ends: Ends,
    cause: FallbackCause,
    misses: u8,
    /// Whether the lever knows of it.
    set: bool,
    /// What came of the latest walk; `None` before the first.
    outcome: Option<ClampedSocket>,
}

/// What a list shows of one.
struct Seen {
    cookie: u64,
    conn: Option<ConnId>,
    ends: Ends,
    cause: FallbackCause,
}

impl Seen {
    fn new(flows: &Flows, socket: &TcpSocket) -> Option<Self> {
        let subflow = socket.subflow.filter(|subflow| fell_back(flows, subflow))?;
        let conn = Some(conn_of(subflow.token)).filter(|conn| conn.0 != 0);
        Some(Self {
            cookie: socket.cookie,
            conn,
            cause: match conn {
                _ if subflow.flags.agreed() || subflow.flags.joined() => FallbackCause::Later,
                Some(_) => FallbackCause::NotAgreed,
                None => FallbackCause::NotAsked,
            },
            ends: Ends {
                local: socket.local,
                remote: socket.remote,
                ifindex: socket.ifindex,
            },
        })
    }
}

/// Only a socket that was opened for MPTCP is a subflow, and whoever accepts one has agreed.
fn fell_back(flows: &Flows, subflow: &MptcpSubflow) -> bool {
    let at_once = !subflow.flags.agreed() && !subflow.flags.joined();
    let conn = flows.conn(conn_of(subflow.token));
    at_once || conn.is_some_and(|conn| conn.phase == Phase::LeftAlone(LeftAlone::FellBack))
}

impl Fallbacks {
    pub(crate) fn new(window: Option<Bytes>) -> Result<Self, StartError> {
        let task = |window| {
            Ok::<_, StartError>(Task {
                window,
                diag: Diag::open()?,
                next_look: Instant::ZERO,
            })
        };
        Ok(Self {
            task: window.map(task).transpose()?,
            known: BTreeMap::new(),
            lever: Lever::Untried,
            walks: Walks::default(),
            failed: None,
        })
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let look = self.task.as_ref().map(|task| task.next_look);
        [look, self.walks.wake_at()].into_iter().flatten().min()
    }

    fn is_look_due(&self, now: Instant) -> bool {
        self.task.as_ref().is_some_and(|task| task.next_look <= now)
    }

    /// Takes in what one list showed.
    fn take(&mut self, seen: Vec<(Seen, LinkId)>) -> Result<(), LeverError> {
        self.known.values_mut().for_each(|fallback| fallback.misses += 1);
        for (seen, link) in seen {
            let Seen {
                cookie,
                conn,
                ends,
                cause,
            } = seen;
            let fallback = self.known.entry(cookie).or_insert(Fallback {
                conn,
                link,
                ends,
                cause,
                misses: 0,
                set: false,
                outcome: None,
            });
            fallback.misses = 0;
        }
        let closed = self.known.extract_if(.., |_, fallback| fallback.misses >= MISSES);
        for (cookie, _) in closed {
            if let Some(lever) = self.lever.loaded() {
                lever.forget(cookie)?;
            }
        }
        Ok(())
    }

    /// From the next walk on, all that are known are bounded.
    fn bound(&mut self, window: Bytes, journal: &mut Journal) -> Result<(), BoundError> {
        let mut new = self
            .known
            .iter_mut()
            .filter(|(_, fallback)| !fallback.set)
            .peekable();
        if new.peek().is_none() {
            return Ok(());
        }
        self.lever.need(FallbackLever::load);
        let lever = self.lever.get("the window")?;
        journal.will(Change::FallbackWindow(window))?;
        for (&cookie, fallback) in new {
            lever.set(cookie, window).map_err(LeverError::from)?;
            fallback.set = true;
        }
        self.walks.ask();
        Ok(())
    }

    fn walk(&mut self, now: Instant) -> Result<(), LeverError> {
        if !self.walks.is_due(now) {
            return Ok(());
        }
        let Some(lever) = self.lever.loaded() else {
            return Ok(());
        };
        let began = std::time::Instant::now();
        let sockets = lever.apply();
        let changed = |socket: &ClampedSocket| socket.before != socket.after;
        let changed = sockets.as_ref().is_ok_and(|sockets| sockets.iter().any(changed));
        let every = Some(lever.apply_every()).filter(|_| !self.known.is_empty());
        self.walks.walked(now, began.elapsed(), changed, every);
        for socket in sockets? {
            if let Some(fallback) = self.known.get_mut(&socket.cookie) {
                fallback.outcome = Some(socket);
            }
        }
        Ok(())
    }

    /// The bound on a connection that the engine knew before it fell back.
    pub(crate) fn bound_of(&self, conn: ConnId) -> Option<Bytes> {
        let mut known = self.known.values();
        let fallback = known.find(|fallback| fallback.conn == Some(conn))?;
        let task = self.task.as_ref()?;
        self.standing(fallback).ok().map(|()| task.window)
    }

    /// Those that are bounded, or are to be.
    fn bounded(&self, window: Bytes, controllers: &Controllers) -> Vec<FallbackReport> {
        let report = |fallback: &Fallback| FallbackReport {
            conn: fallback.conn,
            link: fallback.link,
            local: canonical(fallback.ends.local),
            remote: canonical(fallback.ends.remote),
            cause: fallback.cause,
            bound: Some(FallbackBound {
                asked: window,
                done: self.standing(fallback),
            }),
            controller: controllers.of_socket(fallback.ends.local, fallback.ends.remote),
        };
        self.known.values().map(report).collect()
    }

    fn standing(&self, fallback: &Fallback) -> Result<(), String> {
        match (fallback.outcome, &self.failed) {
            (Some(ClampedSocket { errno: 0, .. }), _) => Ok(()),
            (Some(ClampedSocket { errno, .. }), _) => Err(format!(
                "the kernel refused it: {}",
                io::Error::from_raw_os_error(errno)
            )),
            (None, Some(why)) => Err(why.clone()),
            (None, None) => Err("it was found just now".to_owned()),
        }
    }

    /// Connections that fell back, as they are now.
    pub(crate) fn report(
        &self,
        flows: &Flows,
        links: &Links,
        controllers: &Controllers,
    ) -> Vec<FallbackReport> {
        if let Some(task) = &self.task {
            return self.bounded(task.window, controllers);
        }
        let mut seen = Vec::new();
        let listed = Diag::open().map_err(|_| ()).and_then(|mut diag| {
            let look = |socket: &TcpSocket| seen.extend(Seen::new(flows, socket));
            diag.each_tcp(States::CONNECTED, look).map_err(|_| ())
        });
        // A report without them is better than none.
        let seen = listed.map(|()| seen).unwrap_or_default();
        let report = |seen: Seen| {
            Some(FallbackReport {
                conn: seen.conn,
                link: links.owner_of(&seen.ends)?,
                local: canonical(seen.ends.local),
                remote: canonical(seen.ends.remote),
                cause: seen.cause,
                bound: None,
                controller: controllers.of_socket(seen.ends.local, seen.ends.remote),
            })
        };
        seen.into_iter().filter_map(report).collect()
    }

    /// Finds connections that fell back and bounds them, when it is time and where it is asked for.
    pub(crate) fn mind(&mut self, now: Instant, flows: &Flows, links: &Links, host: &mut Host) {
        let looks = self.is_look_due(now);
        let looked = if looks {
            self.look(now, flows, links, &mut host.settings.journal)
        } else {
            Ok(())
        };
        let bounded = looked.and_then(|()| Ok(self.walk(now)?));
        match bounded {
            Ok(()) if looks => self.failed = None,
            Ok(()) => {}
            Err(error) => self.cannot_bound(&error, &mut host.outlet),
        }
    }

    fn look(
        &mut self,
        now: Instant,
        flows: &Flows,
        links: &Links,
        journal: &mut Journal,
    ) -> Result<(), BoundError> {
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        let (began, window) = (std::time::Instant::now(), task.window);
        let mut seen = Vec::new();
        let listed = task.diag.each_tcp(States::CONNECTED, |socket| {
            seen.extend(Seen::new(flows, socket));
        });
        task.next_look = now + LOOK_EVERY.max(began.elapsed() * PAUSE_PER_LOOK);
        listed?;
        let ours = |seen: Seen| {
            let link = links.owner_of(&seen.ends)?;
            Some((seen, link))
        };
        let seen = seen.into_iter().filter_map(ours).collect();
        self.take(seen)?;
        self.bound(window, journal)
    }

    /// Said once, and in every report.
    fn cannot_bound(&mut self, error: &BoundError, outlet: &mut Outlet) {
        let why = chain(error);
        if self.failed.as_ref() != Some(&why) {
            outlet.trouble("bounding connections that fell back to plain TCP", error);
        }
        self.failed = Some(why);
    }

    /// What the program took so far, if somebody counts.
    pub(crate) fn run_time(&self) -> Duration {
        let time = self.lever.get_ref().map(FallbackLever::run_time);
        time.and_then(Result::ok)
            .map_or(Duration::ZERO, |RunTime { time, .. }| time)
    }
}

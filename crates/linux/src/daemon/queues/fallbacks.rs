//! Connections that fell back to plain TCP: reports them and, on request, limits what their peers may have in
//! flight.
//!
//! The engine leaves them alone: they have one path and no MPTCP. The kernel sends no event for those that
//! fell back in their handshake. So sockets are listed for each report and, while a limit is requested, from
//! time to time. These count:
//!
//! - sockets that a program of this host opened for MPTCP to a peer that has not agreed. They have a token if
//!   they asked the peer. They have none if the kernel has stopped asking because a middlebox drops SYNs with
//!   MPTCP options;
//! - sockets of connections that the engine knew and that fell back later.
//!
//! Both only over our links.
//!
//! # Sources
//! - RFC 8684 §3.7; net/mptcp/subflow.c (`subflow_finish_connect`), net/mptcp/ctrl.c
//!   (`mptcp_active_should_disable`), net/mptcp/diag.c (`subflow_get_info`), Linux 6.18.
//!
//! # Where we differ, and why
//! 1. Listing costs 0.5 ms or more, and no event could replace it. So sockets are listed every 200 ms, or
//!    less often to use at most 1/50 of a CPU. What a server queues before that is not prevented.
//! 2. A limit ends with its socket, so nothing is removed then. The journal removes what is left at the end
//!    or by a crash.
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

/// Interval between lists of sockets.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Minimum pause between lists, as a multiple of the time that the last list took.
const PAUSE_PER_LOOK: u32 = 50;
/// A socket missing from this many lists in a row is closed. One list may omit a socket while others close.
const MISSES: u8 = 3;

/// Why connections that fell back are not limited.
#[derive(Debug, Error)]
enum BoundError {
    /// They cannot be found.
    #[error(transparent)]
    Look(#[from] DiagError),
    /// The limit could not be put on record.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The lever could not be set.
    #[error(transparent)]
    Lever(#[from] LeverError),
}

/// Connections that fell back, and their limits.
#[derive(Debug)]
pub(crate) struct Fallbacks {
    /// The requested limit. `None`: connections are left alone, and listed only for a report.
    task: Option<Task>,
    /// Connections that fell back, by socket cookie.
    known: BTreeMap<u64, Fallback>,
    lever: Lever<FallbackLever>,
    walks: Walks,
    /// Why limits currently fail.
    failed: Option<String>,
}

/// The requested limit, and what it takes to find sockets.
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
    /// Whether the lever has an entry for it.
    set: bool,
    /// Result of the latest walk. `None` before the first.
    outcome: Option<ClampedSocket>,
}

/// What a list shows of one socket.
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

/// Whether this subflow's connection fell back. Only a socket opened for MPTCP is a subflow, and the
/// accepting end has always agreed.
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

    /// Records the sockets of one list.
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

    /// Limits all known connections from the next walk on.
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

    /// The limit on a connection that the engine knew before it fell back.
    pub(crate) fn bound_of(&self, conn: ConnId) -> Option<Bytes> {
        let mut known = self.known.values();
        let fallback = known.find(|fallback| fallback.conn == Some(conn))?;
        let task = self.task.as_ref()?;
        self.standing(fallback).ok().map(|()| task.window)
    }

    /// The connections that are limited, or are about to be.
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

    /// Lists the connections that fell back.
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
        // If listing fails, the report lacks these connections.
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

    /// Finds connections that fell back and limits them, if requested and due.
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

    /// Logs the error once. Every report has it.
    fn cannot_bound(&mut self, error: &BoundError, outlet: &mut Outlet) {
        let why = chain(error);
        if self.failed.as_ref() != Some(&why) {
            outlet.trouble("limiting connections that fell back to plain TCP", error);
        }
        self.failed = Some(why);
    }

    /// CPU time of the program so far, if the kernel counts it.
    pub(crate) fn run_time(&self) -> Duration {
        let time = self.lever.get_ref().map(FallbackLever::run_time);
        time.and_then(Result::ok)
            .map_or(Duration::ZERO, |RunTime { time, .. }| time)
    }
}

//! The levers on a connection's queues: which are in force, and their settings.
//!
//! | limit | lever | otherwise |
//! |---|---|---|
//! | how far ahead the peer may send | [`WindowLever`] on every link | receive buffer of *new* connections |
//! | unsent bytes on our subflows | [`UnsentLever`] | none, and the report says so |
//! | pacing rate of a subflow, for a short time | [`Caps`] | none: every such action fails |
//!
//! A kernel that lacks the last lever lacks the second too. The receive buffer of new connections is
//! `tcp_rmem`: see [`crate::daemon::host::settings`].
//!
//! A policy that limits queues loads all levers at the start. Otherwise each is loaded when it is first
//! needed, so that baselines without levers run on an unmodified kernel. The better way to limit windows may
//! fail to attach to an interface that a connection uses. Then all windows are limited the other way from
//! then on, unless the setup names one way. If the other way fails too, the better one stays on the
//! interfaces that take it. New connections are then limited as if neither existed.
//!
//! # Where we differ, and why
//! 1. The kernel never lifts an unsent limit, so sockets are walked when a limit was set or a subflow joined,
//!    and not on a timer. Autotuning lifts a window clamp, so clamps need the timer
//!    ([`crate::daemon::queues::walks`]).
//! 2. Unsent limits, caps and clamps stay on the sockets of a process that dies. They are put on record
//!    before the first one is set, not at the start: if the better way limits windows and nobody uploads,
//!    nothing has to be removed.
//!
//! # Checked by
//! `daemon::tests::levers`, `daemon::tests::undone`.

use crate::bpf::{
    AttachError, Hook, LoadError, MapError, Pass, PassError, RunTime, UnsentLever, WindowKind, WindowLever,
};
use crate::daemon::api::report::LeverReport;
use crate::daemon::queues::caps::{Cap, Caps};
use crate::daemon::queues::passage::{Passage, Turn, cause};
use crate::daemon::queues::walks::Walks;
use crate::journal::{Change, Journal, JournalError};
use crate::rtnl::IfName;
use policy::{Ahead, ConnId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use thiserror::Error;
use units::{Bytes, Instant};

/// Why a lever could not be set.
#[derive(Debug, Error)]
pub enum LeverError {
    /// The lever is not loaded. Logged once when loading failed, and in every report.
    #[error("this kernel cannot limit {what} of a running connection: {why}")]
    NotLoaded {
        /// What it would limit.
        what: &'static str,
        /// Why it is not loaded.
        why: String,
    },
    /// The connection's limit could not be written.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The sockets could not be walked.
    #[error(transparent)]
    Walk(#[from] PassError),
    /// The limits that stay on sockets could not be put on record.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A lever: untried, loaded, or failed to load.
#[derive(Debug)]
pub(crate) enum Lever<T> {
    Untried,
    Loaded(T),
    Missing(LoadError),
}

impl<T> Lever<T> {
    pub(crate) fn loaded(&mut self) -> Option<&mut T> {
        match self {
            Self::Loaded(lever) => Some(lever),
            Self::Untried | Self::Missing(_) => None,
        }
    }

    pub(crate) const fn get_ref(&self) -> Option<&T> {
        match self {
            Self::Loaded(lever) => Some(lever),
            Self::Untried | Self::Missing(_) => None,
        }
    }

    pub(crate) fn need(&mut self, load: impl FnOnce() -> Result<T, LoadError>) {
        if matches!(self, Self::Untried) {
            *self = load().map_or_else(Self::Missing, Self::Loaded);
        }
    }

    pub(crate) fn get(&mut self, what: &'static str) -> Result<&mut T, LeverError> {
        match self {
            Self::Loaded(lever) => Ok(lever),
            Self::Missing(error) => Err(LeverError::NotLoaded {
                what,
                why: crate::daemon::api::error::chain(error),
            }),
            Self::Untried => unreachable!("a lever is tried before it is pulled"),
        }
    }
}

/// All levers and their settings.
#[derive(Debug)]
pub(crate) struct Levers {
    way: Option<WindowKind>,
    window: Lever<WindowLever>,
    unsent: Lever<UnsentLever>,
    caps: Caps,
    interfaces: BTreeSet<u32>,
    /// Interfaces that the window program could not be attached to or that it sees no packets of, and why.
    unattached: BTreeMap<u32, String>,
    passage: Passage,
    /// Why the other way was tried. It is tried once.
    fell_back: Option<String>,
    /// Why the other way failed too.
    no_other_way: Option<String>,
    windows: BTreeMap<ConnId, Ahead>,
    unsents: BTreeMap<ConnId, Bytes>,
    window_walks: Walks,
    unsent_walks: Walks,
}

impl Levers {
    /// Limits windows in this way, or in the best available one.
    pub(crate) fn new(way: Option<WindowKind>) -> Self {
        Self {
            way,
            window: Lever::Untried,
            unsent: Lever::Untried,
            caps: Caps::new(),
            interfaces: BTreeSet::new(),
            unattached: BTreeMap::new(),
            passage: Passage::default(),
            fell_back: None,
            no_other_way: None,
            windows: BTreeMap::new(),
            unsents: BTreeMap::new(),
            window_walks: Walks::default(),
            unsent_walks: Walks::default(),
        }
    }

    /// Loads all levers now, not while the first connection runs. Returns the links that could not be
    /// attached.
    pub(crate) fn load(&mut self) -> Vec<AttachError> {
        self.unsent.need(UnsentLever::load);
        self.caps.load();
        self.load_window()
    }

    /// Loads the window lever, once. To attach it anew would remove it from every link for an RCU grace
    /// period.
    fn load_window(&mut self) -> Vec<AttachError> {
        if !matches!(self.window, Lever::Untried) {
            return Vec::new();
        }
        let way = self.way;
        self.window
            .need(|| way.map_or_else(WindowLever::load, WindowLever::load_kind));
        let Some(window) = self.window.loaded() else {
            return Vec::new();
        };
        let attach = |&ifindex: &u32| {
            let error = window.attach(ifindex).err()?;
            note_unattached(&mut self.unattached, ifindex, &error);
            Some(error)
        };
        self.interfaces.iter().filter_map(attach).collect()
    }

    pub(crate) fn attach(&mut self, ifindex: u32) -> Result<(), AttachError> {
        self.interfaces.insert(ifindex);
        self.passage.forget(ifindex);
        let Some(window) = self.window.loaded() else {
            return Ok(());
        };
        self.unattached.remove(&ifindex);
        let attached = window.attach(ifindex);
        if let Err(error) = &attached {
            note_unattached(&mut self.unattached, ifindex, error);
        }
        attached
    }

    /// Compares the packets that the interface has sent with those that reached the window program. Returns
    /// why none do, when that is found.
    pub(crate) fn mind_passage(&mut self, ifindex: u32, name: IfName, sent: u64) -> Option<String> {
        let window = self.window.get_ref()?;
        let ours = window.passed(ifindex).ok()??;
        match self.passage.look(ifindex, sent, ours)? {
            Turn::Cleared => {
                self.unattached.remove(&ifindex);
                None
            }
            Turn::Blocked => {
                let why = cause(Hook::Egress, name, window.ahead(ifindex));
                self.passage.block(ifindex, why.clone());
                self.unattached.insert(ifindex, why.clone());
                Some(why)
            }
        }
    }

    /// Whether there is an interface on which windows are not limited.
    pub(crate) fn has_unattached(&self) -> bool {
        !self.unattached.is_empty()
    }

    /// Connections use these interfaces. If one of them could not be attached, limits windows the other way
    /// from now on.
    pub(crate) fn used(
        &mut self,
        interfaces: impl Iterator<Item = u32>,
        journal: &mut Journal,
    ) -> Result<(), LeverError> {
        let mut whys = interfaces.filter_map(|ifindex| self.unattached.get(&ifindex));
        let Some(why) = whys
            .next()
            .filter(|_| self.way.is_none() && self.fell_back.is_none())
        else {
            return Ok(());
        };
        self.fell_back = Some(why.clone());
        let loaded = WindowLever::load_kind(WindowKind::Clamp);
        let mut clamp = loaded.map_err(|error| self.cannot_go_the_other_way(&error))?;
        journal.will(Change::SocketLimits)?;
        for (&conn, ahead) in &self.windows {
            clamp.set(conn, ahead.window)?;
        }
        self.window = Lever::Loaded(clamp);
        self.unattached.clear();
        self.walk_for_windows();
        Ok(())
    }

    fn cannot_go_the_other_way(&mut self, error: &LoadError) -> LeverError {
        let why = crate::daemon::api::error::chain(error);
        self.no_other_way = Some(why.clone());
        LeverError::NotLoaded {
            what: "the window",
            why,
        }
    }

    /// The usual windows of connections, if on some interface nothing limits them.
    pub(crate) fn unbounded(&self) -> impl Iterator<Item = (ConnId, Bytes)> {
        let some_are = self.no_other_way.is_some() && self.has_unattached();
        let windows = self.windows.iter().filter(move |_| some_are);
        windows.map(|(&conn, ahead)| (conn, ahead.usual()))
    }

    pub(crate) fn detach(&mut self, ifindex: u32) {
        self.interfaces.remove(&ifindex);
        self.unattached.remove(&ifindex);
        self.passage.forget(ifindex);
        if let Some(window) = self.window.loaded() {
            window.detach(ifindex);
        }
    }

    pub(crate) fn window(
        &mut self,
        conn: ConnId,
        ahead: Option<Ahead>,
        journal: &mut Journal,
    ) -> Result<(), LeverError> {
        self.load_window();
        let lever = self.window.get("the window")?;
        match ahead {
            Some(ahead) => {
                if lever.kind() == WindowKind::Clamp {
                    journal.will(Change::SocketLimits)?;
                }
                lever.set(conn, ahead.window)?;
            }
            None => lever.clear(conn)?,
        }
        self.walk_for_windows();
        note(&mut self.windows, conn, ahead);
        Ok(())
    }

    /// Ends a subflow by calling `end`. If the window is limited, keeps the last packets that the kernel
    /// sends over it from undoing the limit.
    pub(crate) fn parting<T>(
        &mut self,
        conn: ConnId,
        local_port: u16,
        end: impl FnOnce() -> T,
    ) -> (T, Result<(), LeverError>) {
        let bounded = self.windows.get(&conn).copied().zip(self.window.loaded());
        let Some((Ahead { window, .. }, lever)) = bounded else {
            return (end(), Ok(()));
        };
        let parting = lever.part(conn, window, local_port);
        let ended = end();
        let parted = parting.and_then(|()| lever.set(conn, window));
        (ended, parted.map_err(LeverError::from))
    }

    pub(crate) fn unsent(
        &mut self,
        conn: ConnId,
        bytes: Option<Bytes>,
        journal: &mut Journal,
    ) -> Result<(), LeverError> {
        self.unsent.need(UnsentLever::load);
        let lever = self.unsent.get("what waits unsent on the subflows")?;
        match bytes {
            Some(bytes) => {
                journal.will(Change::SocketLimits)?;
                lever.set(conn, bytes)?;
            }
            None => lever.clear(conn)?,
        }
        self.unsent_walks.ask();
        note(&mut self.unsents, conn, bytes);
        Ok(())
    }

    pub(crate) fn cap_pacing(&mut self, cap: Cap, journal: &mut Journal) -> Result<(), LeverError> {
        self.caps.put_on(cap, journal)
    }

    /// A new subflow has no limits yet: asks for a walk.
    pub(crate) fn subflow_joined(&mut self) {
        if !self.unsents.is_empty() {
            self.unsent_walks.ask();
        }
        if !self.windows.is_empty() {
            self.walk_for_windows();
        }
    }

    /// Asks for a walk if the window is set on sockets.
    fn walk_for_windows(&mut self) {
        if self.apply_every().is_some() {
            self.window_walks.ask();
        }
    }

    fn apply_every(&self) -> Option<Duration> {
        self.window.get_ref().and_then(WindowLever::apply_every)
    }

    /// Releases the limits of a connection that is left alone. A walk restores its sockets soon.
    pub(crate) fn leave_alone(&mut self, conn: ConnId) -> Result<(), LeverError> {
        if self.windows.contains_key(&conn) {
            self.walk_for_windows();
        }
        if self.unsents.contains_key(&conn) {
            self.unsent_walks.ask();
        }
        self.release(conn)
    }

    /// Releases the limits of a connection that is gone with its sockets. No walk is needed, however many
    /// close at once. If one release fails, the others still run.
    pub(crate) fn release(&mut self, conn: ConnId) -> Result<(), LeverError> {
        let window = match self.window.loaded() {
            Some(window) if self.windows.remove(&conn).is_some() => window.clear(conn),
            _ => Ok(()),
        };
        let unsent = match self.unsent.loaded() {
            Some(unsent) if self.unsents.remove(&conn).is_some() => unsent.clear(conn),
            _ => Ok(()),
        };
        let caps = self.caps.release(conn);
        window?;
        unsent?;
        caps
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let walks = [self.window_walks.wake_at(), self.unsent_walks.wake_at()];
        let times = walks.into_iter().chain([self.caps.wake_at()]);
        times.flatten().min()
    }

    /// Does what is due, caps first.
    pub(crate) fn tick(&mut self, now: Instant) -> Result<(), LeverError> {
        let caps = self.caps.tick(now);
        if self.window_walks.is_due(now) {
            let every = self.apply_every().filter(|_| !self.windows.is_empty());
            if let Some(window) = self.window.loaded() {
                walk(now, &mut self.window_walks, every, || window.apply())?;
            }
        }
        if self.unsent_walks.is_due(now)
            && let Some(unsent) = self.unsent.loaded()
        {
            walk(now, &mut self.unsent_walks, None, || unsent.apply())?;
        }
        caps
    }

    /// Releases everything that outlives the levers, as far as possible.
    pub(crate) fn release_all(&mut self) -> Result<(), LeverError> {
        let window = self.window.loaded().map(WindowLever::release).transpose();
        let unsent = self.unsent.loaded().map(UnsentLever::release).transpose();
        let caps = self.caps.release_all();
        window?;
        unsent?;
        caps
    }

    /// The window to which clamps on its sockets limit a connection.
    pub(crate) fn clamped_to(&self, conn: ConnId) -> Option<Bytes> {
        let kind = self.window.get_ref().map(WindowLever::kind);
        let ahead = self.windows.get(&conn)?;
        (kind == Some(WindowKind::Clamp)).then_some(ahead.window)
    }

    pub(crate) fn bounds_of(&self, conn: ConnId) -> (Option<Bytes>, Option<Bytes>) {
        (
            self.windows.get(&conn).map(|ahead| ahead.window),
            self.unsents.get(&conn).copied(),
        )
    }

    pub(crate) fn report(&self, new_connections: Option<Bytes>) -> LeverReport {
        let untried = || "not needed so far".to_owned();
        LeverReport {
            window: match &self.window {
                Lever::Loaded(window) => Ok(window.kind()),
                Lever::Missing(error) => Err(crate::daemon::api::error::chain(error)),
                Lever::Untried => Err(untried()),
            },
            window_refused: self.window_refused(),
            unattached: self.unattached.clone(),
            no_other_way: self.no_other_way.clone().filter(|_| self.has_unattached()),
            new_connections,
            unsent: match &self.unsent {
                Lever::Loaded(_) => Ok(()),
                Lever::Missing(error) => Err(crate::daemon::api::error::chain(error)),
                Lever::Untried => Err(untried()),
            },
            run_time: self.run_time(),
        }
    }

    fn window_refused(&self) -> Option<String> {
        let window = self.window.get_ref()?;
        let fell_back = self
            .fell_back
            .clone()
            .filter(|_| window.kind() == WindowKind::Clamp);
        fell_back.or_else(|| {
            window
                .refused()
                .map(|error| crate::daemon::api::error::chain(error))
        })
    }

    /// CPU time of the programs so far, if the kernel counts it.
    fn run_time(&self) -> Duration {
        let window = self.window.get_ref().map(WindowLever::run_time);
        let unsent = self.unsent.get_ref().map(UnsentLever::run_time);
        let times = [window, unsent].into_iter().flatten().flatten();
        let times = times.chain(self.caps.run_time());
        times.map(|RunTime { time, .. }| time).sum()
    }
}

pub(crate) fn walk(
    now: Instant,
    walks: &mut Walks,
    every: Option<Duration>,
    apply: impl FnOnce() -> Result<Pass, PassError>,
) -> Result<(), LeverError> {
    let began = std::time::Instant::now();
    let pass = apply().inspect_err(|_| walks.failed(now))?;
    walks.walked(now, began.elapsed(), pass.changed() > 0, every);
    Ok(())
}

/// Records why an interface could not be attached, unless the interface is gone.
fn note_unattached(unattached: &mut BTreeMap<u32, String>, ifindex: u32, error: &AttachError) {
    if !matches!(error, AttachError::NoInterface(_)) {
        unattached.insert(ifindex, crate::daemon::api::error::chain(error));
    }
}

fn note<T>(bounds: &mut BTreeMap<ConnId, T>, conn: ConnId, bound: Option<T>) {
    match bound {
        Some(bound) => bounds.insert(conn, bound),
        None => bounds.remove(&conn),
    };
}

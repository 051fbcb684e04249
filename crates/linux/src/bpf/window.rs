//! Limits how far ahead the peer of an MPTCP connection may queue, by means of our receive window.
//!
//! Two methods, tried in this order by [`WindowLever::load`]:
//!
//! 1. [`WindowKind::Egress`]: lowers the window field of every outgoing segment (`bpf/window.bpf.c`, which
//!    explains the field). It acts from the next segment on, releases within 40 ms and ends with the process.
//! 2. [`WindowKind::Clamp`]: TCP_WINDOW_CLAMP on every subflow (`bpf/clamp.bpf.c`). It is coarser, because
//!    autotuning lifts it. Call [`WindowLever::apply`] every [`WindowLever::apply_every`] while it has
//!    something to set again, and occasionally otherwise. Settings stay on the sockets.
//!
//! Callers treat both alike: [`attach`](WindowLever::attach) each link, [`set`](WindowLever::set) and
//! [`clear`](WindowLever::clear) connections, then [`apply`](WindowLever::apply) once.
//!
//! # Where we differ, and why
//! The window's right edge never moves left, so a lowered window takes effect after (old − new) bytes.
//! Nothing shortens that, so lower it early.
//!
//! # Checked by
//! `tests/bpf/window.rs`, `tests/bpf/limits.rs`.

use super::cost::RunTime;
use super::limits::{Limit, Limits, to_bytes};
use super::map::{Map, Plain};
use super::object::{Embedded, embedded};
use super::pass::Pass;
use super::tcx::{Attached, Hook};
use super::{AttachError, LoadError, MapError, PassError, Program};
use policy::ConnId;
use std::io;
use std::time::Duration;
use units::Bytes;

const OBJECT: Embedded = embedded!("window");

/// Interval of renewing clamps. Autotuning was measured to lift a clamp within 2.5 s.
pub(super) const CLAMP_AGAIN: Duration = Duration::from_millis(100);

/// The method of a [`WindowLever`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowKind {
    /// Lowers the window field of every outgoing segment.
    Egress,
    /// Renews a clamp on the subflows periodically.
    Clamp,
}

/// Counters of an egress lever for one connection, from the first window on. They are never reset, so use
/// differences.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowCounters {
    /// Segments sent with an MPTCP option.
    pub segments: u64,
    /// Of those, segments whose window was lowered.
    pub lowered: u64,
    /// Segments left unchanged: SYN, RST or without an MPTCP option.
    pub skipped: u64,
    /// Segments dropped on a subflow that was being closed.
    pub kept: u64,
    /// Segments sent without a DATA_ACK, because the peer would have applied an older, wider window.
    pub muted: u64,
}

// SAFETY: five u64 in C order.
unsafe impl Plain for WindowCounters {}

/// The program's settings for one connection.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Cap {
    bytes: u32,
    /// Local port of a subflow being closed, or 0.
    parting: u32,
}

// SAFETY: two u32 in C order.
unsafe impl Plain for Cap {}

/// Limits the peer's queue per connection. See the module.
#[derive(Debug)]
pub struct WindowLever {
    way: Way,
    refused: Option<LoadError>,
}

#[derive(Debug)]
enum Way {
    Egress(Egress),
    Clamp(Limits<ConnId>),
}

impl WindowLever {
    /// Loads the better method that this kernel supports.
    pub fn load() -> Result<Self, LoadError> {
        Self::or_clamp(Self::load_kind(WindowKind::Egress))
    }

    /// Falls back to a clamp if the kernel lacks the first method. Without capabilities or MPTCP both are
    /// impossible.
    fn or_clamp(egress: Result<Self, LoadError>) -> Result<Self, LoadError> {
        match egress {
            Err(error @ (LoadError::NoTcx | LoadError::Refused { .. })) => {
                let clamp = Self::load_kind(WindowKind::Clamp)?;
                Ok(Self {
                    refused: Some(error),
                    ..clamp
                })
            }
            other => other,
        }
    }

    /// Loads one method, or returns what the kernel lacks.
    pub fn load_kind(kind: WindowKind) -> Result<Self, LoadError> {
        let way = match kind {
            WindowKind::Egress => Way::Egress(Egress::load()?),
            WindowKind::Clamp => Way::Clamp(Limits::load(Limit::Clamp)?),
        };
        Ok(Self { way, refused: None })
    }

    /// The loaded method.
    pub const fn kind(&self) -> WindowKind {
        match self.way {
            Way::Egress(_) => WindowKind::Egress,
            Way::Clamp(_) => WindowKind::Clamp,
        }
    }

    /// Why the better method could not be loaded, or `None` if it is loaded.
    pub const fn refused(&self) -> Option<&LoadError> {
        self.refused.as_ref()
    }

    /// Starts to lower windows on packets that leave on this interface. A clamp needs no attachment, because
    /// it is set on sockets.
    pub fn attach(&mut self, ifindex: u32) -> Result<(), AttachError> {
        match &mut self.way {
            Way::Egress(egress) => egress.attach(ifindex),
            Way::Clamp(_) => Ok(()),
        }
    }

    /// Stops changing packets on this interface. Returns whether it was attached.
    pub fn detach(&mut self, ifindex: u32) -> bool {
        match &mut self.way {
            Way::Egress(egress) => egress.detach(ifindex),
            Way::Clamp(_) => false,
        }
    }

    /// Sets the data that the peer may have unacknowledged at data level. At least two segments are always
    /// allowed.
    pub fn set(&mut self, conn: ConnId, window: Bytes) -> Result<(), MapError> {
        match &mut self.way {
            Way::Egress(egress) => egress.set(conn, window, None),
            Way::Clamp(clamp) => clamp.set(conn, window),
        }
    }

    /// Blocks all segments but resets on the connection's subflow with this local port until the next
    /// [`set`](Self::set). Call it just before closing that subflow. The kernel's last segment on it would
    /// otherwise widen the window to its value when the subflow last carried data. A clamp cannot prevent
    /// that.
    pub fn part(&mut self, conn: ConnId, window: Bytes, local_port: u16) -> Result<(), MapError> {
        match &mut self.way {
            Way::Egress(egress) => egress.set(conn, window, Some(local_port)),
            Way::Clamp(_) => Ok(()),
        }
    }

    /// Restores the kernel's window. Call it also for a closed connection.
    pub fn clear(&mut self, conn: ConnId) -> Result<(), MapError> {
        match &mut self.way {
            Way::Egress(egress) => egress.clear(conn),
            Way::Clamp(clamp) => clamp.clear(conn),
        }
    }

    /// Applies the settings. A no-op for [`WindowKind::Egress`], and one walk over the sockets for
    /// [`WindowKind::Clamp`].
    pub fn apply(&mut self) -> Result<Pass, PassError> {
        match &mut self.way {
            Way::Egress(_) => Ok(Pass::default()),
            Way::Clamp(clamp) => clamp.apply(),
        }
    }

    /// Interval for calling [`WindowLever::apply`] while it still changes something, even if nothing was set.
    pub const fn apply_every(&self) -> Option<Duration> {
        match self.way {
            Way::Egress(_) => None,
            Way::Clamp(_) => Some(CLAMP_AGAIN),
        }
    }

    /// A connection's counters. `None` without a window, and for [`WindowKind::Clamp`], which counts in
    /// [`Pass`].
    pub fn counters(&self, conn: ConnId) -> Result<Option<WindowCounters>, MapError> {
        match &self.way {
            Way::Egress(egress) => Ok(egress.tallies.value(conn.0)?),
            Way::Clamp(_) => Ok(None),
        }
    }

    /// Packets of any kind seen by the program on this interface. `None` if it is not attached, and for
    /// [`WindowKind::Clamp`]. Use differences. If it does not grow although the interface sends, another
    /// program ends the chain before this one.
    pub fn passed(&self, ifindex: u32) -> Result<Option<u64>, MapError> {
        match &self.way {
            Way::Egress(egress) if egress.attached.is_on(ifindex) => Ok(egress.passed.value(ifindex)?),
            Way::Egress(_) | Way::Clamp(_) => Ok(None),
        }
    }

    /// The programs that run before this one on the interface. None for [`WindowKind::Clamp`].
    pub fn ahead(&self, ifindex: u32) -> io::Result<Vec<Program>> {
        match &self.way {
            Way::Egress(egress) => egress.attached.ahead(ifindex),
            Way::Clamp(_) => Ok(Vec::new()),
        }
    }

    /// The program's run time, counted while [`CountRunTime`](super::CountRunTime) is active.
    pub fn run_time(&self) -> io::Result<RunTime> {
        match &self.way {
            Way::Egress(egress) => egress.attached.run_time(),
            Way::Clamp(clamp) => clamp.run_time(),
        }
    }

    /// Restores everything that outlives this value. Call it before drop.
    pub fn release(&mut self) -> Result<Pass, PassError> {
        match &mut self.way {
            Way::Egress(_) => Ok(Pass::default()),
            Way::Clamp(clamp) => clamp.release(),
        }
    }
}

#[derive(Debug)]
struct Egress {
    attached: Attached,
    caps: Map<u32, Cap>,
    tallies: Map<u32, WindowCounters>,
    /// Packets seen by the program, by interface index.
    passed: Map<u32, u64>,
}

impl Egress {
    fn load() -> Result<Self, LoadError> {
        let loaded = OBJECT.load(&["window"])?;
        let program = loaded.program("window").map_err(LoadError::Exhausted)?;
        let attached = Attached::new(program, Hook::Egress);
        if !attached.is_supported() {
            return Err(LoadError::NoTcx);
        }
        let caps = loaded.map("caps").map_err(LoadError::Exhausted)?;
        let tallies = loaded.map("tallies").map_err(LoadError::Exhausted)?;
        let passed = loaded.map("passed").map_err(LoadError::Exhausted)?;
        Ok(Self {
            attached,
            caps,
            tallies,
            passed,
        })
    }

    /// Attaches and starts to count from the first packet.
    fn attach(&mut self, ifindex: u32) -> Result<(), AttachError> {
        let counting = self.passed.set(ifindex, 0);
        counting.map_err(|source| AttachError::Kernel { ifindex, source })?;
        self.attached.attach(ifindex)
    }

    fn detach(&mut self, ifindex: u32) -> bool {
        let was_on = self.attached.detach(ifindex);
        // The next attachment overwrites what remains.
        let _ = self.passed.remove(ifindex);
        was_on
    }

    /// Adds the counters first, so that lowered windows are counted from the first segment on.
    fn set(&self, conn: ConnId, window: Bytes, parting: Option<u16>) -> Result<(), MapError> {
        self.tallies.insert(conn.0, WindowCounters::default())?;
        let cap = Cap {
            bytes: to_bytes(window),
            parting: parting.unwrap_or(0).into(),
        };
        Ok(self.caps.set(conn.0, cap)?)
    }

    fn clear(&self, conn: ConnId) -> Result<(), MapError> {
        self.caps.remove(conn.0)?;
        self.tallies.remove(conn.0)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_capabilities_there_is_no_fallback() {
        let lever = WindowLever::or_clamp(Err(LoadError::NotPermitted(vec!["CAP_BPF"])));
        assert!(matches!(lever, Err(LoadError::NotPermitted(_))), "{lever:?}");
    }

    #[test]
    fn without_tcx_the_clamp_is_loaded_with_the_reason() {
        // SAFETY: no arguments, no memory.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: needs root for BPF");
            return;
        }
        let lever = WindowLever::or_clamp(Err(LoadError::NoTcx)).expect("this kernel has iterators");
        assert_eq!(lever.kind(), WindowKind::Clamp);
        assert!(matches!(lever.refused(), Some(LoadError::NoTcx)));
        assert!(lever.apply_every().is_some());
    }
}

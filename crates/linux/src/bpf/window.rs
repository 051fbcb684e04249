//! Bounds how far ahead the peer of an MPTCP connection may queue, by the window that we advertise.
//!
//! Two ways, tried in this order by [`WindowLever::load`]:
//!
//! 1. [`WindowKind::Egress`]: every outgoing segment's window field is lowered on its way out (`bpf/window.bpf.c`, where the
//!    meaning of the field is written down). Acts on the next segment, releases within 40 ms, gone with the process.
//! 2. [`WindowKind::Clamp`]: TCP_WINDOW_CLAMP on every subflow (`bpf/clamp.bpf.c`). Coarser: autotuning lifts it, so
//!    [`WindowLever::apply`] must be called every [`WindowLever::apply_every`] while it finds something to set again, and now and then while it
//!    does not; what is set stays on the sockets.
//!
//! Callers treat both alike: [`attach`](WindowLever::attach) each link, [`set`](WindowLever::set) and
//! [`clear`](WindowLever::clear) connections, then [`apply`](WindowLever::apply) once.
//!
//! # Where we differ, and why
//! The peer's right edge never moves left, so a lowered window takes (old − new) bytes to be felt. No trick hurries it: come
//! down in time.
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

/// Autotuning was seen to lift a clamp within 2.5 s.
pub(super) const CLAMP_AGAIN: Duration = Duration::from_millis(100);

/// Which of the two ways a [`WindowLever`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowKind {
    /// The window field of every segment is lowered as it leaves.
    Egress,
    /// The subflows' own limit is set again and again.
    Clamp,
}

/// What an egress lever did to one connection since its window was first set. Read differences: nothing resets them.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowCounters {
    /// Segments that left with an MPTCP option.
    pub segments: u64,
    /// Of those, segments whose window was lowered.
    pub lowered: u64,
    /// Segments that were left alone: SYN, RST or without an MPTCP option.
    pub skipped: u64,
    /// Segments that did not leave, of a subflow that was just being ended.
    pub kept: u64,
    /// Segments that left without a DATA_ACK: the peer would have added an older, wider window to it.
    pub muted: u64,
}

// SAFETY: five u64 in C order.
unsafe impl Plain for WindowCounters {}

/// What the program is asked to do with one connection.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Cap {
    bytes: u32,
    /// A local port, or 0.
    parting: u32,
}

// SAFETY: two u32 in C order.
unsafe impl Plain for Cap {}

/// Bounds the peer's queue, per connection. See the module.
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
    /// Loads the better way that this kernel offers.
    pub fn load() -> Result<Self, LoadError> {
        Self::or_clamp(Self::load_kind(WindowKind::Egress))
    }

    /// A kernel that cannot do the one may do the other; without rights or MPTCP neither can be.
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

    /// Loads one way, or says what it lacks.
    pub fn load_kind(kind: WindowKind) -> Result<Self, LoadError> {
        let way = match kind {
            WindowKind::Egress => Way::Egress(Egress::load()?),
            WindowKind::Clamp => Way::Clamp(Limits::load(Limit::Clamp)?),
        };
        Ok(Self { way, refused: None })
    }

    /// The way that was loaded.
    pub const fn kind(&self) -> WindowKind {
        match self.way {
            Way::Egress(_) => WindowKind::Egress,
            Way::Clamp(_) => WindowKind::Clamp,
        }
    }

    /// Why the better way could not be loaded, if it could not.
    pub const fn refused(&self) -> Option<&LoadError> {
        self.refused.as_ref()
    }

    /// Lowers windows on what leaves by this interface from now on. A clamp needs no attaching: it sits on the sockets.
    pub fn attach(&mut self, ifindex: u32) -> Result<(), AttachError> {
        match &mut self.way {
            Way::Egress(egress) => egress.attach(ifindex),
            Way::Clamp(_) => Ok(()),
        }
    }

    /// Leaves this interface alone; says whether it was attached.
    pub fn detach(&mut self, ifindex: u32) -> bool {
        match &mut self.way {
            Way::Egress(egress) => egress.detach(ifindex),
            Way::Clamp(_) => false,
        }
    }

    /// From now on the peer may have this much unacknowledged at data level. At least two segments are always allowed.
    pub fn set(&mut self, conn: ConnId, window: Bytes) -> Result<(), MapError> {
        match &mut self.way {
            Way::Egress(egress) => egress.set(conn, window, None),
            Way::Clamp(clamp) => clamp.set(conn, window),
        }
    }

    /// Until the next [`set`](Self::set), nothing but a reset leaves over the connection's subflow with this local port, which is about to be
    /// ended: the kernel's last word over it would open the window by what it was when that subflow last carried something. A clamp cannot
    /// prevent that.
    pub fn part(&mut self, conn: ConnId, window: Bytes, local_port: u16) -> Result<(), MapError> {
        match &mut self.way {
            Way::Egress(egress) => egress.set(conn, window, Some(local_port)),
            Way::Clamp(_) => Ok(()),
        }
    }

    /// From now on the kernel decides again. Also to be called when the connection has closed.
    pub fn clear(&mut self, conn: ConnId) -> Result<(), MapError> {
        match &mut self.way {
            Way::Egress(egress) => egress.clear(conn),
            Way::Clamp(clamp) => clamp.clear(conn),
        }
    }

    /// Makes the settings felt. Nothing to do for [`WindowKind::Egress`]; one walk over the sockets for [`WindowKind::Clamp`].
    pub fn apply(&mut self) -> Result<Pass, PassError> {
        match &mut self.way {
            Way::Egress(_) => Ok(Pass::default()),
            Way::Clamp(clamp) => clamp.apply(),
        }
    }

    /// How often [`WindowLever::apply`] has to be called although nothing was set, as long as it changes something.
    pub const fn apply_every(&self) -> Option<Duration> {
        match self.way {
            Way::Egress(_) => None,
            Way::Clamp(_) => Some(CLAMP_AGAIN),
        }
    }

    /// What was done to a connection; `None` without a window, and for [`WindowKind::Clamp`], which counts in [`Pass`].
    pub fn counters(&self, conn: ConnId) -> Result<Option<WindowCounters>, MapError> {
        match &self.way {
            Way::Egress(egress) => Ok(egress.tallies.value(conn.0)?),
            Way::Clamp(_) => Ok(None),
        }
    }

    /// Packets of any kind that have reached the program on this interface; `None` where it is not attached, and for [`WindowKind::Clamp`]. Read differences. Where
    /// it stands still although the interface sends, another program ends the chain before ours.
    pub fn passed(&self, ifindex: u32) -> Result<Option<u64>, MapError> {
        match &self.way {
            Way::Egress(egress) if egress.attached.is_on(ifindex) => Ok(egress.passed.value(ifindex)?),
            Way::Egress(_) | Way::Clamp(_) => Ok(None),
        }
    }

    /// The programs that run before ours on this interface; none for [`WindowKind::Clamp`].
    pub fn ahead(&self, ifindex: u32) -> io::Result<Vec<Program>> {
        match &self.way {
            Way::Egress(egress) => egress.attached.ahead(ifindex),
            Way::Clamp(_) => Ok(Vec::new()),
        }
    }

    /// What the program took so far, if somebody counts ([`CountRunTime`](super::CountRunTime)).
    pub fn run_time(&self) -> io::Result<RunTime> {
        match &self.way {
            Way::Egress(egress) => egress.attached.run_time(),
            Way::Clamp(clamp) => clamp.run_time(),
        }
    }

    /// Takes everything back that outlives this value. To be called before dropping it.
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
    /// What has reached the program, by the interface's index.
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

    /// Counts from the first packet on.
    fn attach(&mut self, ifindex: u32) -> Result<(), AttachError> {
        let counting = self.passed.set(ifindex, 0);
        counting.map_err(|source| AttachError::Kernel { ifindex, source })?;
        self.attached.attach(ifindex)
    }

    fn detach(&mut self, ifindex: u32) -> bool {
        let was_on = self.attached.detach(ifindex);
        // What is left is written over by the next attachment.
        let _ = self.passed.remove(ifindex);
        was_on
    }

    /// The tally first: what is lowered is counted from the first segment on.
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
    fn without_rights_there_is_no_second_way() {
        let lever = WindowLever::or_clamp(Err(LoadError::NotPermitted(vec!["CAP_BPF"])));
        assert!(matches!(lever, Err(LoadError::NotPermitted(_))), "{lever:?}");
    }

    #[test]
    fn without_tcx_the_clamp_is_loaded_and_says_why() {
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

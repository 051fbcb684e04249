//! A controller without any work, to measure the cost of calling one.

use super::controller::{register, rename};
use super::{CcError, ControllerName, missing};
use crate::bpf::LoadError;
use crate::bpf::cost::{RunTime, run_time};
use crate::bpf::object::{Embedded, embedded};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

const EMPTY: Embedded = embedded!("cc/empty");
const ID: &str = "empty";

/// For measurements only: its window never grows.
#[derive(Debug)]
pub struct Empty {
    name: ControllerName,
    per_ack: OwnedFd,
    _link: OwnedFd,
}

impl Empty {
    /// Loads it into the kernel until drop, under a name with the process id.
    pub fn load() -> Result<Self, CcError> {
        if let Some(missing) = missing() {
            return Err(missing.into());
        }
        let name: ControllerName = format!("slow_e{}", std::process::id())
            .parse()
            .expect("a prefix and at most seven digits");
        let programs = ["empty_avoid", "empty_ssthresh", "empty_undo"];
        let mut loaded = EMPTY.load_changed(&programs, |open| rename(open, ID, &name))?;
        let link = register(&mut loaded, ID, &name)?;
        let per_ack = loaded.program(programs[0]).map_err(LoadError::Exhausted)?;
        Ok(Self {
            name,
            per_ack,
            _link: link,
        })
    }

    /// The name by which sockets choose it.
    pub const fn name(&self) -> &ControllerName {
        &self.name
    }

    /// CPU time spent per acknowledgement, counted while [`CountRunTime`](crate::bpf::CountRunTime) is
    /// active.
    pub fn run_time(&self) -> io::Result<RunTime> {
        run_time(self.per_ack.as_fd())
    }
}

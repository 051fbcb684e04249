//! A loaded and registered controller.

use super::{CcError, ControllerName, Coupled, Orders, PinError, Pins, missing};
use crate::bpf::LoadError;
use crate::bpf::cost::{RunTime, run_time};
use crate::bpf::object::{Embedded, Loaded, embedded};
use libbpf_rs::OpenObject;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const LIA: Embedded = embedded!("cc/lia");
const OLIA: Embedded = embedded!("cc/olia");
const BALIA: Embedded = embedded!("cc/balia");
const CLA: Embedded = embedded!("cc/cla");

/// A controller that stays in the kernel until drop. See the module above.
#[derive(Debug)]
pub struct Controller {
    name: ControllerName,
    coupled: Coupled,
    link: OwnedFd,
    per_ack: OwnedFd,
    orders: Option<Orders>,
}

impl Controller {
    /// Loads a controller into the kernel under this name, or returns what the kernel lacks.
    ///
    /// Needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN.
    pub fn load(coupled: Coupled, name: &ControllerName) -> Result<Self, CcError> {
        if let Some(missing) = missing() {
            return Err(missing.into());
        }
        let programs = ["init", "avoid", "ssthresh", "undo"].map(|role| format!("{}_{role}", coupled.id()));
        let programs = programs.each_ref().map(String::as_str);
        let mut loaded =
            embedded_object(coupled).load_changed(&programs, |open| rename(open, coupled.id(), name))?;
        let link = register(&mut loaded, coupled.id(), name)?;
        Ok(Self {
            name: name.clone(),
            coupled,
            link,
            per_ack: loaded.program(programs[1]).map_err(LoadError::Exhausted)?,
            orders: (coupled == Coupled::Cla)
                .then(|| Orders::of(&loaded))
                .transpose()
                .map_err(LoadError::Exhausted)?,
        })
    }

    /// Loads a controller under its usual name, or if that is taken, under the first free one with a numeric
    /// suffix.
    pub fn load_beside_others(coupled: Coupled) -> Result<Self, CcError> {
        let usual = ControllerName::of(coupled);
        let numbered = (2..100).map(|number| ControllerName::with_suffix(coupled, &number.to_string()));
        let mut names = std::iter::once(usual.clone()).chain(numbered.flatten());
        let mut loaded = Err(CcError::NameTaken(usual));
        while matches!(loaded, Err(CcError::NameTaken(_)))
            && let Some(name) = names.next()
        {
            loaded = Self::load(coupled, &name);
        }
        loaded
    }

    /// The name by which sockets choose it.
    pub const fn name(&self) -> &ControllerName {
        &self.name
    }

    /// The algorithm.
    pub const fn coupled(&self) -> Coupled {
        self.coupled
    }

    /// The map of window orders for single subflows. Only CLA has one.
    pub const fn orders(&self) -> Option<&Orders> {
        self.orders.as_ref()
    }

    /// CPU time spent per acknowledgement, counted while [`CountRunTime`](crate::bpf::CountRunTime) is
    /// active.
    pub fn run_time(&self) -> io::Result<RunTime> {
        run_time(self.per_ack.as_fd())
    }

    /// Keeps it in the kernel beyond this process, until it is [unloaded](super::unload) or the host
    /// restarts.
    pub fn pin(self, pins: &Pins) -> Result<(), PinError> {
        let maps = self.orders.iter().flat_map(Orders::descriptors);
        let link: (&str, BorrowedFd<'_>) = (Pins::LINK, self.link.as_fd());
        pins.write(&self.name, maps.chain([link]))
    }
}

const fn embedded_object(coupled: Coupled) -> Embedded {
    match coupled {
        Coupled::Lia => LIA,
        Coupled::Olia => OLIA,
        Coupled::Balia => BALIA,
        Coupled::Cla => CLA,
    }
}

/// Sets the name, the first member of `struct tcp_congestion_ops` in `bpf/cc/kernel.h`. libbpf finds its
/// offset in the kernel's structure.
pub(super) fn rename(open: &mut OpenObject, id: &str, name: &ControllerName) {
    let map = open.maps_mut().find(|map| map.name() == id);
    let mut map = map.expect("the embedded object has this structure");
    let value = map.initial_value_mut().expect("the structure has a value");
    let (field, name) = (&mut value[..16], name.as_str().as_bytes());
    field.fill(0);
    field[..name.len()].copy_from_slice(name);
}

pub(super) fn register(loaded: &mut Loaded, id: &str, name: &ControllerName) -> Result<OwnedFd, CcError> {
    loaded.register(id).map_err(|error| match error.kind() {
        libbpf_rs::ErrorKind::AlreadyExists => CcError::NameTaken(name.clone()),
        _ => CcError::Refused {
            name: name.clone(),
            reason: format!("{error:#}"),
        },
    })
}

//! One controller, loaded and registered.

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

/// A controller that the kernel has as long as this lives. See the module above.
#[derive(Debug)]
pub struct Controller {
    name: ControllerName,
    coupled: Coupled,
    link: OwnedFd,
    per_ack: OwnedFd,
    orders: Option<Orders>,
}

impl Controller {
    /// Gives the kernel a controller under this name, or says what the kernel lacks.
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

    /// The same under its usual name or, where somebody has that one, the first with a number behind it.
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

    /// What sockets choose it by.
    pub const fn name(&self) -> &ControllerName {
        &self.name
    }

    /// Which one it is.
    pub const fn coupled(&self) -> Coupled {
        self.coupled
    }

    /// Orders about single subflows' windows; only CLA takes them.
    pub const fn orders(&self) -> Option<&Orders> {
        self.orders.as_ref()
    }

    /// What its work per acknowledgement took so far, if somebody counts ([`CountRunTime`](crate::bpf::CountRunTime)).
    pub fn run_time(&self) -> io::Result<RunTime> {
        run_time(self.per_ack.as_fd())
    }

    /// Makes it outlive this process, until it is [unloaded](super::unload) or the host restarts.
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

/// The name is the first member of `struct tcp_congestion_ops` in `bpf/cc/kernel.h`; libbpf finds the kernel's place for it.
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

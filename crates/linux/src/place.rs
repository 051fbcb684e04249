//! The place of a driver that allows one station interface: it is taken from an interface that NetworkManager
//! manages, and given back.
//!
//! # Where we differ, and why
//! 1. What somebody has changed meanwhile is kept: an interface that is up again, or that NetworkManager
//!    manages again. The latter may be down, because its place was not free. Then it is set up.
//! 2. It is given back while NetworkManager does not run, too, as far as that goes: it is set up.
//!
//! # Checked by
//! The trial `joins-takeover` of `guest`, and `bus::tests`.

use crate::bus::{Bus, BusError};
use crate::netlink::OpenError;
use crate::rtnl::{IfName, LinkError, ListError, Rtnl};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time in which an interface of slowhand that has the place must be gone.
const GOES: Duration = Duration::from_secs(3);
/// Pause between two attempts to set an interface up.
const STEP: Duration = Duration::from_millis(50);

/// Why an interface was not taken.
#[derive(Debug, Error)]
pub(crate) enum TakeError {
    #[error("NetworkManager keeps {name}")]
    Kept { name: IfName, source: BusError },
    #[error("{name} cannot be set down")]
    Up { name: IfName, source: LinkError },
}

/// Why an interface was not given back, or not whole.
#[derive(Debug, Error)]
pub(crate) enum GiveBackError {
    #[error("the links cannot be listed")]
    Open(#[from] OpenError),
    #[error("the links cannot be listed")]
    List(#[from] ListError),
    #[error(
        "NetworkManager does not run; once it does, `nmcli device set {0} managed yes` gives it the interface"
    )]
    NoManager(IfName),
    #[error("NetworkManager does not take {name} back; run `nmcli device set {name} managed yes`")]
    Refused { name: IfName, source: BusError },
    #[error("{name} cannot be set up; run `ip link set {name} up`")]
    Down { name: IfName, source: LinkError },
}

/// Takes the place of an interface. The change must be on record.
pub(crate) fn take(
    (bus, rtnl): (&mut Bus, &mut Rtnl),
    (name, ifindex): (IfName, u32),
) -> Result<(), TakeError> {
    bus.take(name)
        .map_err(|source| TakeError::Kept { name, source })?;
    let down = rtnl.set_up(ifindex, false);
    down.map_err(|source| {
        // The first error is the one to report.
        let _ = bus.give_back(name);
        TakeError::Up { name, source }
    })
}

/// Gives the place of an interface back: sets it up, and lets NetworkManager manage it. Harmless if that was
/// done before.
pub(crate) fn give_back(name: IfName) -> Result<(), GiveBackError> {
    let mut rtnl = Rtnl::open()?;
    let mut bus = Bus::default();
    let refused = |source| GiveBackError::Refused { name, source };
    let managed = bus.manages(name).map_err(refused)?;
    // If it is gone, so is what was set on it.
    let Some(link) = rtnl.link_named(name)? else {
        return Ok(());
    };
    let up = if link.up {
        Ok(())
    } else {
        set_up(&mut rtnl, link.ifindex)
    };
    if managed.is_none() {
        up.map_err(|source| GiveBackError::Down { name, source })?;
        return Err(GiveBackError::NoManager(name));
    }
    if let Err(error) = up {
        // NetworkManager sets it up itself once that can be.
        tracing::debug!(interface = %name, "it stays down for now: {error}");
    }
    match managed {
        Some(true) => Ok(()),
        _ => bus.give_back(name).map_err(refused),
    }
}

/// Sets an interface up. Those of a daemon that was killed go a moment after it.
fn set_up(rtnl: &mut Rtnl, ifindex: u32) -> Result<(), LinkError> {
    let until = Instant::now() + GOES;
    loop {
        match rtnl.set_up(ifindex, true) {
            Err(LinkError::Kernel { source, .. })
                if source.errno() == Some(libc::EBUSY) && Instant::now() < until =>
            {
                std::thread::sleep(STEP);
            }
            done => return done,
        }
    }
}

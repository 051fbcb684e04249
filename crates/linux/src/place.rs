//! The place of a driver that allows one station interface: it is taken from an interface that NetworkManager
//! manages, and given back.
//!
//! # Sources
//! - NetworkManager 1.42, `nm-config.c` (`nm_config_device_state_write`): what is set over D-Bus belongs to
//!   the index of an interface, also when NetworkManager starts again.
//!
//! # Where we differ, and why
//! 1. What somebody has changed meanwhile is kept: an interface that is up again, or that NetworkManager
//!    manages again. The latter may be down, because its place was not free. Then it is set up.
//! 2. It is set up first, whatever NetworkManager says: one that hangs or has ended leaves no interface down.
//! 3. It is found by its index, because an interface that is down may be renamed. Of one that comes back
//!    after it was gone, nothing was changed.
//!
//! # Checked by
//! `tests`; the trial `joins-takeover` of `guest`; `bus::tests`.

use crate::bus::{Bus, BusError};
use crate::journal::TakenOver;
use crate::netlink::OpenError;
use crate::rtnl::{IfName, LinkError, ListError, Rtnl};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long to try to give an interface back where nobody tries again: at a stop, and after a kill.
pub(crate) const LONG: Duration = Duration::from_secs(3);
/// The same where it is tried again.
pub(crate) const SHORT: Duration = Duration::from_secs(1);
/// Time in which NetworkManager must reply then.
const REPLIES: Duration = Duration::from_secs(1);
/// Pause between two attempts.
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

/// Takes the place of an interface. The change must be on record. After an error, give it back.
pub(crate) fn take((bus, rtnl): (&mut Bus, &mut Rtnl), taken: TakenOver) -> Result<(), TakeError> {
    let TakenOver { name, ifindex } = taken;
    bus.take(name)
        .map_err(|source| TakeError::Kept { name, source })?;
    let down = rtnl.set_up(ifindex, false);
    down.map_err(|source| TakeError::Up { name, source })
}

/// Gives the place of an interface back: sets it up, and lets NetworkManager manage it. Harmless if that was
/// done before. Returns within `patience` and the time for a reply.
pub(crate) fn give_back(taken: TakenOver, patience: Duration) -> Result<(), GiveBackError> {
    let until = Instant::now() + patience;
    let mut rtnl = Rtnl::open()?;
    // If it is gone, so is what was set on it.
    let Some(link) = rtnl.link(taken.ifindex)? else {
        return Ok(());
    };
    let (name, ifindex) = (link.name, link.ifindex);
    let mut bus = Bus::replying_within(REPLIES);
    // Half of the time is for NetworkManager.
    let up = persist(until - patience / 2, || set_up(&mut rtnl, ifindex));
    persist(until, || manage(&mut bus, name))?;
    // NetworkManager may have set it up meanwhile.
    up.or_else(|_| set_up(&mut rtnl, ifindex))
        .map_err(|source| GiveBackError::Down { name, source })
}

/// Tries until this time, and once at least.
fn persist<E>(until: Instant, mut attempt: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    loop {
        match attempt() {
            Err(_) if Instant::now() < until => std::thread::sleep(STEP),
            done => return done,
        }
    }
}

/// Sets an interface up, unless its radio is blocked. NetworkManager does it once that is over.
fn set_up(rtnl: &mut Rtnl, ifindex: u32) -> Result<(), LinkError> {
    match rtnl.set_up(ifindex, true) {
        Err(LinkError::Kernel { source, .. }) if source.errno() == Some(libc::ERFKILL) => Ok(()),
        done => done,
    }
}

/// Lets NetworkManager manage an interface.
fn manage(bus: &mut Bus, name: IfName) -> Result<(), GiveBackError> {
    let refused = |source| GiveBackError::Refused { name, source };
    match bus.manages(name).map_err(refused)? {
        Some(true) => Ok(()),
        Some(false) => bus.give_back(name).map_err(refused),
        None => Err(GiveBackError::NoManager(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_repeated_until_it_succeeds_or_its_time_is_over() {
        let soon = || Instant::now() + Duration::from_secs(5);
        let mut count = 0;
        let mut third = || {
            count += 1;
            (count == 3).then_some(()).ok_or(count)
        };
        assert_eq!(persist(soon(), &mut third), Ok(()));
        assert_eq!(persist(Instant::now(), &mut third), Err(4), "once at least");
    }

    #[test]
    fn nothing_is_owed_to_an_interface_that_is_gone() {
        let gone = TakenOver {
            name: "lo".parse().unwrap(),
            ifindex: 0x7fff_fff0,
        };
        assert!(give_back(gone, LONG).is_ok(), "its name does not count");
    }
}

//! Takes one change back: harmless when it was never made, or was taken back already.

use super::Change;
use crate::bpf::{restore_fallbacks, restore_subflows};
use crate::mptcp_pm::{self, AddressId, Limits};
use crate::orphans;
use crate::rtnl::{Protocol, Rtnl};
use crate::sysctl;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;

/// Something that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The change that was not taken back.
    pub change: Change,
    /// Why.
    pub why: String,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.change.to_string().replace('\t', " "), self.why)
    }
}

/// What was taken back, and what was left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// How many changes were taken back, or had not been made.
    pub done: usize,
    /// What was left as it is: the user has changed it since, or the kernel refused.
    pub left: Vec<Leftover>,
}

impl Undone {
    pub(super) fn record(&mut self, change: &Change, result: Result<(), String>) {
        match result {
            Ok(()) => self.done += 1,
            Err(why) => self.left.push(Leftover {
                change: change.clone(),
                why,
            }),
        }
    }
}

fn words(error: impl Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// `earlier` are the changes that are taken back after this one.
pub(super) fn undo(change: &Change, earlier: &[Change]) -> Result<(), String> {
    match change {
        Change::Sysctl { key, old, new } => undo_sysctl(key, old, new, earlier),
        Change::Routing => sweep().map_err(|error| error.to_string()),
        Change::Endpoint { id, address } => undo_endpoint(*id, *address),
        Change::Limits { old, new } => undo_limits(*old, *new),
        Change::FallbackWindow(window) => restore_fallbacks(*window).map(drop).map_err(words),
        Change::SocketLimits => restore_subflows().map(drop).map_err(words),
    }
}

fn undo_sysctl(key: &sysctl::Key, old: &str, new: &str, earlier: &[Change]) -> Result<(), String> {
    let is_same = |other: &Change| matches!(other, Change::Sysctl { key: of, old: before, .. } if of == key && before == old);
    let now = sysctl::read(key).map_err(words)?;
    match now.as_str() {
        now if now == old => Ok(()),
        now if now == new => sysctl::write(key, old).map_err(words),
        // It may have another value of ours, and be put back by that one's line; if not, one complaint is enough.
        _ if earlier.iter().any(is_same) => Ok(()),
        now => Err(format!(
            "somebody has set it to `{now}` since; it was `{old}` before"
        )),
    }
}

/// Removes every route and rule that carries our protocol number.
fn sweep() -> Result<(), Box<dyn Error>> {
    let mut rtnl = Rtnl::open()?;
    for rule in rtnl
        .rules()?
        .iter()
        .filter(|rule| rule.protocol == Protocol::SLOWHAND)
    {
        rtnl.del_rule(rule)?;
    }
    // A route may vanish on its own with its link between the list and the removal: the second look decides.
    for route in rtnl
        .routes()?
        .iter()
        .filter(|route| route.protocol == Protocol::SLOWHAND)
    {
        if let Err(error) = rtnl.del_route(route)
            && rtnl.routes()?.contains(route)
        {
            return Err(error.into());
        }
    }
    Ok(())
}

fn undo_endpoint(id: AddressId, address: IpAddr) -> Result<(), String> {
    let mut commands = mptcp_pm::Commands::open().map_err(words)?;
    let ours = commands
        .endpoint(id)
        .map_err(words)?
        .is_some_and(|endpoint| endpoint.addr == address);
    if ours {
        // What it cannot do is no reason to leave the endpoint.
        let _ = orphans::release(address);
        commands.del_endpoint(id, None).map_err(words)
    } else {
        Ok(())
    }
}

fn undo_limits(old: (u32, u32), new: (u32, u32)) -> Result<(), String> {
    let mut commands = mptcp_pm::Commands::open().map_err(words)?;
    let now = commands.limits().map_err(words)?;
    match (now.subflows, now.add_addr_accepted) {
        now if now == old => Ok(()),
        now if now == new => commands
            .set_limits(Limits {
                subflows: old.0,
                add_addr_accepted: old.1,
            })
            .map_err(words),
        now => Err(format!(
            "somebody has set them to subflows {} add_addr_accepted {} since",
            now.0, now.1
        )),
    }
}

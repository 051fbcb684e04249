//! Undoes one change. This is harmless if the change was never made or is already undone.

use super::Change;
use crate::bpf::{restore_fallbacks, restore_subflows};
use crate::mptcp_pm::{self, AddressId, Limits};
use crate::nl80211::{self, IfType, Nl80211};
use crate::orphans;
use crate::place;
use crate::rtnl::{IfName, Protocol, Rtnl};
use crate::sysctl::{self, Key, SysctlError};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::iter;
use std::net::IpAddr;

/// A change that was not undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The change.
    pub change: Change,
    /// The reason.
    pub why: String,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.change.to_string().replace('\t', " "), self.why)
    }
}

/// The result of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// Number of changes undone, or never made.
    pub done: usize,
    /// Changes that were kept, because the user changed the value or the kernel refused.
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

/// Undoes `change`. The caller undoes the `earlier` changes after this one, and has undone the `later` ones.
pub(super) fn undo(change: &Change, earlier: &[Change], later: &[Change]) -> Result<(), String> {
    match change {
        Change::Sysctl { key, old, new } => undo_sysctl(key, (old, new), earlier, later),
        Change::Routing => sweep().map_err(|error| error.to_string()),
        Change::Endpoint { id, address } => undo_endpoint(*id, *address),
        Change::Limits { old, new } => undo_limits(*old, *new),
        Change::FallbackWindow(window) => restore_fallbacks(*window).map(drop).map_err(words),
        Change::Monitor(name) => undo_interface(*name, IfType::Monitor),
        Change::Station(name) => undo_interface(*name, IfType::Station),
        Change::TakenOver(taken) => {
            // They have its place. Each is reported at its own line.
            let is_ours = |one: &&Change| matches!(one, Change::Monitor(_) | Change::Station(_));
            for one in earlier.iter().filter(is_ours) {
                let _ = undo(one, &[], &[]);
            }
            place::give_back(*taken, place::LONG).map_err(words)
        }
        Change::SocketLimits => restore_subflows().map(drop).map_err(words),
    }
}

/// The original and new value of each line of a parameter, in the order of the lines.
pub(super) fn lines_of<'a>(
    changes: &'a [Change],
    key: &Key,
) -> impl DoubleEndedIterator<Item = (&'a str, &'a str)> + Clone {
    let line = move |change: &'a Change| match change {
        Change::Sysctl { key: of, old, new } if of == key => Some((old.as_str(), new.as_str())),
        _ => None,
    };
    changes.iter().filter_map(line)
}

/// For each line of a parameter, counts how often somebody else had set it: then a line begins with a value
/// that is not slowhand's. (An older version began each line with the last line's new value.)
fn interruptions<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<usize> {
    let (mut count, mut ours) = (0, BTreeSet::new());
    let begins_with = |(old, new)| {
        if !ours.is_empty() && !ours.contains(old) {
            ours.clear();
            count += 1;
        }
        ours.extend([old, new]);
        count
    };
    lines.map(begins_with).collect()
}

fn undo_sysctl(key: &Key, line: (&str, &str), earlier: &[Change], later: &[Change]) -> Result<(), String> {
    let (old, new) = line;
    let (before, after) = (lines_of(earlier, key), lines_of(later, key));
    let at = before.clone().count();
    let counts = interruptions(before.chain(iter::once(line)).chain(after));
    let (overtaken, continues) = (
        counts[at..].last() > counts.get(at),
        counts[..at].last() == counts.get(at),
    );
    let now = match sysctl::read(key) {
        // Its interface is gone, and its parameters with it.
        Err(SysctlError::Missing(_)) if key.is_of_interface() => return Ok(()),
        read => read.map_err(words)?,
    };
    match now.as_str() {
        now if now == old => Ok(()),
        now if now == new && !overtaken => sysctl::write(key, old).map_err(words),
        // It may have another value of slowhand's, which that value's line restores. If not, one report is
        // enough.
        _ if continues => Ok(()),
        now => Err(format!(
            "somebody has set it to `{now}` since; it was `{old}` before"
        )),
    }
}

/// Removes every route and rule with slowhand's protocol number.
fn sweep() -> Result<(), Box<dyn Error>> {
    let mut rtnl = Rtnl::open()?;
    for rule in rtnl
        .rules()?
        .iter()
        .filter(|rule| rule.protocol == Protocol::SLOWHAND)
    {
        rtnl.del_rule(rule)?;
    }
    // A route may vanish with its link between the list and the removal, so the second list decides.
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
        // If the release fails, remove the endpoint anyway.
        let _ = orphans::release(address);
        commands.del_endpoint(id, None).map_err(words)
    } else {
        Ok(())
    }
}

/// Removes a WiFi interface of this type. Without the kernel's WiFi stack it is gone already.
fn undo_interface(name: IfName, kind: IfType) -> Result<(), String> {
    let mut kernel = match Nl80211::open() {
        Ok(kernel) => kernel,
        Err(nl80211::OpenError::Family(_)) => return Ok(()),
        Err(error) => return Err(words(error)),
    };
    let interfaces = kernel.interfaces().map_err(words)?;
    let ours = interfaces
        .iter()
        .find(|one| one.name == name.as_str() && one.kind == Some(kind));
    match ours.and_then(|one| one.ifindex) {
        Some(ifindex) => kernel.del_interface(ifindex).map_err(words),
        None => Ok(()),
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

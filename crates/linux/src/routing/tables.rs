//! Allocates numbers of unused routing tables.

use super::{Uplink, is_of_others};
use crate::rtnl::{ListError, Protocol, Rtnl, Rule, Table};
use std::net::IpAddr;

/// The first number tried.
const FIRST: u32 = 51_830;

/// The owner of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// An uplink: interface index, whether it is IPv6, next hop.
    Uplink(u32, bool, Option<IpAddr>),
    /// New connections while they avoid the user's first default route: whether it is IPv6.
    Override(bool),
    /// Flows that cannot use several links.
    Pinned,
}

impl From<&Uplink> for Owner {
    fn from(uplink: &Uplink) -> Self {
        Self::Uplink(uplink.ifindex, uplink.v6, uplink.gateway)
    }
}

/// The table of each owner. An owner keeps its table for its lifetime.
#[derive(Debug, Default)]
pub(super) struct Tables {
    given: Vec<(Owner, Table)>,
}

impl Tables {
    /// Forgets the tables of all other owners.
    pub(super) fn keep(&mut self, owners: &[Owner]) {
        self.given.retain(|(owner, _)| owners.contains(owner));
    }

    /// Returns the owner's table. `rules` lists all rules.
    pub(super) fn of(&mut self, owner: Owner, rtnl: &mut Rtnl, rules: &[Rule]) -> Result<Table, ListError> {
        if let Some(&(_, table)) = self.given.iter().find(|(other, _)| *other == owner) {
            return Ok(table);
        }
        let table = self.free(rtnl, rules)?;
        self.given.push((owner, table));
        Ok(table)
    }

    /// Finds the first unused table: no rule of others selects it, and it has no routes of others.
    fn free(&self, rtnl: &mut Rtnl, rules: &[Rule]) -> Result<Table, ListError> {
        let taken = |table| {
            self.given.iter().any(|(_, given)| *given == table)
                || rules.iter().any(|rule| is_of_others(rule, table))
        };
        let mut table = Table(FIRST);
        loop {
            if !taken(table) {
                let routes = rtnl.routes_in(table)?;
                if routes.iter().all(|route| route.protocol == Protocol::SLOWHAND) {
                    return Ok(table);
                }
            }
            table = Table(table.0 + 1);
        }
    }
}

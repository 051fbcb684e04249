//! Numbers of routing tables that nobody else uses.

use super::{Uplink, is_of_others};
use crate::rtnl::{ListError, Protocol, Rtnl, Rule, Table};
use std::net::IpAddr;

/// The first that is tried.
const FIRST: u32 = 51_830;

/// What has a table of its own.
type Key = (u32, bool, Option<IpAddr>);

/// The table of each uplink; an uplink keeps its table for as long as it is there.
#[derive(Debug, Default)]
pub(super) struct Tables {
    given: Vec<(Key, Table)>,
}

const fn key(uplink: &Uplink) -> Key {
    (uplink.ifindex, uplink.v6, uplink.gateway)
}

impl Tables {
    /// Forgets the tables of all other uplinks.
    pub(super) fn keep(&mut self, uplinks: &[Uplink]) {
        self.given
            .retain(|(of, _)| uplinks.iter().any(|uplink| key(uplink) == *of));
    }

    /// A table for each of `uplinks`, in their order. `rules` are all there are.
    pub(super) fn for_uplinks(
        &mut self,
        rtnl: &mut Rtnl,
        rules: &[Rule],
        uplinks: &[Uplink],
    ) -> Result<Vec<Table>, ListError> {
        let mut tables = Vec::new();
        for uplink in uplinks {
            let known = self.given.iter().find(|(of, _)| *of == key(uplink));
            let table = match known {
                Some(&(_, table)) => table,
                None => self.free(rtnl, rules)?,
            };
            if known.is_none() {
                self.given.push((key(uplink), table));
            }
            tables.push(table);
        }
        Ok(tables)
    }

    /// The first table that nobody uses: no rule of others asks it, and it has no routes of others.
    fn free(&self, rtnl: &mut Rtnl, rules: &[Rule]) -> Result<Table, ListError> {
        let taken = |table| {
            self.given.iter().any(|(_, given)| *given == table)
                || rules.iter().any(|rule| is_of_others(rule, table))
        };
        for table in (FIRST..).map(Table).filter(|&table| !taken(table)) {
            let routes = rtnl.routes_in(table)?;
            if routes.iter().all(|route| route.protocol == Protocol::SLOWHAND) {
                return Ok(table);
            }
        }
        Ok(Table(FIRST))
    }
}

//! A routing table for every link, and one default route that moves between them.
//!
//! Packets of a socket that is bound to a link (an added subflow is), or that come from a link's address, ask that link's own
//! table; everything else asks `main`, where one route of ours, better than the user's, leads over the link that the engine chose.
//! Rules by link come before rules by address: two links may have the same address in the same private subnet.
//!
//! # Sources
//! - `ip-rule(8)`, `ip-route(8)`; `net/ipv4/fib_semantics.c` (Linux 6.18).
//!
//! # Where we differ, and why
//! 1. Everything carries slowhand's protocol number, so that it can be swept away whatever happened.
//!
//! # Checked by
//! `tests`: sockets leave by the link they are bound to, also with the same subnet and address on two links; nothing stays.

use crate::journal::{Change, Journal, JournalError};
use crate::rtnl::{
    AddRouteError, AddRuleError, DelRouteError, DelRuleError, IfName, Prefix, Protocol, Route, Rtnl, Rule,
    Table,
};
use std::net::IpAddr;
use thiserror::Error;

/// The tables of links begin here: the link's number is added.
const FIRST_TABLE: u32 = 51_830;
/// Rules by link; before those by address.
const BY_LINK: u32 = 5_183;
/// Rules by address; before `main`.
const BY_ADDRESS: u32 = 5_283;
/// Better than what DHCP clients and network managers give (100 and more).
const METRIC: u32 = 50;

/// What is known of a link that packets can leave by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The link's number among ours: chooses its table.
    pub number: u16,
    /// The interface.
    pub ifindex: u32,
    /// Its name.
    pub name: IfName,
    /// Its address, with the length of its subnet's prefix.
    pub address: Prefix,
    /// The next hop; `None` where everything can be reached directly.
    pub gateway: Option<IpAddr>,
    /// Whether TCP over this link asks for ECN.
    pub ecn: bool,
}

/// Why a link's table or rules could not be made.
#[derive(Debug, Error)]
pub enum InstallError {
    /// The record.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A route.
    #[error(transparent)]
    Route(#[from] AddRouteError),
    /// A rule.
    #[error(transparent)]
    Rule(#[from] AddRuleError),
}

/// Why a link's table or rules could not be removed.
#[derive(Debug, Error)]
pub enum UninstallError {
    /// What there is could not be listed.
    #[error(transparent)]
    List(#[from] crate::rtnl::ListError),
    /// A route.
    #[error(transparent)]
    Route(#[from] DelRouteError),
    /// A rule.
    #[error(transparent)]
    Rule(#[from] DelRuleError),
}

/// Why the default route could not be moved.
#[derive(Debug, Error)]
pub enum DefaultRouteError {
    /// The record.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The route.
    #[error(transparent)]
    Route(#[from] AddRouteError),
    /// The former route.
    #[error(transparent)]
    Former(#[from] DelRouteError),
    /// What there is could not be listed.
    #[error(transparent)]
    List(#[from] crate::rtnl::ListError),
}

impl Way {
    /// The link's own table.
    pub const fn table(&self) -> Table {
        Table(FIRST_TABLE + self.number as u32)
    }

    const fn is_v6(&self) -> bool {
        self.address.addr().is_ipv6()
    }

    fn default_in(&self, table: Table, metric: u32) -> Route {
        let src = Some(self.address.addr());
        let (oif, gateway, ecn) = (Some(self.ifindex), self.gateway, self.ecn);
        Route {
            oif,
            gateway,
            src,
            metric,
            ecn,
            ..Route::new(table, Prefix::any(self.address.addr()))
        }
    }

    fn routes(&self) -> Vec<Route> {
        let table = self.table();
        let subnet = Route {
            oif: Some(self.ifindex),
            src: Some(self.address.addr()),
            ..Route::new(table, self.address.network())
        };
        // A gateway outside the subnet (point to point) has to be reachable first.
        let hop = self.gateway.filter(|&gateway| !self.address.contains(gateway));
        let hop = hop.map(|gateway| Route {
            dst: Prefix::host(gateway),
            ..subnet
        });
        [Some(subnet), hop, Some(self.default_in(table, 0))]
            .into_iter()
            .flatten()
            .collect()
    }

    fn rules(&self) -> [Rule; 2] {
        let number = u32::from(self.number);
        let by_link = Rule::oif(self.is_v6(), self.name, BY_LINK + number % 100, self.table());
        let by_address = Rule::from(
            Prefix::host(self.address.addr()),
            BY_ADDRESS + number % 100,
            self.table(),
        );
        [by_link, by_address].map(|rule| Rule {
            protocol: Protocol::SLOWHAND,
            ..rule
        })
    }
}

/// Makes the link's table and the rules that lead to it; what an earlier address left is removed.
pub fn install(rtnl: &mut Rtnl, journal: &mut Journal, way: &Way) -> Result<(), InstallError> {
    journal.will(Change::Routing)?;
    for route in way.routes() {
        rtnl.replace_route(&route)?;
    }
    let present = rtnl.rules().unwrap_or_default();
    for rule in way.rules() {
        if !present.contains(&rule) {
            rtnl.add_rule(&rule)?;
        }
    }
    Ok(())
}

/// Removes the link's table and rules of this address's family, and our default route over it; what is gone already is fine.
pub fn uninstall(rtnl: &mut Rtnl, way: &Way) -> Result<(), UninstallError> {
    let ours = |rule: &&Rule| {
        rule.table == way.table() && rule.v6 == way.is_v6() && rule.protocol == Protocol::SLOWHAND
    };
    for rule in rtnl.rules()?.iter().filter(ours) {
        rtnl.del_rule(rule)?;
    }
    let leads_there = |route: &Route| {
        route.protocol == Protocol::SLOWHAND
            && route.dst.addr().is_ipv6() == way.is_v6()
            && (route.table == way.table() || route.oif == Some(way.ifindex))
    };
    let routes: Vec<Route> = rtnl.routes()?.into_iter().filter(leads_there).collect();
    for route in routes {
        // The kernel removes a route itself when its link goes down, perhaps in this moment.
        if let Err(error) = rtnl.del_route(&route)
            && rtnl.routes()?.contains(&route)
        {
            return Err(error.into());
        }
    }
    Ok(())
}

/// Lets new connections begin on this link.
pub fn set_default(rtnl: &mut Rtnl, journal: &mut Journal, way: &Way) -> Result<(), DefaultRouteError> {
    journal.will(Change::Routing)?;
    let wanted = way.default_in(Table::MAIN, METRIC);
    let is_former = |route: &&Route| {
        route.protocol == Protocol::SLOWHAND
            && route.table == Table::MAIN
            && route.is_default()
            && route.dst.addr().is_ipv6() == way.is_v6()
    };
    rtnl.replace_route(&wanted)?;
    // IPv6 may keep routes of one metric side by side; at no time was there none.
    let former: Vec<Route> = rtnl.routes()?.iter().filter(is_former).copied().collect();
    for route in former
        .iter()
        .filter(|route| route.oif != wanted.oif || route.gateway != wanted.gateway)
    {
        rtnl.del_route(route)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

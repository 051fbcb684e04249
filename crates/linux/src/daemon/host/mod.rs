//! The daemon's access to the host: kernel handles, recorded changes, and what the daemon reports.
//!
//! In: plans and requests of the rooms above. Out: netlink requests, lines in the journal, facts and
//! observations. [`settings`] changes parameters of the namespace, [`routes`] routes and rules, [`endpoints`]
//! the kernel's own path manager. [`upkeep`] restores what other programs change. [`sockets`], [`counters`]
//! and [`controllers`] only read. [`outlet`] takes facts for the engine and observations.

pub(crate) mod controllers;
pub(crate) mod counters;
pub(crate) mod endpoints;
pub(crate) mod outlet;
pub(crate) mod routes;
pub(crate) mod settings;
pub(crate) mod sockets;
pub(crate) mod upkeep;

use crate::daemon::api::error::StartError;
use crate::mptcp_pm::Commands;
use counters::Counters;
use outlet::Outlet;
use routes::Routes;
use settings::Settings;
use sockets::Sockets;
use std::path::Path;

/// Kernel handles, recorded settings, and the outlet for facts and observations.
pub(crate) struct Host {
    pub(crate) sockets: Sockets,
    pub(crate) counters: Counters,
    pub(crate) commands: Commands,
    pub(crate) settings: Settings,
    pub(crate) routes: Routes,
    pub(crate) outlet: Outlet,
}

impl Host {
    /// Opens all handles, and undoes what a crashed run left.
    pub(crate) fn open(journal: Option<&Path>, outlet: Outlet) -> Result<Self, StartError> {
        Ok(Self {
            sockets: Sockets::open()?,
            counters: Counters::open()?,
            commands: Commands::open()?,
            settings: Settings::open(journal)?,
            routes: Routes::open()?,
            outlet,
        })
    }
}

//! A relay in front of the server, and an agent on the client: the programs that users run, and the
//! redirection that the daemon installs.
//!
//! # Where we differ, and why
//! 1. On a real host the daemon's process starts the agent. Here the daemon is a thread of the lab, which
//!    starts the same agent with the same rules.
//! 2. A policy that binds connections to one link needs no relay, and gets none: it connects directly.
//!
//! # Checked by
//! `tests/relay.rs`.

mod sockets;
mod start;

pub(super) use sockets::Sockets;

use crate::hosts::Hosts;
use crate::relay::{Relay, StartError};
use linux::nft::Table;
use scenario::Plan;
use std::io::Write as _;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::Receiver;
use trace::PolicyName;
use trace::agent::{ASK, Agent};
use units::Duration;

/// Time in which an agent must answer.
const ANSWERS: Duration = Duration::from_millis(500);

/// Whether the client's connections go through an agent.
pub(super) fn has_agent(plan: &Plan, policy: &PolicyName) -> bool {
    plan.relay.is_some() && policy.only_link().is_none()
}

/// Both programs. Fields are dropped in this order: without the redirection, nothing new reaches the agent.
pub(super) struct Detour {
    _table: Table,
    questions: ChildStdin,
    answers: Receiver<String>,
    agent: Child,
    _relay: Relay,
}

impl Detour {
    /// Starts both programs, and returns once connections of the client are redirected.
    pub(super) fn start(hosts: &Hosts, interfaces: &[String]) -> Result<Option<Self>, StartError> {
        hosts
            .relay
            .as_ref()
            .map(|relay| start::start(hosts, relay, interfaces))
            .transpose()
    }

    /// What the agent carries now; `None` if it does not answer.
    pub(super) fn ask(&mut self) -> Option<Agent> {
        // Late answers to earlier questions.
        while self.answers.try_recv().is_ok() {}
        writeln!(self.questions, "{ASK}").ok()?;
        Agent::parse(&self.answers.recv_timeout(ANSWERS).ok()?)
    }
}

impl Drop for Detour {
    fn drop(&mut self) {
        // It may have ended already. In either case nothing of it is left after this.
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

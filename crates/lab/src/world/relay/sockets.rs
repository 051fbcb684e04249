//! What each link carries of a flow that an agent takes: the polls of both ends of its MPTCP connection.
//!
//! The application's own socket and the server's are plain TCP, and show no link. The agent reports the
//! address of the connection that carries a flow. The sockets of both namespaces then show its subflows.
//!
//! # Where we differ, and why
//! 1. Out-of-order bytes at the client stay unknown: the agent's sockets are those of another program.

use super::super::glue::Glue;
use crate::hosts::Hosts;
use crate::traffic::{ConnectionSample, End, SubflowSample};
use linux::diag::{Diag, States, TcpSocket};
use linux::mptcp_pm::Token;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use trace::agent::{Agent, Application};

/// Reads the sockets of agent and relay.
pub(in super::super) struct Sockets {
    client: Diag,
    relay: Diag,
    /// The flows that an agent takes.
    flows: BTreeSet<u64>,
    /// Tokens of each flow's connection: the agent's, and the relay's.
    known: BTreeMap<u64, (Token, Option<Token>)>,
    /// Each flow's last way, with the agent's reason.
    ways: BTreeMap<u64, String>,
}

impl Sockets {
    /// For the flows with these identifiers. `None` if a namespace has no socket statistics.
    pub(in super::super) fn open(hosts: &Hosts, flows: BTreeSet<u64>) -> Option<Self> {
        let relay = &hosts.relay.as_ref()?.netns;
        Some(Self {
            client: hosts.client.run(Diag::open).ok()?.ok()?,
            relay: relay.run(Diag::open).ok()?.ok()?,
            flows,
            known: BTreeMap::new(),
            ways: BTreeMap::new(),
        })
    }

    /// The way that each flow took last, with the reason, by its identifier.
    pub(in super::super) const fn ways(&self) -> &BTreeMap<u64, String> {
        &self.ways
    }

    /// Replaces the polls of flows that the agent takes by those of the connections that carry them.
    pub(in super::super) fn behind(
        &mut self,
        looks: Vec<ConnectionSample>,
        agent: &Agent,
        glue: &Glue,
    ) -> Vec<ConnectionSample> {
        let (own, far) = (all(&mut self.client), all(&mut self.relay));
        let mut found = Vec::new();
        for look in looks {
            if !self.flows.contains(&look.flow) {
                found.push(look);
                continue;
            }
            match look.end {
                // The agent went to the server directly.
                End::Server if look.token.is_some() => found.push(look),
                End::Server => {}
                End::Client => {
                    let application = application(agent, &look);
                    self.learn(look.flow, application, (&own, &far), glue);
                    found.extend(self.carried(&look, application, (&own, &far)));
                }
            }
        }
        found
    }

    /// Finds the tokens of the connection that carries a flow.
    fn learn(
        &mut self,
        flow: u64,
        application: Option<&Application>,
        (own, far): (&[TcpSocket], &[TcpSocket]),
        glue: &Glue,
    ) {
        let Some(application) = application else { return };
        if application.way != "opening" {
            self.ways
                .insert(flow, format!("{}: {}", application.way, application.why));
        }
        let Some(first) = application
            .carried_from
            .and_then(|from| own.iter().find(|socket| socket.local == from))
        else {
            return;
        };
        let Some(subflow) = first.subflow else { return };
        let link = glue.link_with(first.local.ip());
        let is_peer = |socket: &&TcpSocket| {
            socket.remote.port() == first.local.port() && glue.link_seen_as(socket.remote.ip()) == link
        };
        let peer = far.iter().find(is_peer).and_then(|socket| socket.subflow);
        self.known
            .insert(flow, (subflow.token, peer.map(|subflow| subflow.token)));
    }

    fn carried(
        &self,
        look: &ConnectionSample,
        application: Option<&Application>,
        (own, far): (&[TcpSocket], &[TcpSocket]),
    ) -> Vec<ConnectionSample> {
        let sample = |end, token: Option<Token>, subflows: Vec<SubflowSample>| ConnectionSample {
            flow: look.flow,
            end,
            token: token.map(|token| token.0),
            subflows,
            held: None,
        };
        let Some(&(at_client, at_relay)) = self.known.get(&look.flow) else {
            let from = application.and_then(|application| application.carried_from);
            let plain = own.iter().filter(|socket| Some(socket.local) == from);
            return vec![sample(End::Client, None, plain.filter_map(subflow).collect())];
        };
        let of = |sockets: &[TcpSocket], token| -> Vec<SubflowSample> {
            let all = sockets.iter();
            let members = all.filter(|socket| socket.subflow.is_some_and(|subflow| subflow.token == token));
            members.filter_map(subflow).collect()
        };
        let mut samples = vec![sample(End::Client, Some(at_client), of(own, at_client))];
        samples.extend(at_relay.map(|token| sample(End::Server, Some(token), of(far, token))));
        samples
    }
}

/// The agent's entry for the application of a poll.
fn application<'a>(agent: &'a Agent, look: &ConnectionSample) -> Option<&'a Application> {
    let client = look.subflows.first()?.local;
    agent
        .connections
        .iter()
        .find(|application| canonical(application.client) == client)
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn subflow(socket: &TcpSocket) -> Option<SubflowSample> {
    Some(SubflowSample::of(&socket.info?, socket.local, socket.remote))
}

/// All connections of a namespace. Without an answer there are none, and the next poll asks again.
fn all(diag: &mut Diag) -> Vec<TcpSocket> {
    let mut found = Vec::new();
    let _ = diag.each_tcp(States::BEGUN, |socket| found.push(*socket));
    found
}

//! What becomes of the datagrams of each flow: how many were sent, received and lost, and how long they took.
//!
//! # Where we differ, and why
//! 1. The models send the datagrams of stations without a host ([`models::background`]). What these spend on
//!    the wire behind their access point is added here.
//!
//! # Checked by
//! `tests/delays.rs`.

use super::carrier::Carrier;
use crate::times::Delays;
use scenario::{Plan, Transport, Way, Work, models};
use trace::{Datagrams, Flow, PathUse, What};
use units::{Duration, Instant};

/// The accounts of a run.
#[derive(Debug)]
pub(super) struct Accounts {
    /// By the plan's flow. `None`: it has no datagrams.
    all: Vec<Option<Account>>,
    /// The plan's flow of each flow of the models.
    stations: Vec<usize>,
}

/// One flow's.
#[derive(Debug)]
struct Account {
    /// The link's name.
    link: String,
    is_broadcast: bool,
    counts: Datagrams,
    delays: Delays,
    of_models: Option<OfModels>,
}

/// A flow that the models send.
#[derive(Debug, Clone, Copy)]
struct OfModels {
    /// Their number of it.
    number: u32,
    /// What its datagrams spend before they reach the models.
    before: Duration,
    /// What does not count.
    uncounted: links::Datagrams,
}

impl Accounts {
    pub(super) fn new(plan: &Plan) -> Self {
        let account = |flow: &scenario::Flow| {
            let (Transport::Udp { over }, Work::Datagrams { way, .. }) = (flow.transport, flow.work) else {
                return None;
            };
            Some(Account {
                link: plan.links[over].name.clone(),
                is_broadcast: way == Way::Everyone,
                counts: Datagrams::default(),
                delays: Delays::default(),
                of_models: None,
            })
        };
        let mut all: Vec<Option<Account>> = plan.flows.iter().map(account).collect();
        let models = models::background(plan).flows;
        let mut stations = Vec::new();
        for (number, ((flow, planned), sent)) in (0..).zip(models::background_flows(plan).zip(models)) {
            if let Some(account) = &mut all[flow] {
                account.of_models = Some(OfModels {
                    number,
                    before: sent.start - planned.start,
                    uncounted: links::Datagrams::default(),
                });
            }
            stations.push(flow);
        }
        Self { all, stations }
    }

    /// Forgets what was counted.
    pub(super) fn count_from_now(&mut self, carrier: &Carrier) {
        for account in self.all.iter_mut().flatten() {
            account.counts = Datagrams::default();
            account.delays.clear();
            if let Some(of_models) = &mut account.of_models {
                of_models.uncounted = carrier.background(of_models.number);
            }
        }
    }

    /// A host sends a datagram.
    pub(super) fn sent(&mut self, flow: u32) {
        if let Some(account) = &mut self.all[flow as usize] {
            account.counts.sent += 1;
        }
    }

    /// A datagram of a host is lost.
    pub(super) fn lost(&mut self, flow: u32) {
        if let Some(account) = &mut self.all[flow as usize] {
            account.counts.lost += 1;
        }
    }

    /// A host receives a datagram of another one.
    pub(super) fn arrived(&mut self, now: Instant, flow: u32, sent: Instant) {
        if let Some(account) = &mut self.all[flow as usize] {
            account.counts.received += 1;
            account.delays.record(now.since(sent));
        }
    }

    /// A station receives a datagram of the models, by their number of its flow. Returns the plan's flow.
    pub(super) fn heard(&mut self, number: u32, delay: Duration) -> usize {
        let flow = self.stations[number as usize];
        if let Some(account) = &mut self.all[flow] {
            let before = account.of_models.map_or(Duration::ZERO, |of| of.before);
            account.counts.received += 1;
            account.delays.record(before + delay);
        }
        flow
    }

    /// The event for what a flow has received, if it is one of datagrams.
    pub(super) fn news(&self, flow: usize, name: &str, bytes: Option<u64>) -> Option<What> {
        let (account, bytes) = (self.all[flow].as_ref()?, bytes?);
        Some(What::PathBytes {
            flow: name.to_owned(),
            link: account.link.clone(),
            bytes,
        })
    }

    /// A flow's entry in the result, with what is known of its datagrams.
    pub(super) fn complete(&self, flow: usize, entry: Flow, carrier: &Carrier) -> Flow {
        let Some(account) = &self.all[flow] else {
            return entry;
        };
        let mut counts = account.counts;
        if let Some(of) = account.of_models {
            let of_models = carrier.background(of.number).since(of.uncounted);
            (counts.sent, counts.lost) = (of_models.sent, of_models.lost);
        }
        let path = PathUse {
            link: account.link.clone(),
            bytes: entry.bytes,
            retransmits: 0,
            segments: None,
            ce_marks: 0,
            rtt: None,
        };
        Flow {
            datagrams: Some(counts),
            delay: account.delays.figures(),
            jitter_ms: account.delays.jitter_ms().filter(|_| !account.is_broadcast),
            paths: vec![path],
            ..entry
        }
    }
}

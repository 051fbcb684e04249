//! TCP and MPTCP against theory and against a kernel: throughput against random loss, shares of a bottleneck,
//! the length of stalls.
//!
//! # Sources
//! - Padhye et al., "Modeling TCP Throughput: A Simple Model and its Empirical Validation" (SIGCOMM 1998),
//!   equation 30, without a limit by the receive window.
//! - RFC 6356 (LIA: as much as one TCP).
//! - Khalili et al., "MPTCP is not Pareto-Optimal: Performance Issues and a Possible Solution" (CoNEXT 2012),
//!   scenario C. BALIA's fluid value follows from the fixed point of its two equations.
#![allow(dead_code, reason = "each binary uses its own part of it")]

use super::cables::{cable, links, mbps, stock, v4};
use links::{BottleneckConfig, Fault, LinkId, QueueConfig};
use policy::cc::Flow;
use sim::hosts::{App, Pair};
use sim::mptcp::{Config, ReceiveBuffer};
use sim::tcp::Growth;
use units::{Bitrate, Bytes, Duration, Instant, Ratio, Rng};

const MS: Duration = Duration::from_millis(1);
const MSS: f64 = 1_448.0;

/// Segments per second by PFTK.
pub fn pftk(loss: f64, per_ack: f64, rtt: f64, rto: f64) -> f64 {
    let rounds = rtt * (2.0 * per_ack * loss / 3.0).sqrt();
    let waits = (3.0 * (3.0 * per_ack * loss / 8.0).sqrt()).min(1.0);
    1.0 / (rounds + rto * waits * loss * (1.0 + 32.0 * loss * loss))
}

/// Throughput of a Reno flow as a part of PFTK's, which has the flow's own mean RTT and RTO.
pub fn against_loss(seed: u64, loss: f64, growth: Growth, seconds: u64) -> f64 {
    let mut lossy = cable(100, 100, 2_000);
    lossy.down.loss = Ratio::clamped(loss);
    let mut config = stock("reno", false);
    config.sender.growth = growth;
    let mut pair = Pair::new(seed, links([lossy]), config, config).unwrap();
    pair.start(0, v4(0), [App::Sink, App::Bulk]);
    pair.run_until(Instant::from_secs(20));
    let before = pair.read(0);
    let samples = seconds * 10;
    let (mut rtt, mut rto) = (0.0, 0.0);
    for _ in 0..samples {
        pair.run_for(100 * MS);
        let server = pair.server.connection(0).unwrap();
        let subflow = server.subflows(pair.now()).next().unwrap();
        rtt += subflow.sample.srtt.as_secs_f64() / samples as f64;
        rto += subflow.rto.as_secs_f64() / samples as f64;
    }
    let per_ack = if growth == Growth::PerSegment { 1.0 } else { 2.0 };
    let segments = (pair.read(0) - before) as f64 / MSS / seconds as f64;
    segments / pftk(loss, per_ack, rtt, rto)
}

pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

pub fn follows_pftk(losses: &[(f64, f64)], seeds: std::ops::Range<u64>, seconds: u64) {
    let mut parts = Vec::new();
    for &(loss, tolerance) in losses {
        for growth in [Growth::PerSegment, Growth::PerAck] {
            let runs = seeds.clone().collect::<Vec<_>>();
            let part = mean(
                runs.into_iter()
                    .map(|seed| against_loss(seed, loss, growth, seconds)),
            );
            println!("loss {loss}, {growth:?}: {part:.3} of PFTK");
            parts.push((loss, growth, part, tolerance));
        }
    }
    for (loss, growth, part, tolerance) in parts {
        assert!((part - 1.0).abs() < tolerance, "{loss}, {growth:?}: {part}");
    }
}

/// Segments that an MPTCP connection with two subflows gets for each of a TCP flow, through one bottleneck
/// with CoDel.
pub fn share(seed: u64, control: &str, rate: u64, rtt: u64) -> f64 {
    let behind = |_| {
        let mut cable = cable(rate, rtt, 100);
        cable.behind = Some(0);
        // Without noise, flows lock into phase.
        cable.down.jitter = MS / 2;
        cable.up.jitter = MS / 2;
        cable
    };
    let mut network = links((0..3).map(behind));
    network.bottlenecks = vec![BottleneckConfig {
        name: "shared".into(),
        up: Bitrate::from_mbps(1_000),
        down: Bitrate::from_mbps(rate),
        queue: QueueConfig::codel(false),
    }];
    let (coupled, rival) = (stock(control, true), stock("reno", false));
    let mut pair = Pair::new(seed, network, coupled, coupled).unwrap();
    pair.start(0, v4(0), [App::Sink, App::Bulk]);
    let now = pair.now();
    pair.act(0, |connection, out| connection.join(now, v4(1), false, out));
    pair.client.configure(rival);
    pair.server.configure(rival);
    pair.start(1, v4(2), [App::Sink, App::Bulk]);
    pair.run_until(Instant::from_secs(10));
    let before = [pair.read(0), pair.read(1)];
    pair.run_until(Instant::from_secs(70));
    let segments = |conn: u32, payload: f64| (pair.read(conn) - before[conn as usize]) as f64 / payload;
    segments(0, 1_420.0) / segments(1, MSS)
}

pub fn mean_share(control: &str, rate: u64, rtt: u64, seeds: u64) -> f64 {
    let part = mean((0..seeds as u32).map(|seed| share(seed.into(), control, rate, rtt)));
    println!("{control}, {rate} Mb/s, {rtt} ms: {part:.3} of a TCP");
    part
}

/// Scenario C: as many users with MPTCP as with TCP. The former have an access point of their own and share
/// the other one with the latter.
pub struct ScenarioC {
    pub users: u16,
    /// Capacity of each access point per user, in Mb/s.
    pub rate: u64,
    pub warm: Duration,
    pub time: Duration,
}

impl ScenarioC {
    /// Goodput of a user with MPTCP over its own access point, the same over the shared one, and goodput of a
    /// user with TCP. The unit is the capacity of an access point per user. The fourth is the mean of OLIA's
    /// α on the shared path.
    pub fn run(&self, seed: u64, control: &str) -> [f64; 4] {
        let users = u32::from(self.users);
        let cable = |behind| {
            let mut cable = cable(self.rate * u64::from(users), 80, 1_000);
            cable.behind = Some(behind);
            cable.down.jitter = MS / 2;
            cable.up.jitter = MS / 2;
            cable
        };
        let cables = (0..users).flat_map(|_| [cable(0), cable(1)]);
        let mut network = links(cables.chain((0..users).map(|_| cable(1))));
        network.bottlenecks = ["own", "shared"]
            .map(|name| BottleneckConfig {
                name: name.into(),
                up: Bitrate::from_mbps(1_000),
                down: Bitrate::from_mbps(self.rate * u64::from(users)),
                queue: QueueConfig::codel(false),
            })
            .into();
        let (coupled, single) = (stock(control, true), stock("reno", false));
        let mut pair = Pair::new(seed, network, coupled, coupled).unwrap();
        let mut random = Rng::named(seed, "starts");
        for user in 0..self.users {
            let conn = u32::from(user);
            pair.run_for(random.duration_up_to(100 * MS));
            pair.client.configure(coupled);
            pair.server.configure(coupled);
            pair.start(conn, v4(2 * user), [App::Sink, App::Bulk]);
            let now = pair.now();
            pair.act(conn, |connection, out| {
                connection.join(now, v4(2 * user + 1), false, out)
            });
            pair.run_for(random.duration_up_to(100 * MS));
            pair.client.configure(single);
            pair.server.configure(single);
            pair.start(users + conn, v4(2 * self.users + user), [App::Sink, App::Bulk]);
        }
        pair.run_for(self.warm);
        let carried = |pair: &Pair| {
            let mut bytes = [0; 3];
            for conn in 0..2 * users {
                let client = pair.client.connection(conn).unwrap();
                for view in client.subflows(pair.now()) {
                    let over = usize::from(view.path.link.0 % 2);
                    bytes[if conn < users { over } else { 2 }] += view.received.in_order;
                }
            }
            bytes
        };
        let before = carried(&pair);
        let (until, mut shifted, mut samples) = (pair.now() + self.time, 0.0, 0.0);
        while pair.now() < until {
            pair.run_for(100 * MS);
            for server in (0..users).filter_map(|conn| pair.server.connection(conn)) {
                shifted += opportunity(server.subflows(pair.now()).filter_map(|view| view.flow));
                samples += 1.0;
            }
        }
        let after = carried(&pair);
        let goodput = |at: usize, payload: f64| {
            let mbps = mbps(after[at] - before[at], self.time);
            mbps / f64::from(users) / (self.rate as f64 * payload / 1_500.0)
        };
        [
            goodput(0, 1_420.0),
            goodput(1, 1_420.0),
            goodput(2, MSS),
            shifted / samples,
        ]
    }

    /// Runs the scenario with this many seeds, and prints the means. Returns the goodput as
    /// [`ScenarioC::run`] does, without α.
    pub fn mean(&self, control: &str, seeds: u64) -> [f64; 3] {
        let runs: Vec<_> = (0..seeds).map(|seed| self.run(seed, control)).collect();
        let [own, shared, single, alpha] = [0, 1, 2, 3].map(|at| mean(runs.iter().map(|run| run[at])));
        let both = own + shared;
        // OLIA's window w over the shared path grows by w²/W² − w²/v² + α in a round trip. W is the sum of
        // both windows, and v the window of a TCP flow. In equilibrium the growth is 0.
        let balanced = (shared / single).powi(2) - (shared / both).powi(2);
        println!(
            "{control}, {} Mb/s: MPTCP {both:.3} ({own:.3} + {shared:.3}), TCP {single:.3}, \
             OLIA's α {alpha:.4}, in equilibrium {balanced:.4}",
            self.rate
        );
        [own, shared, single]
    }
}

/// Slow-start threshold after a loss over the window before it, on a path of 4 Mb/s with random loss beside
/// one of 40 Mb/s.
pub fn mean_cut(control: &str) -> f64 {
    let config = stock(control, true);
    let mut slow = cable(4, 50, 20);
    slow.down.loss = Ratio::clamped(0.003);
    let mut pair = Pair::new(1, links([slow, cable(40, 50, 200)]), config, config).unwrap();
    pair.start(0, v4(0), [App::Sink, App::Bulk]);
    pair.act(0, |connection, out| {
        connection.join(Instant::ZERO, v4(1), false, out);
    });
    pair.run_for(Duration::from_secs(5));
    let (mut before, mut cuts) = ((0, u64::MAX), Vec::new());
    for _ in 0..6_000 {
        pair.run_for(5 * MS);
        let server = pair.server.connection(0).unwrap();
        let slow = server.subflows(pair.now()).next().unwrap();
        let (cwnd, recoveries) = before;
        if slow.sent.recoveries > recoveries {
            cuts.push(f64::from(slow.ssthresh.unwrap()) / f64::from(cwnd));
        }
        before = (slow.sample.cwnd, slow.sent.recoveries);
    }
    let cut = mean(cuts.iter().copied());
    println!(
        "{control}: {cut:.3} of the window after each of {} losses",
        cuts.len()
    );
    cut
}

/// OLIA's α of the second of two paths.
fn opportunity(flows: impl Iterator<Item = Flow>) -> f64 {
    let flows: Vec<_> = flows.collect();
    let [own, shared] = flows[..] else {
        return 0.0;
    };
    let quality = |flow: &Flow| {
        let interval = flow.interval;
        let bytes = interval.since_loss.max(interval.between_losses) as f64;
        bytes / f64::from(flow.srtt_us).powi(2)
    };
    let exceeds = |one: f64, other: f64| one > other * 64.0 / 63.0;
    let larger = |one: &Flow, other: &Flow| exceeds(one.cwnd.into(), other.cwnd.into());
    if exceeds(quality(&shared), quality(&own)) && larger(&own, &shared) {
        0.5
    } else if exceeds(quality(&own), quality(&shared)) && larger(&shared, &own) {
        -0.5
    } else {
        0.0
    }
}

/// A download over 3 × 30 Mb/s, one of which dies.
pub struct Cut {
    /// Mb/s in the 2 s before.
    pub goodput: f64,
    /// What the server has assigned and not sent at the cut.
    pub backlog: Bytes,
    /// Longest silence in the 3 s after it.
    pub silence: Duration,
}

/// Cuts the second link at `at`. RM_ADDR follows `removed_after` later, if at all.
pub fn cut(receive_buffer: ReceiveBuffer, at: Instant, removed_after: Option<Duration>) -> Cut {
    let config = Config {
        receive_buffer,
        ..stock("reno", true)
    };
    let cables = [20, 30, 50].map(|rtt| cable(30, rtt, 200));
    let mut pair = Pair::new(1, links(cables), config, config).unwrap();
    pair.start(0, v4(0), [App::Sink, App::Bulk]);
    for link in [1, 2] {
        pair.act(0, |connection, out| {
            connection.join(Instant::ZERO, v4(link), false, out);
        });
    }
    pair.run_until(at - Duration::from_secs(2));
    let before = pair.read(0);
    pair.run_until(at);
    let goodput = mbps(pair.read(0) - before, Duration::from_secs(2));
    let server = pair.server.connection(0).unwrap();
    let unsent = server.subflows(pair.now()).map(|subflow| subflow.sample.unsent);
    let backlog = unsent.fold(Bytes::ZERO, |sum, bytes| sum + bytes);
    pair.fault(LinkId(1), Fault::Blackhole(true));
    let (cut, until) = (at, at + Duration::from_secs(3));
    let (mut last, mut longest, mut read) = (cut, Duration::ZERO, pair.read(0));
    let mut remove_at = removed_after.map(|after| cut + after);
    while let Some(next) = pair.next().filter(|&next| next <= until) {
        if let Some(at) = remove_at.take_if(|at| *at <= next) {
            pair.run_until(at);
            pair.act(0, |connection, _| connection.withdraw(v4(1)));
        }
        pair.step(next);
        if pair.read(0) > read {
            longest = longest.max(next - last);
            (last, read) = (next, pair.read(0));
        }
    }
    Cut {
        goodput,
        backlog,
        silence: longest.max(until - last),
    }
}

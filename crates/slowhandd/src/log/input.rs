//! Inputs of the engine as text, for `trace`. The line's fields name the link and the connection.

use host::document::{kind, role};
use policy::{
    Checked, ConnEvent, ConnSample, Family, HostEvent, Input, JoinFailure, LinkEvent, SubflowEvent,
    SubflowSample, Tariff, Uplink,
};
use std::fmt::{self, Display};
use std::time::Duration;

/// What happened, in words.
pub(super) struct Fact<'i>(pub &'i Input);

impl Display for Fact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Input::Link(_, event) => link(f, event),
            Input::Conn(_, event) => conn(f, event),
            Input::Subflow(id, event) => {
                write!(f, "subflow {}: ", id.0)?;
                subflow(f, event)
            }
            Input::Resumed => f.write_str("this host is awake again"),
            // No daemon reports these.
            Input::Radio(id, _) => write!(f, "radio {}", id.0),
            Input::Flow(id, _) => write!(f, "flow {}", id.0),
            Input::Allow(_, allowed) => write!(f, "networks of a kind are allowed: {allowed}"),
        }
    }
}

fn link(f: &mut fmt::Formatter<'_>, event: &LinkEvent) -> fmt::Result {
    match event {
        LinkEvent::Appeared(spec) => write!(f, "appeared: {}, {}", kind(spec.kind), role(spec.role)),
        LinkEvent::Gone => f.write_str("gone"),
        LinkEvent::Carrier(true) => f.write_str("carrier up"),
        LinkEvent::Carrier(false) => f.write_str("carrier down"),
        LinkEvent::Usable(true) => f.write_str("usable"),
        LinkEvent::Usable(false) => f.write_str("not usable"),
        LinkEvent::Address(family, true) => write!(f, "{} address and gateway", version(*family)),
        LinkEvent::Address(family, false) => write!(f, "no {} address or gateway", version(*family)),
        LinkEvent::Uplink(family, uplink) => write!(f, "{} {}", version(*family), Rank(*uplink)),
        LinkEvent::Beacon(signal) => write!(f, "beacon at {signal}"),
        LinkEvent::Received { packets } => write!(f, "{packets} packets received"),
        LinkEvent::ProbeAnswered { probe, rtt } => {
            write!(f, "reply to probe {probe} after {} ms", Ms(*rtt))
        }
        LinkEvent::ProbeFailed { probe } => write!(f, "probe {probe} could not be sent"),
        LinkEvent::Host(host, event) => write!(f, "host {}: {}", host.0, of_host(*event)),
        LinkEvent::Traffic { sent, received } => {
            write!(f, "{sent} packets sent and {received} received, without probes")
        }
        LinkEvent::Checkable => f.write_str("a check for a captive portal is useful"),
        LinkEvent::Checked(Checked::Passed) => f.write_str("check passed"),
        LinkEvent::Checked(Checked::Portal) => f.write_str("check that finds a captive portal"),
        LinkEvent::Checked(Checked::Unknown) => f.write_str("check that shows nothing"),
        LinkEvent::Checked(Checked::Failed) => f.write_str("check without a reply"),
        LinkEvent::Tariff(Tariff::Flat) => f.write_str("not metered"),
        LinkEvent::Tariff(Tariff::Metered { .. }) => f.write_str("metered"),
        LinkEvent::Frame(frame) => write!(f, "frame of {} B at {}", frame.bytes, frame.rate),
        LinkEvent::Survey(seen) => write!(f, "channel busy for {} ms so far", Ms(seen.busy)),
        LinkEvent::Phy(_) => f.write_str("PHY reported"),
        LinkEvent::Roamed => f.write_str("on another access point of its network"),
        LinkEvent::Away => f.write_str("radio on another channel"),
        LinkEvent::Trust(_) => f.write_str("owner of the network reported"),
        LinkEvent::Period { used } => write!(f, "a metering period begins with {used} used"),
        LinkEvent::Carried(bytes) => write!(f, "{bytes} carried"),
        LinkEvent::Draws(_) => f.write_str("power of the radio reported"),
        LinkEvent::Foreseen(bytes) => write!(f, "{bytes} foreseen in 10 s"),
    }
}

fn conn(f: &mut fmt::Formatter<'_>, event: &ConnEvent) -> fmt::Result {
    match event {
        ConnEvent::Opened => f.write_str("opened"),
        ConnEvent::Closed => f.write_str("closed"),
        ConnEvent::Remote(id, family) => write!(f, "joins at {} address {}", version(*family), id.0),
        ConnEvent::RemoteGone(id) => write!(f, "no more joins at address {}", id.0),
        ConnEvent::JoinFailed { reason, .. } => write!(f, "join failed: {}", failure(*reason)),
        ConnEvent::Sample(ConnSample {
            bytes_received,
            bytes_acked,
            backlog,
            held,
        }) => write!(
            f,
            "{bytes_received} received, {bytes_acked} acknowledged, backlog {backlog}, {held} out of order"
        ),
    }
}

fn subflow(f: &mut fmt::Formatter<'_>, event: &SubflowEvent) -> fmt::Result {
    match event {
        SubflowEvent::Established { initial, backup, .. } => {
            let which = if *initial { "first" } else { "added" };
            write!(f, "established: {which}{}", as_backup(*backup))
        }
        SubflowEvent::Closed => f.write_str("closed"),
        SubflowEvent::Sample(sample) => counters(f, sample),
    }
}

fn counters(f: &mut fmt::Formatter<'_>, sample: &SubflowSample) -> fmt::Result {
    write!(
        f,
        "{} received in {} segments, {} acknowledged, {} segments in flight, {} unsent, cwnd {}, {} retransmits, {} disordered, \
         RTT {} ms (minimum {}, data {}), last ACK {} ms ago{}",
        sample.bytes_received,
        sample.segs_in,
        sample.bytes_acked,
        sample.unacked,
        sample.unsent,
        sample.cwnd,
        sample.retransmits,
        sample.disordered,
        Ms(sample.srtt),
        Ms(sample.min_rtt),
        Ms(sample.data_rtt),
        Ms(sample.last_ack),
        as_backup(sample.backup)
    )
}

const fn as_backup(backup: bool) -> &'static str {
    if backup { ", backup" } else { "" }
}

/// How the user's default routes rank a link.
struct Rank(Uplink);

impl Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Uplink::Metric(metric) => write!(f, "default route with metric {metric}"),
            Uplink::Declared => f.write_str("gateway of the configuration"),
            Uplink::None => f.write_str("without a default route"),
        }
    }
}

const fn of_host(event: HostEvent) -> &'static str {
    match event {
        HostEvent::Resolves { near: false } => "resolves names",
        HostEvent::Resolves { near: true } => "resolves names, and is the next hop",
        HostEvent::Heard => "heard",
        HostEvent::Unanswered => "does not answer a program",
    }
}

const fn failure(reason: JoinFailure) -> &'static str {
    match reason {
        JoinFailure::Refused => "refused by the peer",
        JoinFailure::Timeout => "no reply",
        JoinFailure::Local => "refused by this host's kernel",
        JoinFailure::Elsewhere => "the user's routes lead to the peer elsewhere",
        JoinFailure::NoAddress => "no address of the peer's family",
        JoinFailure::Untimely => "at the wrong moment",
    }
}

pub(super) const fn version(family: Family) -> &'static str {
    match family {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    }
}

/// Milliseconds, to a tenth.
struct Ms(Duration);

impl Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}", self.0.as_secs_f64() * 1e3)
    }
}

//! Inputs and the configuration of an engine, as bytes.

use crate::bytes::{Malformed, Reader};
use crate::codec::{Codec, Variants, enums, numbers, structs};
use policy::energy_schedule::Variant;
use policy::estimate::bandwidth::Sight;
use policy::estimate::delivery::{Frame, Receiver};
use policy::estimate::energy;
use policy::estimate::phy::Phy;
use policy::flow::{FlowId, PeerId};
use policy::slot;
use policy::steer::{Form, Model};
use policy::{
    Checked, Config, ConnEvent, ConnId, ConnSample, Division, Family, FlowEvent, HostEvent, HostId, Input,
    JoinFailure, LinkEvent, LinkId, LinkKind, LinkSpec, Policy, RadioEvent, RadioId, RemoteId, Role,
    SubflowEvent, SubflowId, SubflowSample, Tariff, Trust, Uplink, Wish,
};
use units::wifi::Standard;
use units::wifi::ht::{Band, Guard, Width};
use units::{Bitrate, Bytes, Dbm, Instant, MacAddr, SeqNum};

numbers! {
    LinkId: u16 = LinkId, |id: LinkId| id.0;
    ConnId: u32 = ConnId, |id: ConnId| id.0;
    SubflowId: u32 = SubflowId, |id: SubflowId| id.0;
    RemoteId: u8 = RemoteId, |id: RemoteId| id.0;
    HostId: u32 = HostId, |id: HostId| id.0;
    RadioId: u16 = RadioId, |id: RadioId| id.0;
    FlowId: u64 = FlowId, |id: FlowId| id.0;
    PeerId: u32 = PeerId, |id: PeerId| id.0;
    Instant: u64 = Instant::from_nanos, Instant::as_nanos;
    Bytes: u64 = Bytes::new, Bytes::get;
    Bitrate: u64 = Bitrate::from_bps, Bitrate::as_bps;
    Dbm: i32 = Dbm::from_mbm, Dbm::as_mbm;
    SeqNum: u16 = SeqNum::new, SeqNum::get;
}

impl Codec for MacAddr {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.octets());
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let octets = from.bytes(6, "MAC address")?;
        Ok(Self::new(std::array::from_fn(|place| octets[place])))
    }
}

structs! {
    Config { policy, peer_subflows }
    LinkSpec { name, kind, role, channel }
    SubflowSample {
        segs_in, bytes_received, bytes_acked, unacked, unsent, retransmits, last_ack, srtt, min_rtt, data_rtt,
        disordered, cwnd, backup,
    }
    ConnSample { bytes_received, bytes_acked, backlog, held }
    Sight { received, busy, exchanges }
    Frame { receiver, tid, number, retry, rate, bytes, aggregate }
    energy::Phase { mw, lasts }
    energy::Radio { idle_mw, promotion, active_mw, down_mw_per_mbps, up_mw_per_mbps, tail }
    slot::Radio { switch, same_channel, least }
    slot::Rules { cycle, alpha, radio }
}

enums! {
    Input { 0 Link(link, event), 1 Conn(conn, event), 2 Subflow(subflow, event), 3 Radio(radio, event),
        4 Flow(flow, event), 5 Allow(trust, allowed), 6 Resumed }
    LinkEvent {
        0 Appeared(spec), 1 Gone, 2 Carrier(up), 3 Usable(usable), 4 Uplink(family, uplink), 5 Beacon(signal),
        6 Received { packets }, 7 ProbeAnswered { probe, rtt }, 8 ProbeFailed { probe }, 9 Host(host, event),
        10 Traffic { sent, received }, 11 Checkable, 12 Checked(found), 13 Frame(frame), 14 Phy(phy),
        15 Survey(sight), 16 Away, 17 Trust(trust), 18 Tariff(tariff), 19 Period { used }, 20 Carried(bytes),
        21 Draws(radio), 22 Foreseen(bytes), 23 Address(family, has), 24 Roamed,
    }
    ConnEvent { 0 Opened, 1 Closed, 2 Sample(sample), 3 JoinFailed { link, reason }, 4 Remote(remote, family),
        5 RemoteGone(remote) }
    SubflowEvent { 0 Established { conn, link, initial, backup }, 1 Closed, 2 Sample(sample) }
    RadioEvent {
        0 Appeared(division), 1 Gone, 2 Serves { link, weight }, 3 AdHoc { link, stays }, 4 Leaves(link),
        5 Scan(stays), 6 Brought(link, bytes), 7 CycleEnded, 8 Slice(slice),
    }
    FlowEvent { 0 Began(wish), 1 Ended, 2 Answered(host), 3 Silent { host, silence, usual }, 4 Wanted(link) }
    HostEvent { 0 Resolves { near }, 1 Heard, 2 Unanswered }
    Wish { 0 Active, 1 Network(link), 2 Peer(peer), 3 Only(link) }
    Division { 0 Adaptive(rules), 1 Weighted { radio, slice } }
    JoinFailure { 0 Refused, 1 Timeout, 2 Local, 3 Elsewhere, 4 NoAddress, 5 Untimely }
    Checked { 0 Passed, 1 Portal, 2 Failed, 3 Unknown }
    LinkKind { 0 Wifi, 1 Cellular, 2 Cable }
    Role { 0 Primary, 1 Secondary, 2 Backup, 3 Never }
    Family { 0 V4, 1 V6 }
    Uplink { 0 Metric(metric), 1 Declared, 2 None }
    Trust { 0 Known, 1 Open, 2 Unknown }
    Tariff { 0 Flat, 1 Metered { cap } }
    Receiver { 0 Us, 1 Other(address), 2 Group }
    Phy { 0 Legacy(standard), 1 Ht { band, width, guard } }
    Standard { 0 A, 1 B, 2 G }
    Band { 0 Ghz2, 1 Ghz5 }
    Width { 0 Mhz20, 1 Mhz40 }
    Guard { 0 Long, 1 Short }
    Policy {
        0 Tcp(link), 1 Handover, 2 HandoverWarm, 3 HandoverCell, 4 WifiFirst, 5 Mptcp, 6 Ecn(form), 7 OneAtATime,
        8 Omniscient, 9 Energy(variant), 10 Slowhand, 11 SlowhandNoWindow,
    }
    Form { 0 Printed, 1 PrintedCapped, 2 Exact { buffer, model }, 3 BaseRtt { buffer, model }, 4 Cap }
    Model { 0 One, 1 ThreeHalves, 2 Two }
    Variant { 0 Probing, 1 AssociationAware, 2 Omniscient, 3 Damped }
}

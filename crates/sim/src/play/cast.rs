//! Translates a scenario: access points and walkers become stations of the air, cells and cables become
//! wires, flows become traffic.
//!
//! # Where we differ, and why
//! 1. A walker's radio is one station on each channel that it uses: it receives on all of them at once. The
//!    scenario's client listens on every channel with an access point.
//! 2. The client tries to associate with every access point. Every other radio associates only with those
//!    that its flows need, and so does a client that saves power.
//! 3. If a rate is to be chosen by the signal, it is the one with the largest goodput at the mean signal.
//! 4. A walker's radio takes its rate control and its 802.11n parameters from the first access point on its
//!    channel.
//!
//! # Checked by
//! `tests/play.rs`.

use links::air::{
    AirConfig, Destination, Discipline, StationConfig, StationId, StationKind, Wfq, WfqStation,
};
use links::wifi::{self, goodput};
use scenario::models::{control, ht, losses, noise, position, propagation, rules, thresholds, wall};
use scenario::{
    AccessPoint, LaneRate, LinkKind, Medium, OPPORTUNITY, Pace, Plan, Point, QueueLimit, RateControl,
    Transport, Walker, WalkerRate, Way, Work,
};
use units::{Bitrate, Bytes, Dbm, Duration, Instant};

use super::associations::{Association, Associations};
use super::backhaul::Backhaul;
use super::error::CastError;
use super::medium::{AnyMedium, Media};
use super::wired::wired;
use super::wires::{Wires, ends};
use crate::traffic::{self, Flow, HEADERS};

/// A scenario in the form that the air needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cast {
    /// Stations.
    pub air: AirConfig,
    /// Traffic, in the order of the plan's flows.
    pub flows: Vec<Flow>,
    /// Per station: the link of the access point that it is. `None` for radios of walkers.
    pub access_points: Vec<Option<usize>>,
    /// Links that are cells and cables. Their ends are numbered after the stations.
    pub wires: Vec<usize>,
    /// Radios of walkers.
    pub radios: Vec<Radio>,
    /// Associations that are kept up whenever possible, sorted by radio.
    pub associations: Vec<Association>,
    /// Per flow: datagrams on the wire to its access point beyond those at the access point, if it is
    /// saturated.
    pub under_way: Vec<u32>,
}

/// Radio of a walker on one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radio {
    /// Owner: an index in [`Plan::walkers`].
    pub walker: usize,
    /// Channel.
    pub channel: u8,
    /// Its station.
    pub station: StationId,
}

/// Size of the packets that a byte limit of a queue is divided by: full ones, in bytes.
const FULL_PACKET: u64 = 1_500;

impl Cast {
    /// Builds the stations and flows of a plan.
    pub fn of(plan: &Plan) -> Result<Self, CastError> {
        check(plan)?;
        let mut cast = Self {
            air: AirConfig::new(units::wifi::Standard::G, Vec::new()),
            flows: Vec::new(),
            access_points: Vec::new(),
            wires: wires(plan).collect(),
            radios: Vec::new(),
            associations: Vec::new(),
            under_way: Vec::new(),
        };
        cast.air.walls = plan.place.walls.iter().map(wall).collect();
        cast.air.noise = plan.place.noises.iter().map(noise).collect();
        cast.air.rules = rules(&plan.rules);
        cast.air.losses = losses(plan);
        for (link, ap) in plan.access_points() {
            cast.air.propagation = propagation(&ap.propagation);
            cast.access_points.push(Some(link));
            cast.air.stations.push(access_point(plan, link, ap));
        }
        for (walker, channel) in wanted_radios(plan) {
            cast.add_radio(plan, walker, channel)?;
        }
        for flow in &plan.flows {
            let (flow, under_way) = cast.flow(plan, flow)?;
            cast.flows.push(flow);
            cast.under_way.push(under_way);
        }
        for place in 0..cast.radios.len() {
            cast.associate(plan, cast.radios[place])?;
        }
        Ok(cast)
    }

    /// The medium at its start.
    pub(super) fn medium(&self, plan: &Plan, seed: u64) -> Result<Media, CastError> {
        let wires = || Wires::new(seed, wired(plan, seed), self.air.stations.len(), &self.flows);
        Ok(Media {
            air: self.any_medium(plan, seed)?,
            wires: (!self.wires.is_empty()).then(wires).transpose()?.map(Box::new),
        })
    }

    fn any_medium(&self, plan: &Plan, seed: u64) -> Result<AnyMedium, CastError> {
        Ok(match plan.medium {
            _ if self.air.stations.is_empty() => AnyMedium::Nothing,
            Medium::Dcf | Medium::Exact => AnyMedium::Exact(Box::new(Associations::new(seed, plan, self)?)),
            Medium::Wfq => AnyMedium::Coarse(Wfq::new(&self.queues(plan))?),
        })
    }

    /// Stations for the coarse medium. Walkers' radios only receive, so their parameters do not matter.
    fn queues(&self, plan: &Plan) -> Vec<WfqStation> {
        let stations = self.air.stations.iter().zip(&self.access_points);
        let queue = |(station, link): (&StationConfig, &Option<usize>)| {
            let turn = link.and_then(|link| match &plan.links[link].kind {
                LinkKind::Wifi(ap) => ap.turn,
                LinkKind::Cell(_) | LinkKind::Cable(_) => None,
            });
            WfqStation {
                name: station.name.clone(),
                time: turn.map_or(Duration::from_millis(1), |turn| turn.packet),
                weight: turn.map_or(1, |turn| turn.weight),
                queue: station.queue,
            }
        };
        stations.map(queue).collect()
    }

    /// What each station is, for its frames.
    pub fn kinds(&self, plan: &Plan) -> impl Iterator<Item = StationKind> {
        self.access_points.iter().map(|link| {
            let kind = link.map(|link| &plan.links[link].kind);
            match kind {
                Some(LinkKind::Wifi(ap)) if ap.ad_hoc => StationKind::Peer,
                Some(_) => StationKind::AccessPoint,
                None => StationKind::Client,
            }
        })
    }

    /// Adds the associations that a radio wants.
    fn associate(&mut self, plan: &Plan, radio: Radio) -> Result<(), CastError> {
        let walker = &plan.walkers[radio.walker];
        let needed = self.needed_by(radio.station);
        let sleeps = walker.power_save && !needed.is_empty();
        if sleeps && plan.medium == Medium::Wfq {
            return Err(CastError::Sleeps(walker.name.clone()));
        }
        if sleeps && needed.len() > 1 {
            return Err(CastError::SleepsTwice {
                walker: walker.name.clone(),
                channel: radio.channel,
            });
        }
        let stations = (0..).map(StationId).zip(&self.access_points);
        let wanted = stations.filter_map(|(station, link)| {
            let link = (*link)?;
            let here = self.air.stations[station.0 as usize].channel == radio.channel;
            let wants = needed.contains(&station) || radio.walker == 0 && !sleeps;
            (here && wants).then_some((station, link))
        });
        let wanted: Vec<(StationId, usize)> = wanted.collect();
        let association = |(access_point, link)| Association {
            radio: radio.station,
            access_point,
            walker: radio.walker,
            link,
            sleeps,
            may_be_old: walker.associated,
        };
        self.associations.extend(wanted.into_iter().map(association));
        Ok(())
    }

    /// Access points that a radio's flows use.
    fn needed_by(&self, radio: StationId) -> Vec<StationId> {
        let ends = self.flows.iter().filter_map(|flow| match flow.to {
            Destination::Station(to) if to == radio => Some(flow.from),
            Destination::Station(to) if flow.from == radio => Some(to),
            Destination::Station(_) | Destination::Everyone => None,
        });
        let mut ends: Vec<StationId> = ends.collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// Radios of the client.
    pub fn client_radios(&self) -> impl Iterator<Item = StationId> {
        self.radios
            .iter()
            .filter(|radio| radio.walker == 0)
            .map(|radio| radio.station)
    }

    /// Per flow: time that its datagrams have spent before they reach the medium.
    pub(super) fn delays<'p>(&'p self, plan: &'p Plan) -> impl Iterator<Item = Duration> + 'p {
        let planned = plan.flows.iter().map(|flow| Instant::ZERO + flow.start);
        let flows = self.flows.iter().zip(planned);
        flows.map(|(flow, planned)| flow.start.since(planned))
    }

    /// Index of this link among the wires, if it is one.
    pub fn wire(&self, link: usize) -> Option<usize> {
        self.wires.iter().position(|wire| *wire == link)
    }

    /// Station of this link's access point.
    pub fn access_point(&self, link: usize) -> Option<StationId> {
        let place = self.access_points.iter().position(|ap| *ap == Some(link))?;
        Some(StationId(place as u32))
    }

    fn radio(&self, walker: usize, channel: u8) -> Option<StationId> {
        let radio = self
            .radios
            .iter()
            .find(|radio| (radio.walker, radio.channel) == (walker, channel));
        radio.map(|radio| radio.station)
    }

    fn add_radio(&mut self, plan: &Plan, walker: usize, channel: u8) -> Result<(), CastError> {
        let mut there = plan.access_points().filter(|(_, ap)| ap.channel == channel);
        let Some((_, first)) = there.next() else {
            return Ok(());
        };
        let differs =
            |ap: &AccessPoint| (ap.standard, ap.ht.is_some()) != (first.standard, first.ht.is_some());
        if let Some((link, _)) = there.find(|(_, ap)| differs(ap)) {
            let link = plan.links[link].name.clone();
            return Err(CastError::Standards { channel, link });
        }
        let who = &plan.walkers[walker];
        if who.rate.is_some() && (first.ht.is_some() || plan.medium == Medium::Wfq) {
            return Err(CastError::OwnRate(who.name.clone()));
        }
        let position = position(who.position(Duration::ZERO));
        let rate = self.upload_rates(plan, walker, channel).min();
        let name = format!("{}@{channel}", who.name);
        let station = StationConfig::new(&name, first.standard, position).with(thresholds(who.thresholds));
        self.radios.push(Radio {
            walker,
            channel,
            station: StationId(self.air.stations.len() as u32),
        });
        self.access_points.push(None);
        self.air.stations.push(StationConfig {
            channel,
            power: who.tx_power,
            rate: rate.unwrap_or(station.rate),
            ht: first.ht.map(ht),
            control: control(sends_at(who, first)),
            queue: packets(first),
            discipline: discipline(first),
            ..station
        });
        Ok(())
    }

    /// Rates at which a walker's own flows can be sent on a channel. A radio has one rate, so the lowest is
    /// used.
    fn upload_rates<'p>(
        &self,
        plan: &'p Plan,
        walker: usize,
        channel: u8,
    ) -> impl Iterator<Item = Bitrate> + 'p {
        let who = &plan.walkers[walker];
        let there = plan.flows.iter().filter_map(move |flow| match flow.transport {
            Transport::Udp { over } if flow.by == walker => {
                plan.access_points().find(|(link, _)| *link == over)
            }
            _ => None,
        });
        there
            .filter(move |(_, ap)| ap.channel == channel)
            .map(move |(_, ap)| {
                let there = who.position(Duration::ZERO);
                rate(plan, (ap, sends_at(who, ap)), who.tx_power, there)
            })
    }

    /// A flow on the air, and its datagrams on the wire if it is saturated.
    fn flow(&self, plan: &Plan, flow: &scenario::Flow) -> Result<(Flow, u32), CastError> {
        let (over, way, pace, payload) = datagrams(flow)?;
        let LinkKind::Wifi(ap) = &plan.links[over].kind else {
            let flow = self.wired_flow(flow, over, (way, pace, payload));
            return Ok((flow, burst(&plan.links[over].kind, way, payload)));
        };
        if plan.medium == Medium::Wfq && way == Way::Up {
            return Err(CastError::OnlyDown(flow.name.clone()));
        }
        let (ap_station, radio) = (self.access_point(over), self.radio(flow.by, ap.channel));
        let (Some(ap_station), Some(radio)) = (ap_station, radio) else {
            unreachable!("every access point and every radio that a flow needs has been cast")
        };
        let (from, to) = match way {
            Way::Down => (ap_station, Destination::Station(radio)),
            Way::Up => (radio, Destination::Station(ap_station)),
            Way::Everyone => (ap_station, Destination::Everyone),
        };
        let air_rate = self.air.stations[from.0 as usize].rate;
        let wire = Backhaul {
            plan,
            over,
            ap,
            air_rate: fastest(plan, ap, payload).unwrap_or(air_rate),
            payload,
        };
        // The exact medium has backhaul wires, the coarse medium gets their output.
        let (pace, delay, under_way) = match plan.medium {
            Medium::Wfq => {
                let (pace, delay) = wire.passed(way, pace)?;
                (pace, delay, 0)
            }
            Medium::Dcf | Medium::Exact => {
                let under_way = wire.under_way(way, pace);
                (traffic::Pace::of(pace), Duration::ZERO, under_way)
            }
        };
        let flow = Flow {
            from,
            to,
            payload: payload.get() as u32,
            pace,
            start: Instant::ZERO + flow.start + delay,
        };
        Ok((flow, under_way))
    }

    /// A flow over a cell or a cable, whose model has the delays and the rate.
    fn wired_flow(
        &self,
        flow: &scenario::Flow,
        over: usize,
        (way, pace, payload): (Way, Pace, Bytes),
    ) -> Flow {
        let Some(wire) = self.wire(over) else {
            unreachable!("every link is an access point or a wire")
        };
        let [far, near] = ends(self.air.stations.len(), wire);
        let (from, to) = match way {
            // Broadcast has no wire: the scenario reader rejects it.
            Way::Down | Way::Everyone => (far, near),
            Way::Up => (near, far),
        };
        Flow {
            from,
            to: Destination::Station(to),
            payload: payload.get() as u32,
            pace: traffic::Pace::of(pace),
            start: Instant::ZERO + flow.start,
        }
    }
}

/// Datagrams that one millisecond of a cell's rate trace can take, if the link has one. All must be available
/// at its start: a source learns only afterwards that some have left.
fn burst(kind: &LinkKind, way: Way, payload: Bytes) -> u32 {
    let LinkKind::Cell(cell) = kind else { return 0 };
    let lane = match way {
        Way::Down | Way::Everyone => &cell.down,
        Way::Up => &cell.up,
    };
    match lane {
        LaneRate::Constant(_) => 0,
        LaneRate::Trace(trace) => {
            let bytes = OPPORTUNITY.get() * trace.largest_burst() as u64;
            bytes.div_ceil(payload.get() + u64::from(HEADERS)) as u32
        }
    }
}

/// Indices of the links that are no access points.
fn wires(plan: &Plan) -> impl Iterator<Item = usize> + '_ {
    let links = plan.links.iter().enumerate();
    links
        .filter(|(_, link)| !matches!(link.kind, LinkKind::Wifi(_)))
        .map(|(place, _)| place)
}

fn datagrams(flow: &scenario::Flow) -> Result<(usize, Way, Pace, Bytes), CastError> {
    match (flow.transport, flow.work) {
        (Transport::Udp { over }, Work::Datagrams { way, pace, payload }) => Ok((over, way, pace, payload)),
        _ => Err(CastError::NotUdp(flow.name.clone())),
    }
}

fn check(plan: &Plan) -> Result<(), CastError> {
    if let Some(flow) = plan.flows.first().filter(|_| plan.uses_v6()) {
        return Err(CastError::DatagramsOverV6(flow.name.clone()));
    }
    if !plan.faults.is_empty() {
        return Err(CastError::Faults);
    }
    for flow in &plan.flows {
        datagrams(flow)?;
    }
    let walks_by_signal = |walker: &&Walker| walks(walker) && walker.rate == Some(WalkerRate::Auto);
    if let Some(walker) = plan.walkers.iter().find(walks_by_signal) {
        return Err(CastError::WalksBySignal(walker.name.clone()));
    }
    if let Some(walker) = plan.walkers.iter().find(|walker| walks(walker))
        && plan.medium != Medium::Wfq
        && let Some((link, _)) = plan
            .access_points()
            .find(|(_, ap)| ap.rate == RateControl::Auto && ap.ht.is_none())
    {
        return Err(CastError::Walks {
            walker: walker.name.clone(),
            link: plan.links[link].name.clone(),
        });
    }
    has_needed_beacons(plan)?;
    let mut shared = None;
    for (link, ap) in plan.access_points() {
        let name = || plan.links[link].name.clone();
        if ap.propagation.shadowing.is_some() {
            return Err(CastError::Shadows(name()));
        }
        if *shared.get_or_insert(ap.propagation) != ap.propagation {
            return Err(CastError::Propagation(name()));
        }
    }
    Ok(())
}

/// Checks that no walker needs the beacons of an access point without any.
pub(super) fn has_needed_beacons(plan: &Plan) -> Result<(), CastError> {
    let mut unmanaged = plan.access_points().filter(|(_, ap)| !ap.management);
    let mut walkers = plan.walkers.iter();
    if let Some((link, _)) = unmanaged.next()
        && let Some(walker) = walkers.find(|walker| walker.power_save || !walker.associated)
    {
        return Err(CastError::NeedsBeacons {
            walker: walker.name.clone(),
            link: plan.links[link].name.clone(),
        });
    }
    Ok(())
}

/// Whether a walker ever leaves its starting point.
pub(super) fn walks(walker: &Walker) -> bool {
    let first = walker.position(Duration::ZERO);
    walker.way.iter().any(|waypoint| waypoint.point != first)
}

/// The channels on which each walker needs a radio: all for the client, those of their flows for the others.
fn wanted_radios(plan: &Plan) -> Vec<(usize, u8)> {
    let mut wanted: Vec<(usize, u8)> = plan.access_points().map(|(_, ap)| (0, ap.channel)).collect();
    for flow in &plan.flows {
        if let Transport::Udp { over } = flow.transport
            && let LinkKind::Wifi(ap) = &plan.links[over].kind
        {
            wanted.push((flow.by, ap.channel));
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

fn access_point(plan: &Plan, link: usize, ap: &AccessPoint) -> StationConfig {
    // The receiver that it sends most to, as far as known: the client, or the owner of the flow that it
    // carries.
    let receiver = plan
        .flows
        .iter()
        .find(|flow| flow.transport == Transport::Udp { over: link })
        .map_or(0, |flow| flow.by);
    let there = plan.walkers[receiver].position(Duration::ZERO);
    StationConfig {
        channel: ap.channel,
        power: ap.tx_power,
        rate: rate(plan, (ap, ap.rate), ap.tx_power, there),
        ht: ap.ht.map(ht),
        control: control(ap.rate),
        queue: packets(ap),
        discipline: discipline(ap),
        ..StationConfig::new(&plan.links[link].name, ap.standard, position(ap.at))
            .with(thresholds(ap.thresholds))
    }
}

/// How a walker's radio chooses its rate towards an access point.
fn sends_at(walker: &Walker, ap: &AccessPoint) -> RateControl {
    match walker.rate {
        None => ap.rate,
        Some(WalkerRate::Auto) => RateControl::Auto,
        Some(WalkerRate::Fixed(rate)) => RateControl::Fixed(rate),
    }
}

/// Data rate between an access point and a walker at `there`, for a sender with this power and rate control.
fn rate(plan: &Plan, (ap, sender): (&AccessPoint, RateControl), power: Dbm, there: Point) -> Bitrate {
    if let RateControl::Fixed(rate) = sender {
        return rate;
    }
    let walls: Vec<wifi::Wall> = plan.place.walls.iter().map(wall).collect();
    let propagation = propagation(&ap.propagation);
    let received = power - propagation.loss(position(ap.at), position(there), &walls);
    let snr = propagation.snr(received);
    let rates = ap.standard.rates_kbps().iter();
    rates
        .map(|&kbps| Bitrate::from_kbps(kbps.into()))
        .max_by_key(|&rate| (goodput(ap.standard, Some(rate), snr), std::cmp::Reverse(rate)))
        .unwrap_or(ap.standard.basic_rate())
}

/// Highest rate that an access point can put on the air. `None` for a legacy access point with one rate,
/// which is that of its station.
fn fastest(plan: &Plan, ap: &AccessPoint, payload: Bytes) -> Option<Bitrate> {
    if plan.medium == Medium::Wfq {
        let bits = (payload.get() + u64::from(HEADERS)) * 8;
        return ap
            .turn
            .map(|turn| Bitrate::from_bps((bits as f64 / turn.packet.as_secs_f64()) as u64));
    }
    let fastest = |ht: scenario::Ht| units::wifi::ht::Mode::new(ht.streams * 8 - 1, ht.width, ht.guard);
    match (ap.ht, ap.rate) {
        (Some(ht), _) => fastest(ht).map(|mode| mode.rate()),
        (None, RateControl::Aarf | RateControl::Minstrel) => {
            let rates = ap.standard.rates_kbps().iter().max();
            rates.map(|&kbps| Bitrate::from_kbps(kbps.into()))
        }
        (None, RateControl::Auto | RateControl::Fixed(_)) => None,
    }
}

fn packets(ap: &AccessPoint) -> usize {
    let packets = match ap.queue.limit {
        QueueLimit::Packets(packets) => u64::from(packets),
        QueueLimit::Bytes(bytes) => bytes.get() / FULL_PACKET,
        QueueLimit::Time(time) => (ap.standard.basic_rate() * time).get() / FULL_PACKET,
        QueueLimit::Bdp => 200,
    };
    packets.max(1) as usize
}

const fn discipline(ap: &AccessPoint) -> Discipline {
    if ap.fq_codel {
        Discipline::fq_codel()
    } else {
        Discipline::TailDrop
    }
}

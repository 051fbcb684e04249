//! A small world for tests that drive the engine: links that carry packets, a peer that accepts two added
//! subflows, and a record of every action, each carried out. WiFi links on one channel share its air, and a
//! monitor interface hears their frames. A plan (a list of steps) defines what happens.
#![allow(dead_code, reason = "each test file uses its own part of the world")]

pub mod air;
pub mod plans;

use air::Transmitter;
use policy::mark::Diffusion;
use policy::{
    Action, Config, ConnEvent, ConnId, ConnSample, Explanation, Input, LinkEvent, LinkId, LinkKind, LinkSpec,
    Note, Policy, Role, SubflowEvent, SubflowId, SubflowSample, Verb,
};
use record::{Recorded, Recording};
use std::collections::BTreeMap;
use units::{Bitrate, Bytes, Dbm, Duration, Instant, Ratio};

pub const CONN: ConnId = ConnId(1);
const STEP: Duration = Duration::from_millis(10);
/// Payload of a full packet, in bytes.
pub const PAYLOAD: u64 = 1_448;

/// One step of a plan.
#[derive(Debug, Clone)]
pub enum Step {
    /// Adds an access point on this channel, 20 ms away. Its frames are sent at this rate and fail with this
    /// probability.
    AccessPoint {
        id: u16,
        channel: u16,
        mbps: u64,
        loss_percent: u32,
    },
    /// Adds a modem or a cable.
    Wire { id: u16, kind: LinkKind, mbps: u64 },
    /// The link gets a carrier and an address, or loses both.
    Up(u16, bool),
    /// Changes the rate and loss of an access point's frames.
    Air { id: u16, mbps: u64, loss_percent: u32 },
    /// Sets the signal of this access point's beacons, and its slope.
    Signal { id: u16, dbm: i32, db_per_s: f64 },
    /// A connection starts on this link.
    Open(u16),
    /// Passes this input to the engine.
    Tell(Input),
    /// Lets this much time pass.
    Run(Duration),
}

/// A link of this world.
#[derive(Debug)]
pub struct Link {
    pub spec: LinkSpec,
    pub rate: Bitrate,
    pub rtt: Duration,
    pub up: bool,
    /// Whether nothing arrives over it for now.
    pub silent: bool,
    pub asked: bool,
    pub transmitter: Option<Transmitter>,
    pub signal: Option<(f64, f64)>,
    /// Share of arriving packets that the data plane marks.
    pub mark: Ratio,
    pub diffusion: Diffusion,
    pub marked: u64,
    /// Percentage of arriving segments that arrive out of order, behind a lost one.
    pub lost_percent: u64,
    pub packets: u64,
}

#[derive(Debug)]
struct Sub {
    link: LinkId,
    initial: bool,
    backup: bool,
    packets: u64,
}

/// The engine, and everything around it.
pub struct World {
    pub engine: Recorded,
    pub now: Instant,
    pub links: BTreeMap<LinkId, Link>,
    pub done: Vec<(Instant, Action)>,
    /// Whether a monitor interface listens.
    pub monitor: bool,
    /// Out-of-order bytes.
    pub held: Bytes,
    subs: BTreeMap<SubflowId, Sub>,
    joins: Vec<(Instant, LinkId, bool)>,
    next_sub: u32,
}

impl World {
    pub fn new(policy: Policy) -> Self {
        let config = Config {
            policy,
            peer_subflows: 2,
        };
        Self {
            engine: Recorded::new(config, Recording::of_test()),
            now: Instant::ZERO,
            links: BTreeMap::new(),
            done: Vec::new(),
            monitor: true,
            held: Bytes::ZERO,
            subs: BTreeMap::new(),
            joins: Vec::new(),
            next_sub: 0,
        }
    }

    /// Creates a world and follows this plan.
    pub fn after(policy: Policy, plan: &[Step]) -> Self {
        let mut world = Self::new(policy);
        world.follow(plan);
        world
    }

    pub fn follow(&mut self, plan: &[Step]) {
        for step in plan {
            self.take(step.clone());
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::AccessPoint {
                id,
                channel,
                mbps,
                loss_percent,
            } => {
                let transmitter = Transmitter::new(id, mbps, loss_percent);
                self.add(id, LinkKind::Wifi, Some(channel), 0, Some(transmitter));
            }
            Step::Wire { id, kind, mbps } => self.add(id, kind, None, mbps, None),
            Step::Up(id, up) => self.set_up(LinkId(id), up),
            Step::Air {
                id,
                mbps,
                loss_percent,
            } => {
                let transmitter = self.link(id).transmitter.as_mut();
                transmitter.expect("an access point").change(mbps, loss_percent);
            }
            Step::Signal { id, dbm, db_per_s } => {
                self.link(id).signal = Some((f64::from(dbm), db_per_s));
            }
            Step::Open(id) => {
                self.tell(Input::Conn(CONN, ConnEvent::Opened));
                self.establish(LinkId(id), true, false);
            }
            Step::Tell(input) => self.tell(input),
            Step::Run(time) => self.run(time),
        }
    }

    fn add(
        &mut self,
        id: u16,
        kind: LinkKind,
        channel: Option<u16>,
        mbps: u64,
        transmitter: Option<Transmitter>,
    ) {
        let spec = LinkSpec {
            name: format!("link{id}"),
            kind,
            role: Role::Primary,
            channel,
        };
        let link = Link {
            spec: spec.clone(),
            rate: Bitrate::from_mbps(mbps),
            rtt: Duration::from_millis(20),
            up: false,
            silent: false,
            asked: false,
            transmitter,
            signal: None,
            mark: Ratio::ZERO,
            diffusion: Diffusion::new(),
            marked: 0,
            lost_percent: 0,
            packets: 0,
        };
        self.links.insert(LinkId(id), link);
        self.tell(Input::Link(LinkId(id), LinkEvent::Appeared(spec)));
    }

    pub fn link(&mut self, id: u16) -> &mut Link {
        self.links.get_mut(&LinkId(id)).expect("a link of the plan")
    }

    fn set_up(&mut self, link: LinkId, up: bool) {
        self.link(link.0).up = up;
        self.tell(Input::Link(link, LinkEvent::Carrier(up)));
        self.tell(Input::Link(link, LinkEvent::Usable(up)));
    }

    pub fn tell(&mut self, input: Input) {
        self.engine.handle(self.now, input);
        self.carry_out();
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            self.finish_joins();
            self.flow();
            if self.now.as_millis().is_multiple_of(100) {
                self.beacon();
            }
            self.engine.tick(self.now);
            self.carry_out();
        }
    }

    /// Delivers the packets of one step: every link in use carries as much as its wire, or its share of the
    /// air, allows.
    fn flow(&mut self) {
        for link in self.links.keys().copied().collect::<Vec<_>>() {
            let packets = self.packets_of(link);
            if packets > 0 {
                self.deliver(link, packets);
            }
        }
        for id in self.subs.keys().copied().collect::<Vec<_>>() {
            // The input about one subflow may have ended another.
            if let Some(sample) = self.sample(id) {
                self.tell(Input::Subflow(id, SubflowEvent::Sample(sample)));
            }
        }
        let total: u64 = self.subs.values().map(|sub| sub.packets).sum();
        let sample = ConnSample {
            bytes_received: Bytes::new(total * PAYLOAD),
            held: self.held,
            ..ConnSample::default()
        };
        self.tell(Input::Conn(CONN, ConnEvent::Sample(sample)));
    }

    pub fn carries(&self, link: LinkId) -> bool {
        let in_use = |sub: &&Sub| self.links[&sub.link].up;
        let primary = self.subs.values().filter(in_use).any(|sub| !sub.backup);
        self.subs
            .values()
            .filter(in_use)
            .any(|sub| sub.link == link && (!sub.backup || !primary))
    }

    fn packets_of(&mut self, link: LinkId) -> u64 {
        if !self.carries(link) || self.links[&link].silent {
            return 0;
        }
        let here = &self.links[&link];
        let Some(own) = &here.transmitter else {
            return (here.rate * STEP).get() / PAYLOAD;
        };
        // Contending stations send equally many packets. A packet's airtime depends on its station.
        let sharing = self
            .links
            .iter()
            .filter(|(other, _)| self.carries(**other))
            .filter(|(_, other)| other.spec.channel == here.spec.channel)
            .filter_map(|(_, other)| other.transmitter.as_ref());
        let round: Duration = sharing.map(Transmitter::packet_time).sum();
        own.owed(STEP.as_nanos() as f64 / round.as_nanos() as f64)
    }

    fn deliver(&mut self, id: LinkId, packets: u64) {
        let link = self.links.get_mut(&id).expect("asked by its key");
        link.packets += packets;
        link.marked += u64::from(link.diffusion.due(link.mark, packets as u16));
        if let Some(transmitter) = &mut link.transmitter {
            let frames = transmitter.send(packets);
            if self.monitor {
                for frame in frames {
                    self.tell(Input::Link(id, LinkEvent::Frame(frame)));
                }
            }
        }
        let sub = self.subs.values_mut().find(|sub| sub.link == id);
        sub.expect("a link that carries has a subflow").packets += packets;
    }

    fn sample(&self, id: SubflowId) -> Option<SubflowSample> {
        let sub = self.subs.get(&id)?;
        let Link {
            rtt, lost_percent, ..
        } = self.links[&sub.link];
        Some(SubflowSample {
            segs_in: sub.packets,
            bytes_received: Bytes::new(sub.packets * PAYLOAD),
            srtt: rtt + rtt / 2,
            min_rtt: rtt,
            disordered: sub.packets * lost_percent / 100,
            backup: sub.backup,
            ..SubflowSample::default()
        })
    }

    fn beacon(&mut self) {
        for link in self.links.keys().copied().collect::<Vec<_>>() {
            let Some((dbm, slope)) = &mut self.link(link.0).signal else {
                continue;
            };
            *dbm += *slope / 10.0;
            let signal = Dbm::from_mbm((*dbm * 100.0) as i32);
            self.tell(Input::Link(link, LinkEvent::Beacon(signal)));
        }
    }

    fn finish_joins(&mut self) {
        let now = self.now;
        let (due, later) = self.joins.drain(..).partition(|join| join.0 <= now);
        self.joins = later;
        let due: Vec<(Instant, LinkId, bool)> = due;
        for (_, link, backup) in due {
            self.establish(link, false, backup);
        }
    }

    fn establish(&mut self, link: LinkId, initial: bool, backup: bool) {
        let id = SubflowId(self.next_sub);
        self.next_sub += 1;
        let sub = Sub {
            link,
            initial,
            backup,
            packets: 0,
        };
        self.subs.insert(id, sub);
        let established = SubflowEvent::Established {
            conn: CONN,
            link,
            initial,
            backup,
        };
        self.tell(Input::Subflow(id, established));
    }

    /// Does what the kernel's own path manager would do: adds a subflow over every link with an endpoint.
    fn kernel_joins(&mut self, link: LinkId) {
        let known = self.subs.values().any(|sub| sub.link == link);
        if !known && !self.subs.is_empty() {
            self.joins.push((self.now, link, false));
        }
    }

    fn carry_out(&mut self) {
        while let Some(action) = self.engine.poll() {
            self.done.push((self.now, action.clone()));
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Probe { link, probe, .. } if self.links[&link].up && !self.links[&link].silent => {
                let rtt = self.links[&link].rtt;
                self.tell(Input::Link(link, LinkEvent::ProbeAnswered { probe, rtt }));
            }
            Action::Join { link, backup, .. } => {
                let at = self.now + self.links[&link].rtt;
                self.joins.push((at, link, backup));
            }
            Action::SetBackup { subflow, backup } => {
                if let Some(sub) = self.subs.get_mut(&subflow) {
                    sub.backup = backup;
                }
            }
            Action::Destroy(subflow) => drop(self.subs.remove(&subflow)),
            Action::Endpoint(link, true) => self.kernel_joins(link),
            Action::Mark(link, rate) => self.link(link.0).mark = rate,
            Action::Associate(link) => {
                self.link(link.0).asked = true;
                self.set_up(link, true);
            }
            Action::Leave(link) => self.set_up(link, false),
            _ => {}
        }
    }

    /// Links over which data flows now, in order.
    pub fn in_use(&self) -> Vec<u16> {
        let used = self.links.keys().filter(|link| self.carries(**link));
        used.map(|link| link.0).collect()
    }

    /// Links that are joined, in order.
    pub fn joined(&self) -> Vec<u16> {
        let mut links: Vec<u16> = self.subs.values().map(|sub| sub.link.0).collect();
        links.sort_unstable();
        links
    }

    /// Every marking rate requested for a link, and when.
    pub fn marks(&self, id: u16) -> Vec<(Instant, Ratio)> {
        let mark = |(at, action): &(Instant, Action)| match action {
            Action::Mark(link, rate) if link.0 == id => Some((*at, *rate)),
            _ => None,
        };
        self.done.iter().filter_map(mark).collect()
    }

    /// Every note with this verb.
    pub fn notes(&self, verb: Verb) -> Vec<&Note> {
        self.done
            .iter()
            .filter_map(|(_, action)| match action {
                Action::Note(note) if note.verb == verb => Some(note),
                _ => None,
            })
            .collect()
    }

    /// Explanation of a link, as the user reads it.
    pub fn explanation(&self, id: u16) -> Explanation {
        let all = self.engine.explain();
        all.into_iter()
            .find(|explanation| explanation.link == LinkId(id))
            .expect("every link is explained")
    }
}

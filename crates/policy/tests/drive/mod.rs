//! Drives an engine with inputs read from bytes. Any bytes are a sequence of inputs, plausible or not, and
//! the engine must withstand every one of them. Two engines with the same inputs must request the same. The
//! property test beside this file and the fuzzer use it, and both count allocated memory.

mod conns;
mod flowing;
mod kinds;

use crate::counting;
use flowing::Flow;
use kinds::kind;
use policy::energy_schedule::Variant;
use policy::estimate::bandwidth::Sight;
use policy::estimate::delivery::{Frame, Receiver};
use policy::estimate::energy::{Phase, Radio};
use policy::estimate::phy::Phy;
use policy::flow::{FlowId, PeerId};
use policy::slot::{self, Rules};
use policy::steer::{Form, Model};
use policy::{
    Action, Checked, Config, ConnEvent, ConnId, Division, Engine, Family, FlowEvent, HostEvent, HostId,
    Input, LinkEvent, LinkId, LinkKind, LinkSpec, Policy, RadioEvent, RadioId, Role, SubflowEvent, SubflowId,
    SubflowSample, Tariff, Trust, Wish,
};
use std::collections::{BTreeMap, BTreeSet};
use units::wifi::ht::{Band, Guard, Width};
use units::{Bitrate, Bytes, Dbm, Duration, Instant, MacAddr, SeqNum};

/// Limit on ticks at one instant: enough for everything that is due.
const TICKS_AT_ONCE: u32 = 4;
/// Limit on the actions that one input may cause.
const ACTIONS_AT_ONCE: usize = 10_000;
/// Byte that starts a connection with traffic.
const FLOWS: u8 = 255;

/// Bytes held at most: 10 links (≤ 200 kB of frames each), 5 connections, 27 subflows, 3 radios, 20 flows.
const MOST_HELD: isize = 2 << 20;

/// Reads numbers from bytes. Returns zero when they are used up.
pub struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Mostly a small number, sometimes any number.
    fn number(&mut self) -> u64 {
        match self.byte() {
            251..=255 => (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte())),
            small => u64::from(small) << 8 | u64::from(self.byte()),
        }
    }

    fn duration(&mut self) -> Duration {
        let number = self.number();
        if number > u64::from(u16::MAX) {
            Duration::new(number, 999_999_999)
        } else {
            Duration::from_micros(number * 20)
        }
    }

    fn link(&mut self) -> LinkId {
        LinkId(u16::from(self.below(7)))
    }

    fn conn(&mut self) -> ConnId {
        ConnId(u32::from(self.below(4)))
    }

    fn subflow(&mut self) -> SubflowId {
        SubflowId(u32::from(self.below(24)))
    }

    fn policy(&mut self) -> Policy {
        match self.below(16) {
            0 => Policy::Tcp(self.link()),
            1 => Policy::Handover,
            2 => Policy::HandoverWarm,
            3 => Policy::HandoverCell,
            4 => Policy::WifiFirst,
            5 => Policy::Mptcp,
            6 => Policy::SlowhandNoWindow,
            7 => Policy::Ecn(self.form()),
            8 => Policy::OneAtATime,
            9 => Policy::Omniscient,
            10 => Policy::Energy(
                [
                    Variant::Probing,
                    Variant::AssociationAware,
                    Variant::Omniscient,
                    Variant::Damped,
                ][usize::from(self.below(4))],
            ),
            _ => Policy::Slowhand,
        }
    }

    fn form(&mut self) -> Form {
        let model = [Model::One, Model::ThreeHalves, Model::Two][usize::from(self.below(3))];
        let buffer = self.number() as u16;
        match self.below(5) {
            0 => Form::Printed,
            1 => Form::PrintedCapped,
            2 => Form::Exact { buffer, model },
            3 => Form::BaseRtt { buffer, model },
            _ => Form::Cap,
        }
    }

    fn config(&mut self) -> Config {
        Config {
            policy: self.policy(),
            peer_subflows: usize::from(self.below(5)),
        }
    }

    fn input(&mut self) -> Input {
        match self.below(20) {
            0..=5 => Input::Link(self.link(), self.link_event()),
            6 => Input::Link(self.link(), self.air_event()),
            7..=9 => Input::Conn(self.conn(), self.conn_event()),
            10..=15 => Input::Subflow(self.subflow(), self.subflow_event()),
            16 => Input::Link(self.link(), self.cost_event()),
            17 => Input::Radio(RadioId(u16::from(self.below(3))), self.radio_event()),
            18 => Input::Flow(FlowId(u64::from(self.below(20))), self.flow_event()),
            _ => self.about_host(),
        }
    }

    fn about_host(&mut self) -> Input {
        match (self.trust(), self.below(8)) {
            (_, 0..2) => Input::Resumed,
            (trust, number) => Input::Allow(trust, number & 1 == 1),
        }
    }

    fn air_event(&mut self) -> LinkEvent {
        match self.below(16) {
            0 => LinkEvent::Phy(Phy::of_channel(self.flag().then(|| u16::from(self.byte())))),
            1 => LinkEvent::Phy(Phy::Ht {
                band: Band::Ghz5,
                width: Width::Mhz40,
                guard: Guard::Short,
            }),
            2 => LinkEvent::Away,
            3 | 4 => LinkEvent::Survey(Sight {
                received: Bytes::new(self.number()),
                busy: self.duration(),
                exchanges: self.number(),
            }),
            _ => LinkEvent::Frame(self.frame()),
        }
    }

    fn frame(&mut self) -> Frame {
        Frame {
            receiver: match self.below(4) {
                0 => Receiver::Group,
                1 => Receiver::Other(MacAddr::new([2, 0, 0, 0, 0, self.byte()])),
                _ => Receiver::Us,
            },
            tid: self.flag().then(|| self.below(18)),
            number: SeqNum::new(self.number() as u16),
            retry: self.flag(),
            rate: Bitrate::from_bps(self.number().saturating_mul(10_000)),
            bytes: self.number() as u16,
            aggregate: self.flag().then(|| u32::from(self.byte())),
        }
    }

    fn cost_event(&mut self) -> LinkEvent {
        match self.below(7) {
            0 => LinkEvent::Trust(self.trust()),
            1 => LinkEvent::Tariff(Tariff::Flat),
            2 => LinkEvent::Tariff(Tariff::Metered {
                cap: self.flag().then(|| Bytes::new(self.number())),
            }),
            3 => LinkEvent::Period {
                used: Bytes::new(self.number()),
            },
            4 => LinkEvent::Draws(self.draws()),
            5 => LinkEvent::Foreseen(Bytes::new(self.number())),
            _ => LinkEvent::Carried(Bytes::new(self.number())),
        }
    }

    fn draws(&mut self) -> Radio {
        let mut mw = || self.number() as u32;
        let (idle_mw, active_mw, down_mw_per_mbps, up_mw_per_mbps) = (mw(), mw(), mw(), mw());
        let mut phase = || Phase {
            mw: self.number() as u32,
            lasts: self.duration(),
        };
        Radio {
            idle_mw,
            promotion: phase(),
            active_mw,
            down_mw_per_mbps,
            up_mw_per_mbps,
            tail: phase(),
        }
    }

    fn rules(&mut self) -> Rules {
        Rules {
            cycle: if self.flag() {
                Rules::NSDI15.cycle
            } else {
                self.duration()
            },
            alpha: u32::from(self.below(6)),
            radio: self.radio(),
        }
    }

    fn radio(&mut self) -> slot::Radio {
        match self.below(3) {
            0 => slot::Radio::NSDI15,
            1 => slot::Radio::JUGGLER,
            _ => slot::Radio {
                switch: self.duration(),
                same_channel: self.duration(),
                least: self.duration(),
            },
        }
    }

    fn trust(&mut self) -> Trust {
        [Trust::Known, Trust::Open, Trust::Unknown][usize::from(self.below(3))]
    }

    fn radio_event(&mut self) -> RadioEvent {
        let (link, stays) = (self.link(), self.duration());
        match self.below(10) {
            0 => RadioEvent::Appeared(Division::Adaptive(self.rules())),
            1 => RadioEvent::Appeared(Division::Weighted {
                radio: self.radio(),
                slice: self.duration(),
            }),
            2 => RadioEvent::Gone,
            3 | 4 => RadioEvent::Serves {
                link,
                weight: self.number() as u32,
            },
            5 => RadioEvent::AdHoc { link, stays },
            6 => RadioEvent::Leaves(link),
            7 => RadioEvent::Scan(stays),
            8 => RadioEvent::Slice(stays),
            9 if self.flag() => RadioEvent::Brought(link, Bytes::new(self.number())),
            _ => RadioEvent::CycleEnded,
        }
    }

    fn flow_event(&mut self) -> FlowEvent {
        match self.below(7) {
            0 => FlowEvent::Ended,
            1 => FlowEvent::Began(Wish::Active),
            2 => FlowEvent::Began(Wish::Network(self.link())),
            3 => FlowEvent::Answered(self.host()),
            4 => FlowEvent::Silent {
                host: self.host(),
                silence: self.duration(),
                usual: self.duration(),
            },
            5 => FlowEvent::Wanted(self.link()),
            _ => FlowEvent::Began(Wish::Peer(PeerId(u32::from(self.below(30))))),
        }
    }

    fn link_event(&mut self) -> LinkEvent {
        match self.below(24) {
            0..=2 => LinkEvent::Appeared(self.spec()),
            3 => LinkEvent::Gone,
            4..=6 => LinkEvent::Carrier(self.byte() > 20),
            7..=9 => LinkEvent::Usable(self.byte() > 20),
            10..=12 => LinkEvent::Beacon(self.signal()),
            13 => LinkEvent::Received {
                packets: self.number(),
            },
            14 => LinkEvent::ProbeFailed {
                probe: self.number() as u32,
            },
            15 => LinkEvent::Host(self.host(), HostEvent::Resolves { near: self.flag() }),
            16 => LinkEvent::Host(self.host(), HostEvent::Heard),
            17 => LinkEvent::Host(self.host(), HostEvent::Unanswered),
            18 => LinkEvent::Traffic {
                sent: self.number(),
                received: self.number(),
            },
            19 => match self.below(5) {
                0 => LinkEvent::Checkable,
                1 => LinkEvent::Checked(Checked::Passed),
                2 => LinkEvent::Checked(Checked::Portal),
                3 => LinkEvent::Checked(Checked::Unknown),
                _ => LinkEvent::Checked(Checked::Failed),
            },
            20 => LinkEvent::Address(self.family(), self.flag()),
            21 => LinkEvent::Roamed,
            _ => LinkEvent::ProbeAnswered {
                probe: self.number() as u32,
                rtt: self.duration(),
            },
        }
    }

    fn family(&mut self) -> Family {
        Family::ALL[usize::from(self.flag())]
    }

    fn host(&mut self) -> HostId {
        HostId(u32::from(self.below(20)))
    }

    fn signal(&mut self) -> Dbm {
        match self.byte() {
            255 => Dbm::from_mbm(i32::MIN),
            254 => Dbm::from_mbm(i32::MAX),
            dbm => Dbm::from_mbm(-10_000 + i32::from(dbm) * 50),
        }
    }

    fn spec(&mut self) -> LinkSpec {
        LinkSpec {
            name: "link".into(),
            kind: [
                LinkKind::Wifi,
                LinkKind::Wifi,
                LinkKind::Cellular,
                LinkKind::Cable,
            ][usize::from(self.below(4))],
            role: [
                Role::Primary,
                Role::Primary,
                Role::Secondary,
                Role::Backup,
                Role::Never,
            ][usize::from(self.below(5))],
            channel: self.flag().then(|| u16::from(self.below(3))),
        }
    }

    fn subflow_event(&mut self) -> SubflowEvent {
        match self.below(8) {
            0..=2 => SubflowEvent::Established {
                conn: self.conn(),
                link: self.link(),
                initial: self.flag(),
                backup: self.flag(),
            },
            3 => SubflowEvent::Closed,
            _ => SubflowEvent::Sample(SubflowSample {
                segs_in: self.number(),
                bytes_received: Bytes::new(self.number()),
                bytes_acked: Bytes::new(self.number()),
                unacked: self.number() as u32,
                unsent: Bytes::new(self.number()),
                retransmits: self.number(),
                last_ack: self.duration(),
                srtt: self.duration(),
                min_rtt: self.duration(),
                data_rtt: self.duration(),
                disordered: self.number(),
                cwnd: self.number() as u32,
                backup: self.flag(),
            }),
        }
    }

    /// Time without inputs: mostly milliseconds, sometimes very long.
    fn wait(&mut self) -> Duration {
        match self.byte() {
            0..=99 => Duration::ZERO,
            ms @ 100..=239 => Duration::from_millis(u64::from(ms - 99)),
            s @ 240..=253 => Duration::from_secs(u64::from(s - 239)),
            // A year at most, so that the clock does not reach its end.
            _ => Duration::from_secs(self.number() % 31_536_000),
        }
    }
}

/// Everything that inputs have named so far, to check that actions name nothing else.
#[derive(Default)]
struct Known {
    links: BTreeSet<LinkId>,
    hosts: BTreeSet<HostId>,
    conns: BTreeSet<ConnId>,
    subflows: BTreeSet<SubflowId>,
    radios: BTreeSet<RadioId>,
    flows: BTreeSet<FlowId>,
}

impl Known {
    fn told(&mut self, input: &Input) {
        match *input {
            Input::Link(link, LinkEvent::Appeared(_)) => drop(self.links.insert(link)),
            Input::Link(_, LinkEvent::Host(host, _)) => drop(self.hosts.insert(host)),
            Input::Conn(conn, ConnEvent::Opened) => drop(self.conns.insert(conn)),
            Input::Subflow(subflow, SubflowEvent::Established { .. }) => drop(self.subflows.insert(subflow)),
            Input::Radio(radio, RadioEvent::Appeared(_)) => drop(self.radios.insert(radio)),
            Input::Flow(flow, FlowEvent::Began(_)) => drop(self.flows.insert(flow)),
            Input::Flow(_, FlowEvent::Answered(host) | FlowEvent::Silent { host, .. }) => {
                self.hosts.insert(host);
            }
            _ => {}
        }
    }

    fn asked(&self, action: &Action) {
        let known = match *action {
            Action::Associate(link) | Action::Leave(link) | Action::Endpoint(link, _) => {
                self.links.contains(&link)
            }
            Action::DefaultRoute(_, link) => link.is_none_or(|link| self.links.contains(&link)),
            Action::Check(link) | Action::HandedOff(link) => self.links.contains(&link),
            Action::Ask { link, host, .. } => self.links.contains(&link) && self.hosts.contains(&host),
            Action::Join { conn, link, .. } | Action::Probe { conn, link, .. } => {
                self.conns.contains(&conn) && self.links.contains(&link)
            }
            Action::SetBackup { subflow, .. }
            | Action::Destroy(subflow)
            | Action::Withdraw(subflow)
            | Action::CapPacing { subflow, .. } => self.subflows.contains(&subflow),
            Action::Window(conn, _) | Action::Unsent(conn, _) => self.conns.contains(&conn),
            Action::Mark(link, _) | Action::MarkSent(link, _) => self.links.contains(&link),
            Action::Outlook(link, _) => self.links.contains(&link),
            Action::Slots(radio, _) => self.radios.contains(&radio),
            Action::Assign(flow, link) | Action::Move(flow, link) => {
                self.flows.contains(&flow) && self.links.contains(&link)
            }
            Action::Hold(flow) | Action::EndFlow(flow) => self.flows.contains(&flow),
            Action::Note(ref note) => !note.reason.sentence(&[][..]).is_empty(),
        };
        assert!(known, "{action:?} names something that no input named");
    }
}

/// Result of a run.
#[allow(dead_code, reason = "the fuzzer reads neither")]
pub struct Seen {
    /// Maximum of held memory, in bytes.
    pub most: isize,
    /// How often each kind of action and each verb of a note occurred.
    pub kinds: BTreeMap<&'static str, u64>,
}

/// An engine, and optionally a twin that gets the same inputs at the same times.
struct Driver {
    engine: Engine,
    twin: Option<Engine>,
    known: Known,
    now: Instant,
    flow: Option<Flow>,
    flows: u32,
    before: isize,
    seen: Seen,
}

/// Feeds an engine the inputs in these bytes, as a driver must. With a twin, both must request the same.
pub fn drive(bytes: &[u8], with_twin: bool) -> Seen {
    let before = counting::held();
    let mut reader = Reader(bytes);
    let config = reader.config();
    let mut driver = Driver {
        engine: Engine::new(config),
        twin: with_twin.then(|| Engine::new(config)),
        known: Known::default(),
        now: Instant::ZERO,
        flow: None,
        flows: 0,
        before,
        seen: Seen {
            most: 0,
            kinds: BTreeMap::new(),
        },
    };
    while !reader.0.is_empty() {
        let until = driver.now + reader.wait();
        driver.sleep(until);
        if reader.byte() == FLOWS {
            driver.flow(&mut reader);
        } else {
            driver.tell(reader.input());
        }
    }
    driver.explained();
    driver.seen
}

impl Driver {
    fn tell(&mut self, input: Input) {
        self.known.told(&input);
        if let Some(twin) = &mut self.twin {
            twin.handle(self.now, input.clone());
        }
        self.engine.handle(self.now, input);
        self.carry_out();
        if self.twin.is_none() {
            self.seen.most = self.seen.most.max(counting::held() - self.before);
            assert!(self.seen.most < MOST_HELD, "holds {} bytes", self.seen.most);
        }
    }

    /// Opens a connection, moves data in three phases with another input after each, and closes it.
    fn flow(&mut self, reader: &mut Reader<'_>) {
        let flow = Flow::read(reader, self.flows);
        self.flows += 1;
        let (begins, ends, mut steps) = (flow.begins(), flow.ends(), flow.steps());
        self.flow = Some(flow);
        begins.into_iter().for_each(|input| self.tell(input));
        for _ in 0..3 {
            for _ in 0..steps {
                self.sleep(self.now + flowing::STEP);
                let read = self.flow.as_mut().map_or_else(Vec::new, Flow::step);
                read.into_iter().for_each(|input| self.tell(input));
            }
            self.tell(reader.input());
            steps = self.flow.as_mut().map_or(0, |flow| flow.turn(reader));
        }
        ends.into_iter().for_each(|input| self.tell(input));
        self.flow = None;
    }

    /// Every link, and every connection with a limit, has a sentence that explains it, whatever the inputs.
    fn explained(&self) {
        let links = self.engine.explain();
        assert!(links.iter().all(|link| !link.why.is_empty()));
        assert!(self.twin.as_ref().is_none_or(|twin| twin.explain() == links));
        for conn in self.engine.explain_connections() {
            assert!(self.known.conns.contains(&conn.conn), "no input opened {conn:?}");
            let roles = conn.roles.iter().map(|role| &role.why);
            let mut sentences = conn.window.iter().chain(&conn.unsent).chain(roles).peekable();
            assert!(sentences.peek().is_some(), "no explanation for {conn:?}");
            assert!(sentences.all(|why| !why.is_empty()));
        }
    }

    /// Ticks whenever the engine asks for it, up to 200 times. Then lets the rest of the time pass at once.
    fn sleep(&mut self, until: Instant) {
        let mut at_once = 0;
        for _ in 0..200 {
            let Some((wake, _)) = self.engine.wake_at().filter(|(wake, _)| *wake <= until) else {
                break;
            };
            at_once = if wake > self.now { 0 } else { at_once + 1 };
            assert!(
                at_once <= TICKS_AT_ONCE,
                "the engine asks to be woken at {wake} again and again"
            );
            self.tick(self.now.max(wake));
        }
        self.tick(until);
    }

    fn tick(&mut self, now: Instant) {
        self.now = now;
        self.engine.tick(now);
        if let Some(twin) = &mut self.twin {
            twin.tick(now);
        }
        self.carry_out();
    }

    fn carry_out(&mut self) {
        for _ in 0..ACTIONS_AT_ONCE {
            let asked = self.engine.poll();
            if let Some(twin) = &mut self.twin {
                assert_eq!(twin.poll(), asked, "same inputs, different actions");
            }
            let Some(action) = asked else {
                let wakes = |twin: &Engine| twin.wake_at() == self.engine.wake_at();
                assert!(
                    self.twin.as_ref().is_none_or(wakes),
                    "same inputs, different wake-up times"
                );
                return;
            };
            self.known.asked(&action);
            *self.seen.kinds.entry(kind(&action)).or_default() += 1;
            if let Some(flow) = &mut self.flow {
                flow.obey(&action);
            }
        }
        panic!("the engine requests actions without end");
    }
}

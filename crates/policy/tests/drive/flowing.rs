//! A connection whose counters grow as those of a download or an upload do, with a sample every 20 ms. Random
//! counters never look like that, and queue limits depend on little else.

use super::Reader;
use policy::{
    Action, ConnEvent, ConnId, ConnSample, Input, LinkEvent, LinkId, LinkKind, LinkSpec, Role, SubflowEvent,
    SubflowId, SubflowSample,
};
use units::{Bytes, Duration};

pub const STEP: Duration = Duration::from_millis(20);
const SEGMENT: u64 = 1_448;
/// Cables of the flow's own, outside the range of the random inputs.
const FIRST_LINK: u16 = 7;
/// Connection and first subflow, outside the range of the random inputs.
const CONN: ConnId = ConnId(4);
const FIRST_SUBFLOW: u32 = 24;

/// The connection.
pub struct Flow {
    shares: Vec<Share>,
    moved: u64,
    is_upload: bool,
    now: Phase,
}

/// The connection's share of one link.
struct Share {
    subflow: SubflowId,
    link: LinkId,
    kbps: u64,
    rtt: Duration,
    backup: bool,
    ended: bool,
    moved: u64,
    disordered: u64,
}

/// Conditions for a number of steps.
#[derive(Clone, Copy)]
pub struct Phase {
    pub steps: u32,
    /// Offered load, in percent of what the links carry.
    percent: u64,
    held: Bytes,
    unsent: Bytes,
    /// Queue in front of each link.
    queue: Duration,
    /// Index of a link without arrivals.
    silent: usize,
    /// Index of a link that loses at random: every sample shows new out-of-order segments.
    loses: usize,
}

impl Flow {
    /// Reads a flow. `nth` is the number of flows before it.
    pub fn read(reader: &mut Reader<'_>, nth: u32) -> Self {
        let links = 1 + u16::from(reader.below(3));
        let shares = (0..links).map(|n| Share {
            subflow: SubflowId(FIRST_SUBFLOW + nth * 3 + u32::from(n)),
            link: LinkId(FIRST_LINK + n),
            kbps: (1 + u64::from(reader.byte())).pow(2) * 3 / 2,
            rtt: Duration::from_millis(5 + u64::from(reader.below(100))),
            backup: false,
            ended: false,
            moved: 0,
            disordered: 0,
        });
        let shares = shares.collect();
        Self {
            shares,
            moved: 0,
            is_upload: reader.flag(),
            now: Phase::read(reader),
        }
    }

    /// Inputs before the first sample.
    pub fn begins(&self) -> Vec<Input> {
        let mut inputs = vec![Input::Conn(CONN, ConnEvent::Opened)];
        for share in &self.shares {
            let spec = LinkSpec {
                name: "cable".into(),
                kind: LinkKind::Cable,
                role: Role::Primary,
                channel: None,
            };
            let about = |event| Input::Link(share.link, event);
            let established = SubflowEvent::Established {
                conn: CONN,
                link: share.link,
                initial: share.link.0 == FIRST_LINK,
                backup: false,
            };
            inputs.extend([
                about(LinkEvent::Appeared(spec)),
                about(LinkEvent::Carrier(true)),
                about(LinkEvent::Usable(true)),
                Input::Subflow(share.subflow, established),
            ]);
        }
        inputs
    }

    /// Inputs after the last sample.
    pub fn ends(&self) -> Vec<Input> {
        let links = self.shares.iter().map(|share| share.link);
        let gone = links.map(|link| Input::Link(link, LinkEvent::Gone));
        std::iter::once(Input::Conn(CONN, ConnEvent::Closed))
            .chain(gone)
            .collect()
    }

    /// Starts the next phase, and returns its number of steps.
    pub fn turn(&mut self, reader: &mut Reader<'_>) -> u32 {
        self.now = Phase::read(reader);
        self.now.steps
    }

    pub const fn steps(&self) -> u32 {
        self.now.steps
    }

    /// Inputs of the next sample, 20 ms later.
    pub fn step(&mut self) -> Vec<Input> {
        let (phase, is_upload) = (self.now, self.is_upload);
        let mut inputs = Vec::new();
        for (n, share) in self
            .shares
            .iter_mut()
            .enumerate()
            .filter(|(_, share)| !share.ended)
        {
            if !share.backup && n != phase.silent {
                let moves = share.kbps * STEP.as_millis() as u64 / 8 * phase.percent / 100;
                (share.moved, self.moved) = (share.moved + moves, self.moved + moves);
                share.disordered += u64::from(n == phase.loses && moves > 0);
            }
            inputs.push(Input::Subflow(
                share.subflow,
                SubflowEvent::Sample(share.sample(phase, is_upload)),
            ));
        }
        let moved = Bytes::new(self.moved);
        let (received, acked) = if is_upload {
            (Bytes::ZERO, moved)
        } else {
            (moved, Bytes::ZERO)
        };
        let sample = ConnSample {
            bytes_received: received,
            bytes_acked: acked,
            backlog: phase.unsent,
            held: phase.held,
        };
        inputs.push(Input::Conn(CONN, ConnEvent::Sample(sample)));
        inputs
    }

    /// Carries out what the engine requests.
    pub fn obey(&mut self, action: &Action) {
        for share in &mut self.shares {
            match *action {
                Action::SetBackup { subflow, backup } if subflow == share.subflow => share.backup = backup,
                Action::Destroy(subflow) if subflow == share.subflow => share.ended = true,
                _ => {}
            }
        }
    }
}

impl Share {
    fn sample(&self, phase: Phase, is_upload: bool) -> SubflowSample {
        let moved = Bytes::new(self.moved);
        let (received, acked) = if is_upload {
            (Bytes::ZERO, moved)
        } else {
            (moved, Bytes::ZERO)
        };
        let loaded = self.rtt + phase.queue;
        let under_way = self.kbps * loaded.as_millis() as u64 / 8 / SEGMENT;
        SubflowSample {
            segs_in: self.moved / SEGMENT,
            bytes_received: received,
            bytes_acked: acked,
            unacked: if is_upload { under_way as u32 } else { 0 },
            unsent: if is_upload { phase.unsent } else { Bytes::ZERO },
            srtt: if is_upload { loaded } else { self.rtt },
            min_rtt: self.rtt,
            data_rtt: if is_upload { Duration::ZERO } else { loaded },
            disordered: self.disordered,
            backup: self.backup,
            ..SubflowSample::default()
        }
    }
}

impl Phase {
    fn read(reader: &mut Reader<'_>) -> Self {
        let kib = |reader: &mut Reader<'_>| Bytes::from_kib(u64::from(reader.byte()) * 4);
        Self {
            steps: 20 + u32::from(reader.below(100)),
            percent: [0, 1, 20, 100][usize::from(reader.below(4))],
            held: kib(reader),
            unsent: kib(reader),
            queue: Duration::from_millis(u64::from(reader.byte())),
            silent: usize::from(reader.below(12)),
            loses: usize::from(reader.below(6)),
        }
    }
}

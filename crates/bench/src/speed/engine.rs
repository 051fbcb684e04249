//! `engine`: time the engine takes per received frame; `engine-64`: that time with 64 links over that with 4.
//!
//! Every link is an access point that is heard 2,000 times a second. A connection runs over the links that
//! the engine joins. Beacons of each link and counters of the connection and its subflows come as often as on
//! a real host. The engine is woken whenever it asks for it. `engine` times each frame alone, including the
//! clock's own cost. `engine-64` divides the time of everything, polls and counters included, by the number
//! of frames.

use std::time::Instant as Wall;

use policy::estimate::delivery::{Frame, Receiver};
use policy::{
    Action, Config, ConnEvent, ConnId, ConnSample, Engine, Input, LinkEvent, LinkId, LinkKind, LinkSpec,
    Policy, Role, SubflowEvent, SubflowId, SubflowSample,
};
use trace::{BenchRow, Better};
use units::{Bitrate, Bytes, Dbm, Duration, Instant, Ratio, Rng, SeqNum};

use crate::declaration::Setup;

const FEW: u16 = 4;
const MANY: u16 = 64;
/// Frames of one run, and of the warm-up before it, which lets all state reach its full size.
const FRAMES: u32 = 1_000_000;
const WARM_UP: u32 = 200_000;
/// Frames per second on one link.
const RATE: u64 = 2_000;
const CONN: ConnId = ConnId(1);
const BEACONS_EVERY: Duration = Duration::from_micros(102_400);
const COUNTERS_EVERY: Duration = Duration::from_millis(10);
const TENTH: Ratio = Ratio::from_ppm(100_000);

/// Runs the benchmark.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let runs = setup.trials();
    let (mut medians, mut p99s, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for run in 0..runs {
        let seed = setup.seed + u64::from(run);
        let mut steps = World::warm(FEW, seed).steps(FRAMES);
        steps.sort_unstable();
        medians.push(f64::from(steps[steps.len() / 2]));
        p99s.push(f64::from(steps[steps.len() * 99 / 100]));
        few.push(World::warm(FEW, seed).mean_ns(FRAMES));
        many.push(World::warm(MANY, seed).mean_ns(FRAMES));
        ratios.push(many[many.len() - 1] / few[few.len() - 1]);
    }
    Ok(vec![
        setup
            .row("engine")
            .trials(&medians)
            .with("p99_of_frames", median(&p99s))
            .with("clock", clock_ns())
            .with("with_looks_and_counters", median(&few).round()),
        setup
            .row("engine-64")
            .trials(&ratios)
            .with("ns_with_4", median(&few).round())
            .with("ns_with_64", median(&many).round()),
    ])
}

fn median(figures: &[f64]) -> f64 {
    let row = BenchRow::new("", "", Better::Lower).trials(figures);
    row.ours.unwrap_or(f64::NAN)
}

/// Cost of reading the clock twice, in ns. It is part of every step that is timed alone.
fn clock_ns() -> f64 {
    let costs: Vec<f64> = (0..10_001)
        .map(|_| Wall::now().elapsed().as_nanos() as f64)
        .collect();
    median(&costs)
}

/// A host with several access points in range.
struct World {
    engine: Engine,
    rng: Rng,
    now: Instant,
    numbers: Vec<SeqNum>,
    heard: u32,
    subflows: Vec<SubflowId>,
    beacons: Instant,
    counters: Instant,
    segments: u64,
}

impl World {
    /// Runs until all links are in use, and all that can be remembered was heard.
    fn warm(links: u16, seed: u64) -> Self {
        let config = Config {
            policy: Policy::Slowhand,
            peer_subflows: 8,
        };
        let mut world = Self {
            engine: Engine::new(config),
            rng: Rng::named(seed, "frames"),
            now: Instant::ZERO,
            numbers: vec![SeqNum::default(); links.into()],
            heard: 0,
            subflows: Vec::new(),
            beacons: Instant::ZERO,
            counters: Instant::ZERO,
            segments: 0,
        };
        (0..links).for_each(|link| world.add(LinkId(link)));
        world.tell(Input::Conn(CONN, ConnEvent::Opened));
        world.establish(LinkId(0), false);
        world.mean_ns(WARM_UP);
        world
    }

    fn add(&mut self, link: LinkId) {
        let spec = LinkSpec {
            name: format!("ap{}", link.0),
            kind: LinkKind::Wifi,
            role: Role::Primary,
            channel: Some(36 + 4 * (link.0 % 8)),
        };
        self.tell(Input::Link(link, LinkEvent::Appeared(spec)));
        self.tell(Input::Link(link, LinkEvent::Carrier(true)));
        self.tell(Input::Link(link, LinkEvent::Usable(true)));
    }

    /// Time of each frame, in ns.
    fn steps(&mut self, frames: u32) -> Vec<u32> {
        let mut steps = Vec::with_capacity(frames as usize);
        for _ in 0..frames {
            let input = self.next_frame();
            let started = Wall::now();
            self.engine.handle(self.now, input);
            let asked = self.engine.poll();
            steps.push(started.elapsed().as_nanos() as u32);
            self.carry_out(asked);
            self.rest();
        }
        steps
    }

    /// Mean time per frame, in ns, including everything that happens beside it.
    fn mean_ns(&mut self, frames: u32) -> f64 {
        let started = Wall::now();
        for _ in 0..frames {
            let input = self.next_frame();
            self.tell(input);
            self.rest();
        }
        started.elapsed().as_nanos() as f64 / f64::from(frames)
    }

    /// The next frame, link by link in turn. One in ten is never heard, and one in ten of the others is
    /// received again.
    fn next_frame(&mut self) -> Input {
        let links = self.numbers.len() as u64;
        self.now += Duration::from_nanos(1_000_000_000 / (RATE * links));
        let link = self.heard % self.numbers.len() as u32;
        self.heard = self.heard.wrapping_add(1);
        let number = &mut self.numbers[link as usize];
        *number = number.next();
        if self.rng.chance(TENTH) {
            *number = number.next();
        }
        let frame = Frame {
            receiver: Receiver::Us,
            tid: Some(0),
            number: *number,
            retry: self.rng.chance(TENTH),
            rate: Bitrate::from_mbps(54),
            bytes: 1_536,
            aggregate: None,
        };
        Input::Link(LinkId(link as u16), LinkEvent::Frame(frame))
    }

    fn tell(&mut self, input: Input) {
        self.engine.handle(self.now, input);
        let asked = self.engine.poll();
        self.carry_out(asked);
    }

    /// Does everything that happens beside the frames.
    fn rest(&mut self) {
        if self.engine.wake_at().is_some_and(|(at, _)| at <= self.now) {
            self.engine.tick(self.now);
            let asked = self.engine.poll();
            self.carry_out(asked);
        }
        if self.now >= self.beacons {
            self.beacons = self.now + BEACONS_EVERY;
            for link in 0..self.numbers.len() as u16 {
                let signal = Dbm::from_dbm(-50 - i32::from(link % 20));
                self.tell(Input::Link(LinkId(link), LinkEvent::Beacon(signal)));
            }
        }
        if self.now >= self.counters {
            self.counters = self.now + COUNTERS_EVERY;
            self.count();
        }
    }

    /// Updates the counters of the connection and its subflows.
    fn count(&mut self) {
        self.segments += 10;
        let bytes_received = Bytes::new(self.segments * 1_448);
        for at in 0..self.subflows.len() {
            let sample = SubflowSample {
                segs_in: self.segments,
                bytes_received,
                srtt: Duration::from_millis(40),
                min_rtt: Duration::from_millis(20),
                cwnd: 10,
                ..SubflowSample::default()
            };
            self.tell(Input::Subflow(self.subflows[at], SubflowEvent::Sample(sample)));
        }
        let sample = ConnSample {
            bytes_received,
            ..ConnSample::default()
        };
        self.tell(Input::Conn(CONN, ConnEvent::Sample(sample)));
    }

    fn carry_out(&mut self, mut asked: Option<Action>) {
        while let Some(action) = asked {
            match action {
                Action::Join { link, backup, .. } => self.establish(link, backup),
                Action::Destroy(gone) => self.subflows.retain(|&subflow| subflow != gone),
                _ => {}
            }
            asked = self.engine.poll();
        }
    }

    fn establish(&mut self, link: LinkId, backup: bool) {
        let subflow = SubflowId(self.heard.wrapping_mul(64) + u32::from(link.0));
        let initial = self.subflows.is_empty();
        self.subflows.push(subflow);
        let established = SubflowEvent::Established {
            conn: CONN,
            link,
            initial,
            backup,
        };
        self.engine.handle(self.now, Input::Subflow(subflow, established));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_hears_what_it_is_timed_with() {
        let mut world = World::warm(FEW, 1);
        assert_eq!(world.steps(1_000).len(), 1_000);
        assert!(world.subflows.len() > 1, "{:?}", world.subflows);
        let said = world.engine.explain();
        assert_eq!(said.len(), usize::from(FEW));
        for link in said {
            assert!(
                link.why.contains("frames got through at the first attempt"),
                "{}",
                link.why
            );
        }
    }
}

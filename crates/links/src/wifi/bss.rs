//! One access point and the client's association with it: queues, beacons, joining.

use alloc::format;
use units::wifi::{BEACON_INTERVAL, DATA_OVERHEAD_BYTES, Standard};
use units::{Bitrate, Dbm, Instant, Rng};

use super::join::{Joining, Reach};
use super::phy;
use super::signal::Signal;
use crate::config::{Radio, Wall, WifiConfig};
use crate::io::side;
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry, Queue};
use crate::{Direction, DropReason, LinkId, LinkState, Output};

/// Length of a beacon with header and FCS. Typical of today's access points, with SSID, rates, RSN and WMM.
pub(super) const BEACON_BYTES: u32 = 250;

#[derive(Debug)]
pub(super) struct Bss {
    pub(super) link: LinkId,
    pub(super) config: WifiConfig,
    pub(super) signal: Signal,
    /// Queues in front of the air, by [`side`].
    pub(super) queues: [Queue; 2],
    pub(super) joining: Joining,
    /// Which channel of the air it is on.
    pub(super) channel: usize,
    /// Whether it is switched on.
    alive: bool,
    /// Whether a beacon waits for the air.
    pub(super) beacon: bool,
    next_beacon: Instant,
    loss: Rng,
}

impl Bss {
    pub(super) fn new(
        seed: u64,
        link: LinkId,
        config: &WifiConfig,
        radio: Radio,
        walls: &[Wall],
        channel: usize,
    ) -> Self {
        let stream = |what| Rng::named(seed, &format!("{}/{what}", config.name));
        let queue = || Queue::new(config.queue, Bitrate::from_mbps(54), config.backhaul.delay * 2);
        Self {
            link,
            signal: Signal::new(seed, config, radio, walls),
            queues: [queue(), queue()],
            joining: Joining::new(config.join, stream("join")),
            channel,
            alive: true,
            beacon: false,
            next_beacon: Instant::ZERO + stream("beacon").duration_up_to(BEACON_INTERVAL),
            loss: stream("loss"),
            config: config.clone(),
        }
    }

    pub(super) fn standard(&self) -> Standard {
        self.config.standard
    }

    pub(super) fn is_up(&self) -> bool {
        self.joining.state() == LinkState::Up
    }

    pub(super) fn depth(&self, direction: Direction) -> Depth {
        self.queues[side(direction)].depth()
    }

    pub(super) fn push(&mut self, now: Instant, entry: Entry, exits: &mut Exits) {
        self.queues[side(entry.packet.direction)].push(now, entry, exits);
    }

    pub(super) fn purge(&mut self, now: Instant, reason: DropReason, exits: &mut Exits) {
        for queue in &mut self.queues {
            queue.purge(now, self.link, reason, exits);
        }
    }

    pub(super) fn due(&self) -> Instant {
        self.joining
            .due()
            .map_or(self.next_beacon, |due| due.min(self.next_beacon))
    }

    /// Runs what is due: the next beacon is enqueued, a step of joining ends, a probe times out.
    pub(super) fn run(&mut self, now: Instant) {
        if self.next_beacon <= now {
            self.next_beacon += BEACON_INTERVAL;
            if self.alive {
                self.schedule_beacon(now);
            }
        }
        if self.joining.due().is_some_and(|due| due <= now) {
            let reach = self.reach(now);
            self.joining.step(now, reach);
        }
    }

    pub(super) fn switch(&mut self, on: bool) {
        self.alive = on;
        if !on {
            self.beacon = false;
        }
    }

    /// Handles the end of a beacon's transmission, with or without collision.
    pub(super) fn beacon_sent(&mut self, now: Instant, collided: bool, exits: &mut Exits) {
        let fade = self.signal.fade(now);
        let snr = self.signal.mean(Direction::Down).as_db_f64() + fade;
        let lost = phy::loss(self.standard(), self.standard().basic_rate(), snr, BEACON_BYTES);
        let heard = self.loss.unit() >= lost && !collided && self.alive;
        self.joining.beacon(now, heard);
        if heard {
            let signal = self.received(snr);
            exits.push(
                now,
                Output::Beacon {
                    link: self.link,
                    signal,
                },
            );
        }
    }

    /// Whether a data frame that begins now gets through, and whether its acknowledgement does.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        direction: Direction,
        rate: Bitrate,
        ip_bytes: u32,
    ) -> (bool, bool) {
        let fade = self.signal.fade(now);
        let [up, down] = [Direction::Up, Direction::Down].map(|way| self.signal.mean(way).as_db_f64() + fade);
        let (there, back) = match direction {
            Direction::Up => (up, down),
            Direction::Down => (down, up),
        };
        let standard = self.standard();
        let frame = phy::loss(standard, rate, there, ip_bytes + DATA_OVERHEAD_BYTES);
        let ack = phy::loss(standard, standard.ack_rate(rate), back, units::wifi::ACK_BYTES);
        // Always draws both, so that the stream does not depend on the outcome.
        let (frame, ack) = (self.loss.unit() >= frame, self.loss.unit() >= ack);
        (frame, frame && ack)
    }

    /// Mean signal of the access point at the client.
    pub(super) fn mean_signal(&self) -> Dbm {
        self.received(self.signal.mean(Direction::Down).as_db_f64())
    }

    fn received(&self, snr_db: f64) -> Dbm {
        let propagation = &self.config.propagation;
        propagation.noise() + units::Db::round_from(snr_db) + propagation.implementation_loss
    }

    fn schedule_beacon(&mut self, now: Instant) {
        if self.beacon {
            // The air was busy for a whole interval: nobody heard that beacon.
            self.joining.beacon(now, false);
        }
        self.beacon = true;
    }

    fn reach(&mut self, now: Instant) -> Reach {
        let fade = self.signal.fade(now);
        let snr = |way| self.signal.mean(way).as_db_f64() + fade;
        let [up, down] = [Direction::Up, Direction::Down].map(snr);
        if self.alive {
            Reach::at(self.standard(), up, down)
        } else {
            Reach::NOWHERE
        }
    }
}

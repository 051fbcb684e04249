//! An access point's transmissions, as a monitor interface hears them. Every packet has a number, and every
//! attempt fails with a probability. A frame heard after a failed attempt carries the retry bit.

use policy::estimate::airtime::{Exchange, Form, RETRIES};
use policy::estimate::delivery::{Frame, Receiver};
use std::cell::Cell;
use units::wifi::Standard;
use units::{Bitrate, Duration, Ratio, Rng, SeqNum};

/// One access point that sends to us.
#[derive(Debug)]
pub struct Transmitter {
    rate: Bitrate,
    loss: Ratio,
    number: SeqNum,
    rng: Rng,
    /// Fraction of a packet that is not sent yet.
    part: Cell<f64>,
}

impl Transmitter {
    pub fn new(id: u16, mbps: u64, loss_percent: u32) -> Self {
        let mut transmitter = Self {
            rate: Bitrate::ZERO,
            loss: Ratio::ZERO,
            number: SeqNum::new(0),
            rng: Rng::named(u64::from(id), "transmitter"),
            part: Cell::new(0.0),
        };
        transmitter.change(mbps, loss_percent);
        transmitter
    }

    pub fn change(&mut self, mbps: u64, loss_percent: u32) {
        self.rate = Bitrate::from_mbps(mbps);
        self.loss = Ratio::from_ppm(loss_percent * 10_000);
    }

    /// Airtime of a delivered packet.
    pub fn packet_time(&self) -> Duration {
        let exchange = Exchange::legacy(Standard::G, self.rate, 1_500);
        let time = exchange.airtime(Form::PerDelivered, self.loss);
        time.expect("some packets are delivered")
    }

    /// Whole packets to send now. Keeps the remaining fraction for the next call.
    pub fn owed(&self, packets: f64) -> u64 {
        let sum = self.part.get() + packets;
        self.part.set(sum.fract());
        sum as u64
    }

    /// Sends until `packets` were delivered. Returns the frames that were heard.
    pub fn send(&mut self, packets: u64) -> Vec<Frame> {
        let mut heard = Vec::new();
        while (heard.len() as u64) < packets {
            self.number = self.number.next();
            let fails = |rng: &mut Rng, loss: Ratio| rng.below(1 << 32) < loss.as_raw();
            let attempt = (0..=RETRIES).find(|_| !fails(&mut self.rng, self.loss));
            heard.extend(attempt.map(|attempt| Frame {
                receiver: Receiver::Us,
                tid: Some(0),
                number: self.number,
                retry: attempt > 0,
                rate: self.rate,
                bytes: 1_536,
                aggregate: None,
            }));
        }
        heard
    }
}

//! Slot-by-slot simulation of saturated stations: the standard's countdown without any assumption of
//! independence.
//!
//! The rules are those of the medium if all signals are equally strong. All stations count idle slots. A
//! station that reaches zero transmits. A lone transmission succeeds, and only its sender can use the slot
//! right after DIFS, if it draws zero. Stations that collide draw from the doubled window. They begin to
//! count [`Costs::time_out_slots`] slots later than the others, unless another station transmits before their
//! time-out ends: then all count together after that.
//!
//! # Checked by
//! `tests`: compared with the chains. It decides where a chain and the medium disagree.

use units::Rng;

use super::{Cell, Costs, Prediction};

/// One station.
#[derive(Debug, Clone, Copy)]
struct Station {
    /// Slots until its ACK time-out.
    late: u32,
    /// Idle slots to count after that.
    slots: u32,
    /// Attempts of the present frame so far.
    attempts: u32,
}

impl Station {
    const fn ahead(&self) -> u32 {
        self.late + self.slots
    }

    fn pass(&mut self, idle: u32) {
        let noticing = self.late.min(idle);
        self.late -= noticing;
        self.slots -= idle - noticing;
    }
}

/// Sums over the run so far.
#[derive(Debug, Default)]
struct Sums {
    time: f64,
    attempts: u64,
    collisions: u64,
    successes: u64,
}

/// Simulates `cycles` busy periods.
pub fn predict(cell: &Cell, costs: &Costs, cycles: u64, seed: u64) -> Prediction {
    let mut rng = Rng::named(seed, "monte-carlo");
    let mut draw = |attempt: u32| rng.below(cell.window(attempt) as u64) as u32;
    let mut stations: Vec<_> = (0..cell.stations)
        .map(|_| Station {
            late: 0,
            slots: draw(0),
            attempts: 0,
        })
        .collect();
    let mut sums = Sums::default();
    for _ in 0..cycles {
        let idle = stations.iter().map(Station::ahead).min().unwrap_or(0);
        stations.iter_mut().for_each(|station| station.pass(idle));
        sums.time += f64::from(idle) * costs.slot;
        busy(&mut stations, cell, costs, &mut sums, &mut draw);
    }
    Prediction {
        collision: sums.collisions as f64 / sums.attempts as f64,
        throughput: sums.successes as f64 * costs.payload / sums.time / 1e6,
    }
}

/// One busy period: every station with nothing left to count transmits.
fn busy(
    stations: &mut [Station],
    cell: &Cell,
    costs: &Costs,
    sums: &mut Sums,
    draw: &mut impl FnMut(u32) -> u32,
) {
    let ready = stations.iter().filter(|station| station.ahead() == 0).count() as u64;
    let collided = ready > 1;
    sums.attempts += ready;
    sums.collisions += if collided { ready } else { 0 };
    sums.successes += u64::from(!collided);
    sums.time += if collided { costs.collision } else { costs.success };
    for station in stations {
        if station.ahead() > 0 {
            station.late = 0;
            continue;
        }
        station.attempts += u32::from(collided);
        if !collided || cell.attempts == Some(station.attempts) {
            station.attempts = 0;
        }
        station.late = if collided { costs.time_out_slots } else { 0 };
        station.slots = draw(station.attempts);
    }
}

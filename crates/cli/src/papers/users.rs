//! nsdi15, §7.1: clients that switch between three channels, each for itself. A fluid model, as the paper's.

use policy::LinkId;
use policy::slot::{Occupant, Radio, Rules, Seat, Share, Slot, divide};
use trace::{PaperFigure, PaperSeries};
use units::{Bitrate, Duration, Rng};

use super::Experiment;
use super::folder::{Figures, Folder};

const USERS: [usize; 7] = [1, 2, 3, 4, 5, 7, 10];
const CYCLES_MS: [u64; 3] = [100, 150, 200];
const SEEDS: u64 = 20;
const CHANNELS: usize = 3;
/// What one client gets on a channel that it has for itself.
const ALONE: Bitrate = Bitrate::from_mbps(22);
const LENGTH: Duration = Duration::from_secs(120);
/// The first part of a run, while slots adapt.
const WARM: Duration = Duration::from_secs(20);

/// What is varied.
#[derive(Debug, Clone, Copy)]
struct Setting {
    users: usize,
    cycle: Duration,
    alpha: u32,
    /// The time that is added to a slot is time in which nothing is received.
    deaf: bool,
}

/// Runs all of it.
pub(super) fn run(folder: &Folder) -> anyhow::Result<Experiment> {
    let curve = |alpha, cycle_ms, deaf| -> anyhow::Result<Vec<[f64; 2]>> {
        let cycle = Duration::from_millis(cycle_ms);
        USERS
            .iter()
            .map(|&users| {
                let setting = Setting {
                    users,
                    cycle,
                    alpha,
                    deaf,
                };
                Ok([users as f64, percent(setting)?])
            })
            .collect()
    };
    let swept: Vec<Vec<[f64; 2]>> = CYCLES_MS
        .iter()
        .map(|&ms| curve(2, ms, false))
        .collect::<Result<_, _>>()?;
    let mean: Vec<[f64; 2]> = (0..USERS.len())
        .map(|place| {
            let sum: f64 = swept.iter().map(|curve| curve[place][1]).sum();
            [swept[0][place][0], sum / swept.len() as f64]
        })
        .collect();
    let (equal, deaf) = (curve(0, 200, false)?, curve(2, 100, true)?);
    let mut measured: Figures = USERS
        .iter()
        .zip(&mean)
        .map(|(users, point)| (format!("users_{users}"), point[1]))
        .collect();
    measured.insert("lost_at_three".to_owned(), 1.0 - measured["users_3"] / 100.0);
    let ours = |name: String, points| PaperSeries {
        name,
        published: false,
        points,
    };
    let mut series = vec![ours("ours, mean over C".to_owned(), mean)];
    let cycles = CYCLES_MS.iter().zip(swept);
    series.extend(cycles.map(|(ms, points)| ours(format!("C = {ms} ms"), points)));
    series.push(ours("equal slots (α = 0)".to_owned(), equal));
    series.push(ours("deaf for 1 to 10 ms (C = 100 ms)".to_owned(), deaf));
    series.push(PaperSeries {
        name: "published".to_owned(),
        published: true,
        points: folder.points(),
    });
    let figure = PaperFigure {
        id: "nsdi15-users".to_owned(),
        title: "Clients that switch between three channels".to_owned(),
        x: "users".to_owned(),
        y: "throughput of all, % of the optimum".to_owned(),
        series,
    };
    Ok(Experiment {
        measured,
        figures: vec![figure],
    })
}

/// The clients' throughput in percent of the optimum, mean over the seeds.
fn percent(setting: Setting) -> anyhow::Result<f64> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seeds: Vec<u64> = (1..=SEEDS).collect();
    let shares: Vec<f64> = sim::sweep(&seeds, cores, |&seed| share(setting, seed))
        .into_iter()
        .collect::<Result<_, _>>()?;
    Ok(100.0 * shares.iter().sum::<f64>() / shares.len() as f64)
}

/// One client: where its radio is, until when, and what it knows.
struct Client {
    slots: Vec<Slot>,
    place: usize,
    until: Duration,
    /// Until then it receives nothing.
    deaf_until: Duration,
    /// Since it came to this channel, and what it has received here.
    since: Duration,
    bits: f64,
    /// What each channel brought, smoothed.
    rates: [f64; CHANNELS],
}

impl Client {
    fn channel(&self) -> usize {
        usize::from(self.slots[self.place].channel)
    }

    fn hears(&self, now: Duration) -> bool {
        self.deaf_until <= now
    }

    /// When it begins to hear, or leaves.
    fn next_change(&self, now: Duration) -> Duration {
        if self.hears(now) {
            self.until
        } else {
            self.deaf_until.min(self.until)
        }
    }
}

/// The clients' throughput as a share of the optimum.
fn share(setting: Setting, seed: u64) -> anyhow::Result<f64> {
    let mut rng = Rng::named(seed, "users");
    let mut clients: Vec<Client> = Vec::new();
    for _ in 0..setting.users {
        clients.push(begin(&setting, &mut rng)?);
    }
    let (mut now, mut bits) = (Duration::ZERO, 0.0);
    while now < LENGTH {
        let next = clients
            .iter()
            .map(|client| client.next_change(now))
            .min()
            .unwrap_or(LENGTH);
        let moved = pass(&mut clients, now, (next - now).as_secs_f64());
        if now >= WARM {
            bits += moved;
        }
        now = next;
        for client in clients.iter_mut().filter(|client| client.until <= now) {
            switch(client, now, &setting, &mut rng)?;
        }
    }
    let time = (now - WARM).as_secs_f64();
    Ok(bits / (time * ALONE.as_bps() as f64 * setting.users.min(CHANNELS) as f64))
}

fn begin(setting: &Setting, rng: &mut Rng) -> anyhow::Result<Client> {
    let rates = [0.0; CHANNELS];
    let slots = cycle(setting, &rates)?;
    let place = rng.below(CHANNELS as u64) as usize;
    let until = rng.duration_up_to(slots[place].stays);
    Ok(Client {
        slots,
        place,
        until,
        deaf_until: Duration::ZERO,
        since: Duration::ZERO,
        bits: 0.0,
        rates,
    })
}

/// Lets time pass: everybody who hears a channel gets an equal part of it.
fn pass(clients: &mut [Client], now: Duration, seconds: f64) -> f64 {
    let mut present = [0_u32; CHANNELS];
    for client in clients.iter().filter(|client| client.hears(now)) {
        present[client.channel()] += 1;
    }
    let mut moved = 0.0;
    for client in clients.iter_mut().filter(|client| client.hears(now)) {
        let bits = ALONE.as_bps() as f64 * seconds / f64::from(present[client.channel()]);
        client.bits += bits;
        moved += bits;
    }
    moved
}

/// A slot is over: what it brought is remembered, and after the last one of a cycle the next is divided anew.
fn switch(client: &mut Client, now: Duration, setting: &Setting, rng: &mut Rng) -> anyhow::Result<()> {
    let stayed = (now - client.since).as_secs_f64();
    if stayed > 0.0 {
        let known = &mut client.rates[client.channel()];
        *known = (*known + client.bits / stayed) / 2.0;
    }
    client.place += 1;
    if client.place == CHANNELS {
        client.place = 0;
        client.slots = cycle(setting, &client.rates)?;
    }
    client.bits = 0.0;
    client.since = now;
    let late = Duration::from_millis(1) + rng.duration_up_to(Duration::from_millis(9));
    client.deaf_until = if setting.deaf { now + late } else { now };
    client.until = now + client.slots[client.place].stays + late;
    Ok(())
}

fn cycle(setting: &Setting, rates: &[f64; CHANNELS]) -> anyhow::Result<Vec<Slot>> {
    let rules = Rules {
        cycle: setting.cycle,
        alpha: setting.alpha,
        radio: Radio {
            switch: Duration::ZERO,
            same_channel: Duration::ZERO,
            least: Duration::from_millis(10),
        },
    };
    let seat = |(channel, rate): (usize, &f64)| Seat {
        occupant: Occupant::Network(LinkId(channel as u16)),
        channel: channel as u16,
        share: Share::Adaptive(Bitrate::from_bps(*rate as u64)),
    };
    let seats: Vec<Seat> = rates.iter().enumerate().map(seat).collect();
    let mut slots = Vec::new();
    divide(&rules, &seats, &mut slots).map_err(|refused| anyhow::anyhow!("{refused:?}"))?;
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_has_everything_and_two_at_best_do() {
        let percent = |users| {
            let setting = Setting {
                users,
                cycle: Duration::from_millis(200),
                alpha: 2,
                deaf: false,
            };
            100.0 * share(setting, 1).unwrap()
        };
        // The interval in which the warm-up ends is not counted: at most 200 ms of the whole.
        assert!((99.9..=100.0).contains(&percent(1)), "{}", percent(1));
        assert!((50.0..100.0).contains(&percent(2)), "{}", percent(2));
        // Channels that are drawn evenly and independently: (1 − (2/3)³) of three are in use.
        assert!((45.0..75.0).contains(&percent(3)), "{}", percent(3));
    }
}

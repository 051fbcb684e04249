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
/// Cycle (ms) and how long is looked at (s) where all clients begin together and nothing is left out: slots drift apart by some ms each, so that
/// it takes a time that grows with the cube of the cycle.
const TOGETHER: [(u64, u64); 4] = [(100, 5), (100, 10), (200, 30), (200, 60)];

/// What is varied.
#[derive(Debug, Clone, Copy)]
struct Setting {
    users: usize,
    cycle: Duration,
    alpha: u32,
    /// The time that is added to a slot is time in which nothing is received.
    deaf: bool,
    /// All clients begin at once on the same channel, and so much of it is looked at; `None`: at random moments, and the first part is left out.
    together: Option<Duration>,
}

impl Setting {
    const fn new(users: usize, alpha: u32, cycle_ms: u64) -> Self {
        Self {
            users,
            cycle: Duration::from_millis(cycle_ms),
            alpha,
            deaf: false,
            together: None,
        }
    }

    /// How long a run is, and how much of it is left out.
    fn times(&self) -> (Duration, Duration) {
        self.together
            .map_or((LENGTH, WARM), |length| (length, Duration::ZERO))
    }
}

/// Runs all of it.
pub(super) fn run(folder: &Folder) -> anyhow::Result<Experiment> {
    let swept: Vec<Vec<[f64; 2]>> = CYCLES_MS
        .iter()
        .map(|&ms| curve(|users| Setting::new(users, 2, ms)))
        .collect::<Result<_, _>>()?;
    let mean: Vec<[f64; 2]> = (0..USERS.len())
        .map(|place| {
            let sum: f64 = swept.iter().map(|curve| curve[place][1]).sum();
            [swept[0][place][0], sum / swept.len() as f64]
        })
        .collect();
    let others = second_experiment()?;
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
    series.extend(others.into_iter().map(|(name, points)| ours(name, points)));
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

/// One value for each number of users.
fn curve(setting: impl Fn(usize) -> Setting) -> anyhow::Result<Vec<[f64; 2]>> {
    let users = USERS.iter();
    users
        .map(|&users| Ok([users as f64, percent(setting(users))?]))
        .collect()
}

/// What the paper leaves open, one thing at a time.
fn second_experiment() -> anyhow::Result<Vec<(String, Vec<[f64; 2]>)>> {
    let mut curves = vec![
        (
            "equal slots (α = 0)".to_owned(),
            curve(|users| Setting::new(users, 0, 200))?,
        ),
        (
            "deaf for 1 to 10 ms (C = 100 ms)".to_owned(),
            curve(|users| Setting {
                deaf: true,
                ..Setting::new(users, 2, 100)
            })?,
        ),
    ];
    for (cycle_ms, seconds) in TOGETHER {
        let together = curve(|users| Setting {
            together: Some(Duration::from_secs(seconds)),
            ..Setting::new(users, 2, cycle_ms)
        })?;
        curves.push((
            format!("all begin together, first {seconds} s (C = {cycle_ms} ms)"),
            together,
        ));
    }
    Ok(curves)
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
    let (length, warm) = setting.times();
    let (mut now, mut bits) = (Duration::ZERO, 0.0);
    while now < length {
        let next = clients
            .iter()
            .map(|client| client.next_change(now))
            .min()
            .unwrap_or(length);
        let moved = pass(&mut clients, now, (next - now).as_secs_f64());
        if now >= warm {
            bits += moved;
        }
        now = next;
        for client in clients.iter_mut().filter(|client| client.until <= now) {
            switch(client, now, &setting, &mut rng)?;
        }
    }
    let time = (now - warm).as_secs_f64();
    Ok(bits / (time * ALONE.as_bps() as f64 * setting.users.min(CHANNELS) as f64))
}

fn begin(setting: &Setting, rng: &mut Rng) -> anyhow::Result<Client> {
    let rates = [0.0; CHANNELS];
    let slots = cycle(setting, &rates)?;
    let (place, until) = if setting.together.is_some() {
        (0, slots[0].stays + late(rng))
    } else {
        let place = rng.below(CHANNELS as u64) as usize;
        (place, rng.duration_up_to(slots[place].stays))
    };
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
    let late = late(rng);
    client.deaf_until = if setting.deaf { now + late } else { now };
    client.until = now + client.slots[client.place].stays + late;
    Ok(())
}

/// What is added to a slot: "a number of ms chosen uniformly at random between 1-10ms".
fn late(rng: &mut Rng) -> Duration {
    Duration::from_millis(1) + rng.duration_up_to(Duration::from_millis(9))
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
        let percent = |users| 100.0 * share(Setting::new(users, 2, 200), 1).unwrap();
        // The interval in which the warm-up ends is not counted: at most 200 ms of the whole.
        assert!((99.9..=100.0).contains(&percent(1)), "{}", percent(1));
        assert!((50.0..100.0).contains(&percent(2)), "{}", percent(2));
        // Channels that are drawn evenly and independently: (1 − (2/3)³) of three are in use.
        assert!((45.0..75.0).contains(&percent(3)), "{}", percent(3));
        // All on one channel at first: a third of what three could have.
        let together = Setting {
            together: Some(Duration::from_secs(1)),
            ..Setting::new(3, 2, 200)
        };
        let share = 100.0 * share(together, 1).unwrap();
        assert!((33.0..50.0).contains(&share), "{share}");
    }
}

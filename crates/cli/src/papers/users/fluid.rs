//! The fluid model: the clients on a channel share it equally, and each client switches by its own slots.

use policy::LinkId;
use policy::slot::{Occupant, Radio, Rules, Seat, Share, Slot, divide};
use units::{Bitrate, Duration, Rng};

use super::scenario_file::Scenario;

/// The parameters that vary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'s> {
    /// What is the same in all of them.
    pub scenario: &'s Scenario,
    /// How many clients there are.
    pub users: usize,
    /// How long it takes to visit all channels.
    pub cycle: Duration,
    /// α of Eq. 6.
    pub alpha: u32,
    /// The time that is added to a slot is time in which nothing is received.
    pub deaf: bool,
    /// If set, all clients begin at once on the same channel, and this much of it is observed. `None`: they
    /// begin at random moments, and the first part is left out.
    pub together: Option<Duration>,
}

impl<'s> Setting<'s> {
    /// Setting of the first experiment.
    pub(super) const fn new(scenario: &'s Scenario, users: usize, cycle_ms: u64) -> Self {
        Self {
            scenario,
            users,
            cycle: Duration::from_millis(cycle_ms),
            alpha: scenario.alpha,
            deaf: false,
            together: None,
        }
    }

    /// How long a run is, and how much of it is left out.
    fn times(&self) -> (Duration, Duration) {
        let whole = |length| (length, Duration::ZERO);
        self.together.map_or_else(|| self.scenario.times(), whole)
    }
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
    /// The smoothed rate of each channel.
    rates: Vec<f64>,
}

impl Client {
    fn channel(&self) -> usize {
        usize::from(self.slots[self.place].channel)
    }

    fn hears(&self, now: Duration) -> bool {
        self.deaf_until <= now
    }

    /// When it begins to receive, or leaves.
    fn next_change(&self, now: Duration) -> Duration {
        if self.hears(now) {
            self.until
        } else {
            self.deaf_until.min(self.until)
        }
    }
}

/// The clients' throughput as a share of the optimum.
pub(super) fn share(setting: &Setting<'_>, seed: u64) -> anyhow::Result<f64> {
    let mut rng = Rng::named(seed, "users");
    let mut clients: Vec<Client> = Vec::new();
    for _ in 0..setting.users {
        clients.push(begin(setting, &mut rng)?);
    }
    let (length, warm) = setting.times();
    let (mut now, mut bits) = (Duration::ZERO, 0.0);
    while now < length {
        let next = clients
            .iter()
            .map(|client| client.next_change(now))
            .min()
            .unwrap_or(length);
        let moved = pass(&mut clients, setting.scenario, now, (next - now).as_secs_f64());
        if now >= warm {
            bits += moved;
        }
        now = next;
        for client in clients.iter_mut().filter(|client| client.until <= now) {
            switch(client, now, setting, &mut rng)?;
        }
    }
    let time = (now - warm).as_secs_f64();
    let busy = setting.users.min(usize::from(setting.scenario.channels));
    Ok(bits / (time * setting.scenario.alone().as_bps() as f64 * busy as f64))
}

fn begin(setting: &Setting<'_>, rng: &mut Rng) -> anyhow::Result<Client> {
    let channels = setting.scenario.channels;
    let rates = vec![0.0; usize::from(channels)];
    let slots = cycle(setting, &rates)?;
    let (place, until) = if setting.together.is_some() {
        (0, slots[0].stays + late(setting.scenario, rng))
    } else {
        let place = rng.below(u64::from(channels)) as usize;
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

/// Lets time pass: every client that hears a channel gets an equal share of it.
fn pass(clients: &mut [Client], scenario: &Scenario, now: Duration, seconds: f64) -> f64 {
    let mut present = vec![0_u32; usize::from(scenario.channels)];
    for client in clients.iter().filter(|client| client.hears(now)) {
        present[client.channel()] += 1;
    }
    let mut moved = 0.0;
    for client in clients.iter_mut().filter(|client| client.hears(now)) {
        let bits = scenario.alone().as_bps() as f64 * seconds / f64::from(present[client.channel()]);
        client.bits += bits;
        moved += bits;
    }
    moved
}

/// Ends a slot and records what it received. After the last slot of a cycle, divides the next cycle anew.
fn switch(client: &mut Client, now: Duration, setting: &Setting<'_>, rng: &mut Rng) -> anyhow::Result<()> {
    let stayed = (now - client.since).as_secs_f64();
    if stayed > 0.0 {
        let channel = client.channel();
        let known = &mut client.rates[channel];
        *known = (*known + client.bits / stayed) / 2.0;
    }
    client.place += 1;
    if client.place == client.slots.len() {
        client.place = 0;
        client.slots = cycle(setting, &client.rates)?;
    }
    client.bits = 0.0;
    client.since = now;
    let late = late(setting.scenario, rng);
    client.deaf_until = if setting.deaf { now + late } else { now };
    client.until = now + client.slots[client.place].stays + late;
    Ok(())
}

/// What is added to a slot: "a number of ms chosen uniformly at random between 1-10ms".
fn late(scenario: &Scenario, rng: &mut Rng) -> Duration {
    let (least, most) = scenario.late();
    least + rng.duration_up_to(most - least)
}

fn cycle(setting: &Setting<'_>, rates: &[f64]) -> anyhow::Result<Vec<Slot>> {
    let rules = Rules {
        cycle: setting.cycle,
        alpha: setting.alpha,
        radio: Radio {
            switch: Duration::ZERO,
            same_channel: Duration::ZERO,
            least: setting.scenario.least_slot(),
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
    fn one_user_gets_the_full_rate_and_two_can_at_best() {
        let scenario = Scenario::read(super::super::SCENARIO).unwrap();
        let percent = |users| 100.0 * share(&Setting::new(&scenario, users, 200), 1).unwrap();
        // The interval in which the warm-up ends is not counted: at most 200 ms of the whole.
        assert!((99.9..=100.0).contains(&percent(1)), "{}", percent(1));
        assert!((50.0..100.0).contains(&percent(2)), "{}", percent(2));
        // Channels that are drawn evenly and independently: (1 − (2/3)³) of three are in use.
        assert!((45.0..75.0).contains(&percent(3)), "{}", percent(3));
        // All on one channel at first: a third of the capacity of three.
        let together = Setting {
            together: Some(Duration::from_secs(1)),
            ..Setting::new(&scenario, 3, 200)
        };
        let share = 100.0 * share(&together, 1).unwrap();
        assert!((33.0..50.0).contains(&share), "{share}");
    }
}

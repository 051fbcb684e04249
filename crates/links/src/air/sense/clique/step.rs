//! What happens to the stations in step, once for all of them, and how stations join and leave them.

use super::{Clique, Cliques, IDLE, Members};
use crate::air::phy::timing::Timing;
use crate::air::rx::reception::Outcome;
use crate::air::rx::rival::Rival;
use crate::air::schedule::{NEVER, Schedule};
use crate::air::sense::ears::{Ears, is_broken, starting};
use crate::air::sense::radio::Radio;
use crate::air::transmission::flight::NONE;

impl<S: Schedule> Ears<'_, S> {
    /// Members of a clique that are not in step.
    pub(in crate::air) fn apart(&self, clique: u16) -> Members {
        self.cliques.all[usize::from(clique)].apart()
    }

    /// Takes a station out of step from now on.
    #[inline]
    pub(in crate::air) fn part(&mut self, station: usize) {
        if self.radios[station].in_step {
            self.leave(station);
        }
    }

    #[inline(never)]
    pub(in crate::air) fn leave(&mut self, station: usize) {
        let Some(clique) = self.cliques.of(station) else {
            unreachable!("whoever is in step is so with others of its clique")
        };
        let timing = &self.timings[usize::from(clique.view.timing)];
        let radio = clique.radio(station, &self.radios[station]);
        self.radios[station] = radio;
        let place = clique.place(station);
        clique.in_step &= !(1 << place);
        clique.due[place] = IDLE;
        if radio.wants && radio.counting {
            self.schedule.set(station, starting(radio.access(timing)));
        }
        if clique.next == Some(station as u32) {
            clique.choose();
            if radio.counting {
                set_next(clique, timing, self.schedule);
            }
        }
    }

    /// Takes all members of a clique out of step.
    pub(in crate::air) fn part_all(&mut self, clique: u16) {
        for station in self.cliques.all[usize::from(clique)].together() {
            self.part(station);
        }
    }

    /// Dissolves all cliques. Returns whether there were any.
    pub(in crate::air) fn dissolve(&mut self) -> bool {
        let were = !self.cliques.all.is_empty();
        for clique in 0..self.cliques.all.len() as u16 {
            self.part_all(clique);
        }
        *self.cliques = Cliques::default();
        were
    }

    /// Puts a station in step with its clique, if it sees the medium as the others in step do.
    #[inline]
    pub(in crate::air) fn join(&mut self, station: usize, now: u64) {
        if self.cliques.may_take(&self.radios[station]) {
            self.fall_in(station, now);
        }
    }

    #[inline(never)]
    pub(in crate::air) fn fall_in(&mut self, station: usize, now: u64) {
        let radio = &mut self.radios[station];
        let Some(clique) = self.cliques.of(station) else {
            return;
        };
        if !clique.sees_the_same(radio, now) {
            return;
        }
        if clique.in_step == 0 {
            clique.view = *radio;
            (clique.passed, clique.next) = (0, None);
            clique.on_air.clear();
        }
        radio.in_step = true;
        let place = clique.place(station);
        clique.in_step |= 1 << place;
        self.schedule.set(station, NEVER);
        if radio.wants {
            clique.due[place] = clique.passed + i32::from(radio.slots);
            let timing = &self.timings[usize::from(radio.timing)];
            let own = (clique.slots(station), station as u32);
            let earlier = |next: u32| own < (clique.slots(next as usize), next);
            if clique.next.is_none_or(earlier) {
                if let Some(next) = clique.next.replace(station as u32) {
                    self.schedule.set(next as usize, NEVER);
                }
                set_next(clique, timing, self.schedule);
            }
        }
    }

    /// A frame begins that all in step hear. Stations whose deadline is too near to notice it leave step.
    pub(in crate::air) fn hold_back(&mut self, number: u16, now: u64) {
        let clique = &self.cliques.all[usize::from(number)];
        let timing = &self.timings[usize::from(clique.view.timing)];
        let notices = now + timing.blind;
        let Some(next) = clique.next.filter(|_| clique.view.counting) else {
            return;
        };
        if clique.access(next as usize, timing) >= notices {
            return;
        }
        for station in clique.together() {
            let clique = &self.cliques.all[usize::from(number)];
            if self.radios[station].wants && clique.access(station, timing) < notices {
                self.part(station);
            }
        }
    }

    /// A frame begins, as those in step see it.
    pub(in crate::air) fn begin_together(&mut self, (number, loud): (u16, u64), id: u16, now: u64) {
        let flight = self.flights.get(id);
        let clique = &mut self.cliques.all[usize::from(number)];
        if clique.in_step == 0 || clique.view.channel != flight.channel {
            return;
        }
        clique.on_air.push((id, loud));
        let view = &mut clique.view;
        if view.lock == NONE {
            view.lock = id;
            view.disturbed = view.loud > 0;
            clique.rival = None;
            if view.counting {
                let timing = &self.timings[usize::from(view.timing)];
                clique.freeze(now, timing, self.rules.countdown);
                if let Some(next) = clique.next {
                    self.schedule.set(next as usize, NEVER);
                }
            }
            return;
        }
        view.disturbed = true;
        self.turn_together(number, id);
    }

    /// Lets those in step switch from the frame that they follow to one that has just begun. A station that
    /// does not do as most others do leaves step.
    fn turn_together(&mut self, number: u16, id: u16) {
        let clique = &mut self.cliques.all[usize::from(number)];
        let (held, new) = (self.flights.get(clique.view.lock), self.flights.get(id));
        let (together, kept) = (clique.together(), clique.view.lock);
        let turning = together.only(|station| self.ether.captures(station as u32, held, new));
        let staying = together.without(turning);
        if turning.count() > staying.count() {
            clique.view.lock = id;
            clique.rival = Some(Rival::of(held));
            self.part_from(staying, |radio| radio.lock = kept);
        } else {
            if new.start < held.payload {
                clique.rival = Some(Rival::of(new));
            }
            self.part_from(turning, |radio| radio.lock = id);
        }
    }

    fn part_from(&mut self, stations: Members, set: impl Fn(&mut Radio)) {
        for station in stations {
            self.part(station);
            set(&mut self.radios[station]);
        }
    }

    /// A frame ends, as those in step see it.
    pub(in crate::air) fn end_together(&mut self, number: u16, id: u16, quiet: bool, now: u64) {
        let flight = self.flights.get(id);
        let clique = &mut self.cliques.all[usize::from(number)];
        let known = clique.on_air.iter().position(|&(known, _)| known == id);
        let Some(known) = known.filter(|_| clique.in_step != 0 && clique.view.channel == flight.channel)
        else {
            return;
        };
        clique.on_air.swap_remove(known);
        let view = &mut clique.view;
        if view.lock == id {
            if quiet || flight.sure && !view.disturbed {
                (view.lock, view.broken) = (NONE, false);
                view.nav = view.nav.max(flight.nav);
            } else {
                self.let_go_together(number, id, now);
            }
        }
        self.go_on_together(number, now);
    }

    /// Resumes the countdown if the medium is idle now and was not before. A station that sees it differently
    /// from most others leaves step.
    fn go_on_together(&mut self, number: u16, now: u64) {
        let clique = &mut self.cliques.all[usize::from(number)];
        if clique.view.counting || clique.view.lock != NONE {
            return;
        }
        let deafened = clique.deafened();
        let idle = clique.together().without(deafened);
        clique.view.loud = u16::from(deafened.count() > idle.count());
        if clique.view.loud > 0 {
            for station in idle {
                self.part(station);
                self.go_on(station, now);
            }
            return;
        }
        let timing = &self.timings[usize::from(clique.view.timing)];
        deafened.for_each(|station| self.part(station));
        let clique = &mut self.cliques.all[usize::from(number)];
        clique.view.resume(now, timing);
        if clique.next.is_some_and(|next| clique.slots(next as usize) == 0) {
            clique.choose();
        }
        set_next(clique, timing, self.schedule);
    }

    /// Each station in step decodes what it can of a frame. A station whose outcome differs from most others'
    /// leaves step.
    fn let_go_together(&mut self, number: u16, id: u16, now: u64) {
        let clique = &self.cliques.all[usize::from(number)];
        let (together, rival, flight) = (clique.together(), clique.rival, self.flights.get(id));
        let lost = |ears: &Self, station: usize| {
            rival.is_some_and(|rival| ears.ether.is_lost(station as u32, flight, &rival))
        };
        let mut made =
            [Outcome::Missed, Outcome::Broken, Outcome::Decoded].map(|outcome| (outcome, Members::NOBODY));
        for station in together {
            let outcome = if lost(self, station) {
                Outcome::Missed
            } else {
                self.outcome(station, id)
            };
            made[outcome as usize].1.add(&together, station);
        }
        made.sort_by_key(|(_, stations)| stations.count());
        let [others @ .., (most, _)] = made;
        for (outcome, stations) in others {
            for station in stations {
                self.part(station);
                self.make_of(station, id, outcome);
                self.go_on(station, now);
            }
        }
        let view = &mut self.cliques.all[usize::from(number)].view;
        view.lock = NONE;
        view.broken = is_broken(most, self.rules);
        if most == Outcome::Decoded {
            view.nav = view.nav.max(flight.nav);
        }
    }
}

fn set_next<S: Schedule>(clique: &Clique, timing: &Timing, schedule: &mut S) {
    if let Some(next) = clique.next {
        schedule.set(next as usize, starting(clique.access(next as usize, timing)));
    }
}

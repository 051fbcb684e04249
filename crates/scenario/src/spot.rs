//! Places of a plan's things in the file, for worlds that find later that they cannot play them.

use std::collections::BTreeMap;
use std::fmt;
use trace::{Shown, Spot};

/// A part of a plan that a world may be unable to play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing<'n> {
    /// The link of that name.
    Link(&'n str),
    /// The flow of that name.
    Flow(&'n str),
    /// The walker of that name.
    Walker(&'n str),
    /// The first fault.
    Faults,
    /// How finely the air is modelled.
    Medium,
    /// What counts in no figure.
    Warmup,
    /// The relay in front of the server.
    Relay,
    /// TCP and MPTCP of all hosts.
    Tcp,
}

/// The places of a plan's things. What was added to the plan after reading has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spots {
    file: String,
    links: BTreeMap<String, Spot>,
    flows: BTreeMap<String, Spot>,
    walkers: BTreeMap<String, Spot>,
    faults: Option<Spot>,
    medium: Option<Spot>,
    warmup: Option<Spot>,
    relay: Option<Spot>,
    tcp: Option<Spot>,
}

impl Spots {
    /// For a file of that name, without any place yet.
    pub(crate) fn of(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            ..Self::default()
        }
    }

    /// Records the place of a thing.
    pub(crate) fn add(&mut self, thing: Thing<'_>, spot: Spot) {
        match thing {
            Thing::Link(name) => drop(self.links.insert(name.to_owned(), spot)),
            Thing::Flow(name) => drop(self.flows.insert(name.to_owned(), spot)),
            Thing::Walker(name) => drop(self.walkers.insert(name.to_owned(), spot)),
            Thing::Faults => self.faults = Some(spot),
            Thing::Medium => self.medium = Some(spot),
            Thing::Warmup => self.warmup = Some(spot),
            Thing::Relay => self.relay = Some(spot),
            Thing::Tcp => self.tcp = Some(spot),
        }
    }

    /// The place of a thing.
    pub fn spot(&self, thing: Thing<'_>) -> Option<&Spot> {
        match thing {
            Thing::Link(name) => of(&self.links, name),
            Thing::Flow(name) => of(&self.flows, name),
            Thing::Walker(name) => of(&self.walkers, name),
            Thing::Faults => self.faults.as_ref(),
            Thing::Medium => self.medium.as_ref(),
            Thing::Warmup => self.warmup.as_ref(),
            Thing::Relay => self.relay.as_ref(),
            Thing::Tcp => self.tcp.as_ref(),
        }
    }

    /// A message about a thing, or about the whole: with file, line, column and the line's text, or with the
    /// file alone if that is all that is known.
    pub fn say(&self, thing: Option<Thing<'_>>, message: &dyn fmt::Display) -> String {
        match thing.and_then(|thing| self.spot(thing)) {
            Some(spot) => spot.report(message, None),
            None if self.file.is_empty() => message.to_string(),
            None => format!("{}: {message}", Shown(&self.file)),
        }
    }
}

/// The place of a thing, or of the table that made it with a `count`: NAME-1, NAME-2 …
fn of<'s>(spots: &'s BTreeMap<String, Spot>, name: &str) -> Option<&'s Spot> {
    spots.get(name).or_else(|| {
        let (name, _) = name.rsplit_once('-')?;
        spots.get(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_of_a_count_has_the_place_of_its_table() {
        let text = "[flows.up]\ncount = 2\n[flows.up-hill]\n";
        let mut spots = Spots::of("x.toml");
        spots.add(Thing::Flow("up"), Spot::new("x.toml", text, 7..9));
        spots.add(Thing::Flow("up-hill"), Spot::new("x.toml", text, 28..35));
        let line = |name| spots.spot(Thing::Flow(name)).map(|spot| spot.line);
        assert_eq!(
            [line("up"), line("up-2"), line("up-hill"), line("down")],
            [Some(1), Some(1), Some(3), None]
        );
    }

    #[test]
    fn a_problem_without_a_place_names_the_file() {
        let spots = Spots::of("x.toml");
        assert_eq!(spots.say(Some(Thing::Faults), &"no"), "x.toml: no");
        assert_eq!(spots.say(None, &"no"), "x.toml: no");
        assert_eq!(Spots::default().say(None, &"no"), "no");
    }
}

//! Hosts of walkers other than the client.
//!
//! A walker whose flows need a kernel has a host like the client's: a namespace of its own, an interface for
//! each of its links, and a daemon that sets up routes and MPTCP endpoints. The policy of that daemon is
//! `mptcp`, whatever the run's policy: a competitor is a stock host.
//!
//! # Where we differ, and why
//! 1. A walker with nothing but datagrams over access points needs no kernel: `others` has these.
//! 2. Over an access point, a walker has a radio of its own, at its own place, and joins first. A cell or a
//!    cable has one queue for all hosts, as in virtual time.
//! 3. A link gives each walker an address of a network of its own, so that addresses tell hosts apart.
//! 4. A walker with MPTCP uses every link of the scenario. Roles are the client's.
//! 5. If programs replace the scenario's flows (`--shell`), these hosts send nothing.
//!
//! # Checked by
//! `tests` of this module; `tests/walkers.rs`.

use super::PlayError;
use super::brain::{Brain, Wiring};
use super::choice::{engine_config, of_a_walker};
use super::glue::Glue;
use super::network::PlanError;
use super::note::Note;
use crate::clock::Clock;
use crate::emulator::Event;
use crate::hosts::{Addressing, Hosts, LinkAddresses, PlugError, Plugs, Port, interface_name};
use crate::traffic::Answers;
use links::{LinkId, LinkState, OtherHost};
use linux::daemon::{DeclaredLink, inlet};
use policy::{Policy, Tariff};
use scenario::Plan;
use scenario::models::{self, Resident};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

pub(super) use models::residents;

/// Hosts beside the client's, at most. Each costs a namespace and a daemon.
pub(super) const MOST: usize = 4;

/// The hosts in the form of the models.
pub(super) fn in_network(plan: &Plan) -> Result<Vec<OtherHost>, PlanError> {
    if let Some(next) = residents(plan).nth(MOST) {
        return Err(PlanError::TooManyHosts(plan.walkers[next.by].name.clone()));
    }
    residents(plan).map(|resident| other(plan, &resident)).collect()
}

/// Whether one of the hosts has a radio.
pub(super) fn any_on_air(plan: &Plan) -> bool {
    residents(plan).any(|resident| resident.has_radio(plan))
}

fn other(plan: &Plan, resident: &Resident) -> Result<OtherHost, PlanError> {
    let (walker, has_radio) = (&plan.walkers[resident.by], resident.has_radio(plan));
    if has_radio && walker.power_save {
        return Err(PlanError::Sleeps(walker.name.clone()));
    }
    Ok(models::other_host(plan, resident))
}

/// Names for the interfaces of all these hosts, unlike those of the client's links.
pub(super) fn interfaces(plan: &Plan) -> Vec<String> {
    let names = residents(plan).flat_map(|resident| {
        let walker = &plan.walkers[resident.by].name;
        let name = |link: usize| format!("{walker}.{}", plan.links[link].name);
        resident.links.into_iter().map(name).collect::<Vec<_>>()
    });
    let numbered = (plan.links.len()..).zip(names);
    numbered
        .map(|(index, name)| interface_name(index, &name))
        .collect()
}

/// A walker's host while a run lasts. Fields are dropped in this order, so users of a field precede it.
struct Host {
    brain: Brain,
    glue: Glue,
    by: usize,
    /// Its links, by their index in the plan, with the interfaces.
    links: Vec<(usize, String)>,
    /// The number of its first link in the network.
    first: usize,
}

/// The hosts of all walkers but the client.
pub(super) struct Walkers(Vec<Host>);

/// What all hosts of a run share when they are built.
pub(super) struct Ground<'g> {
    pub(super) hosts: &'g Hosts,
    pub(super) ports: &'g [Port],
    pub(super) addressing: &'g Addressing,
    pub(super) clock: Clock,
    pub(super) tell: &'g Sender<Note>,
}

impl Walkers {
    /// Starts the daemons. The client's links come first among the ports.
    pub(super) fn build(plan: &Plan, ground: &Ground<'_>) -> Result<Self, PlayError> {
        let mut first = plan.links.len();
        let mut names = interfaces(plan).into_iter();
        let mut built = Vec::new();
        for (place, resident) in residents(plan).enumerate() {
            let count = resident.links.len();
            let links: Vec<(usize, String)> = resident.links.iter().copied().zip(names.by_ref()).collect();
            built.push(Host::build(plan, ground, place, (resident.by, links, first))?);
            first += count;
        }
        Ok(Self(built))
    }

    /// The place of a walker's host among the others. `None`: it is the client, or has no host.
    pub(super) fn place(&self, by: usize) -> Option<usize> {
        self.0.iter().position(|host| host.by == by)
    }

    /// The interface of a walker's link, and whether it is usable now.
    pub(super) fn interface(&self, by: usize, link: usize) -> Option<(String, Arc<AtomicBool>)> {
        let host = &self.0[self.place(by)?];
        let place = host.links.iter().position(|(known, _)| *known == link)?;
        Some((host.links[place].1.clone(), host.glue.usable(place)))
    }

    /// Acts on an event of the emulator. Returns whether the event is about one of these hosts.
    pub(super) fn hear(&mut self, event: &Event) -> Result<bool, PlugError> {
        let (Event::Beacon { link, .. } | Event::State { link, .. }) = event else {
            return Ok(false);
        };
        let number = usize::from(link.0);
        let Some(host) = self.0.iter_mut().find(|host| host.has(number)) else {
            return Ok(false);
        };
        let place = number - host.first;
        match event {
            Event::State { state, .. } => host.glue.state(place, *state)?,
            Event::Beacon { signal, .. } => host.glue.beacon(place, *signal),
            _ => {}
        }
        Ok(true)
    }

    /// Plugs in a link of one of these hosts.
    pub(super) fn plug_in(&mut self, number: usize, state: LinkState) -> Result<(), PlugError> {
        let host = self.0.iter_mut().find(|host| host.has(number));
        host.map_or(Ok(()), |host| host.glue.state(number - host.first, state))
    }

    /// The link that the server knows by this address: in the plan, and its number in the network.
    pub(super) fn seen_as(&self, address: IpAddr) -> Option<(usize, LinkId)> {
        let found = |host: &Host| Some(host.link(host.glue.link_seen_as(address)?));
        self.0.iter().find_map(found)
    }

    /// The link on which a walker has this address.
    pub(super) fn link_with(&self, by: usize, address: IpAddr) -> Option<(usize, LinkId)> {
        let host = &self.0[self.place(by)?];
        Some(host.link(host.glue.link_with(address)?))
    }

    /// Stops the daemons, and waits until they have restored everything.
    pub(super) fn finish(self) -> Result<(), PlayError> {
        self.0.into_iter().try_for_each(|host| host.brain.finish())
    }
}

impl Host {
    fn build(
        plan: &Plan,
        ground: &Ground<'_>,
        place: usize,
        (by, links, first): (usize, Vec<(usize, String)>, usize),
    ) -> Result<Self, PlayError> {
        let own = first..first + links.len();
        let addresses = &ground.addressing.links[own.clone()];
        let plugs = Plugs::of_other(ground.hosts, place, &ground.ports[own], addresses)?;
        let (sender, inlet) = inlet().map_err(PlayError::Inlet)?;
        let specs = links.iter().map(|&(link, _)| {
            let link = &plan.links[link];
            (of_a_walker(link), radio::phy(link))
        });
        let glue = Glue::new(plugs, specs.collect(), sender);
        let wiring = Wiring {
            engine: engine_config(Policy::Mptcp, plan),
            links: declared(plan, &links, addresses),
            first_link: first as u16,
            epoch_ns: ground.clock.epoch_ns(),
            inlet,
            answers: Answers::default(),
            sender: None,
            reports: None,
            observer: None,
            notes: ground.tell.clone(),
            window: None,
            record: None,
        };
        let brain = Brain::start(&ground.hosts.others[place].netns, wiring)?;
        Ok(Self {
            brain,
            glue,
            by,
            links,
            first,
        })
    }

    const fn has(&self, number: usize) -> bool {
        number >= self.first && number < self.first + self.links.len()
    }

    fn link(&self, place: usize) -> (usize, LinkId) {
        (self.links[place].0, LinkId((self.first + place) as u16))
    }
}

fn declared(plan: &Plan, links: &[(usize, String)], addresses: &[LinkAddresses]) -> Vec<DeclaredLink> {
    let all = links.iter().zip(addresses).zip(0..);
    all.map(|(((link, interface), addresses), id)| DeclaredLink {
        id: policy::LinkId(id),
        interface: interface.clone(),
        spec: of_a_walker(&plan.links[*link]),
        gateway: Some(addresses.router().into()),
        tariff: Tariff::Flat,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::network_config;
    use links::Medium;

    const TCP: &str = "direction = \"down\"\ntransport = \"tcp\"\nover = \"hall\"";
    const CABLE: &str = "direction = \"down\"\ntransport = \"tcp\"\nover = \"dsl\"";
    const DATAGRAMS: &str = "direction = \"down\"\ntransport = \"udp\"\nover = \"hall\"";

    /// A guard with these keys and these flows, beside the client.
    fn plan(guard: &str, flows: &[&str]) -> Plan {
        let mut text = format!(
            "sentence = \"x\"\nduration_s = 9\n[aps.hall]\nat_m = [3, 0]\nchannel = 6\n\
             backhaul = {{ rate_mbps = 9, rtt_ms = 9 }}\n[cables.dsl]\nrate_mbps = 9\nrtt_ms = 9\n\
             [walkers.client]\nat_m = [0, 0]\n[walkers.guard]\n{guard}\n[flows.own]\ndirection = \"down\"\n"
        );
        for (number, flow) in flows.iter().enumerate() {
            text += &format!("[flows.f{number}]\n{flow}\nby = \"guard\"\n");
        }
        let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
        scenario::parse("x.toml", text.as_bytes(), &[], &no_files).unwrap()
    }

    const STANDS: &str = "at_m = [9, 0]";
    const WALKS: &str = "way = [{ at_m = [0, 0], t_s = 0 }, { at_m = [9, 0], t_s = 9 }]";

    #[test]
    fn walkers_with_tcp_have_hosts_with_their_own_links() {
        let links = |flows: &[&str]| -> Vec<Vec<usize>> {
            let plan = plan(STANDS, flows);
            residents(&plan).map(|resident| resident.links).collect()
        };
        assert!(links(&[]).is_empty() && links(&[DATAGRAMS]).is_empty());
        assert_eq!(links(&[TCP]), [[0]]);
        assert_eq!(links(&[CABLE]), [[1]]);
        assert_eq!(
            links(&[CABLE, DATAGRAMS]),
            [[0, 1]],
            "datagrams use its kernel, too"
        );
        assert_eq!(links(&["direction = \"up\""]), [[0, 1]], "MPTCP uses all links");
    }

    #[test]
    fn a_host_has_its_walkers_radio() {
        let config = network_config(&plan(STANDS, &[TCP, DATAGRAMS]), 1).unwrap();
        assert_eq!(config.medium, Medium::Frames);
        assert!(config.background.stations.is_empty(), "one radio, not two");
        let [host] = &config.hosts[..] else {
            panic!("{:?}", config.hosts)
        };
        assert_eq!((host.name.as_str(), host.radio.position.x_mm), ("guard", 9_000));
        assert!(links::Network::new(1, config).is_ok());
        let config = network_config(&plan(STANDS, &[CABLE]), 1).unwrap();
        assert_eq!(config.medium, Medium::Exchanges, "no radio");
    }

    #[test]
    fn interfaces_have_names_of_their_own() {
        let plan = plan(STANDS, &["direction = \"down\""]);
        assert_eq!(interfaces(&plan), ["guard.hall", "guard.dsl"]);
    }

    #[test]
    fn a_host_with_a_radio_stays_awake() {
        let refused = |guard: &str, flow: &str| {
            let plan = plan(guard, &[flow]);
            let error = network_config(&plan, 1).map(drop);
            error.map_err(|error| plan.spots.say(error.about(), &error))
        };
        let sleeps = refused(&format!("{STANDS}\npower_save = true"), TCP).unwrap_err();
        assert!(
            sleeps.starts_with("x.toml:12:10: `guard` saves power, and in the lab only the client's radio"),
            "{sleeps}"
        );
        assert_eq!(refused(WALKS, CABLE), Ok(()), "a cable is the same everywhere");
    }
}

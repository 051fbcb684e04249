//! Connects a link model to a host's kernel, as three parts do on a real host: the driver that sets the
//! carrier, the DHCP client that sets the address, and the listener for beacons.

use crate::emulator::{Command, Commands};
use crate::hosts::{PlugError, Plugs};
use links::LinkState;
use linux::daemon::{self, InletSender};
use policy::estimate::bandwidth::Sight;
use policy::estimate::phy::Phy;
use policy::{Input, LinkEvent, LinkId, LinkSpec};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Dbm, Duration};

/// How long the daemon may take to report what it knows.
const REPORT_PATIENCE: Duration = Duration::from_secs(1);

/// All links of one host.
#[derive(Debug)]
pub(super) struct Glue {
    plugs: Plugs,
    links: Vec<Known>,
    inlet: InletSender,
}

#[derive(Debug)]
struct Known {
    spec: LinkSpec,
    /// The PHY of its access point, as a driver knows it.
    phy: Option<Phy>,
    /// A beacon was heard.
    heard: bool,
    usable: Arc<AtomicBool>,
}

impl Glue {
    pub(super) fn new(plugs: Plugs, specs: Vec<(LinkSpec, Option<Phy>)>, inlet: InletSender) -> Self {
        let known = |(spec, phy)| Known {
            spec,
            phy,
            heard: false,
            usable: Arc::default(),
        };
        Self {
            plugs,
            links: specs.into_iter().map(known).collect(),
            inlet,
        }
    }

    /// The daemon's report, unless it is too busy to answer.
    pub(super) fn report(&self) -> Option<daemon::Report> {
        self.inlet.report(REPORT_PATIENCE).ok()
    }

    /// A handle for more inputs to the engine.
    pub(super) fn inlet(&self) -> InletSender {
        self.inlet.clone()
    }

    /// Whether a link has an address now; the value changes as the run continues.
    pub(super) fn usable(&self, link: usize) -> Arc<AtomicBool> {
        Arc::clone(&self.links[link].usable)
    }

    /// The link that the server knows by this address.
    pub(super) fn link_seen_as(&self, address: IpAddr) -> Option<usize> {
        self.plugs.link_of(address)
    }

    /// The link on which the client has, or had, this address.
    pub(super) fn link_with(&self, address: IpAddr) -> Option<usize> {
        self.plugs.link_with(address)
    }

    /// Applies the model's state to the kernel.
    pub(super) fn state(&mut self, link: usize, state: LinkState) -> Result<(), PlugError> {
        if self.links[link].spec.role == policy::Role::Never {
            return Ok(());
        }
        match state {
            LinkState::Down | LinkState::Joining => self.unplug(link),
            LinkState::Carrier => self.plugs.carrier(link, true),
            LinkState::Up => {
                self.plugs.carrier(link, true)?;
                self.plugs.give_address(link)?;
                self.links[link].usable.store(true, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn unplug(&mut self, link: usize) -> Result<(), PlugError> {
        self.links[link].usable.store(false, Ordering::Relaxed);
        self.plugs.carrier(link, false)?;
        self.plugs.take_address(link)
    }

    /// Makes the link hand out a different address from now on, and at once if the client has one.
    pub(super) fn renew(&mut self, link: usize, emulator: &Commands) -> Result<(), PlugError> {
        let had_one = self.plugs.address(link).is_some();
        self.plugs.take_address(link)?;
        let nat = self.plugs.renew(link);
        emulator.send(Command::Translate(links::LinkId(link as u16), nat));
        if had_one {
            self.plugs.give_address(link)?;
        }
        Ok(())
    }

    /// Reports to the engine how busy a link's channel is.
    pub(super) fn survey(&self, link: usize, sight: Sight) {
        let id = LinkId(link as u16);
        let _ = self.inlet.send(Input::Link(id, LinkEvent::Survey(sight)));
    }

    /// Reports a beacon to the engine. The first beacon of a link also reports that the link exists, and its
    /// access point's PHY.
    pub(super) fn beacon(&mut self, link: usize, signal: Dbm) {
        let known = &mut self.links[link];
        let id = LinkId(link as u16);
        // A daemon that has ended needs no input; the reason why it ended is reported elsewhere.
        if !std::mem::replace(&mut known.heard, true) {
            let appeared = LinkEvent::Appeared(known.spec.clone());
            let facts = std::iter::once(appeared).chain(known.phy.map(LinkEvent::Phy));
            let _ = self.inlet.send_all(facts.map(|fact| Input::Link(id, fact)));
        }
        let _ = self.inlet.send(Input::Link(id, LinkEvent::Beacon(signal)));
    }
}

//! What the user should hear about flows: a rule without a link, connection tracking without room, the
//! interface removed.
//!
//! # Sources
//! - `Documentation/networking/nf_conntrack-sysctl.rst`: the kernel drops packets of new flows while there
//!   are `nf_conntrack_max` entries.
//!
//! # Checked by
//! `tests`; `crates/cli/tests/host/harm.rs`.

use super::Networks;
use crate::daemon::api::networks::{FlowRule, Target};
use crate::daemon::api::observe::Observation;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::rtnl::{Address, Prefix, Rtnl};
use policy::{FlowEvent, Input};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;
use units::Instant;

const WHAT: &str = "networks of flows";
/// Interval between two looks at connection tracking.
const LOOK: Duration = Duration::from_secs(1);

/// What was said already.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Rules whose network was no link.
    nameless: BTreeSet<u8>,
    /// A network with an address of flows that another interface has.
    taken: Option<Prefix>,
    is_full: bool,
    look_at: Instant,
}

impl Health {
    /// Says which rules name no link at present.
    pub(super) fn names(&mut self, rules: &[(u8, FlowRule)], links: &Links, outlet: &mut Outlet) {
        let nameless = rules.iter().filter_map(|(number, rule)| {
            let network = rule.network.names().find(|name| links.named(name).is_none())?;
            Some((number, network, rule))
        });
        for (number, network, rule) in nameless.clone() {
            if !self.nameless.contains(number) {
                let flows = match (rule.holds, &rule.network) {
                    (true, _) => "wait",
                    (false, Target::Shares(_)) => "use the other ones",
                    (false, _) => "begin as all others",
                };
                let why = format!(
                    "rule {number} names `{network}`, and there is no such link now; its flows {flows}"
                );
                outlet.observe(Observation::Trouble {
                    what: WHAT,
                    why: &why,
                });
            }
        }
        self.nameless = nameless.map(|(number, ..)| *number).collect();
    }

    /// Says which network another interface has now that contains one of these addresses.
    pub(super) fn addresses(&mut self, of_flows: &[Option<Ipv4Addr>], interface: u32, outlet: &mut Outlet) {
        // Another look follows with the next change of a link.
        let Ok(present) = Rtnl::open()
            .map_err(drop)
            .and_then(|mut rtnl| rtnl.addresses().map_err(drop))
        else {
            return;
        };
        let others = present.iter().filter(|other| other.ifindex != interface);
        let contains = |other: &&Address| {
            let addresses = of_flows.iter().flatten();
            { addresses }.any(|address| other.prefix.contains((*address).into()))
        };
        let network = { others }.find(contains).map(|other| other.prefix.network());
        if let Some(network) = network.filter(|_| self.taken != network) {
            let why = format!(
                "another interface is on the network {network} now, which contains an address of [networks]; hosts there \
                 may not be reached. Choose other addresses, and run `slowhand reload`"
            );
            outlet.observe(Observation::Trouble {
                what: WHAT,
                why: &why,
            });
        }
        self.taken = network;
    }
}

impl Networks {
    /// Looks whether connection tracking has room, if it is time. Says when it has none any more.
    pub(crate) fn look_for_room(&mut self, now: Instant, outlet: &mut Outlet) {
        if now < self.health.look_at {
            return;
        }
        self.health.look_at = now + LOOK;
        let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/netfilter/{name}"));
        let counts = (read("nf_conntrack_count"), read("nf_conntrack_max"));
        let full = match counts {
            (Ok(entries), Ok(most)) => full(&entries, &most),
            // A kernel that does not say cannot be watched.
            _ => None,
        };
        if let Some(why) = full.as_ref().filter(|_| !self.health.is_full) {
            outlet.observe(Observation::Trouble { what: WHAT, why });
        }
        self.health.is_full = full.is_some();
    }

    /// The interface is gone: there are no networks for flows any more.
    pub(crate) fn end_all(&mut self, outlet: &mut Outlet) {
        for (id, _) in self.flows.iter() {
            outlet.tell(Input::Flow(id, FlowEvent::Ended));
        }
        let why = format!(
            "another program removed {}; UDP follows your own routes until `slowhand reload`",
            self.interface
        );
        outlet.observe(Observation::Trouble {
            what: WHAT,
            why: &why,
        });
    }
}

/// A sentence if connection tracking has room for no more than one flow in twenty. Both are texts of the
/// kernel.
fn full(entries: &str, most: &str) -> Option<String> {
    let [entries, most] = [entries, most].map(|text| text.trim().parse::<u64>().ok());
    let (entries, most) = (entries?, most.filter(|most| *most > 0)?);
    (entries >= most - most / 20).then(|| {
        format!(
            "connection tracking is full ({entries} of {most} entries), so the kernel drops packets of new flows; \
             raise net.netfilter.nf_conntrack_max"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_tracking_is_full_with_one_place_in_twenty_left() {
        assert_eq!(full("94\n", "100\n"), None);
        let why = full("95\n", "100\n").unwrap();
        assert!(
            why.starts_with("connection tracking is full (95 of 100 entries)"),
            "{why}"
        );
        assert!(full("300", "262").is_some());
        assert_eq!((full("1", "0"), full("", "100")), (None, None));
    }
}

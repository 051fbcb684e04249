//! Gives each flow that cannot use several links a network, behind one interface that never changes.
//!
//! Programs see one address for UDP. nftables marks each new flow with the link that carries it, and the
//! routing rules of [`crate::routing::Pinned`] send it there. The engine hears of every flow once its first
//! packet has left ([`policy::FlowEvent::Began`]). If it wants another link than the mark says, the table is
//! corrected, and the kernel forgets the flow: its next packet leaves by the other link. To the server this
//! looks like a NAT that has changed its mind, which QUIC and WireGuard survive by design.
//!
//! The packets of flows are counted ([`silence`]). What they show is evidence about their links, and about
//! each flow: one that has become silent may move alone ([`policy::Action::Move`]).
//!
//! # Sources
//! - juggler §3.1 (a flow has one network, and programs see one interface).
//!
//! # Where we differ, and why
//! 1. No packet waits for a decision in user space: the kernel marks the first one by the present choice.
//! 2. Only UDP over IPv4: TCP has MPTCP, and the agent for programs without it.
//! 3. The interface is a TUN device of this process, and the table of nftables ends with this process. After
//!    `kill -9` neither is left, and programs use the user's own routes.
//!
//! # Checked by
//! `book::tests`, `chains::tests`, `names::tests`, `silence::tests`; `crates/cli/tests/host/networks.rs`,
//! `crates/cli/tests/host/names.rs`, `crates/cli/tests/host/wishes.rs`, `crates/cli/tests/host/harm.rs`.

mod book;
mod cgroup;
mod chains;
mod change;
mod health;
mod names;
mod settle;
mod silence;

pub(crate) use silence::Shown;

use crate::conntrack::{Conntrack, CountError, Event, Events, Flow, Packets, counts_packets, tells_of_flows};
use crate::daemon::api::networks::{
    FlowError, FlowReport, FlowRule, NetworksError, NetworksReport, NetworksSetup, Target,
};
use crate::daemon::api::observe::Observation;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::links::marks;
use crate::daemon::os::clock::thread_cpu;
use crate::journal::Journal;
use crate::netlink::ReceiveError;
use crate::nft::{Table, TableError};
use crate::rtnl::{Address, IfName, Prefix, Rtnl};
use crate::sysctl;
use crate::tun::{self, CreateError};
use book::{Begun, Book, Known};
use cgroup::Cgroups;
use chains::{Choice, Pick};
use health::Health;
use names::Names;
use policy::flow::FlowId;
use policy::reason::Assigned;
use policy::{FlowEvent, Input, LinkId, Wish};
use settle::Basis;
use silence::Counts;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;
use units::Instant;

/// Pause before a table is restored again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long another program takes to finish what it does to the interface.
const FINISHES: Duration = Duration::from_millis(200);
/// Counting may use at most 1/`SHARE` of the time until it is done again.
const SHARE: u32 = 50;
/// The most flows that are counted one by one. The kernel lists more of them faster all at once.
const FEW: usize = 512;

/// Networks for flows.
#[derive(Debug)]
pub(crate) struct Networks {
    interface: IfName,
    ifindex: u32,
    address: Ipv4Addr,
    /// The user's rules by their numbers, in order.
    rules: Vec<(u8, FlowRule)>,
    /// The cgroups that rules name, and when they were last looked for.
    cgroups: Cgroups,
    cgroups_looked_at: Option<Instant>,
    /// The number of the last rule that was added.
    last_number: u8,
    /// The shares of links, by their names, in new flows that match no rule.
    weights: Vec<(String, u16)>,
    /// The links that the engine lets carry flows, as it said last.
    trusted: Vec<LinkId>,
    /// Keeps the interface.
    _device: File,
    table: Table,
    kernel: Conntrack,
    events: Events,
    flows: Book,
    /// Where new flows begin, as the table says.
    chosen: Choice,
    /// What `chosen` was last made from. `None`: it must be made anew.
    basis: Option<Basis>,
    mtu: u32,
    counts: Counts,
    /// When packets are counted next.
    count_at: Instant,
    /// When the table may be restored next.
    look_at: Instant,
    /// When the interface is fixed, if it needs that.
    fix_at: Option<Instant>,
    health: Health,
    /// Resolvers of links behind one address. `None`: programs ask the host's own.
    names: Option<Names>,
}

/// What a flow shows about the link that carries it, and about the host to which it goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) flow: FlowId,
    pub(crate) link: LinkId,
    pub(crate) remote: SocketAddr,
    pub(crate) shown: Shown,
}

impl Networks {
    /// Makes the interface and the table. Flows are not led there before [`Networks::settle`] has said where
    /// they begin.
    pub(crate) fn open(setup: NetworksSetup, journal: &mut Journal) -> Result<Self, NetworksError> {
        let NetworksSetup {
            interface,
            address,
            rules,
            names,
        } = setup;
        let mut rtnl = Rtnl::open()?;
        check_free(&mut rtnl, ("address", address))?;
        let names = names.map(Names::new);
        if let Some(names) = &names {
            check_free(&mut rtnl, ("dns", names.address()))?;
        }
        if rtnl.link_named(interface)?.is_some() {
            let name = interface.to_string();
            return Err(CreateError::Exists { name }.into());
        }
        let flags = libc::IFF_TUN | libc::IFF_NO_PI;
        let (device, _) = tun::attach(interface.as_str(), flags)?;
        tun::leave_checksums(&device, interface.as_str())?;
        let link = rtnl
            .link_named(interface)?
            .ok_or(NetworksError::Gone(interface))?;
        rtnl.add_address(&Address::new(link.ifindex, Prefix::host(address.into())))?;
        rtnl.set_up(link.ifindex, true)?;
        // The table loads the kernel's module for connection tracking, which has the parameters.
        let table = install((link.ifindex, address), names.as_ref())?;
        journal.set_sysctl(&counts_packets(), "1")?;
        if sysctl::read(&tells_of_flows()).is_ok_and(|tells| tells == "0") {
            journal.set_sysctl(&tells_of_flows(), "1")?;
        }
        let mut kernel = Conntrack::open()?;
        // Flows of a run that ended early would keep its links' numbers.
        kernel.forget_marked(marks::ALL)?;
        Ok(Self {
            interface,
            ifindex: link.ifindex,
            address,
            chosen: Choice::default(),
            last_number: u8::try_from(rules.len()).unwrap_or(u8::MAX),
            rules: (1..=u8::MAX).zip(rules).collect(),
            trusted: Vec::new(),
            cgroups: Cgroups::new(),
            cgroups_looked_at: None,
            weights: Vec::new(),
            _device: device,
            events: Events::open(marks::ALL)?,
            table,
            kernel,
            flows: Book::default(),
            basis: None,
            mtu: link.mtu,
            counts: Counts::default(),
            count_at: Instant::ZERO,
            look_at: Instant::ZERO,
            fix_at: None,
            health: Health::default(),
            names,
        })
    }

    /// The interface and its address.
    pub(crate) const fn interface(&self) -> (u32, Ipv4Addr) {
        (self.ifindex, self.address)
    }

    /// Another program may have set the interface down or taken its address. `ip address flush` repeats what
    /// it does until nothing is left, so it is fixed a little later.
    pub(crate) fn hurt(&mut self, now: Instant) {
        self.fix_at = Some(now + FINISHES);
    }

    /// Sets the interface up again, with its address, if it is time. Returns whether that was needed, and is
    /// done.
    pub(crate) fn fix(&mut self, now: Instant, outlet: &mut Outlet) -> bool {
        if self.fix_at.take_if(|at| *at <= now).is_none() {
            return false;
        }
        match self.fixed() {
            Ok(true) => {
                let why = format!(
                    "another program set {} down or took its address; restored",
                    self.interface
                );
                let what = "networks of flows";
                outlet.observe(Observation::Trouble { what, why: &why });
                true
            }
            Ok(false) => false,
            Err(error) => {
                outlet.trouble("restoring the interface of flows", &error);
                false
            }
        }
    }

    fn fixed(&self) -> Result<bool, NetworksError> {
        let mut rtnl = Rtnl::open()?;
        let Some(link) = rtnl
            .link_named(self.interface)?
            .filter(|link| link.ifindex == self.ifindex)
        else {
            // It is gone: another event says so.
            return Ok(false);
        };
        let own = Address::new(self.ifindex, Prefix::host(self.address.into()));
        let has_address = rtnl
            .addresses()?
            .iter()
            .any(|other| (other.ifindex, other.prefix) == (own.ifindex, own.prefix));
        if !has_address {
            rtnl.add_address(&own)?;
        }
        if !link.up {
            rtnl.set_up(self.ifindex, true)?;
        }
        Ok(!has_address || !link.up)
    }

    /// The marks of sockets that rules name.
    pub(crate) fn marks(&self) -> Vec<u32> {
        let marks = self.rules.iter().filter_map(|(_, rule)| rule.mark);
        marks.filter(|mark| !marks::is_ours(*mark)).collect()
    }

    /// Readable when flows have begun or ended.
    pub(crate) fn fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }

    /// Takes in the flows that have begun or ended.
    pub(crate) fn read(&mut self, now: Instant, links: &Links, outlet: &mut Outlet) {
        loop {
            match self.events.next() {
                Ok(None) => return,
                Ok(Some(Event::Began(flow))) => self.began(now, flow, links, outlet),
                Ok(Some(Event::Ended(entry))) => self.ended(entry, outlet),
                Err(ReceiveError::Overrun) => {
                    let why =
                        "the kernel reported more flows than could be read in time; all are listed anew";
                    let what = "networks of flows";
                    outlet.observe(Observation::Trouble { what, why });
                    self.catch_up(now, links, outlet);
                }
                Err(error) => return outlet.trouble("hearing of flows", &error),
            }
        }
    }

    /// Events were lost: compares all entries with those that are known.
    fn catch_up(&mut self, now: Instant, links: &Links, outlet: &mut Outlet) {
        let present = match self.kernel.flows_of(marks::ALL) {
            Ok(present) => present,
            Err(error) => return outlet.trouble("hearing of flows", &error),
        };
        for entry in self.flows.missing(&present.iter().map(|flow| flow.id).collect()) {
            self.ended(entry, outlet);
        }
        for flow in present {
            self.began(now, flow, links, outlet);
        }
    }

    fn ended(&mut self, entry: u32, outlet: &mut Outlet) {
        self.counts.ended(entry);
        if let Some(id) = self.flows.ended(entry) {
            outlet.tell(Input::Flow(id, FlowEvent::Ended));
        }
    }

    fn began(&mut self, now: Instant, flow: Flow, links: &Links, outlet: &mut Outlet) {
        let number = marks::rule_of(flow.mark);
        let rule = self.rules.iter().find(|(other, _)| *other == number);
        let by_rule = rule.and_then(|(_, rule)| links.named(rule.network.link()?));
        let is_shared = match rule {
            Some((_, rule)) => matches!(rule.network, Target::Spread | Target::Shares(_)),
            None => number == 0 && !self.weights.is_empty(),
        };
        let by_share = marks::link_of(flow.mark).filter(|_| is_shared);
        let wish = match (rule.is_some_and(|(_, rule)| rule.holds), by_rule) {
            (true, Some(link)) => Some(Wish::Only(link)),
            // It waits for a link that is not there, of which the engine knows nothing.
            (true, None) => None,
            (false, _) => Some(by_rule.or(by_share).map_or(Wish::Active, Wish::Network)),
        };
        let settled = match self.flows.began(now, flow.clone()) {
            Begun::New(id) => {
                if let Some(wish) = wish {
                    outlet.tell(Input::Flow(id, FlowEvent::Began(wish)));
                }
                Ok(())
            }
            Begun::Known => Ok(()),
            Begun::Moved => self
                .table
                .change(&chains::not_moved(&flow))
                .map_err(FlowError::from),
            Begun::Elsewhere => self.kernel.forget(&flow).map_err(FlowError::from),
        };
        if let Err(error) = settled {
            outlet.trouble("moving a flow", &error);
        }
    }

    /// Installs the table again if somebody has ended its process. Without it, flows would lead nowhere.
    pub(crate) fn restore(&mut self, now: Instant, links: &Links, outlet: &mut Outlet) {
        if now < self.look_at || !self.table.has_ended() {
            return;
        }
        self.look_at = now + AGAIN;
        match install(self.interface(), self.names.as_ref()) {
            Ok(table) => {
                self.table = table;
                self.basis = None;
                if let Some(names) = &mut self.names {
                    names.begin_anew();
                }
                for id in self.flows.forget_moves() {
                    outlet.tell(Input::Flow(id, FlowEvent::Ended));
                }
                self.settle(links, outlet);
                let what = "networks of flows";
                let why = "another program ended `nft`, which holds their table; restored";
                outlet.observe(Observation::Trouble { what, why });
            }
            Err(error) => outlet.trouble(
                "restoring the table of flows, to be tried again in a second",
                &error,
            ),
        }
    }

    fn choose(&mut self, chosen: Choice) -> Result<(), TableError> {
        if chosen != self.chosen || self.basis.is_none() {
            self.table.change(&chains::choice(&self.rules, &chosen))?;
            self.chosen = chosen;
        }
        Ok(())
    }

    /// When [`Networks::count`], [`Networks::look_for_cgroups`] or [`Networks::look_for_names`] next has
    /// work.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let counts = (self.flows.len() > 0).then_some(self.count_at);
        let times = [counts, self.cgroups_at(), self.names_at(), self.fix_at];
        times.into_iter().flatten().min()
    }

    /// If it is time, counts the packets of flows. Returns what they show about their links.
    pub(crate) fn count(&mut self, now: Instant, outlet: &mut Outlet) -> Vec<Seen> {
        if self.flows.len() == 0 || self.count_at > now {
            return Vec::new();
        }
        self.give_up(now, outlet);
        let cpu = thread_cpu();
        let shown = match self.packets() {
            Ok(packets) => self.counts.take(now, &packets),
            Err(error) => {
                outlet.trouble("counting the packets of flows", &error);
                Vec::new()
            }
        };
        self.count_at = now + self.counts.interval().max((thread_cpu() - cpu) * SHARE);
        let seen = |(entry, shown): (u32, Shown)| {
            let (flow, known) = self.flows.with_entry(entry)?;
            let (link, remote) = (known.link()?, known.flow.remote?);
            Some(Seen {
                flow,
                link,
                remote: match &self.names {
                    Some(names) => names.behind(link, remote)?,
                    None => remote,
                },
                shown,
            })
        };
        shown.into_iter().filter_map(seen).collect()
    }

    /// The packets of all flows, by the number of their entries.
    fn packets(&mut self) -> Result<Vec<(u32, Packets)>, CountError> {
        if self.flows.len() > FEW {
            return self.kernel.packets_of(marks::ALL);
        }
        let mut counted = Vec::with_capacity(self.flows.len());
        for (_, known) in self.flows.iter() {
            let packets = self.kernel.packets(&known.flow)?;
            counted.extend(packets.map(|packets| (known.flow.id, packets)));
        }
        Ok(counted)
    }

    /// Ends the flows that were to move, and have sent nothing for long.
    fn give_up(&mut self, now: Instant, outlet: &mut Outlet) {
        for (id, flow) in self.flows.expired(now) {
            if let Err(error) = self.table.change(&chains::not_moved(&flow)) {
                outlet.trouble("moving a flow", &error);
            }
            outlet.tell(Input::Flow(id, FlowEvent::Ended));
        }
    }

    /// Carries this flow, and no other, over this link from its next packet on.
    pub(crate) fn move_to(&mut self, now: Instant, id: FlowId, link: LinkId) -> Result<(), FlowError> {
        if let Some((commands, flow)) = self.flows.moves(now, id, link) {
            self.table.change(&commands)?;
            self.kernel.forget(&flow)?;
        }
        Ok(())
    }

    /// The engine has said why a flow has its link.
    pub(crate) fn because(&mut self, id: FlowId, why: Assigned) {
        self.flows.because(id, why);
    }

    /// The engine wants this flow on this link, or held until there is one. It follows with its next packet.
    ///
    /// New flows go there, too, unless the user has named another link for them, by a rule or shares. Then
    /// this flow alone moves, so that new ones use that link as soon as it works again.
    pub(crate) fn assign(
        &mut self,
        now: Instant,
        id: FlowId,
        link: Option<LinkId>,
        outlet: &mut Outlet,
    ) -> Result<(), FlowError> {
        let Some(known) = self.flows.get(id).filter(|known| known.link() != link) else {
            return Ok(());
        };
        let number = marks::rule_of(known.flow.mark);
        let by_user = number > 0 || !matches!(self.chosen.common, Pick::One(_));
        if let Some(link) = link.filter(|_| by_user) {
            return self.move_to(now, id, link);
        }
        let mut chosen = self.chosen.clone();
        chosen.set(number, link);
        self.end(id, outlet)?;
        self.choose(chosen)?;
        Ok(())
    }

    /// The flow's network is gone. It begins anew with its next packet.
    pub(crate) fn end(&mut self, id: FlowId, outlet: &mut Outlet) -> Result<(), FlowError> {
        if let Some(flow) = self.flows.moves_no_more(id) {
            // The kernel may have no entry of it that could end.
            outlet.tell(Input::Flow(id, FlowEvent::Ended));
            self.table.change(&chains::not_moved(&flow))?;
            self.kernel.forget(&flow)?;
        } else if let Some(known) = self.flows.get(id) {
            self.kernel.forget(&known.flow)?;
        }
        Ok(())
    }

    /// The flows, and where new ones begin.
    pub(crate) fn report(&self) -> NetworksReport {
        let flow = |(id, known): (FlowId, &Known)| FlowReport {
            id,
            link: known.link(),
            local: known.flow.local,
            remote: known.flow.remote,
            rule: Some(marks::rule_of(known.flow.mark)).filter(|number| *number > 0),
            since: known.since,
            why: known.why,
        };
        NetworksReport {
            interface: self.interface.to_string(),
            address: self.address,
            begins: self.chosen.common.links(),
            rules: self
                .rules
                .iter()
                .map(|(number, rule)| (*number, rule.clone(), self.chosen.of(*number).links()))
                .collect(),
            weights: self.weights.clone(),
            dns: self.names.as_ref().map(Names::address),
            resolvers: self.names.as_ref().map(Names::report).unwrap_or_default(),
            flows: self.flows.iter().map(flow).collect(),
        }
    }
}

/// Checks that no interface is on a network with the address that this key gives.
fn check_free(rtnl: &mut Rtnl, (key, address): (&'static str, Ipv4Addr)) -> Result<(), NetworksError> {
    let on_network = |other: &&Address| other.prefix.contains(address.into());
    match rtnl.addresses()?.iter().find(on_network) {
        Some(other) => Err(NetworksError::Taken {
            key,
            address,
            network: other.prefix.network(),
        }),
        None => Ok(()),
    }
}

fn install(interface: (u32, Ipv4Addr), names: Option<&Names>) -> Result<Table, TableError> {
    let chains = names.map(|names| names::chains(names.address()));
    let table = chains::table(interface, &chains.unwrap_or_default());
    Table::install(&table, chains::CHAIN)
}

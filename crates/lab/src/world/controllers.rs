//! The senders' congestion controllers. The kernel's own are allowed in the lab's namespaces. Ours are loaded
//! for the run under a name of its own, because names are shared by the whole host.
//!
//! A controller acts where data is sent. The client, which is ours, sends uploads. The server sends
//! everything else, and has our controllers only if it runs slowhand.
//!
//! # Checked by
//! `tests/controllers.rs`: what sockets really use.

use super::PlayError;
use super::paths::Paths;
use super::walkers;
use crate::hosts::Hosts;
use linux::bpf::RunTime;
use linux::bpf::cc::{
    self, AddressEnd, CcError, Controller, ControllerName, Coupled, Orders, SocketController,
};
use linux::cla::{Advisor, Listener};
use linux::daemon::{Sender, SignalReports};
use linux::journal::{List, Shared};
use linux::netns::Netns;
use linux::sysctl::{self, Key};
use scenario::{Flow, Plan, Server, Work};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use thiserror::Error;
use units::Rng;
use wire::mobility;

/// Where records of host-wide values are kept.
const RUNTIME: &str = "/run/slowhand";
/// The controller that a stock kernel always has and allows.
const STOCK: &str = "reno";

/// Why the plan's senders cannot use a controller.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "flow `{flow}`: a stock server has no `{cc}`; let the server run slowhand (`server = \"slowhand\"`, or --set server=slowhand), or choose one of the kernel's controllers"
)]
pub struct StockSender {
    /// The flow.
    pub flow: String,
    /// The controller.
    pub cc: String,
}

/// Why a controller of the kernel cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "this kernel has no congestion controller `{cc}`; use one of {has}, lia, olia, balia and cla, or try `modprobe tcp_{cc}`"
)]
pub struct NoController {
    /// The requested controller.
    pub cc: String,
    /// The available controllers.
    pub has: String,
}

/// The controllers of a run: the plan's names, and the kernel's names for them. Held as long as sockets of
/// the run may use them.
#[derive(Debug)]
pub(super) struct Controllers {
    names: BTreeMap<String, String>,
    loaded: Vec<Arc<Controller>>,
    _permissions: Vec<Shared>,
}

impl Controllers {
    /// Checks first whether the plan's senders can have the requested controllers, then loads and allows
    /// them.
    pub(super) fn prepare(plan: &Plan) -> Result<Self, PlayError> {
        if let Some(flow) = plan.flows.iter().find(|flow| !can_have(plan, flow)) {
            let cc = controller_of(plan, flow).to_owned();
            return Err(super::PlanError::from(StockSender {
                flow: flow.name.clone(),
                cc,
            })
            .into());
        }
        let mut controllers = Self {
            names: BTreeMap::new(),
            loaded: Vec::new(),
            _permissions: Vec::new(),
        };
        let of_flows = plan.flows.iter().filter_map(|flow| flow.cc.as_deref());
        for asked in std::iter::once(plan.cc.as_str()).chain(of_flows) {
            controllers.provide(asked)?;
        }
        Ok(controllers)
    }

    fn provide(&mut self, asked: &str) -> Result<(), PlayError> {
        if self.names.contains_key(asked) {
            return Ok(());
        }
        let name = match Coupled::from_id(asked) {
            Some(coupled) => {
                let controller = load(coupled).map_err(|source| PlayError::Coupled {
                    cc: asked.to_owned(),
                    source,
                })?;
                let name = controller.name().to_string();
                self.loaded.push(Arc::new(controller));
                // Any namespace may use it now, until another run writes a list without it.
                self._permissions.extend(permission(&name)?);
                name
            }
            None => {
                exists(asked)?;
                self._permissions.extend(permission(asked)?);
                asked.to_owned()
            }
        };
        self.names.insert(asked.to_owned(), name);
        Ok(())
    }

    /// CPU time per acknowledgement of the plan's controller, while it is measured.
    pub(super) fn per_ack(&self, plan: &Plan) -> Option<RunTime> {
        self.of_plan(plan)?.run_time().ok()
    }

    /// The windows ordered from the plan's controller, if it takes orders.
    pub(super) fn orders(&self, plan: &Plan) -> Option<&Orders> {
        self.of_plan(plan)?.orders()
    }

    fn of_plan(&self, plan: &Plan) -> Option<&Arc<Controller>> {
        let name = self.kernel_name(&plan.cc);
        let is_of_plan = |controller: &&Arc<Controller>| controller.name().as_str() == name;
        self.loaded.iter().find(is_of_plan)
    }

    /// The client's controller, for the daemon; `None` if it is one of the kernel's, which the namespace has
    /// already.
    pub(super) fn sender(&self, plan: &Plan) -> Option<Sender> {
        self.of_plan(plan).cloned().map(Sender::Coupled)
    }

    /// Lets a server that runs slowhand with `cla` listen to the client. Returns what the client needs for
    /// it.
    pub(super) fn listen(
        &self,
        plan: &Plan,
        seed: u64,
        hosts: &Hosts,
        server: IpAddr,
    ) -> Result<Option<(Listener, SignalReports)>, PlayError> {
        let Some(controller) = self.of_plan(plan) else {
            return Ok(None);
        };
        if plan.server != Server::Slowhand || controller.coupled() != Coupled::Cla {
            return Ok(None);
        }
        let mut random = Rng::named(seed, "signal-reports");
        let mut key = [0; 32];
        key.chunks_exact_mut(8)
            .for_each(|part| part.copy_from_slice(&random.next_u64().to_ne_bytes()));
        let (key, port) = (mobility::Key::new(key), linux::cla::DEFAULT_PORT);
        let advisor = Advisor::new(Arc::clone(controller), AddressEnd::Remote)?;
        let listener = Listener::start(&hosts.server, (server, port).into(), key.clone(), advisor)?;
        Ok(Some((listener, SignalReports { key, port })))
    }

    fn kernel_name<'a>(&'a self, asked: &'a str) -> &'a str {
        self.names.get(asked).map_or(asked, String::as_str)
    }

    /// Default controller of new sockets in the namespaces of the client and of other walkers.
    pub(super) fn at_client<'a>(&'a self, plan: &'a Plan) -> &'a str {
        self.kernel_name(&plan.cc)
    }

    /// Default controller of new sockets in the server's namespace.
    pub(super) fn at_server<'a>(&'a self, plan: &'a Plan) -> &'a str {
        if has(plan.server, &plan.cc) {
            self.kernel_name(&plan.cc)
        } else {
            STOCK
        }
    }

    /// The kernel's name for the controller of a flow's sender.
    pub(super) fn of_flow<'a>(&'a self, plan: &'a Plan, flow: &'a Flow) -> &'a str {
        self.kernel_name(controller_of(plan, flow))
    }

    /// Reads which controllers the sockets really use, while they live: the kernel silently ignores an
    /// unknown name on an MPTCP socket.
    pub(super) fn read_back(&self, plan: &Plan, hosts: &Hosts, paths: &Paths) -> ReadBack {
        let flow = |index: usize| {
            let flow = &plan.flows[index];
            (flow.name.as_str(), self.of_flow(plan, flow))
        };
        let of_flows: BTreeSet<&str> = (0..plan.flows.len()).map(|index| flow(index).1).collect();
        let mut found = ReadBack::default();
        let others = walkers::residents(plan)
            .zip(&hosts.others)
            .map(|(resident, other)| {
                let name = plan.walkers[resident.by].name.as_str();
                (name, &other.netns, self.at_client(plan))
            });
        let both = [
            ("client", &hosts.client, self.at_client(plan)),
            ("server", &hosts.server, self.at_server(plan)),
        ];
        for (host, netns, usual) in both.into_iter().chain(others) {
            let usual = of_flows.iter().copied().chain([usual]).collect();
            found.take(host, sockets_of(netns), &usual, |socket| {
                paths.sent_by(socket.local, socket.remote).map(flow)
            });
        }
        found
    }
}

fn sockets_of(netns: &Netns) -> Result<Vec<SocketController>, String> {
    let sockets = netns.run(cc::sockets).map_err(|error| error.to_string())?;
    sockets.map_err(|error| error.to_string())
}

/// The controllers that sockets really used, as the kernel reported while they lived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// How many sockets of each flow's sender had the flow's controller.
    pub confirmed: BTreeMap<String, usize>,
    /// Sockets that had another one, or could not be read, in words.
    pub strangers: Vec<String>,
}

impl ReadBack {
    /// Checks the sockets of one host. If a socket sends a flow, `sends` returns the flow's name and
    /// controller, and the socket must use that controller. Other sockets may use any of the `usual` ones.
    fn take<'f>(
        &mut self,
        host: &str,
        sockets: Result<Vec<SocketController>, String>,
        usual: &BTreeSet<&str>,
        sends: impl Fn(&SocketController) -> Option<(&'f str, &'f str)>,
    ) {
        let sockets = sockets.unwrap_or_else(|error| {
            let words = format!("cannot read the congestion controllers of the {host}'s sockets: {error}");
            self.strangers.push(words);
            Vec::new()
        });
        let mut strange: BTreeMap<(String, String), usize> = BTreeMap::new();
        for socket in &sockets {
            let used = socket.name.as_str();
            match sends(socket) {
                Some((flow, asked)) if used == asked => {
                    *self.confirmed.entry(flow.to_owned()).or_default() += 1;
                }
                Some((flow, asked)) => {
                    let asked = format!("{asked} for {flow}");
                    *strange.entry((used.to_owned(), asked)).or_default() += 1;
                }
                None if usual.contains(used) => {}
                None => {
                    let asked = usual.iter().copied().collect::<Vec<_>>().join(" or ");
                    *strange.entry((used.to_owned(), asked)).or_default() += 1;
                }
            }
        }
        let in_words =
            |((used, asked), count)| format!("{count} sockets of the {host} used {used} instead of {asked}");
        self.strangers.extend(strange.into_iter().map(in_words));
    }
}

/// Whether data goes to the server.
pub(super) const fn is_upload(flow: &Flow) -> bool {
    matches!(flow.work, Work::Upload { .. } | Work::OnOff { up: true, .. })
}

fn controller_of<'p>(plan: &'p Plan, flow: &'p Flow) -> &'p str {
    flow.cc.as_deref().unwrap_or(&plan.cc)
}

fn can_have(plan: &Plan, flow: &Flow) -> bool {
    is_upload(flow) || has(plan.server, controller_of(plan, flow))
}

/// Whether a server has a controller.
fn has(server: Server, cc: &str) -> bool {
    server == Server::Slowhand || Coupled::from_id(cc).is_none()
}

/// Loads a controller under a name that no other run on this host has.
fn load(coupled: Coupled) -> Result<Controller, CcError> {
    loop {
        match Controller::load(coupled, &own_name(coupled)) {
            Err(CcError::NameTaken(_)) => {}
            loaded => return loaded,
        }
    }
}

/// The next of 36⁴ names, starting at one that depends on the process.
fn own_name(coupled: Coupled) -> ControllerName {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id()
        .wrapping_mul(7_919)
        .wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
    let digit = |place: u32| char::from_digit(number / 36_u32.pow(place) % 36, 36).unwrap_or('0');
    let suffix: String = (0..4).map(digit).collect();
    ControllerName::with_suffix(coupled, &suffix).expect("four letters and digits fit")
}

fn exists(cc: &str) -> Result<(), PlayError> {
    // If the kernel does not list its controllers, setting one shows whether it exists.
    let available = sysctl::read(&Key::new("net.ipv4.tcp_available_congestion_control")).unwrap_or_default();
    let names: Vec<&str> = available.split_whitespace().collect();
    if names.is_empty() || names.contains(&cc) {
        return Ok(());
    }
    let (cc, has) = (cc.to_owned(), names.join(", "));
    Err(super::PlanError::from(NoController { cc, has }).into())
}

/// Allows another controller for as long as runs need it. The host's namespaces may use only `reno` and what
/// the host allows.
fn permission(cc: &str) -> Result<Option<Shared>, PlayError> {
    let refused = |source| PlayError::Controller {
        cc: cc.to_owned(),
        source,
    };
    let allowed = List::allowed_controllers();
    Shared::recover(Path::new(RUNTIME), &allowed).map_err(refused)?;
    let list = sysctl::read(&allowed.key).map_err(|error| refused(error.into()))?;
    if cc == STOCK
        || list.split_whitespace().any(|word| word == cc)
            && !Path::new(RUNTIME).join(allowed.key.name()).exists()
    {
        return Ok(None);
    }
    Shared::hold(Path::new(RUNTIME), &allowed, cc)
        .map(Some)
        .map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::rtnl::Rtnl;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn a_socket_with_another_controller_is_reported() {
        let netns = Netns::new().unwrap();
        let connect = || {
            sysctl::write(&Key::new("net.ipv4.tcp_congestion_control"), STOCK).unwrap();
            Rtnl::open().unwrap().set_up(1, true).unwrap();
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap(), listener)
        };
        let (client, ..) = &netns.run(connect).unwrap();
        let sender = client.local_addr().unwrap();
        let read = |usual: &[&str], asked| {
            let mut found = ReadBack::default();
            let usual = usual.iter().copied().collect();
            found.take("server", sockets_of(&netns), &usual, |socket| {
                (socket.local == sender).then_some(("ours", asked))
            });
            found
        };
        let good = read(&["slow_lia", STOCK], STOCK);
        assert_eq!(good.strangers, [""; 0]);
        assert_eq!(good.confirmed, BTreeMap::from([("ours".to_owned(), 1)]));
        let bad = read(&["slow_lia"], "slow_lia");
        assert_eq!(
            bad.strangers,
            [
                "1 sockets of the server used reno instead of slow_lia",
                "1 sockets of the server used reno instead of slow_lia for ours",
            ]
        );
        assert!(bad.confirmed.is_empty(), "{bad:?}");
        // A rival flow's controller does not excuse the connection's.
        assert_eq!(read(&["slow_lia", STOCK], "slow_lia").strangers.len(), 1);
    }

    #[test]
    fn unreadable_sockets_are_reported() {
        let mut found = ReadBack::default();
        found.take("client", Err("no right".to_owned()), &BTreeSet::new(), |_| None);
        assert_eq!(
            found.strangers,
            ["cannot read the congestion controllers of the client's sockets: no right"]
        );
    }

    #[test]
    fn names_of_runs_differ() {
        let names: BTreeSet<_> = (0..100).map(|_| own_name(Coupled::Balia)).collect();
        assert_eq!(names.len(), 100);
    }
}

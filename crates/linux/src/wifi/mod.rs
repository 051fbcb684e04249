//! Joins access points: one station interface, one association and one lease for each.
//!
//! A thread of its own does everything that takes time. It scans, declares each access point that may be
//! joined as a link of the daemon, and reports its beacons. The engine then requests the association, as in
//! every other world. What the thread creates, the daemon uses like any interface: the address and the
//! default route in the table `main` make it an uplink.
//!
//! | file | what it does |
//! |---|---|
//! | `network`, `login` | networks that the user named, and whether an access point is good enough for one |
//! | `bss`, `event` | parse what `wpa_supplicant` says of access points and associations |
//! | `supplicant`, `requests` | run `wpa_supplicant` and talk to it |
//! | `dhcp`, `grant`, `lease`, `memory` | get an address, give it to an interface, and remember it |
//! | `station` | names, addresses and creation of interfaces |
//! | `point` | one access point: its stage, and pauses after failures |
//! | `radio` | the radio, and what it can do beside what others do with it |
//! | `worker` | the thread; `view` is what it shows others |
//!
//! # Sources
//! - `wpa_supplicant/ctrl_iface.c` and `hostapd.git` `doc/ctrl_iface.doxygen`: the global control interface
//!   and its events (version 2.10).
//!
//! # Where we differ, and why
//! 1. No secret is written to disk: networks are set over the control interface.
//! 2. Other channels are scanned only while nothing is joined, or while a card that can be on another
//!    channel, too, sends almost nothing. Otherwise a scan of the channels in use finds further access
//!    points without leaving them. A beacon on a monitor interface leads to one at once. When everything
//!    joined is weak, other channels are visited for some milliseconds, announced as a sleep.
//! 3. One scan result counts as three beacons. The engine waits for that many before it
//!    requests an association, and a scan hears an access point only once.
//!
//! # Checked by
//! `tests` in its files; the trials `joins` and `joins-four` of `guest`, with a real `wpa_supplicant`,
//! hostapd and dnsmasq.

mod bss;
mod dhcp;
mod event;
mod grant;
mod lease;
mod login;
mod memory;
mod network;
mod point;
mod radio;
mod requests;
mod station;
mod supplicant;
mod view;
mod worker;

pub use login::{Login, LoginError};
pub use network::{Network, Secret, SecretError, Security};
pub use station::draw;
pub(crate) use station::is_ours;
pub use supplicant::found as supplicant_found;
pub use view::{PointReport, Stage, View, Views};

use crate::daemon::{Associates, Association, InletSender};
use crate::rtnl::Rtnl;
use policy::LinkId;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use thiserror::Error;
use units::MacAddr;

/// Number of the first access point as a link. Links of the configuration have smaller numbers.
const FIRST_LINK: u16 = 0x4000;

/// What to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// The radio, such as `phy0`. `None`: the only one.
    pub radio: Option<String>,
    /// Whether the only place of a driver is taken from an interface of NetworkManager while there is
    /// something to join.
    pub take_over: bool,
    /// What [`draw`] gave, for addresses of interfaces that no other start has. `None`: an interface has the
    /// same address on each visit.
    pub drawn: Option<u64>,
    /// Networks that may be joined.
    pub networks: Vec<Network>,
    /// Directory for the control socket of `wpa_supplicant`. Only root may enter it.
    pub directory: PathBuf,
    /// File with what is known of earlier visits: addresses, and the best security of each network.
    pub leases: PathBuf,
    /// Whether the daemon checks whether links lead to the Internet, or the user wants no checks. Otherwise,
    /// an announced captive portal is reported.
    pub checks: bool,
    /// Whether the daemon asks a portal that a network announces whether it is open, if there are no checks.
    pub asks: bool,
}

/// Why access points cannot be joined.
#[derive(Debug, Error)]
pub enum StartError {
    /// The interfaces of the host cannot be listed.
    #[error("the interfaces of the host cannot be listed: {0}")]
    List(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No descriptor is left.
    #[error("no file descriptor left; see `ulimit -n`")]
    Descriptor(#[source] std::io::Error),
}

/// Changes the networks to join while the daemon runs.
pub struct Changer(Caller);

impl Changer {
    /// From now on, these networks may be joined. Access points of networks that have not changed stay
    /// joined.
    pub fn change(&mut self, networks: Vec<Network>) {
        self.0.say(Order::Networks(networks));
    }
}

/// Everything but the thread, which waits for the daemon's start.
pub struct Prepared {
    associates: Associates,
    changer: Changer,
    thread: Sender<JoinHandle<()>>,
    plan: worker::Plan,
}

enum Order {
    Join(LinkId),
    Leave(LinkId),
    /// Names may be resolved over these links, and over no others.
    LeadOut(Vec<LinkId>),
    /// A monitor interface has heard this access point after a silence.
    Newcomer(MacAddr),
    /// These are the networks to join from now on.
    Networks(Vec<Network>),
    Stop,
}

/// Passes requests on.
struct Caller {
    orders: Sender<Order>,
    wake: UnixStream,
}

/// The daemon's end: ends the thread when it is dropped.
struct Remote {
    caller: Caller,
    thread: Receiver<JoinHandle<()>>,
}

impl Caller {
    fn say(&mut self, order: Order) {
        // A thread that has ended needs no request, and a full pipe wakes it anyway.
        if self.orders.send(order).is_ok() {
            let _ = self.wake.write(&[0]);
        }
    }
}

impl Remote {
    fn carry_out(&mut self, wanted: Association) -> bool {
        let (link, order) = match wanted {
            Association::Join(link) => (link, Order::Join(link)),
            Association::Leave(link) => (link, Order::Leave(link)),
        };
        let is_ours = link.0 >= FIRST_LINK;
        if is_ours {
            self.caller.say(order);
        }
        is_ours
    }
}

impl Drop for Remote {
    /// Returns once all access points are left and all interfaces are gone.
    fn drop(&mut self) {
        self.caller.say(Order::Stop);
        if let Ok(thread) = self.thread.try_recv() {
            let _ = thread.join();
        }
    }
}

impl Prepared {
    /// Chooses names for interfaces in the calling thread's namespace. Changes nothing.
    ///
    /// # Errors
    /// If the interfaces cannot be listed.
    pub fn new(setup: Setup, inlet: InletSender) -> Result<(Self, Views), StartError> {
        let mut rtnl = Rtnl::open().map_err(|error| StartError::List(error.into()))?;
        let links = rtnl.links().map_err(|error| StartError::List(error.into()))?;
        let names = station::names(|name| links.iter().any(|link| link.name == *name));
        let (wake, woken) = UnixStream::pair().map_err(StartError::Descriptor)?;
        for end in [&wake, &woken] {
            end.set_nonblocking(true).map_err(StartError::Descriptor)?;
        }
        let (orders, receive) = channel();
        let (thread, started) = channel();
        let views = Views::default();
        let caller = || {
            Ok(Caller {
                orders: orders.clone(),
                wake: wake.try_clone().map_err(StartError::Descriptor)?,
            })
        };
        let (mut names_caller, mut beacons_caller) = (caller()?, caller()?);
        let changer = Changer(caller()?);
        let mut remote = Remote {
            caller: Caller { orders, wake },
            thread: started,
        };
        let associates = Associates {
            interfaces: names.clone(),
            carry_out: Box::new(move |wanted| remote.carry_out(wanted)),
            lead_out: Some(Box::new(move |links| {
                names_caller.say(Order::LeadOut(links.to_vec()));
            })),
            newcomer: Some(Box::new(move |bssid| beacons_caller.say(Order::Newcomer(bssid)))),
            // Unpatched drivers cannot divide a radio's time.
            take_turns: None,
        };
        let plan = worker::Plan {
            setup,
            names,
            inlet,
            orders: receive,
            woken,
            views: views.clone(),
        };
        Ok((
            Self {
                associates,
                changer,
                thread,
                plan,
            },
            views,
        ))
    }

    /// What the daemon needs, what starts the thread once it runs, and what changes the networks then.
    pub fn split(self) -> (Associates, Starter, Changer) {
        let starter = Starter {
            thread: self.thread,
            plan: self.plan,
        };
        (self.associates, starter, self.changer)
    }
}

/// Starts the thread.
pub struct Starter {
    thread: Sender<JoinHandle<()>>,
    plan: worker::Plan,
}

impl Starter {
    /// Begins to join access points. Call it in the daemon's namespace, once the daemon has started: from
    /// then on its interfaces are on record.
    ///
    /// # Errors
    /// If no thread can be created.
    pub fn start(self) -> std::io::Result<()> {
        let plan = self.plan;
        let thread = std::thread::Builder::new()
            .name("wifi".to_owned())
            .spawn(move || worker::run(plan))?;
        // The daemon's end receives it. If that is gone, the thread is told to stop, too.
        let _ = self.thread.send(thread);
        Ok(())
    }
}

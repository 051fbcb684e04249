//! Tells NetworkManager and systemd-resolved about interfaces, over the system's D-Bus.
//!
//! NetworkManager takes charge of every WiFi interface that appears. It must leave ours alone before
//! `wpa_supplicant` gets them. The request belongs to the interface and ends with it, so nothing is undone.
//! The same holds for the name servers that systemd-resolved gets. An interface of the user that
//! NetworkManager must leave alone is given back: see `place`.
//!
//! # Sources
//! - NetworkManager's D-Bus API 1.42: `GetDeviceByIpIface`, and the properties `Managed` and `State` of a
//!   device. State 10 is `NM_DEVICE_STATE_UNMANAGED`.
//! - org.freedesktop.resolve1(5): `SetLinkDNS`, `SetLinkDefaultRoute`.
//!
//! # Where we differ, and why
//! 1. A host without a bus, or without one of the two programs, is no fault. Neither is started.
//! 2. NetworkManager that starts later gets the request, too, and one that has kept an interface gets it
//!    again: [`Bus::unclaimed`].
//!
//! # Checked by
//! `tests`, with a stand-in at the other end of the connection; the trial `joins-beside` of `guest`, with the
//! real programs.

use crate::rtnl::IfName;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use thiserror::Error;
use zbus::blocking::Connection;
use zbus::blocking::connection::Builder;
use zbus::zvariant::{OwnedObjectPath, OwnedValue, Value};

/// Time in which a program must reply.
const REPLIES: Duration = Duration::from_secs(2);
/// Time in which NetworkManager must have noticed an interface, and have let go of it.
const NOTICES: Duration = Duration::from_secs(3);
/// Pause before the next request to NetworkManager for an interface that it has kept.
const AGAIN: Duration = Duration::from_secs(60);
/// Time in which NetworkManager must have ended a connection of the user, with the scripts that it runs then.
/// A stop waits for it.
const ENDS: Duration = Duration::from_secs(4);
/// Pause between two questions.
const STEP: Duration = Duration::from_millis(20);
/// `NM_DEVICE_STATE_UNMANAGED`.
const UNMANAGED: u32 = 10;
const IPV4: i32 = libc::AF_INET;

/// The error for an interface that NetworkManager does not know.
const UNKNOWN: &str = "org.freedesktop.NetworkManager.UnknownDevice";

const BUS: &str = "org.freedesktop.DBus";
const BUS_PATH: &str = "/org/freedesktop/DBus";
const MANAGER: &str = "org.freedesktop.NetworkManager";
const MANAGER_PATH: &str = "/org/freedesktop/NetworkManager";
const DEVICE: &str = "org.freedesktop.NetworkManager.Device";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
const IWD: &str = "net.connman.iwd";
const RESOLVED: &str = "org.freedesktop.resolve1";
const RESOLVED_PATH: &str = "/org/freedesktop/resolve1";
const RESOLVED_API: &str = "org.freedesktop.resolve1.Manager";

/// Why a program did not do what it was asked to.
#[derive(Debug, Error)]
pub(crate) enum BusError {
    #[error("NetworkManager has not noticed it within {} s", NOTICES.as_secs())]
    Unnoticed,
    #[error("NetworkManager does not know it")]
    Unknown,
    #[error("NetworkManager has not let go of it within {} s", .0.as_secs())]
    Kept(Duration),
    #[error("`{what}` failed")]
    Call {
        what: &'static str,
        source: Box<zbus::Error>,
    },
}

/// The system's bus, while there is one.
#[derive(Debug)]
pub(crate) struct Bus {
    connection: Option<Connection>,
    /// Time in which a program must reply.
    replies: Duration,
    /// The NetworkManager that was asked for each interface, as the bus names it, and what it did.
    claims: BTreeMap<IfName, (String, Claim)>,
}

/// What NetworkManager did when it was asked to let go of an interface.
#[derive(Debug)]
enum Claim {
    Released,
    Kept { again: Instant },
}

impl Default for Bus {
    fn default() -> Self {
        Self::replying_within(REPLIES)
    }
}

impl Bus {
    /// One on which a program must reply within this time.
    pub(crate) const fn replying_within(replies: Duration) -> Self {
        Self {
            connection: None,
            replies,
            claims: BTreeMap::new(),
        }
    }

    /// Lets NetworkManager leave an interface alone, and waits until it does. Nothing happens without it.
    ///
    /// # Errors
    /// If NetworkManager runs and does not let go of the interface.
    pub(crate) fn claim(&mut self, name: IfName) -> Result<(), BusError> {
        let Some(manager) = self.owner(MANAGER) else {
            return Ok(());
        };
        let released = self.release(name);
        let claim = match released {
            Ok(()) => Claim::Released,
            Err(_) => Claim::Kept {
                again: Instant::now() + AGAIN,
            },
        };
        self.claims.insert(name, (manager, claim));
        released
    }

    /// Those of these interfaces for which NetworkManager must be asked again: it has started since, or has
    /// kept them.
    pub(crate) fn unclaimed(&mut self, names: &[IfName]) -> Vec<IfName> {
        let Some(manager) = self.owner(MANAGER) else {
            return Vec::new();
        };
        let now = Instant::now();
        let is_settled = |name: &IfName| match self.claims.get(name) {
            Some((asked, Claim::Released)) => *asked == manager,
            Some((asked, Claim::Kept { again })) => *asked == manager && now < *again,
            None => false,
        };
        names.iter().copied().filter(|name| !is_settled(name)).collect()
    }

    /// Whether the NetworkManager that runs has kept this interface when it was asked last.
    pub(crate) fn is_kept(&self, name: IfName) -> bool {
        matches!(self.claims.get(&name), Some((_, Claim::Kept { .. })))
    }

    fn release(&self, name: IfName) -> Result<(), BusError> {
        let Some(connection) = &self.connection else {
            return Ok(());
        };
        let until = Instant::now() + NOTICES;
        let device = Device::find(connection, name, until)?;
        device.release(until, NOTICES)
    }

    /// Whether NetworkManager manages an interface. `None`: it does not run.
    ///
    /// # Errors
    /// If it does not say, or does not know the interface. It may have just started.
    pub(crate) fn manages(&mut self, name: IfName) -> Result<Option<bool>, BusError> {
        match self.device(name)? {
            Some(device) => device.is_managed().map(Some),
            None => Ok(None),
        }
    }

    /// Lets NetworkManager end the user's connection over an interface, and waits until it has let go of it.
    ///
    /// # Errors
    /// If it does not. It then has the interface as before.
    pub(crate) fn take(&mut self, name: IfName) -> Result<(), BusError> {
        let Some(device) = self.device(name)? else {
            return Err(BusError::Unknown);
        };
        let taken = device.release(Instant::now() + ENDS, ENDS);
        if taken.is_err() {
            device.manage(true)?;
        }
        taken
    }

    /// Lets NetworkManager manage an interface again.
    ///
    /// # Errors
    /// If it runs, and refuses.
    pub(crate) fn give_back(&mut self, name: IfName) -> Result<(), BusError> {
        match self.device(name)? {
            Some(device) => device.manage(true),
            None => Ok(()),
        }
    }

    /// Whether iwd runs.
    pub(crate) fn has_iwd(&mut self) -> bool {
        self.owner(IWD).is_some()
    }

    /// An interface that NetworkManager knows. `None`: it does not run.
    fn device(&mut self, name: IfName) -> Result<Option<Device<'_>>, BusError> {
        let runs = self.owner(MANAGER).is_some();
        let Some(connection) = self.connection.as_ref().filter(|_| runs) else {
            return Ok(None);
        };
        match Device::find(connection, name, Instant::now()) {
            Ok(device) => Ok(Some(device)),
            Err(BusError::Unnoticed) => Err(BusError::Unknown),
            Err(error) => Err(error),
        }
    }

    /// Gives the name servers of an interface to systemd-resolved. `false`: it does not run.
    ///
    /// # Errors
    /// If it refuses them.
    pub(crate) fn give_servers(&mut self, ifindex: u32, servers: &[Ipv4Addr]) -> Result<bool, BusError> {
        const METHOD: &str = "SetLinkDNS";
        let Some(connection) = self.resolved() else {
            return Ok(false);
        };
        let servers = servers.iter().map(|server| (IPV4, server.octets().to_vec()));
        let body = (ifindex.cast_signed(), Vec::from_iter(servers));
        let done = connection.call_method(Some(RESOLVED), RESOLVED_PATH, Some(RESOLVED_API), METHOD, &body);
        done.map(|_| true).map_err(failed(METHOD))
    }

    /// Whether systemd-resolved sends queries over this interface for names that belong to no other one.
    /// `Ok(false)`: it does not run.
    ///
    /// # Errors
    /// If it refuses.
    pub(crate) fn resolve_over(&mut self, ifindex: u32, does: bool) -> Result<bool, BusError> {
        const METHOD: &str = "SetLinkDefaultRoute";
        let Some(connection) = self.resolved() else {
            return Ok(false);
        };
        let body = (ifindex.cast_signed(), does);
        let done = connection.call_method(Some(RESOLVED), RESOLVED_PATH, Some(RESOLVED_API), METHOD, &body);
        done.map(|_| true).map_err(failed(METHOD))
    }

    /// The bus, if systemd-resolved is on it.
    fn resolved(&mut self) -> Option<&Connection> {
        let runs = self.owner(RESOLVED).is_some();
        self.connection.as_ref().filter(|_| runs)
    }

    /// Who has a name on the bus. `None`: nobody, or there is no bus.
    fn owner(&mut self, name: &str) -> Option<String> {
        if self.connection.as_ref().is_some_and(Connection::is_closed) {
            self.connection = None;
        }
        if self.connection.is_none() {
            let bus = Builder::system().map(|builder| builder.method_timeout(self.replies));
            self.connection = bus.and_then(Builder::build).ok();
        }
        let connection = self.connection.as_ref()?;
        let owner = connection.call_method(Some(BUS), BUS_PATH, Some(BUS), "GetNameOwner", &(name,));
        owner.ok()?.body().deserialize().ok()
    }
}

/// An interface, as NetworkManager knows it.
struct Device<'b> {
    connection: &'b Connection,
    path: OwnedObjectPath,
}

impl<'b> Device<'b> {
    /// Waits until NetworkManager has noticed the interface.
    fn find(connection: &'b Connection, name: IfName, until: Instant) -> Result<Self, BusError> {
        const METHOD: &str = "GetDeviceByIpIface";
        let body = (name.as_str(),);
        loop {
            match connection.call_method(Some(MANAGER), MANAGER_PATH, Some(MANAGER), METHOD, &body) {
                Ok(reply) => {
                    let path = reply.body().deserialize().map_err(failed(METHOD))?;
                    return Ok(Self { connection, path });
                }
                // It does not know such an interface yet.
                Err(zbus::Error::MethodError(..)) if Instant::now() < until => std::thread::sleep(STEP),
                Err(zbus::Error::MethodError(name, ..)) if name == UNKNOWN => {
                    return Err(BusError::Unnoticed);
                }
                Err(source) => return Err(failed(METHOD)(source)),
            }
        }
    }

    /// Lets NetworkManager leave it alone, and waits until it does. `patience`: its time until then.
    fn release(&self, until: Instant, patience: Duration) -> Result<(), BusError> {
        self.manage(false)?;
        while self.state()? > UNMANAGED {
            if Instant::now() >= until {
                return Err(BusError::Kept(patience));
            }
            std::thread::sleep(STEP);
        }
        Ok(())
    }

    fn manage(&self, does: bool) -> Result<(), BusError> {
        let (path, body) = (self.path.as_str(), (DEVICE, "Managed", Value::from(does)));
        let set = self
            .connection
            .call_method(Some(MANAGER), path, Some(PROPERTIES), "Set", &body);
        set.map(drop).map_err(failed("Set Managed"))
    }

    fn state(&self) -> Result<u32, BusError> {
        const METHOD: &str = "Get State";
        let state = self.property("State").map_err(failed(METHOD))?;
        u32::try_from(state).map_err(|error| failed(METHOD)(error.into()))
    }

    fn is_managed(&self) -> Result<bool, BusError> {
        const METHOD: &str = "Get Managed";
        let managed = self.property("Managed").map_err(failed(METHOD))?;
        bool::try_from(managed).map_err(|error| failed(METHOD)(error.into()))
    }

    fn property(&self, name: &str) -> Result<OwnedValue, zbus::Error> {
        let (path, body) = (self.path.as_str(), (DEVICE, name));
        let reply = self
            .connection
            .call_method(Some(MANAGER), path, Some(PROPERTIES), "Get", &body)?;
        reply.body().deserialize()
    }
}

fn failed(what: &'static str) -> impl Fn(zbus::Error) -> BusError {
    move |error| BusError::Call {
        what,
        source: Box::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};
    use zbus::zvariant::ObjectPath;

    /// The bus itself: it knows who has a name.
    struct Names(&'static [&'static str]);

    #[zbus::interface(name = "org.freedesktop.DBus")]
    impl Names {
        fn get_name_owner(&self, name: &str) -> zbus::fdo::Result<String> {
            let is_known = self.0.contains(&name);
            is_known
                .then(|| ":1.7".to_owned())
                .ok_or_else(|| zbus::fdo::Error::NameHasNoOwner("nobody".to_owned()))
        }
    }

    /// NetworkManager: it notices the interface after some questions.
    struct Manager(AtomicU32);

    /// What it says of an interface that it does not know, or while it starts.
    #[derive(Debug, zbus::DBusError)]
    #[zbus(prefix = "org.freedesktop.NetworkManager")]
    enum Unready {
        UnknownDevice(String),
        Starts(String),
    }

    #[zbus::interface(name = "org.freedesktop.NetworkManager")]
    impl Manager {
        fn get_device_by_ip_iface(&self, name: &str) -> Result<ObjectPath<'static>, Unready> {
            if name == "early" {
                return Err(Unready::Starts("not yet".to_owned()));
            }
            let is_noticed =
                self.0.fetch_add(1, Ordering::Relaxed) >= 2 && name == "slow-w1" || name == "wlan0";
            let path = ObjectPath::from_static_str_unchecked("/device/1");
            is_noticed
                .then_some(path)
                .ok_or_else(|| Unready::UnknownDevice("no device".to_owned()))
        }
    }

    /// Its interface: it takes some time to let go of it.
    struct Managed {
        is_managed: bool,
        reads: AtomicU32,
    }

    #[zbus::interface(name = "org.freedesktop.NetworkManager.Device")]
    impl Managed {
        #[zbus(property)]
        fn managed(&self) -> bool {
            self.is_managed
        }

        #[zbus(property)]
        fn set_managed(&mut self, is_managed: bool) {
            self.is_managed = is_managed;
        }

        #[zbus(property)]
        fn state(&self) -> u32 {
            let is_late = self.reads.fetch_add(1, Ordering::Relaxed) >= 2;
            if is_late && !self.is_managed {
                UNMANAGED
            } else {
                30
            }
        }
    }

    type Told = Arc<Mutex<Vec<String>>>;

    struct Resolved(Told);

    #[zbus::interface(name = "org.freedesktop.resolve1.Manager")]
    impl Resolved {
        #[zbus(name = "SetLinkDNS")]
        fn set_link_dns(&self, ifindex: i32, servers: Vec<(i32, Vec<u8>)>) {
            self.0.lock().unwrap().push(format!("{ifindex}: {servers:?}"));
        }

        fn set_link_default_route(&self, ifindex: i32, does: bool) {
            self.0.lock().unwrap().push(format!("{ifindex}: {does}"));
        }
    }

    /// A bus with the stand-ins of these names, which live as long as the second value.
    fn with(names: &'static [&'static str], told: &Told) -> (Bus, Connection) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let resolved = Resolved(Arc::clone(told));
        let server = std::thread::spawn(move || {
            let device = Managed {
                is_managed: true,
                reads: AtomicU32::new(0),
            };
            let builder = Builder::async_io_unix_stream(theirs)
                .server(zbus::Guid::generate())
                .unwrap()
                .p2p();
            let builder = builder.serve_at(BUS_PATH, Names(names)).unwrap();
            let builder = builder
                .serve_at(MANAGER_PATH, Manager(AtomicU32::new(0)))
                .unwrap();
            let builder = builder.serve_at("/device/1", device).unwrap();
            builder
                .serve_at(RESOLVED_PATH, resolved)
                .unwrap()
                .build()
                .unwrap()
        });
        let connection = Builder::async_io_unix_stream(ours).p2p().build().unwrap();
        let bus = Bus {
            connection: Some(connection),
            ..Bus::default()
        };
        (bus, server.join().unwrap())
    }

    #[test]
    fn an_interface_is_released_once_it_is_noticed_and_the_release_is_awaited() {
        let (mut bus, server) = with(&[MANAGER], &Told::default());
        let names = ["slow-w1", "slow-w2"].map(|name| name.parse().unwrap());
        assert_eq!(bus.unclaimed(&names), names);
        bus.claim(names[0]).unwrap();
        assert_eq!(bus.unclaimed(&names), [names[1]]);
        bus.claims.get_mut(&names[0]).unwrap().0 = ":1.6".into();
        assert_eq!(bus.unclaimed(&names), names, "another one has started");
        let objects = server.object_server();
        let manager = objects.interface::<_, Manager>(MANAGER_PATH).unwrap();
        assert_eq!(
            manager.get().0.load(Ordering::Relaxed),
            3,
            "asked until it was noticed"
        );
        let device = objects.interface::<_, Managed>("/device/1").unwrap();
        assert!(!device.get().is_managed);
        assert!(device.get().reads.load(Ordering::Relaxed) >= 3, "awaited");
    }

    #[test]
    fn an_interface_of_the_user_is_taken_and_given_back() {
        let (mut bus, _server) = with(&[MANAGER], &Told::default());
        let [wlan0, other] = ["wlan0", "eth0"].map(|name| name.parse().unwrap());
        assert_eq!(bus.manages(wlan0).unwrap(), Some(true));
        bus.take(wlan0).unwrap();
        assert_eq!(bus.manages(wlan0).unwrap(), Some(false));
        bus.give_back(wlan0).unwrap();
        assert_eq!(bus.manages(wlan0).unwrap(), Some(true));
        let unknown = |error| matches!(error, BusError::Unknown);
        assert!(unknown(bus.take(other).unwrap_err()) && unknown(bus.manages(other).unwrap_err()));
        assert!(unknown(bus.give_back(other).unwrap_err()));
        let early = bus.manages("early".parse().unwrap()).unwrap_err();
        assert!(
            matches!(early, BusError::Call { .. }),
            "it starts, so it runs: {early}"
        );
        assert!(!bus.has_iwd());
        let (mut bus, _server) = with(&[IWD], &Told::default());
        assert!(bus.has_iwd() && bus.manages(wlan0).unwrap().is_none());
    }

    #[test]
    fn a_manager_that_never_notices_is_reported() {
        let (mut bus, _server) = with(&[MANAGER], &Told::default());
        let name = "slow-w2".parse().unwrap();
        let error = bus.claim(name).unwrap_err();
        assert!(matches!(error, BusError::Unnoticed), "{error}");
        assert!(
            bus.is_kept(name) && bus.unclaimed(&[name]).is_empty(),
            "not at once"
        );
        let again = Instant::now();
        bus.claims.get_mut(&name).unwrap().1 = Claim::Kept { again };
        assert_eq!(bus.unclaimed(&[name]), [name]);
    }

    #[test]
    fn without_the_programs_nothing_is_asked_of_them() {
        let told = Told::default();
        let (mut bus, _server) = with(&[], &told);
        bus.claim("slow-w1".parse().unwrap()).unwrap();
        assert!(bus.unclaimed(&["slow-w1".parse().unwrap()]).is_empty());
        assert!(!bus.resolve_over(3, true).unwrap());
        assert!(!bus.give_servers(3, &[Ipv4Addr::new(10, 0, 1, 1)]).unwrap());
        assert!(told.lock().unwrap().is_empty());
    }

    #[test]
    fn name_servers_are_given_for_their_link() {
        let told = Told::default();
        let (mut bus, _server) = with(&[RESOLVED], &told);
        assert!(bus.resolve_over(3, false).unwrap());
        assert!(bus.give_servers(3, &[Ipv4Addr::new(10, 0, 1, 1)]).unwrap());
        assert_eq!(*told.lock().unwrap(), ["3: false", "3: [(2, [10, 0, 1, 1])]"]);
    }
}

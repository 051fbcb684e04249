//! The configuration of a live host: `/etc/slowhand/slowhand.toml`, then `conf.d/*.toml` in the order of
//! their names.
//!
//! A later file replaces what it names: a scalar as a whole, a link by its `interface`. Without any
//! configured link the built-in ones ([`BUILT_IN`]) apply. Nothing is half-applied: the first error ends the
//! reading. Files that others could change are refused.

mod keys;
mod networks;
mod problem;
mod reference;
mod relay;
mod section;
mod wifi;

pub use networks::{CgroupPath, FlowConfig, NetworksConfig, NoCgroupPath};
pub use reference::{Table, TableKey, reference};
pub use relay::{Bypass, EarlyData, RelayConfig, RelayServer, WayChoice};
pub use wifi::{Protection, WifiConfig, WifiNetwork};

use crate::trusted::{self, Keeping, TrustError};
use linux::bpf::cc::ControllerName;
use linux::portal::{Check, Url};
use problem::Problem;
use section::{Section, Source};
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use toml::Spanned;
use trace::{LinkKind, Mode, PolicyName, Role};
use units::Bytes;

/// Links if none is configured: every adapter by its kind, metered ones only as backup.
const BUILT_IN: &str = r#"
[[link]]
interface = "wl*"
kind = "wifi"

[[link]]
interface = "en*"
kind = "cable"

[[link]]
interface = "eth*"
kind = "cable"

[[link]]
interface = "usb*"
kind = "cable"

[[link]]
interface = "ww*"
kind = "cell"
metered = true
"#;

/// Path of the configuration if none is given.
pub const DEFAULT: &str = "/etc/slowhand/slowhand.toml";

/// A stock Linux server accepts two joins.
const PEER_SUBFLOWS: u8 = 2;

/// The smallest window that every window scale can announce, up to the largest of TCP, in bytes.
const FALLBACK_WINDOW: RangeInclusive<i64> = 1 << 14..=1 << 30;

/// `ALTIFNAMSIZ` without its terminator: an interface has up to 15 bytes, its alternative names more.
const LONGEST_NAME: usize = 127;

/// Configuration of a live host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The policy that decides.
    pub policy: PolicyName,
    /// Goal for the links together.
    pub mode: Mode,
    /// Number of subflows that peers let us add.
    pub peer_subflows: u8,
    /// Congestion controller of new connections; `None`: the kernel's.
    pub cc: Option<String>,
    /// Key file. Servers with the same key get signal reports.
    pub report_key_file: Option<PathBuf>,
    /// Port on which those servers listen.
    pub report_port: u16,
    /// Limit on the bytes that servers of connections that fell back to plain TCP may have in flight. `None`:
    /// such connections are not managed.
    pub fallback_window: Option<Bytes>,
    /// Whether to probe links while no connection shows that they are alive.
    pub probe: bool,
    /// Whether to create monitor interfaces on radios that have none. `None`: where slowhand joins access
    /// points, and the driver makes it in software.
    pub monitor: Option<bool>,
    /// Check for captive portals; `None`: the one of NetworkManager.
    pub portal: Option<Check>,
    /// How connections of programs that do not ask for MPTCP are carried; `None`: they are left alone.
    pub relay: Option<RelayConfig>,
    /// Networks whose access points are joined; `None`: another program joins them.
    pub wifi: Option<WifiConfig>,
    /// Networks for flows that cannot use several links; `None`: they follow the user's routes.
    pub networks: Option<NetworksConfig>,
    /// Links. The first that matches an interface applies.
    pub links: Vec<LinkConfig>,
}

/// One link, or a pattern of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkConfig {
    /// Name of the interface, or a pattern with `*` and `?`.
    pub interface: String,
    /// Its display name.
    pub name: String,
    /// Its kind.
    pub kind: LinkKind,
    /// Its role.
    pub role: Role,
    /// Its next hop, unless that is the default route's.
    pub gateway: Option<IpAddr>,
    /// WiFi channel. Links on one channel share the medium.
    pub channel: Option<u16>,
    /// Whether the user pays by the byte.
    pub metered: bool,
}

/// How the path of a file was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The user named it: it must exist.
    ByName,
    /// It is the default path.
    ByDefault,
}

/// Why there is no configuration.
#[derive(Debug)]
pub enum ConfigError {
    /// A file contains an error.
    Wrong(Box<Problem>),
    /// A file does not exist, cannot be read, or could be changed by others.
    Untrusted(TrustError),
    /// The `conf.d` directory cannot be read.
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(problem) => problem.fmt(f),
            Self::Untrusted(error) => error.fmt(f),
            Self::Unreadable { path, source } => {
                write!(
                    f,
                    "{}: cannot be read ({source}); fix its permissions or delete it",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// Scalars as set by the files so far.
#[derive(Debug, Default)]
struct Draft {
    policy: Option<PolicyName>,
    mode: Option<Mode>,
    peer_subflows: Option<u8>,
    cc: Option<String>,
    report_key_file: Option<PathBuf>,
    report_port: Option<u16>,
    fallback_window: Option<Bytes>,
    probe: Option<bool>,
    monitor: Option<bool>,
    portal_url: Option<Url>,
    portal_response: Option<String>,
    relay: Option<RelayConfig>,
    wifi: Option<WifiConfig>,
    networks: Option<NetworksConfig>,
    links: Vec<LinkConfig>,
}

impl Config {
    /// Reads the file at `path` and the files in `conf.d` beside it.
    pub fn read(path: &Path, asked: Asked) -> Result<Self, ConfigError> {
        let mut draft = Draft::default();
        tracing::debug!("reading {}", path.display());
        match (trusted::read(path, Keeping::Public), asked) {
            (Ok(text), _) => draft.take(Source { path, text: &text })?,
            (Err(TrustError::Absent(_)), Asked::ByDefault) => {}
            (Err(error), _) => return Err(ConfigError::Untrusted(error)),
        }
        for path in additions(path)? {
            tracing::debug!("reading {}", path.display());
            let text = trusted::read(&path, Keeping::Public).map_err(ConfigError::Untrusted)?;
            draft.take(Source {
                path: &path,
                text: &text,
            })?;
        }
        if draft.links.is_empty() {
            draft.take(Source {
                path: Path::new("built-in"),
                text: BUILT_IN,
            })?;
        }
        Ok(draft.finish())
    }
}

impl Draft {
    fn take(&mut self, source: Source<'_>) -> Result<(), ConfigError> {
        let file = source.parse()?;
        let file = Section::file(source, &file)?;
        replace(&mut self.mode, mode(&file)?);
        replace(&mut self.policy, policy(&file)?);
        let peer_subflows = file.number(&keys::PEER_SUBFLOWS, 1..=8)?;
        replace(&mut self.peer_subflows, peer_subflows.map(Spanned::into_inner));
        let cc = file.text::<ControllerName>(&keys::CC)?;
        replace(&mut self.cc, cc.map(|name| name.get_ref().to_string()));
        let key_file = file.text::<PathBuf>(&keys::REPORT_KEY_FILE)?;
        replace(&mut self.report_key_file, key_file.map(Spanned::into_inner));
        let port = file.number(&keys::REPORT_PORT, 1..=u16::MAX.into())?;
        replace(&mut self.report_port, port.map(Spanned::into_inner));
        let window = file.number(&keys::FALLBACK_WINDOW, FALLBACK_WINDOW)?;
        replace(
            &mut self.fallback_window,
            window.map(|bytes| Bytes::new(bytes.into_inner())),
        );
        replace(&mut self.probe, file.flag(&keys::PROBE)?);
        replace(&mut self.monitor, file.flag(&keys::MONITOR)?);
        replace(&mut self.portal_url, portal_url(&file)?);
        if let Some(response) = file.text::<String>(&keys::PORTAL_RESPONSE)? {
            if self.portal_url.is_none() {
                let what = "`portal_response` needs `portal_url`";
                return Err(file.wrong(&response, what, "add `portal_url`, or remove this line"));
            }
            self.portal_response = Some(response.into_inner());
        }
        let table = file.table(&keys::RELAY, "relay", &keys::OF_RELAY)?;
        replace(&mut self.relay, table.as_ref().map(relay::relay).transpose()?);
        let table = file.table(&keys::WIFI, "wifi", &keys::OF_WIFI)?;
        replace(&mut self.wifi, table.as_ref().map(wifi::wifi).transpose()?);
        networks::take(&file, &mut self.networks)?;
        for table in file.tables(&keys::LINK, "link", &keys::OF_LINK)? {
            self.link(link(&table)?);
        }
        Ok(())
    }

    fn link(&mut self, link: LinkConfig) {
        match self
            .links
            .iter_mut()
            .find(|other| other.interface == link.interface)
        {
            Some(other) => *other = link,
            None => self.links.push(link),
        }
    }

    fn finish(self) -> Config {
        let mode = self.mode.unwrap_or(Mode::Aggregate);
        let by_mode = if mode == Mode::Handover {
            PolicyName::HandoverWarm
        } else {
            PolicyName::Slowhand
        };
        let portal = self.portal_url.map(|url| Check {
            url,
            response: self.portal_response.unwrap_or_default(),
        });
        Config {
            probe: self.probe.unwrap_or(true),
            monitor: self.monitor,
            portal,
            policy: self.policy.unwrap_or(by_mode),
            mode,
            peer_subflows: self.peer_subflows.unwrap_or(PEER_SUBFLOWS),
            cc: self.cc,
            report_key_file: self.report_key_file,
            report_port: self.report_port.unwrap_or(linux::cla::DEFAULT_PORT),
            fallback_window: self.fallback_window,
            relay: self.relay,
            wifi: self.wifi,
            networks: self.networks,
            links: self.links,
        }
    }
}

/// Replaces a value if a later file has it.
fn replace<T>(place: &mut Option<T>, named: Option<T>) {
    if named.is_some() {
        *place = named;
    }
}

fn mode(file: &Section<'_>) -> Result<Option<Mode>, ConfigError> {
    let words = [Mode::Aggregate, Mode::Handover].map(Mode::as_str);
    let Some(mode) = file.word::<Mode>(&keys::MODE, words)? else {
        return Ok(None);
    };
    let what = match *mode.get_ref() {
        mode @ (Mode::Aggregate | Mode::Handover) => return Ok(Some(mode)),
        Mode::Interactive => "mode \"interactive\" needs a strategy that this version does not have",
        Mode::Redundant => "mode \"redundant\" needs a scheduler that stock kernels do not have",
    };
    Err(file.wrong(&mode, what, format!("give {}", keys::MODE.right)))
}

/// The policies that a daemon can run, as users write them.
const POLICIES: [&str; 8] = [
    "tcp:<link>",
    "handover",
    "handover-warm",
    "handover+cell",
    "wifi-first",
    "mptcp",
    "slowhand",
    "slowhand-no-window",
];

fn policy(file: &Section<'_>) -> Result<Option<PolicyName>, ConfigError> {
    let Some(policy) = file.word::<PolicyName>(&keys::POLICY, POLICIES)? else {
        return Ok(None);
    };
    let what = match policy.get_ref() {
        PolicyName::TcpBest => "policy \"tcp-best\" is computed from other runs".to_owned(),
        name @ (PolicyName::Ecn | PolicyName::EcnForm(_) | PolicyName::OneAtATime) => format!(
            "policy \"{name}\" compares access points by the frames that a monitor interface hears, and not every radio has one"
        ),
        name if name.needs_foresight() => {
            format!("policy \"{name}\" must know what the links will carry, and only virtual time does")
        }
        _ => return Ok(Some(policy.into_inner())),
    };
    Err(file.wrong(&policy, what, "use \"slowhand\""))
}

fn portal_url(file: &Section<'_>) -> Result<Option<Url>, ConfigError> {
    let Some(url) = file.text::<String>(&keys::PORTAL_URL)? else {
        return Ok(None);
    };
    let read = url.get_ref().parse::<Url>().map(Some);
    read.map_err(|error| {
        let what = format!("`portal_url` cannot be used: {error}");
        file.wrong(&url, what, format!("give {}", keys::PORTAL_URL.right))
    })
}

fn link(table: &Section<'_>) -> Result<LinkConfig, ConfigError> {
    let interface = interface(table)?;
    let kind = table.word::<LinkKind>(&keys::KIND, LinkKind::ALL.iter().map(|kind| kind.as_str()))?;
    let kind = table.need(&keys::KIND, kind)?.into_inner();
    let channel = table.number(&keys::CHANNEL, 1..=u16::MAX.into())?;
    if let Some(channel) = channel.as_ref().filter(|_| kind != LinkKind::Wifi) {
        let what = "only a link of kind \"wifi\" has a channel";
        return Err(table.wrong(channel, what, "remove this line"));
    }
    let metered = table.flag(&keys::METERED)?.unwrap_or(false);
    let name = table.text::<String>(&keys::NAME)?;
    Ok(LinkConfig {
        name: name.map_or_else(|| interface.clone(), Spanned::into_inner),
        interface,
        kind,
        role: role(table, metered)?,
        gateway: table.text(&keys::GATEWAY)?.map(Spanned::into_inner),
        channel: channel.map(Spanned::into_inner),
        metered,
    })
}

fn interface(table: &Section<'_>) -> Result<String, ConfigError> {
    let named = table.text::<String>(&keys::INTERFACE)?;
    let named = table.need(&keys::INTERFACE, named)?;
    let interface = named.get_ref();
    let wrong = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    if (1..=LONGEST_NAME).contains(&interface.len()) && !interface.contains(wrong) {
        return Ok(named.into_inner());
    }
    let what = format!("\"{interface}\" cannot name an interface");
    Err(table.wrong(&named, what, format!("give {}", keys::INTERFACE.right)))
}

fn role(table: &Section<'_>, metered: bool) -> Result<Role, ConfigError> {
    let role = table.word::<Role>(&keys::ROLE, Role::ALL.iter().map(|role| role.as_str()))?;
    match role {
        Some(role) if metered && *role.get_ref() == Role::Primary => {
            let what = "a metered link cannot be primary, because every byte would use it";
            let instead = "use \"secondary\" or \"backup\", or metered = false";
            Err(table.wrong(&role, what, instead))
        }
        Some(role) => Ok(role.into_inner()),
        None if metered => Ok(Role::Backup),
        None => Ok(Role::Primary),
    }
}

/// The files in `conf.d` beside `path`, sorted by name.
fn additions(path: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let directory = path.with_file_name("conf.d");
    let unreadable = |source| ConfigError::Unreadable {
        path: directory.clone(),
        source,
    };
    let found = match std::fs::metadata(&directory) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(unreadable(source)),
    };
    trusted::check(&directory, &found, Keeping::Public).map_err(ConfigError::Untrusted)?;
    let entries = std::fs::read_dir(&directory).map_err(unreadable)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(unreadable)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests;

//! The configuration of a live host: `/etc/slowhand/slowhand.toml`, then `conf.d/*.toml` in the order of
//! their names.
//!
//! A later file replaces what it names: a scalar as a whole, a link by its `interface`. Without any
//! configured link the built-in ones ([`BUILT_IN`]) apply. Nothing is half-applied: the first error ends the
//! reading. Files that others could change are refused.

mod keys;
mod problem;

use crate::trusted::{self, Keeping, TrustError};
use keys::{Raw, Source};
use linux::bpf::cc::ControllerName;
use linux::portal::{Check, Url};
use problem::Problem;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::ops::{Range, RangeInclusive};
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
    /// Check for captive portals; `None`: the one of NetworkManager.
    pub portal: Option<Check>,
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
    Wrong(Problem),
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    policy: Raw,
    mode: Raw,
    peer_subflows: Raw,
    cc: Raw,
    report_key_file: Raw,
    report_port: Raw,
    fallback_window_bytes: Raw,
    probe: Raw,
    portal_url: Raw,
    portal_response: Raw,
    #[serde(default, deserialize_with = "tables")]
    link: Vec<Spanned<LinkTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table that begins with [[link]]")]
struct LinkTable {
    interface: Raw,
    name: Raw,
    kind: Raw,
    role: Raw,
    metered: Raw,
    gateway: Raw,
    channel: Raw,
}

/// A list of tables, with an error of ours for anything else.
fn tables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Spanned<LinkTable>>, D::Error> {
    struct Tables;
    impl<'de> Visitor<'de> for Tables {
        type Value = Vec<Spanned<LinkTable>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("[[link]] with two brackets, once for each link")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(table) = list.next_element()? {
                all.push(table);
            }
            Ok(all)
        }
    }
    deserializer.deserialize_seq(Tables)
}

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
    portal_url: Option<Url>,
    portal_response: Option<String>,
    links: Vec<LinkConfig>,
}

impl Config {
    /// Reads the file at `path` and the files in `conf.d` beside it.
    pub fn read(path: &Path, asked: Asked) -> Result<Self, ConfigError> {
        let mut draft = Draft::default();
        match (trusted::read(path, Keeping::Public), asked) {
            (Ok(text), _) => draft.take(&Source { path, text: &text })?,
            (Err(TrustError::Absent(_)), Asked::ByDefault) => {}
            (Err(error), _) => return Err(ConfigError::Untrusted(error)),
        }
        for path in additions(path)? {
            let text = trusted::read(&path, Keeping::Public).map_err(ConfigError::Untrusted)?;
            draft.take(&Source {
                path: &path,
                text: &text,
            })?;
        }
        if draft.links.is_empty() {
            draft.take(&Source {
                path: Path::new("built-in"),
                text: BUILT_IN,
            })?;
        }
        Ok(draft.finish())
    }
}

impl Draft {
    fn take(&mut self, source: &Source<'_>) -> Result<(), ConfigError> {
        let file = source.parse::<File>()?;
        if let Some(mode) = source.take(&keys::MODE, file.mode)? {
            self.mode = Some(check_mode(source, &mode)?);
        }
        if let Some(policy) = source.take(&keys::POLICY, file.policy)? {
            self.policy = Some(check_policy(source, policy)?);
        }
        if let Some(count) = source.take(&keys::PEER_SUBFLOWS, file.peer_subflows)? {
            self.peer_subflows = Some(check_peer_subflows(source, &count)?);
        }
        if let Some(cc) = source.take(&keys::CC, file.cc)? {
            self.cc = Some(check_controller(source, cc)?);
        }
        if let Some(path) = source.take(&keys::REPORT_KEY_FILE, file.report_key_file)? {
            self.report_key_file = Some(path.into_inner());
        }
        if let Some(port) = source.take::<NonZeroU16>(&keys::REPORT_PORT, file.report_port)? {
            self.report_port = Some(port.get_ref().get());
        }
        if let Some(window) = source.take(&keys::FALLBACK_WINDOW, file.fallback_window_bytes)? {
            self.fallback_window = Some(check_fallback_window(source, &window)?);
        }
        if let Some(probe) = source.take(&keys::PROBE, file.probe)? {
            self.probe = Some(*probe.get_ref());
        }
        if let Some(url) = source.take(&keys::PORTAL_URL, file.portal_url)? {
            self.portal_url = Some(check_portal_url(source, &url)?);
        }
        if let Some(response) = source.take::<String>(&keys::PORTAL_RESPONSE, file.portal_response)? {
            if self.portal_url.is_none() {
                return Err(source.wrong(
                    &response,
                    "portal_response says how the reply to portal_url begins; add portal_url, or take this line out",
                ));
            }
            self.portal_response = Some(response.into_inner());
        }
        for table in file.link {
            let span = table.span();
            self.link(table.into_inner().check(source, &span)?);
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
            portal,
            policy: self.policy.unwrap_or(by_mode),
            mode,
            peer_subflows: self.peer_subflows.unwrap_or(PEER_SUBFLOWS),
            cc: self.cc,
            report_key_file: self.report_key_file,
            report_port: self.report_port.unwrap_or(linux::cla::DEFAULT_PORT),
            fallback_window: self.fallback_window,
            links: self.links,
        }
    }
}

fn check_mode(source: &Source<'_>, mode: &Spanned<Mode>) -> Result<Mode, ConfigError> {
    let why = match *mode.get_ref() {
        mode @ (Mode::Aggregate | Mode::Handover) => return Ok(mode),
        Mode::Interactive => "mode `interactive` needs a strategy that this version does not have",
        Mode::Redundant => "mode `redundant` needs a scheduler that stock kernels do not have",
    };
    Err(source.wrong(mode, format!("{why}; use \"aggregate\" or \"handover\"")))
}

fn check_policy(source: &Source<'_>, policy: Spanned<PolicyName>) -> Result<PolicyName, ConfigError> {
    match policy.get_ref() {
        PolicyName::TcpBest => Err(source.wrong(
            &policy,
            "policy `tcp-best` is computed from other runs; use \"slowhand\"",
        )),
        PolicyName::Ecn => Err(source.wrong(
            &policy,
            "policy `ecn` compares access points by the frames that a monitor interface hears, and none is read here yet; use \"slowhand\"",
        )),
        _ => Ok(policy.into_inner()),
    }
}

fn check_peer_subflows(source: &Source<'_>, count: &Spanned<u8>) -> Result<u8, ConfigError> {
    match *count.get_ref() {
        count @ 1..=8 => Ok(count),
        _ => Err(source.not_right(&keys::PEER_SUBFLOWS, count)),
    }
}

fn check_controller(source: &Source<'_>, cc: Spanned<String>) -> Result<String, ConfigError> {
    match cc.get_ref().parse::<ControllerName>() {
        Ok(_) => Ok(cc.into_inner()),
        Err(_) => Err(source.not_right(&keys::CC, &cc)),
    }
}

fn check_fallback_window(source: &Source<'_>, window: &Spanned<i64>) -> Result<Bytes, ConfigError> {
    let bytes = window.get_ref();
    if !FALLBACK_WINDOW.contains(bytes) {
        return Err(source.not_right(&keys::FALLBACK_WINDOW, window));
    }
    Ok(Bytes::new(bytes.unsigned_abs()))
}

fn check_portal_url(source: &Source<'_>, url: &Spanned<String>) -> Result<Url, ConfigError> {
    let read = url.get_ref().parse::<Url>();
    read.map_err(|error| source.wrong(url, format!("portal_url: {error}")))
}

impl LinkTable {
    /// Checks a link. `span` is its place in the file.
    fn check(self, source: &Source<'_>, span: &Range<usize>) -> Result<LinkConfig, ConfigError> {
        let interface = source.need(&keys::INTERFACE, self.interface, span)?;
        check_interface(source, &interface)?;
        let interface: String = interface.into_inner();
        let kind = *source.need(&keys::KIND, self.kind, span)?.get_ref();
        let channel = source.take(&keys::CHANNEL, self.channel)?;
        if let Some(channel) = channel.as_ref().filter(|_| kind != LinkKind::Wifi) {
            return Err(source.wrong(
                channel,
                "only a link of kind \"wifi\" has a channel; take this line out",
            ));
        }
        let metered = source.take(&keys::METERED, self.metered)?;
        let metered = metered.is_some_and(Spanned::into_inner);
        let role = check_role(source, source.take(&keys::ROLE, self.role)?, metered)?;
        let gateway = source.take::<String>(&keys::GATEWAY, self.gateway)?;
        let gateway = gateway.map(|text| {
            let address = text.get_ref().parse();
            address.map_err(|_| source.not_right(&keys::GATEWAY, &text))
        });
        let name = source.take(&keys::NAME, self.name)?;
        Ok(LinkConfig {
            name: name.map_or_else(|| interface.clone(), Spanned::into_inner),
            interface,
            kind,
            role,
            gateway: gateway.transpose()?,
            channel: channel.map(Spanned::into_inner),
            metered,
        })
    }
}

fn check_interface(source: &Source<'_>, at: &Spanned<String>) -> Result<(), ConfigError> {
    let interface = at.get_ref();
    let wrong = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    if (1..=LONGEST_NAME).contains(&interface.len()) && !interface.contains(wrong) {
        return Ok(());
    }
    let what = format!(
        "`{}` cannot name an interface; write a name as in `ip link`, or a pattern such as \"wl*\"",
        interface.escape_debug()
    );
    Err(source.wrong(at, what))
}

fn check_role(source: &Source<'_>, role: Option<Spanned<Role>>, metered: bool) -> Result<Role, ConfigError> {
    match role {
        Some(role) if metered && *role.get_ref() == Role::Primary => {
            let what = "a metered link cannot be primary: every byte would go over it; use \"secondary\" or \"backup\", or metered = false";
            Err(source.wrong(&role, what))
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

//! The configuration of a live host: `/etc/slowhand/slowhand.toml`, then `conf.d/*.toml` in the order of their names.
//!
//! A later file replaces what it names: a scalar as a whole, a link by its `interface`. Without any file the built-in links
//! ([`BUILT_IN`]) hold. Nothing is half-applied: the first thing wrong ends the reading.

use super::problem::Problem;
use linux::bpf::cc::ControllerName;
use linux::portal::{Check, Url};
use serde::Deserialize;
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use toml::Spanned;
use trace::{LinkKind, Mode, PolicyName, Role};
use units::Bytes;

/// What holds without a configuration file: every adapter by its kind, metered ones only as backup.
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

/// A stock Linux server takes two joins.
const PEER_SUBFLOWS: u8 = 2;

/// The least window that every window scale can announce, and the most that TCP can.
const FALLBACK_WINDOW: RangeInclusive<i64> = 1 << 14..=1 << 30;

/// What a live host is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Which strategy decides.
    pub policy: PolicyName,
    /// What the host wants from its links together.
    pub mode: Mode,
    /// How many subflows peers let us add.
    pub peer_subflows: u8,
    /// What new connections are sent with; `None`: as the kernel has it.
    pub cc: Option<String>,
    /// Servers with the same key are told how signals go.
    pub report_key_file: Option<PathBuf>,
    /// The port on which they listen.
    pub report_port: u16,
    /// How much the servers of connections that fell back to plain TCP may have in flight; `None`: such connections are left alone.
    pub fallback_window: Option<Bytes>,
    /// Whether links are probed while no connection shows that they live.
    pub probe: bool,
    /// What is checked to find captive portals; `None`: what NetworkManager checks.
    pub portal: Option<Check>,
    /// Links, the first that fits an interface holds.
    pub links: Vec<LinkConfig>,
}

/// One link, or a pattern of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkConfig {
    /// Name of the interface, or a pattern with `*` and `?`.
    pub interface: String,
    /// The name for people.
    pub name: String,
    /// What it is made of.
    pub kind: LinkKind,
    /// What it is for.
    pub role: Role,
    /// Its next hop, if it is not the one of the default route over it.
    pub gateway: Option<IpAddr>,
    /// WiFi: the channel; links of one channel share one air.
    pub channel: Option<u16>,
    /// Whether the user pays by the byte.
    pub metered: bool,
}

/// Why there is no configuration.
#[derive(Debug)]
pub enum ConfigError {
    /// Something is wrong in a file.
    Wrong(Problem),
    /// A file cannot be read.
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
            Self::Unreadable { path, source } => {
                write!(
                    f,
                    "{}: cannot be read ({source}); mend its rights or take it away",
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
    policy: Option<Spanned<PolicyName>>,
    mode: Option<Spanned<Mode>>,
    peer_subflows: Option<Spanned<u8>>,
    cc: Option<Spanned<String>>,
    report_key_file: Option<PathBuf>,
    report_port: Option<u16>,
    fallback_window_bytes: Option<Spanned<toml::Value>>,
    probe: Option<bool>,
    portal_url: Option<Spanned<String>>,
    portal_response: Option<Spanned<String>>,
    #[serde(default)]
    link: Vec<LinkTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    interface: Spanned<String>,
    name: Option<Spanned<String>>,
    kind: LinkKind,
    role: Option<Spanned<Role>>,
    #[serde(default)]
    metered: Option<Spanned<bool>>,
    gateway: Option<Spanned<IpAddr>>,
    channel: Option<Spanned<u16>>,
}

/// One file that is being read.
struct Source<'t> {
    path: &'t Path,
    text: &'t str,
}

impl Source<'_> {
    fn wrong<T>(&self, at: &Spanned<T>, what: impl Into<String>) -> ConfigError {
        ConfigError::Wrong(Problem::new(self.path, self.text, at.span(), what))
    }

    fn parse(&self) -> Result<File, ConfigError> {
        toml::from_str(self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            ConfigError::Wrong(Problem::new(self.path, self.text, span, error.message()))
        })
    }
}

/// Scalars as the files so far have set them.
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
    /// Reads the file at `path` and the files in `conf.d` beside it. Files that are not there are no problem.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let mut draft = Draft::default();
        for path in std::iter::once(path.to_owned()).chain(additions(path)?) {
            if let Some(text) = contents(&path)? {
                draft.take(&Source {
                    path: &path,
                    text: &text,
                })?;
            }
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
        let file = source.parse()?;
        if let Some(mode) = file.mode {
            self.mode = Some(check_mode(source, &mode)?);
        }
        if let Some(policy) = file.policy {
            self.policy = Some(check_policy(source, policy)?);
        }
        if let Some(peer_subflows) = file.peer_subflows {
            self.peer_subflows = Some(check_peer_subflows(source, &peer_subflows)?);
        }
        if let Some(cc) = file.cc {
            self.cc = Some(check_controller(source, cc)?);
        }
        self.report_key_file = file.report_key_file.or(self.report_key_file.take());
        self.report_port = file.report_port.or(self.report_port);
        if let Some(window) = file.fallback_window_bytes {
            self.fallback_window = Some(check_fallback_window(source, &window)?);
        }
        self.probe = file.probe.or(self.probe);
        if let Some(url) = file.portal_url {
            self.portal_url = Some(check_portal_url(source, &url)?);
        }
        if let Some(response) = file.portal_response {
            if self.portal_url.is_none() {
                return Err(source.wrong(
                    &response,
                    "portal_response says how the reply to portal_url begins; add portal_url, or take this line out",
                ));
            }
            self.portal_response = Some(response.into_inner());
        }
        for table in file.link {
            self.link(table.check(source)?);
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
        _ => Err(source.wrong(
            count,
            "peer_subflows must be 1 to 8; a stock Linux server takes 2",
        )),
    }
}

fn check_controller(source: &Source<'_>, cc: Spanned<String>) -> Result<String, ConfigError> {
    match cc.get_ref().parse::<ControllerName>() {
        Ok(_) => Ok(cc.into_inner()),
        Err(_) => Err(source.wrong(
            &cc,
            "cc must be the name of a congestion controller: lia, olia, balia, cla, or one of net.ipv4.tcp_available_congestion_control",
        )),
    }
}

fn check_fallback_window(source: &Source<'_>, window: &Spanned<toml::Value>) -> Result<Bytes, ConfigError> {
    let bytes = window.get_ref().as_integer();
    let fits = bytes.filter(|bytes| FALLBACK_WINDOW.contains(bytes));
    fits.map(|bytes| Bytes::new(bytes.unsigned_abs())).ok_or_else(|| {
        let (least, most) = (FALLBACK_WINDOW.start(), FALLBACK_WINDOW.end());
        let what = format!(
            "fallback_window_bytes must be a whole number from {least} to {most}, such as 262144; take this line out to leave connections over plain TCP alone"
        );
        source.wrong(window, what)
    })
}

fn check_portal_url(source: &Source<'_>, url: &Spanned<String>) -> Result<Url, ConfigError> {
    let read = url.get_ref().parse::<Url>();
    read.map_err(|error| source.wrong(url, format!("portal_url: {error}")))
}

impl LinkTable {
    fn check(self, source: &Source<'_>) -> Result<LinkConfig, ConfigError> {
        self.check_interface(source)?;
        if let Some(channel) = self.channel.as_ref().filter(|_| self.kind != LinkKind::Wifi) {
            return Err(source.wrong(
                channel,
                "only a link of kind \"wifi\" has a channel; take this line out",
            ));
        }
        let (role, metered) = (self.role(source)?, self.is_metered());
        let name = self
            .name
            .map_or_else(|| self.interface.get_ref().clone(), Spanned::into_inner);
        Ok(LinkConfig {
            interface: self.interface.into_inner(),
            name,
            kind: self.kind,
            role,
            gateway: self.gateway.map(Spanned::into_inner),
            channel: self.channel.map(Spanned::into_inner),
            metered,
        })
    }

    fn check_interface(&self, source: &Source<'_>) -> Result<(), ConfigError> {
        let interface = self.interface.get_ref();
        let wrong = |c: char| c == '/' || c.is_whitespace() || c.is_control();
        if (1..=15).contains(&interface.len()) && !interface.contains(wrong) {
            return Ok(());
        }
        let what = format!(
            "`{interface}` cannot name an interface; write a name as in `ip link`, or a pattern such as \"wl*\""
        );
        Err(source.wrong(&self.interface, what))
    }

    fn is_metered(&self) -> bool {
        self.metered.as_ref().is_some_and(|metered| *metered.get_ref())
    }

    fn role(&self, source: &Source<'_>) -> Result<Role, ConfigError> {
        let metered = self.is_metered();
        match &self.role {
            Some(role) if metered && *role.get_ref() == Role::Primary => {
                let what = "a metered link cannot be primary: every byte would go over it; use \"secondary\" or \"backup\", or metered = false";
                Err(source.wrong(role, what))
            }
            Some(role) => Ok(*role.get_ref()),
            None => Ok(if metered { Role::Backup } else { Role::Primary }),
        }
    }
}

fn contents(path: &Path) -> Result<Option<String>, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        }),
    }
}

/// The files in `conf.d` beside `path`, by name.
fn additions(path: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let directory = path.with_file_name("conf.d");
    let unreadable = |source| ConfigError::Unreadable {
        path: directory.clone(),
        source,
    };
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(unreadable(source)),
    };
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(unreadable)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;

//! The table `[relay]`: how connections of programs that do not ask for MPTCP are carried.

use super::ConfigError;
use super::keys;
use super::section::Section;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use toml::Spanned;

/// How connections of programs that do not ask for MPTCP are carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayConfig {
    /// Which ways they may take.
    pub way: WayChoice,
    /// The relay; `None` if they go directly.
    pub server: Option<RelayServer>,
    /// Connections that are left alone.
    pub bypass: Vec<Bypass>,
}

/// A relay that accepts our key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayServer {
    /// Its address or name, and its port.
    pub address: String,
    /// File with the key.
    pub key_file: PathBuf,
}

/// Which ways the connections of programs may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayChoice {
    /// The relay, or directly to servers that speak MPTCP.
    Auto,
    /// Only the relay.
    Always,
    /// Directly.
    Direct,
}

impl WayChoice {
    const ALL: [Self; 3] = [Self::Auto, Self::Always, Self::Direct];

    /// As users write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Direct => "direct",
        }
    }
}

impl FromStr for WayChoice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|way| way.as_str() == text).ok_or(())
    }
}

/// Connections that are left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// Those to these addresses.
    Network(IpAddr, u8),
    /// Those of this user.
    User(u32),
    /// Those to this port.
    Port(u16),
}

impl FromStr for Bypass {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some(user) = text.strip_prefix("uid:") {
            return user.parse().map(Self::User).map_err(drop);
        }
        if let Some(port) = text.strip_prefix("port:") {
            return port.parse().map(Self::Port).map_err(drop);
        }
        let (address, bits) = text.split_once('/').unzip();
        let address: IpAddr = address.unwrap_or(text).parse().map_err(drop)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(drop))?;
        (bits <= most).then_some(Self::Network(address, bits)).ok_or(())
    }
}

/// As nftables writes the value.
impl fmt::Display for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(address, bits) => write!(f, "{address}/{bits}"),
            Self::User(user) => user.fmt(f),
            Self::Port(port) => port.fmt(f),
        }
    }
}

/// Reads the table. Without `address` the only way is `direct`.
pub(super) fn relay(table: &Section<'_>) -> Result<RelayConfig, ConfigError> {
    let way = table.word::<WayChoice>(&keys::WAY, WayChoice::ALL.map(WayChoice::as_str))?;
    let address = table.text::<String>(&keys::ADDRESS)?;
    let key_file = table.text::<PathBuf>(&keys::KEY_FILE)?;
    let bypass = table.texts::<Bypass>(&keys::BYPASS)?;
    let direct = way
        .as_ref()
        .is_some_and(|way| *way.get_ref() == WayChoice::Direct);
    let server = match (address, key_file) {
        (Some(address), _) if !has_port(address.get_ref()) => {
            let what = format!("`address` is \"{}\", without a port", address.get_ref());
            return Err(table.wrong(&address, what, format!("give {}", keys::ADDRESS.right)));
        }
        (Some(address), _) if direct => {
            let what = "`way` is \"direct\", so no relay is used";
            return Err(table.wrong(&address, what, "remove this line, or use \"auto\""));
        }
        (Some(address), key_file) => Some(RelayServer {
            address: address.into_inner(),
            key_file: table.need(&keys::KEY_FILE, key_file)?.into_inner(),
        }),
        (None, _) if direct => None,
        (None, _) => {
            table.need::<()>(&keys::ADDRESS, None)?;
            None
        }
    };
    Ok(RelayConfig {
        way: way.map_or(WayChoice::Auto, Spanned::into_inner),
        server,
        bypass,
    })
}

/// Whether a port follows the last colon.
fn has_port(address: &str) -> bool {
    let (host, port) = address.rsplit_once(':').unwrap_or_default();
    !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
}

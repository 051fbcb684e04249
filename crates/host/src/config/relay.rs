//! The table `[relay]`: how connections of programs that do not ask for MPTCP are carried.

use super::ConfigError;
use super::keys;
use super::section::Section;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
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
    /// Where programs may ask for connections with SOCKS 5.
    pub socks: Option<SocketAddr>,
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
    /// Which first bytes of connections go with a request.
    pub early_data: EarlyData,
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

/// Which first bytes of a connection go with the request to the relay. A server may get them twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyData {
    /// A ClientHello of TLS.
    Tls,
    /// None.
    Never,
    /// Any.
    Always,
}

impl EarlyData {
    const ALL: [Self; 3] = [Self::Tls, Self::Never, Self::Always];

    /// As users write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Never => "never",
            Self::Always => "always",
        }
    }
}

impl FromStr for EarlyData {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|early| early.as_str() == text)
            .ok_or(())
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
    let direct = way
        .as_ref()
        .is_some_and(|way| *way.get_ref() == WayChoice::Direct);
    Ok(RelayConfig {
        server: server(table, direct)?,
        way: way.map_or(WayChoice::Auto, Spanned::into_inner),
        socks: socks(table)?,
        bypass: table.texts::<Bypass>(&keys::BYPASS)?,
    })
}

/// The relay itself: none if connections go `direct`.
fn server(table: &Section<'_>, direct: bool) -> Result<Option<RelayServer>, ConfigError> {
    let address = table.text::<String>(&keys::ADDRESS)?;
    let key_file = table.text::<PathBuf>(&keys::KEY_FILE)?;
    let early = table.word::<EarlyData>(&keys::EARLY_DATA, EarlyData::ALL.map(EarlyData::as_str))?;
    if direct {
        let what = "`way` is \"direct\", so no relay is used";
        let unused = |at: Range<usize>| {
            let at = Spanned::new(at, ());
            table.wrong(&at, what, "remove this line, or use \"auto\"")
        };
        let given = address
            .map(|address| address.span())
            .or(early.map(|early| early.span()));
        return given.map_or(Ok(None), |at| Err(unused(at)));
    }
    let address = table.need(&keys::ADDRESS, address)?;
    if !has_port(address.get_ref()) {
        let what = format!("`address` is \"{}\", without a port", address.get_ref());
        return Err(table.wrong(&address, what, format!("give {}", keys::ADDRESS.right)));
    }
    Ok(Some(RelayServer {
        address: address.into_inner(),
        key_file: table.need(&keys::KEY_FILE, key_file)?.into_inner(),
        early_data: early.map_or(EarlyData::Tls, Spanned::into_inner),
    }))
}

/// Anyone who reaches the address uses the key, so it is on loopback.
fn socks(table: &Section<'_>) -> Result<Option<SocketAddr>, ConfigError> {
    let Some(socks) = table.text::<SocketAddr>(&keys::SOCKS)? else {
        return Ok(None);
    };
    let address = *socks.get_ref();
    if address.ip().is_loopback() && address.port() > 0 {
        return Ok(Some(address));
    }
    let what = format!("`socks` is \"{address}\", which is not a port of this host alone");
    Err(table.wrong(&socks, what, format!("give {}", keys::SOCKS.right)))
}

/// Whether a port follows the last colon.
fn has_port(address: &str) -> bool {
    let (host, port) = address.rsplit_once(':').unwrap_or_default();
    !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
}

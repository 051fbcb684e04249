//! The table `[wifi]`: networks whose access points slowhand joins by itself.

use super::section::Section;
use super::{ConfigError, keys, role};
use crate::trusted::{self, Keeping};
use linux::wifi::{Login, Network, Secret, Security};
use policy::Tariff;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::Spanned;
use trace::Role;

/// The longest name of a network, in bytes.
const LONGEST_SSID: usize = 32;

/// Networks whose access points are joined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WifiConfig {
    /// The radio; `None`: the only one.
    pub radio: Option<String>,
    /// Whether the only place of a driver is taken from an interface of NetworkManager while there is
    /// something to join.
    pub take_over: bool,
    /// Whether interfaces get new hardware addresses at each start.
    pub random_addresses: bool,
    /// The networks.
    pub networks: Vec<WifiNetwork>,
}

/// A network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WifiNetwork {
    /// Its name.
    pub ssid: String,
    /// Whether its access points leave its name out of their beacons.
    pub hidden: bool,
    /// How it is protected.
    pub protection: Protection,
    /// Whether the user has named the least security. A better one of earlier visits is not demanded then.
    pub fixed: bool,
    /// Role of the links to it.
    pub role: Role,
    /// Whether the user pays by the byte.
    pub metered: bool,
}

/// How a network is protected, and where its key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protection {
    /// Without a key, and the user accepts that.
    Open {
        /// Enhanced Open only, which encrypts.
        owe: bool,
    },
    /// With the key in this file.
    Key {
        /// The file.
        file: PathBuf,
        /// WPA3 only.
        wpa3: bool,
    },
    /// With the login (802.1X) in this file.
    Login {
        /// The file.
        file: PathBuf,
    },
}

/// The least security of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Least {
    Open,
    Owe,
    Wpa2,
    Wpa3,
}

impl FromStr for Least {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "open" => Ok(Self::Open),
            "owe" => Ok(Self::Owe),
            "wpa2" => Ok(Self::Wpa2),
            "wpa3" => Ok(Self::Wpa3),
            _ => Err(()),
        }
    }
}

/// Hardware addresses of interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Addresses {
    Stable,
    Random,
}

impl FromStr for Addresses {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "stable" => Ok(Self::Stable),
            "random" => Ok(Self::Random),
            _ => Err(()),
        }
    }
}

/// Reads the table.
pub(super) fn wifi(table: &Section<'_>) -> Result<WifiConfig, ConfigError> {
    let radio = table.text::<String>(&keys::RADIO)?.map(Spanned::into_inner);
    let addresses = table.word::<Addresses>(&keys::MAC, ["stable", "random"])?;
    let take_over = table.flag(&keys::TAKE_OVER)?.unwrap_or(false);
    let tables = table.tables(&keys::NETWORK, "network", &keys::OF_NETWORK)?;
    if tables.is_empty() {
        table.need::<()>(&keys::NETWORK, None)?;
    }
    let mut networks: Vec<WifiNetwork> = Vec::new();
    for table in &tables {
        let (at, network) = network(table)?;
        if networks.iter().any(|other| other.ssid == network.ssid) {
            let what = format!("`ssid` is \"{}\" for the second time", network.ssid);
            return Err(table.wrong(&at, what, "remove one of the two networks"));
        }
        networks.push(network);
    }
    Ok(WifiConfig {
        radio,
        take_over,
        random_addresses: addresses.is_some_and(|addresses| *addresses.get_ref() == Addresses::Random),
        networks,
    })
}

fn network(table: &Section<'_>) -> Result<(Spanned<()>, WifiNetwork), ConfigError> {
    let ssid = table.text::<String>(&keys::SSID)?;
    let ssid = table.need(&keys::SSID, ssid)?;
    let at = Spanned::new(ssid.span(), ());
    if !(1..=LONGEST_SSID).contains(&ssid.get_ref().len()) {
        let what = format!("`ssid` has {} bytes", ssid.get_ref().len());
        return Err(table.wrong(&ssid, what, format!("give {}", keys::SSID.right)));
    }
    let metered = table.flag(&keys::METERED)?.unwrap_or(false);
    let role = role(table, metered)?;
    let network = WifiNetwork {
        ssid: ssid.into_inner(),
        hidden: table.flag(&keys::HIDDEN)?.unwrap_or(false),
        protection: protection(table, &at)?,
        fixed: table.text::<String>(&keys::SECURITY)?.is_some(),
        role,
        metered,
    };
    Ok((at, network))
}

fn protection(table: &Section<'_>, at: &Spanned<()>) -> Result<Protection, ConfigError> {
    let file = table.text::<PathBuf>(&keys::PSK_FILE)?;
    let least = table.word::<Least>(&keys::SECURITY, ["open", "owe", "wpa2", "wpa3"])?;
    let needs_key = least
        .as_ref()
        .map(|least| matches!(least.get_ref(), Least::Wpa2 | Least::Wpa3));
    let open = table.flag(&keys::OPEN)?.unwrap_or(false);
    if let Some(login) = table.text::<PathBuf>(&keys::LOGIN_FILE)? {
        if file.is_some() || least.is_some() || open {
            let what = "a network with `login_file` has no other security";
            return Err(table.wrong(&login, what, "remove `psk_file`, `security` and `open`"));
        }
        return Ok(Protection::Login {
            file: login.into_inner(),
        });
    }
    match (file, least) {
        (Some(file), _) if open => {
            let what = "a network with `open = true` has no key";
            Err(table.wrong(&file, what, "remove `psk_file`, or `open`"))
        }
        (None, Some(least)) if open && needs_key == Some(true) => {
            let what = "a network with `open = true` has no WPA2 or WPA3";
            Err(table.wrong(&least, what, "use \"open\" or \"owe\", or remove `open`"))
        }
        (None, least) if open => Ok(Protection::Open {
            owe: least.is_some_and(|least| *least.get_ref() == Least::Owe),
        }),
        (Some(_), Some(least)) if needs_key == Some(false) => {
            let what = "a network with `psk_file` has a key";
            Err(table.wrong(&least, what, "use \"wpa2\" or \"wpa3\""))
        }
        (Some(file), least) => Ok(Protection::Key {
            file: file.into_inner(),
            wpa3: least.is_some_and(|least| *least.get_ref() == Least::Wpa3),
        }),
        (None, _) => {
            let what = "this network has no `psk_file`";
            let instead = format!(
                "add `psk_file`: {}, or `open = true` to send without encryption",
                keys::PSK_FILE.right
            );
            Err(table.wrong(at, what, instead))
        }
    }
}

impl WifiConfig {
    /// The networks with their keys.
    ///
    /// # Errors
    /// If a key cannot be read, or others can read it.
    pub fn networks(&self) -> Result<Vec<Network>, String> {
        self.networks.iter().map(WifiNetwork::with_key).collect()
    }
}

impl WifiNetwork {
    fn with_key(&self) -> Result<Network, String> {
        let security = match &self.protection {
            Protection::Open { owe: false } => Security::Open,
            Protection::Open { owe: true } => Security::Owe,
            Protection::Key { file, wpa3: false } => Security::Wpa2(secret::<Secret>(file)?),
            Protection::Key { file, wpa3: true } => Security::Wpa3(secret::<Secret>(file)?),
            Protection::Login { file } => Security::Login(secret::<Login>(file)?),
        };
        Ok(Network {
            ssid: self.ssid.clone(),
            hidden: self.hidden,
            security,
            fixed: self.fixed,
            role: self.role.into(),
            tariff: if self.metered {
                Tariff::Metered { cap: None }
            } else {
                Tariff::Flat
            },
        })
    }
}

fn secret<T>(file: &Path) -> Result<T, String>
where
    T: FromStr<Err: std::fmt::Display>,
{
    let text = trusted::read(file, Keeping::Secret).map_err(|error| format!("[[wifi.network]] {error}"))?;
    let secret = text.parse::<T>();
    secret.map_err(|error| format!("[[wifi.network]] {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Asked, Config};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    /// What a file with this text is read as, with its directory.
    fn read<T>(name: &str, text: &str, work: impl FnOnce(&Path, Result<Config, String>) -> T) -> T {
        let directory = std::env::temp_dir().join(format!("slowhand-wifi-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("slowhand.toml");
        fs::write(&path, text.replace("DIR", directory.to_str().unwrap())).unwrap();
        let read = Config::read(&path, Asked::ByName).map_err(|error| error.to_string());
        let done = work(&directory, read);
        fs::remove_dir_all(&directory).unwrap();
        done
    }

    #[test]
    fn networks_are_read_with_their_keys() {
        let text = r#"
[wifi]
radio = "phy0"
[[wifi.network]]
ssid = "first"
psk_file = "DIR/first.psk"
[[wifi.network]]
ssid = "second"
psk_file = "DIR/first.psk"
security = "wpa3"
metered = true
[[wifi.network]]
ssid = "cafe"
open = true
role = "backup"
[[wifi.network]]
ssid = "office"
hidden = true
login_file = "DIR/office.login"
[[wifi.network]]
ssid = "station"
open = true
security = "owe"
"#;
        read("keys", text, |directory, config| {
            let wifi = config.unwrap().wifi.unwrap();
            assert_eq!(
                (wifi.radio.as_deref(), wifi.random_addresses),
                (Some("phy0"), false)
            );
            let key = directory.join("first.psk");
            assert!(wifi.networks().unwrap_err().contains("there is no such file"));
            fs::write(&key, "correct horse\n").unwrap();
            fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
            let error = wifi.networks().unwrap_err();
            assert!(
                error.contains("mode 0644, readable by others; run chmod 600"),
                "{error}"
            );
            fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
            let login = directory.join("office.login");
            fs::write(&login, "eap=PWD\nidentity=\"me\"\n").unwrap();
            fs::set_permissions(&login, Permissions::from_mode(0o600)).unwrap();
            let networks = wifi.networks().unwrap();
            assert!(matches!(networks[0].security, Security::Wpa2(_)));
            assert!(matches!(networks[1].security, Security::Wpa3(_)));
            assert_eq!(networks[4].security, Security::Owe);
            let fixed = Vec::from_iter(networks.iter().map(|network| network.fixed));
            assert_eq!(fixed, [false, true, false, false, true]);
            assert_eq!(networks[1].role, policy::Role::Backup);
            assert_eq!(networks[2].security, Security::Open);
            assert!(networks[3].hidden && !networks[2].hidden);
            assert!(matches!(networks[3].security, Security::Login(_)));
            fs::write(&login, "eap=PEAP\nidentity=\"me\"\n").unwrap();
            let error = wifi.networks().unwrap_err();
            assert!(error.contains("office.login: `ca_cert` is missing"), "{error}");
            fs::write(&key, "short\n").unwrap();
            let error = wifi.networks().unwrap_err();
            assert!(error.ends_with("first.psk: a passphrase has 8 to 63 printable ASCII characters, and a key has 64 hexadecimal digits"), "{error}");
        });
    }

    #[test]
    fn addresses_are_random_where_the_user_wants_that() {
        let of = |mac: &str| {
            let text = format!("[wifi]\n{mac}\n[[wifi.network]]\nssid = \"cafe\"\nopen = true\n");
            read("mac", &text, |_, config| {
                config.unwrap().wifi.unwrap().random_addresses
            })
        };
        assert_eq!(
            ["", "mac = \"stable\"", "mac = \"random\""].map(of),
            [false, false, true]
        );
    }

    #[test]
    fn the_place_of_the_users_interface_is_taken_only_where_the_user_wants_that() {
        let of = |line: &str| {
            let text = format!("[wifi]\n{line}\n[[wifi.network]]\nssid = \"cafe\"\nopen = true\n");
            read("take-over", &text, |_, config| {
                config.unwrap().wifi.unwrap().take_over
            })
        };
        assert_eq!(
            ["", "take_over = false", "take_over = true"].map(of),
            [false, false, true]
        );
    }

    #[test]
    fn what_is_wrong_is_refused_with_the_remedy() {
        let network = |lines: &str| format!("[wifi]\n[[wifi.network]]\n{lines}\n");
        let long = "x".repeat(33);
        #[rustfmt::skip]
        let table = [
            ("[wifi]\n".to_owned(), "this wifi has no `network`"),
            ("[wifi]\nmac = \"fixed\"\n".to_owned(), "help: give \"stable\" or \"random\""),
            (network("open = true"), "this network has no `ssid`"),
            (network("ssid = \"a\""), "this network has no `psk_file`"),
            (network("ssid = \"a\"\nopen = true\npsk_file = \"/k\""), "a network with `open = true` has no key"),
            (network("ssid = \"a\"\nopen = true\nsecurity = \"wpa3\""), "a network with `open = true` has no WPA2 or WPA3"),
            (network("ssid = \"a\"\npsk_file = \"/k\"\nsecurity = \"owe\""), "a network with `psk_file` has a key"),
            (network("ssid = \"a\"\npsk_file = \"/k\"\nlogin_file = \"/l\""), "a network with `login_file` has no other security"),
            (network("ssid = \"a\"\npsk_file = \"/k\"\nsecurity = \"wpa\""), "`security` is \"wpa\""),
            (network(&format!("ssid = \"{long}\"\nopen = true")), "`ssid` has 33 bytes"),
            (network("ssid = \"a\"\npsk = \"correct horse\""), "unknown key `psk`"),
            (network("ssid = \"a\"\nopen = true\n[[wifi.network]]\nssid = \"a\"\nopen = true"), "`ssid` is \"a\" for the second time"),
        ];
        for (text, expected) in table {
            let error = read("wrong", &text, |_, config| config.unwrap_err());
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }
}

//! Networks that the user named, and whether an access point is good enough for one.
//!
//! # Where we differ, and why
//! 1. WPA with TKIP is refused as weaker than any key deserves, and WEP, too.
//! 2. A network with a key takes WPA2 and WPA3: an impostor without the key cannot complete either handshake.
//!    It could try passphrases on what it hears of WPA2's, though. So a network that was joined with WPA3 is
//!    not joined with WPA2 again ([`Best`]), unless the user names the least security.

use super::bss::Bss;
use super::login::Login;
use policy::{Role, Tariff};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A network that may be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Its name.
    pub ssid: String,
    /// Whether its access points leave its name out of their beacons.
    pub hidden: bool,
    /// The least security that its access points must have.
    pub security: Security,
    /// Whether the user has named it. What the network had before does not raise it then.
    pub fixed: bool,
    /// Role of the links to it.
    pub role: Role,
    /// What its use costs.
    pub tariff: Tariff,
}

/// How a network is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Security {
    /// Not at all, or with Enhanced Open.
    Open,
    /// Without a key, but encrypted: Enhanced Open only.
    Owe,
    /// With a key: WPA2 or WPA3.
    Wpa2(Secret),
    /// With a key: WPA3 only.
    Wpa3(Secret),
    /// With a login (802.1X): WPA2 or WPA3.
    Login(Login),
}

/// The best security with which a network was joined, where there is a weaker one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Best {
    /// Enhanced Open.
    Owe,
    /// WPA3.
    Wpa3,
}

impl Best {
    /// As the file of earlier visits has it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Owe => "owe",
            Self::Wpa3 => "wpa3",
        }
    }

    /// That of an association with this key management, in the words of `wpa_supplicant`'s status.
    pub(super) fn of_management(text: &str) -> Option<Self> {
        match text {
            "SAE" | "FT-SAE" => Some(Self::Wpa3),
            "OWE" => Some(Self::Owe),
            _ => None,
        }
    }

    /// Reads [`Best::word`].
    pub(super) fn of_word(word: &str) -> Option<Self> {
        [Self::Owe, Self::Wpa3]
            .into_iter()
            .find(|best| best.word() == word)
    }
}

/// A passphrase, or a key of 256 bits in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a text is no secret of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a passphrase has 8 to 63 printable ASCII characters, and a key has 64 hexadecimal digits")]
pub struct SecretError;

impl FromStr for Secret {
    type Err = SecretError;

    /// Takes the first line.
    fn from_str(text: &str) -> Result<Self, SecretError> {
        let line = text.lines().next().unwrap_or_default();
        let is_passphrase =
            (8..=63).contains(&line.len()) && line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let is_key = line.len() == 64 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_passphrase || is_key)
            .then(|| Self(line.to_owned()))
            .ok_or(SecretError)
    }
}

impl Secret {
    /// As `wpa_supplicant` wants it: a passphrase in quotes, a key without.
    pub(super) fn quoted(&self) -> String {
        if self.0.len() == 64 {
            self.0.clone()
        } else {
            format!("\"{}\"", self.0)
        }
    }

    const fn is_key(&self) -> bool {
        self.0.len() == 64
    }
}

/// Why an access point of a named network is not joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum Weaker {
    #[error("it is open, and the configuration has a key for this network; it may be an impostor")]
    Open,
    #[error("it offers only WEP or WPA with TKIP, which are broken; configure WPA2 at the access point")]
    Broken,
    #[error("it does not offer WPA3, which the configuration demands; it may be an impostor")]
    NoWpa3,
    #[error(
        "it does not offer WPA3, with which this network was joined before; it may be an impostor. \
         If it is yours, write `security = \"wpa2\"` into the network's table"
    )]
    LessThanWpa3,
    #[error(
        "it does not encrypt (Enhanced Open), which the configuration demands; it may be an impostor. \
         If you trust it, write `security = \"open\"` into the network's table"
    )]
    NoOwe,
    #[error(
        "it does not encrypt, and this network did before (Enhanced Open); it may be an impostor. \
         If you trust it, write `security = \"open\"` into the network's table"
    )]
    LessThanOwe,
    #[error("it offers only WPA3, which needs the passphrase instead of the 64-digit key")]
    KeyForWpa3,
    #[error(
        "it offers only key management that slowhand does not support, such as fast transitions (FT) or 192-bit security (Suite B)"
    )]
    Unsupported,
    #[error("it asks for a login (802.1X), and the configuration has none; add `login_file`")]
    Login,
    #[error("it does not ask for a login (802.1X), which the configuration has; it may be an impostor")]
    NoLogin,
    #[error("it asks for a key, and the configuration has none; add `psk_file`")]
    Protected,
}

impl Weaker {
    /// Whether the network has had a better security before.
    pub(super) const fn is_a_loss(self) -> bool {
        matches!(self, Self::LessThanWpa3 | Self::LessThanOwe)
    }
}

impl Network {
    /// Whether this access point may be joined. `best`: the best security with which the network was joined.
    pub(super) fn judge(&self, bss: &Bss, best: Option<Best>) -> Result<(), Weaker> {
        self.suffices(bss)?;
        match (&self.security, self.raised_to(best)) {
            (Security::Open, Some(Best::Owe)) if !bss.offers.owe => Err(Weaker::LessThanOwe),
            (Security::Wpa2(_), Some(Best::Wpa3)) if !bss.offers.sae => Err(Weaker::LessThanWpa3),
            _ => Ok(()),
        }
    }

    /// What the least security is raised to, because the network has had a better one.
    fn raised_to(&self, best: Option<Best>) -> Option<Best> {
        best.filter(|best| match (&self.security, best) {
            (Security::Open, Best::Owe) => !self.fixed,
            // A key of 64 digits serves WPA2 only.
            (Security::Wpa2(secret), Best::Wpa3) => !self.fixed && !secret.is_key(),
            _ => false,
        })
    }

    fn suffices(&self, bss: &Bss) -> Result<(), Weaker> {
        let offers = bss.offers;
        let (has_key, has_other_key) = (offers.psk || offers.sae, offers.other_psk || offers.other_sae);
        match &self.security {
            Security::Open if offers.is_open() || offers.owe => Ok(()),
            Security::Owe if offers.owe => Ok(()),
            Security::Owe if offers.is_open() => Err(Weaker::NoOwe),
            Security::Open | Security::Owe if offers.login => Err(Weaker::Login),
            Security::Open | Security::Owe => Err(Weaker::Protected),
            _ if offers.is_open() || offers.owe => Err(Weaker::Open),
            Security::Wpa3(_) if offers.other_sae && !offers.sae => Err(Weaker::Unsupported),
            Security::Wpa3(_) if !offers.sae => Err(Weaker::NoWpa3),
            Security::Wpa2(secret) if secret.is_key() && offers.sae && !offers.psk => Err(Weaker::KeyForWpa3),
            Security::Wpa2(_) | Security::Wpa3(_) if offers.strong && has_key => Ok(()),
            Security::Wpa2(_) if has_other_key && !has_key => Err(Weaker::Unsupported),
            Security::Wpa2(_) | Security::Wpa3(_) if offers.login => Err(Weaker::Login),
            Security::Login(_) if offers.other_login && !offers.login => Err(Weaker::Unsupported),
            Security::Login(_) if !offers.login => Err(Weaker::NoLogin),
            Security::Login(_) if offers.strong => Ok(()),
            Security::Wpa2(_) | Security::Wpa3(_) | Security::Login(_) => Err(Weaker::Broken),
        }
    }

    /// What `wpa_supplicant` must know of the network, beside its name: variables and their values. `owe`:
    /// the access point encrypts without a key. `best`: the best security with which the network was joined.
    pub(super) fn settings(&self, owe: bool, best: Option<Best>) -> Vec<(&'static str, String)> {
        let rsn = |management: &str, frames: &str| {
            vec![
                ("key_mgmt", management.to_owned()),
                ("proto", "RSN".to_owned()),
                ("pairwise", "CCMP GCMP GCMP-256 CCMP-256".to_owned()),
                ("ieee80211w", frames.to_owned()),
            ]
        };
        let mut settings = match &self.security {
            Security::Open if !owe => vec![("key_mgmt", "NONE".to_owned())],
            Security::Open | Security::Owe => rsn("OWE", "2"),
            Security::Wpa2(secret) if secret.is_key() => rsn("WPA-PSK WPA-PSK-SHA256", "1"),
            // As on the first visit, an access point without 802.11w will do.
            Security::Wpa2(_) if self.raised_to(best).is_some() => rsn("SAE", "1"),
            Security::Wpa2(_) => rsn("WPA-PSK WPA-PSK-SHA256 SAE", "1"),
            Security::Wpa3(_) => rsn("SAE", "2"),
            Security::Login(_) => rsn("WPA-EAP WPA-EAP-SHA256", "1"),
        };
        match &self.security {
            // Without it, `wpa_supplicant` also takes an access point of that name that does not encrypt.
            Security::Open | Security::Owe if settings[0].1 == "OWE" => {
                settings.push(("owe_only", "1".to_owned()))
            }
            Security::Open | Security::Owe => {}
            Security::Wpa2(secret) | Security::Wpa3(secret) => settings.push(("psk", secret.quoted())),
            Security::Login(login) => settings.extend(login.settings()),
        }
        if self.hidden {
            // Without it, `wpa_supplicant` does not find the access point again after a loss.
            settings.push(("scan_ssid", "1".to_owned()));
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::bss::parse;

    fn network(security: Security) -> Network {
        Network {
            ssid: "first".into(),
            hidden: false,
            security,
            fixed: false,
            role: Role::Primary,
            tariff: Tariff::Flat,
        }
    }

    fn bss(flags: &str) -> Bss {
        let text = format!(
            "id=1\nbssid=02:00:00:00:01:00\nfreq=2437\nlevel=-20\nage=0\nflags={flags}\nssid=first\n====\n"
        );
        let (mut all, _) = parse(&text);
        all.remove(0)
    }

    fn judged(security: &Security, flags: &str) -> Result<(), Weaker> {
        network(security.clone()).judge(&bss(flags), None)
    }

    #[test]
    fn security_below_the_best_of_earlier_visits_is_refused_unless_the_user_names_it() {
        let (psk, both) = ("[WPA2-PSK-CCMP][ESS]", "[WPA2-PSK+SAE-CCMP][ESS]");
        let owe = "[WPA2-OWE-CCMP][ESS]";
        let secret: Secret = "correct horse".parse().unwrap();
        let wpa2 = network(Security::Wpa2(secret.clone()));
        let key = network(Security::Wpa2("0".repeat(64).parse().unwrap()));
        let open = network(Security::Open);
        let fixed = |network: &Network| Network {
            fixed: true,
            ..network.clone()
        };
        let (wpa2_fixed, open_fixed) = (fixed(&wpa2), fixed(&open));
        #[rustfmt::skip]
        let table = [
            (&wpa2, psk, Best::Wpa3, Err(Weaker::LessThanWpa3)),
            (&wpa2, both, Best::Wpa3, Ok(())),
            (&wpa2, "[RSN-SAE-CCMP][ESS]", Best::Wpa3, Ok(())),
            (&wpa2, "[ESS]", Best::Wpa3, Err(Weaker::Open)),
            (&wpa2_fixed, psk, Best::Wpa3, Ok(())),
            (&key, psk, Best::Wpa3, Ok(())),
            (&open, "[ESS]", Best::Owe, Err(Weaker::LessThanOwe)),
            (&open, owe, Best::Owe, Ok(())),
            (&open_fixed, "[ESS]", Best::Owe, Ok(())),
            // The user has changed how the network is protected.
            (&wpa2, psk, Best::Owe, Ok(())),
            (&open, "[ESS]", Best::Wpa3, Ok(())),
        ];
        for (network, flags, best, expected) in table {
            assert_eq!(
                network.judge(&bss(flags), Some(best)),
                expected,
                "{network:?} {flags}"
            );
        }
        let management = |network: &Network, best| network.settings(false, best)[0].1.clone();
        assert_eq!(management(&wpa2, Some(Best::Wpa3)), "SAE");
        assert_eq!(
            management(&wpa2_fixed, Some(Best::Wpa3)),
            "WPA-PSK WPA-PSK-SHA256 SAE"
        );
        assert_eq!(
            ["WPA2-PSK", "SAE", "FT-SAE", "OWE", "NONE"].map(Best::of_management),
            [None, Some(Best::Wpa3), Some(Best::Wpa3), Some(Best::Owe), None]
        );
    }

    #[test]
    fn weaker_security_than_configured_is_refused() {
        let secret: Secret = "correct horse".parse().unwrap();
        let (wpa2, wpa3) = (Security::Wpa2(secret.clone()), Security::Wpa3(secret));
        let key = Security::Wpa2("0".repeat(64).parse().unwrap());
        let login = Security::Login("eap=PWD\nidentity=\"me\"\n".parse().unwrap());
        #[rustfmt::skip]
        let table = [
            (&wpa2, "[WPA2-PSK-CCMP][ESS]", Ok(())),
            (&wpa2, "[WPA2-PSK+SAE-CCMP][SAE-H2E][ESS]", Ok(())),
            (&wpa2, "[WPA-PSK-TKIP][WPA2-PSK-CCMP+TKIP][ESS]", Ok(())),
            (&wpa2, "[RSN-SAE-CCMP][ESS]", Ok(())),
            (&wpa2, "[ESS]", Err(Weaker::Open)),
            (&wpa2, "[WPA-PSK-TKIP][ESS]", Err(Weaker::Broken)),
            (&wpa2, "[WPA2-PSK-TKIP][ESS]", Err(Weaker::Broken)),
            (&wpa2, "[WEP][ESS]", Err(Weaker::Broken)),
            (&wpa2, "[WPA2-EAP-CCMP][ESS]", Err(Weaker::Login)),
            (&wpa3, "[WPA2-PSK-CCMP][ESS]", Err(Weaker::NoWpa3)),
            (&wpa3, "[WPA2-PSK+SAE-CCMP][ESS]", Ok(())),
            (&wpa3, "[ESS]", Err(Weaker::Open)),
            (&key, "[WPA2-SAE-CCMP][ESS]", Err(Weaker::KeyForWpa3)),
            (&login, "[WPA2-EAP-CCMP][ESS]", Ok(())),
            (&login, "[WPA2-EAP+EAP-SHA256-CCMP][ESS]", Ok(())),
            (&login, "[WPA2-PSK-CCMP][ESS]", Err(Weaker::NoLogin)),
            (&login, "[WPA2-EAP-TKIP][ESS]", Err(Weaker::Broken)),
            (&login, "[ESS]", Err(Weaker::Open)),
            (&Security::Open, "[WPA2-EAP-CCMP][ESS]", Err(Weaker::Login)),
            (&Security::Open, "[ESS]", Ok(())),
            (&Security::Open, "[WPA2-OWE-CCMP][ESS]", Ok(())),
            (&Security::Open, "[OWE-TRANS-OPEN][ESS]", Ok(())),
            (&Security::Owe, "[WPA2-OWE-CCMP][ESS]", Ok(())),
            (&Security::Owe, "[ESS]", Err(Weaker::NoOwe)),
            (&Security::Owe, "[OWE-TRANS-OPEN][ESS]", Err(Weaker::NoOwe)),
            (&Security::Owe, "[WPA2-PSK-CCMP][ESS]", Err(Weaker::Protected)),
            (&wpa2, "[OWE-TRANS-OPEN][ESS]", Err(Weaker::Open)),
            (&wpa2, "[WPA2-OWE-CCMP][ESS]", Err(Weaker::Open)),
            (&wpa2, "[WPA2-FT/PSK-CCMP][ESS]", Err(Weaker::Unsupported)),
            (&wpa3, "[WPA2-PSK+FT/SAE-CCMP][ESS]", Err(Weaker::Unsupported)),
            (&wpa3, "[WPA2-PSK+FT/PSK-CCMP][ESS]", Err(Weaker::NoWpa3)),
            (&wpa2, "[WPA2-SAE-EXT-KEY-GCMP-256][ESS]", Err(Weaker::Unsupported)),
            (&wpa2, "[WPA2-PSK+FT/PSK+PSK-SHA256-CCMP-preauth][ESS]", Ok(())),
            (&wpa2, "[WPA2-SAE+SAE-EXT-KEY-GCMP-256][ESS]", Ok(())),
            (&login, "[WPA2-EAP-SUITE-B-192-GCMP-256][ESS]", Err(Weaker::Unsupported)),
            (&login, "[WPA2-FT/EAP-CCMP][ESS]", Err(Weaker::Unsupported)),
            (&login, "[WPA2-EAP+FT/EAP-CCMP][ESS]", Ok(())),
            (&Security::Open, "[WPA2-PSK-CCMP][ESS]", Err(Weaker::Protected)),
        ];
        for (security, flags, expected) in table {
            assert_eq!(judged(security, flags), expected, "{security:?} {flags}");
        }
    }

    #[test]
    fn only_what_can_be_a_key_is_one() {
        for good in [
            "8 chars!",
            "ends with a line\n",
            &"a1".repeat(32),
            "with \" a quote",
        ] {
            assert!(good.parse::<Secret>().is_ok(), "{good}");
        }
        for bad in ["short", "", "\nsecond line", "täglich neu", &"x".repeat(64)] {
            assert_eq!(bad.parse::<Secret>(), Err(SecretError), "{bad}");
        }
    }

    #[test]
    fn settings_have_the_secret_once_and_protect_management_frames_where_both_can() {
        let of = |security, hidden| {
            let settings = Network {
                hidden,
                ..network(security)
            }
            .settings(false, None);
            let value = |name: &str| {
                let mut values = settings
                    .iter()
                    .filter(|(of, _)| *of == name)
                    .map(|(_, value)| value.clone());
                let first = values.next();
                assert_eq!(values.next(), None, "{name}");
                first.unwrap_or_default()
            };
            ["key_mgmt", "ieee80211w", "psk", "password", "scan_ssid"].map(value)
        };
        let secret: Secret = "correct horse".parse().unwrap();
        let wpa2 = of(Security::Wpa2(secret.clone()), false);
        assert_eq!(
            wpa2,
            ["WPA-PSK WPA-PSK-SHA256 SAE", "1", "\"correct horse\"", "", ""]
        );
        assert_eq!(
            of(Security::Wpa3(secret), true),
            ["SAE", "2", "\"correct horse\"", "", "1"]
        );
        let login = "eap=PWD\nidentity=\"me\"\npassword=\"p\"\n".parse().unwrap();
        let login = of(Security::Login(login), false);
        assert_eq!(login, ["WPA-EAP WPA-EAP-SHA256", "1", "", "\"p\"", ""]);
        assert_eq!(of(Security::Open, true), ["NONE", "", "", "", "1"]);
        let encrypted = network(Security::Open).settings(true, None);
        assert_eq!(encrypted[0], ("key_mgmt", "OWE".to_owned()));
        assert_eq!(encrypted[3], ("ieee80211w", "2".to_owned()));
        assert_eq!(encrypted[4], ("owe_only", "1".to_owned()));
    }

    #[test]
    fn a_secret_is_never_printed() {
        let secret: Secret = "correct horse".parse().unwrap();
        let printed = format!("{:?}", network(Security::Wpa2(secret)));
        assert!(!printed.contains("horse"), "{printed}");
    }
}

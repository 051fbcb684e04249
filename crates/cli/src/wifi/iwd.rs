//! Networks as iwd saves them: the name is in the name of the file.
//!
//! # Sources
//! - iwd.network(5), 2.3: file names, `[Security]` and `[Settings]`.
//!
//! # Where we differ, and why
//! 1. Logins (`.8021x`) are not taken over: their settings differ too much from those of `wpa_supplicant`.
//!
//! # Checked by
//! `tests`.

use super::saved::{Protection, Saved, SavedError};

/// Reads a saved network. `None`: a file of this name is none.
pub fn read(name: &str, text: &str) -> Result<Option<Saved>, SavedError> {
    let Some((stem, kind)) = name.rsplit_once('.') else {
        return Ok(None);
    };
    let protection = match kind {
        "open" => Protection::Open,
        "psk" => Protection::Key {
            secret: secret(text)?,
            wpa3: value(text, "DisabledTransitionModes") == Some("personal"),
        },
        "8021x" => return Err(SavedError::Protection("8021x".to_owned())),
        _ => return Ok(None),
    };
    if value(text, "AutoConnect") == Some("false") {
        return Err(SavedError::ByHand);
    }
    let saved = Saved {
        ssid: ssid(stem).ok_or(SavedError::Name)?,
        hidden: value(text, "Hidden") == Some("true"),
        metered: false,
        protection,
    };
    saved.checked().map(Some)
}

fn secret(text: &str) -> Result<String, SavedError> {
    let passphrase = value(text, "Passphrase").map(|passphrase| passphrase.replace("\\s", " "));
    let key = || value(text, "PreSharedKey").map(str::to_owned);
    passphrase.or_else(key).ok_or(SavedError::Elsewhere("Passphrase"))
}

/// The name of a network from that of its file: as it is, or in hexadecimal behind `=`.
fn ssid(stem: &str) -> Option<String> {
    let Some(digits) = stem.strip_prefix('=') else {
        return Some(stem.to_owned());
    };
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    rest.is_empty().then(|| String::from_utf8(bytes?).ok()).flatten()
}

fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let mut values = pairs.filter_map(|(name, value)| (name.trim() == key).then_some(value.trim()));
    values.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "[Security]\nPreSharedKey=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\
        Passphrase=correct horse\n\n[Settings]\nHidden=true\n";

    #[test]
    fn networks_are_read_with_the_name_of_their_file() {
        let home = read("home.psk", HOME).unwrap().unwrap();
        assert_eq!((home.ssid.as_str(), home.hidden), ("home", true));
        let Protection::Key { secret, wpa3: false } = home.protection else {
            panic!("{:?}", home.protection)
        };
        assert_eq!(secret, "correct horse");
        let cafe = read("=636166c3a9.open", "").unwrap().unwrap();
        assert_eq!(cafe.ssid, "café");
        assert!(cafe.protection == Protection::Open);
        let key = HOME.replace("Passphrase", "Other");
        let key = read("home.psk", &key).unwrap().unwrap();
        assert!(matches!(key.protection, Protection::Key { secret, .. } if secret.len() == 64));
    }

    #[test]
    fn what_cannot_be_taken_over_is_named() {
        assert!(read("main.conf", "").unwrap().is_none());
        assert!(read("hotspot", "").unwrap().is_none());
        let said = |name: &str, text: &str| read(name, text).err().unwrap().to_string();
        assert!(said("a.psk", "[Security]\n").starts_with("`Passphrase` is not in the file"));
        assert!(said("a.psk", &format!("{HOME}AutoConnect=false\n")).starts_with("it is not joined"));
        assert!(said("a.8021x", "").starts_with("its protection `8021x`"));
        assert!(said("=6.open", "").starts_with("its name is no UTF-8"));
        assert!(said("=ff.open", "").starts_with("its name is no UTF-8"));
    }
}

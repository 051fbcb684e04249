//! Networks as NetworkManager saves them.
//!
//! # Sources
//! - nm-settings-keyfile(5) and nm-settings(5), 1.42: groups, keys, and names of networks as text or as a
//!   list of bytes.
//! - GLib, "Key-value file parser": escapes in values.
//!
//! # Where we differ, and why
//! 1. `bssid`, `mac-address` and the like are not taken over: slowhand joins every access point of a network,
//!    with addresses of its own.
//!
//! # Checked by
//! `tests`, with files as NetworkManager 1.42 writes them; the trial `joins-beside` of `guest`.

use super::saved::{Protection, Saved, SavedError};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Certificates that the host trusts, for `system-ca-certs=true`.
const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// Keys of a login whose values need no translation, and what `wpa_supplicant` calls them.
const TEXTS: [(&str, &str); 6] = [
    ("identity", "identity"),
    ("anonymous-identity", "anonymous_identity"),
    ("password", "password"),
    ("private-key-password", "private_key_passwd"),
    ("domain-suffix-match", "domain_suffix_match"),
    ("domain-match", "domain_match"),
];
/// Keys of a login that name files.
const FILES: [(&str, &str); 3] = [
    ("ca-cert", "ca_cert"),
    ("client-cert", "client_cert"),
    ("private-key", "private_key"),
];
/// Keys of a login that are read elsewhere, or that only say where secrets are.
const OTHERS: [&str; 7] = [
    "eap",
    "phase2-auth",
    "phase2-autheap",
    "system-ca-certs",
    "password-flags",
    "private-key-password-flags",
    "optional",
];

/// Groups with their keys and values, as they are written.
struct Keyfile<'t>(BTreeMap<(&'t str, &'t str), &'t str>);

/// Reads a saved network. `None`: it is no WiFi network.
pub fn read(text: &str) -> Result<Option<Saved>, SavedError> {
    let file = Keyfile::parse(text)?;
    let kind = file.raw(&["connection"], "type").unwrap_or_default();
    if !["wifi", "802-11-wireless"].contains(&kind) {
        return Ok(None);
    }
    let wifi = ["wifi", "802-11-wireless"];
    match file.raw(&wifi, "mode") {
        None | Some("infrastructure") => {}
        Some(mode) => return Err(SavedError::Mode(mode.to_owned())),
    }
    if file.raw(&["connection"], "autoconnect") == Some("false") {
        return Err(SavedError::ByHand);
    }
    let ssid = file.raw(&wifi, "ssid").ok_or(SavedError::NoName("ssid"))?;
    let saved = Saved {
        ssid: String::from_utf8(bytes(ssid)?).map_err(|_| SavedError::Name)?,
        hidden: file.raw(&wifi, "hidden") == Some("true"),
        // NM_METERED_YES and NM_METERED_GUESS_YES.
        metered: matches!(file.raw(&["connection"], "metered"), Some("1" | "3")),
        protection: protection(&file)?,
    };
    saved.checked().map(Some)
}

fn protection(file: &Keyfile<'_>) -> Result<Protection, SavedError> {
    let groups = ["wifi-security", "802-11-wireless-security"];
    let Some(management) = file.raw(&groups, "key-mgmt") else {
        return Ok(Protection::Open);
    };
    match management {
        "wpa-psk" | "sae" => {
            let secret = file.raw(&groups, "psk").ok_or(SavedError::Elsewhere("psk"))?;
            Ok(Protection::Key {
                secret: text(secret, "psk")?,
                wpa3: management == "sae",
            })
        }
        "owe" => Ok(Protection::Owe),
        "wpa-eap" => login(file).map(Protection::Login),
        other => Err(SavedError::Protection(other.to_owned())),
    }
}

/// The lines of a login for `wpa_supplicant`.
fn login(file: &Keyfile<'_>) -> Result<String, SavedError> {
    const GROUP: &[&str] = &["802-1x"];
    let known = |key: &str| {
        let mut names = TEXTS.iter().chain(&FILES).map(|(name, _)| *name).chain(OTHERS);
        names.any(|name| name == key)
    };
    let strange = file
        .0
        .keys()
        .find(|(group, key)| *group == GROUP[0] && !known(key));
    if let Some((_, key)) = strange {
        return Err(SavedError::Protection(format!("802-1x.{key}")));
    }
    let mut lines = String::new();
    let mut put = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{name}={value}");
    };
    let methods = file.raw(GROUP, "eap").ok_or(SavedError::Value("eap"))?;
    let methods = methods.split(';').filter(|method| !method.is_empty());
    let methods = Vec::from_iter(methods.map(str::to_ascii_uppercase));
    put("eap", &methods.join(" "));
    for (key, name) in TEXTS {
        if let Some(value) = file.raw(GROUP, key) {
            put(name, &format!("\"{}\"", text(value, key)?));
        }
    }
    let needs_password = methods.iter().any(|method| method != "TLS");
    if needs_password && file.raw(GROUP, "password").is_none() {
        return Err(SavedError::Elsewhere("password"));
    }
    for (key, name) in FILES {
        if let Some(value) = file.raw(GROUP, key) {
            put(name, &format!("\"{}\"", path(value, key)?));
        }
    }
    let trusts_system = file.raw(GROUP, "system-ca-certs") == Some("true");
    if trusts_system && file.raw(GROUP, "ca-cert").is_none() {
        put("ca_cert", &format!("\"{SYSTEM_CERTIFICATES}\""));
    }
    for (key, word) in [("phase2-auth", "auth"), ("phase2-autheap", "autheap")] {
        if let Some(method) = file.raw(GROUP, key) {
            put("phase2", &format!("\"{word}={}\"", method.to_ascii_uppercase()));
        }
    }
    Ok(lines)
}

impl<'t> Keyfile<'t> {
    fn parse(text: &'t str) -> Result<Self, SavedError> {
        let (mut all, mut group) = (BTreeMap::new(), "");
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let named = line
                .strip_prefix('[')
                .and_then(|rest| rest.trim_end().strip_suffix(']'));
            if let Some(name) = named {
                group = name;
                continue;
            }
            let (key, value) = line.split_once('=').ok_or(SavedError::Form(number))?;
            all.insert((group, key.trim_end()), value.trim_start());
        }
        Ok(Self(all))
    }

    /// A value as it is written, in the first of these groups that has it.
    fn raw(&self, groups: &[&str], key: &str) -> Option<&'t str> {
        groups
            .iter()
            .find_map(|group| self.0.get(&(*group, key)).copied())
    }
}

/// A value that is text.
fn text(value: &str, key: &'static str) -> Result<String, SavedError> {
    let bytes = unescaped(value).ok_or(SavedError::Value(key))?;
    let text = String::from_utf8(bytes).map_err(|_| SavedError::Value(key))?;
    let fits_a_line = !text.contains(['\n', '\r', '\0']);
    fits_a_line.then_some(text).ok_or(SavedError::Value(key))
}

/// A value that names a file.
fn path(value: &str, key: &'static str) -> Result<String, SavedError> {
    let text = text(value, key)?;
    let path = text.strip_prefix("file://").unwrap_or(&text);
    let is_path = path.starts_with('/');
    is_path.then(|| path.to_owned()).ok_or(SavedError::Value(key))
}

/// The bytes of a name: text, or their numbers with a semicolon after each. NetworkManager escapes semicolons
/// in text a second time.
fn bytes(value: &str) -> Result<Vec<u8>, SavedError> {
    let numbers = value.trim_end().strip_suffix(';');
    let numbers = numbers.map(|list| list.split(';').map(|number| number.trim().parse()).collect());
    if let Some(Ok(bytes)) = numbers {
        return Ok(bytes);
    }
    let text = unescaped(value).ok_or(SavedError::Value("ssid"))?;
    let mut bytes = Vec::with_capacity(text.len());
    for byte in text {
        if byte == b';' && bytes.last() == Some(&b'\\') {
            bytes.pop();
        }
        bytes.push(byte);
    }
    Ok(bytes)
}

fn unescaped(value: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let meant = match byte {
            b'\\' => match rest.next()? {
                b's' => b' ',
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                other @ (b'\\' | b';' | b',') => other,
                _ => return None,
            },
            other => other,
        };
        bytes.push(meant);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "[connection]\nid=home\nuuid=4d8c0a6e-0b52-4ae2-9d1a-0f4f5f4b8d11\ntype=wifi\n\n\
        [wifi]\nmode=infrastructure\nssid=home\n\n[wifi-security]\nkey-mgmt=wpa-psk\npsk=correct horse\n\n\
        [ipv4]\nmethod=auto\n";

    fn found(text: &str) -> Saved {
        read(text).unwrap().unwrap()
    }

    #[test]
    fn a_network_with_a_key_is_read() {
        let home = found(HOME);
        let secret = "correct horse".to_owned();
        assert_eq!(
            (home.ssid.as_str(), home.hidden, home.metered),
            ("home", false, false)
        );
        let protection = |wpa3| Protection::Key {
            secret: secret.clone(),
            wpa3,
        };
        assert!(home.protection == protection(false));
        let sae = HOME
            .replace("wpa-psk", "sae")
            .replace("ssid=home", "ssid=home\nhidden=true");
        let sae = found(&sae.replace("type=wifi", "type=802-11-wireless\nmetered=1"));
        assert!(sae.protection == protection(true));
        assert!(sae.hidden && sae.metered);
    }

    #[test]
    fn names_are_text_with_escapes_or_lists_of_bytes() {
        for (written, meant) in [
            ("\\sa\\;b\\\\", " a;b\\"),
            ("semi\\\\;colon", "semi;colon"),
            ("104;111;109;101;32;99;97;102;195;169;", "home café"),
            ("2000", "2000"),
            ("7;", "\u{7}"),
            ("300;1;", "300;1;"),
        ] {
            let text = HOME.replace("ssid=home", &format!("ssid={written}"));
            assert_eq!(found(&text).ssid, meant, "{written}");
        }
        for wrong in ["255;", "", "\\q", &"x".repeat(33)] {
            let text = HOME.replace("ssid=home", &format!("ssid={wrong}"));
            assert!(read(&text).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_login_becomes_lines_for_the_supplicant() {
        let office = HOME.replace("key-mgmt=wpa-psk\npsk=correct horse", "key-mgmt=wpa-eap")
            + "[802-1x]\neap=peap;\nidentity=me@office\npassword=a=b\\\\c\nphase2-auth=mschapv2\n\
               ca-cert=file:///etc/office.pem\ndomain-suffix-match=office.example\n";
        let Protection::Login(lines) = found(&office).protection else {
            panic!("no login")
        };
        assert_eq!(
            lines,
            "eap=PEAP\nidentity=\"me@office\"\npassword=\"a=b\\c\"\ndomain_suffix_match=\"office.example\"\n\
             ca_cert=\"/etc/office.pem\"\nphase2=\"auth=MSCHAPV2\"\n"
        );
        let system = office.replace("ca-cert=file:///etc/office.pem", "system-ca-certs=true");
        let Protection::Login(lines) = found(&system).protection else {
            panic!("no login")
        };
        assert!(
            lines.contains("ca_cert=\"/etc/ssl/certs/ca-certificates.crt\"\n"),
            "{lines}"
        );
        let said = |text: &str| read(text).unwrap_err().to_string();
        let unchecked = said(&office.replace("ca-cert=file:///etc/office.pem\n", ""));
        assert!(
            unchecked.contains("an impostor would get the password"),
            "{unchecked}"
        );
        let ring = said(&office.replace("password=a=b\\\\c", "password-flags=1"));
        assert!(ring.starts_with("`password` is not in the file"), "{ring}");
        let strange = said(&(office + "pac-file=/x\n"));
        assert!(
            strange.contains("`802-1x.pac-file` is not supported"),
            "{strange}"
        );
    }

    #[test]
    fn what_cannot_be_taken_over_is_named() {
        let without = |from: &str, to: &str| {
            let text = HOME.replace(from, to);
            assert_ne!(text, HOME, "{from}");
            read(&text)
                .map(|saved| saved.map(|saved| saved.ssid))
                .map_err(|error| error.to_string())
        };
        assert_eq!(without("type=wifi", "type=ethernet"), Ok(None));
        #[rustfmt::skip]
        let table = [
            ("mode=infrastructure", "mode=ap", "its mode is \"ap\""),
            ("type=wifi", "type=wifi\nautoconnect=false", "it is not joined automatically there"),
            ("psk=correct horse", "psk-flags=1", "`psk` is not in the file, but in a key ring"),
            ("psk=correct horse", "psk=short", "a passphrase has 8 to 63"),
            ("key-mgmt=wpa-psk", "key-mgmt=none\nwep-key0=abcde", "its protection `none` is not supported"),
            ("key-mgmt=wpa-psk", "key-mgmt=ieee8021x", "its protection `ieee8021x` is not supported"),
            ("ssid=home\n", "", "it has no `ssid`"),
            ("[ipv4]", "ipv4", "line 14 is neither `[group]` nor `key=value`"),
        ];
        for (from, to, expected) in table {
            let said = without(from, to).unwrap_err();
            assert!(said.starts_with(expected), "{said}");
        }
    }

    #[test]
    fn an_open_network_is_read() {
        let (text, _) = HOME.split_once("[wifi-security]").unwrap();
        assert!(found(text).protection == Protection::Open);
        let owe = format!("{text}[wifi-security]\nkey-mgmt=owe\n");
        assert!(found(&owe).protection == Protection::Owe);
    }
}

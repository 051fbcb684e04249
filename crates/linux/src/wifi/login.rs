//! The login at a network with 802.1X: settings of the user's, handed on to `wpa_supplicant`.
//!
//! # Sources
//! - wpa_supplicant.conf(5), "network": variables and their values, strings in quotes.
//!
//! # Where we differ, and why
//! 1. A method that sends a password through TLS needs `ca_cert`: without it, an impostor gets the password.
//!    With the authorities of the system, it also needs the server's name: anybody gets a certificate for a
//!    name of his own.
//! 2. Only variables of the login are taken. The others decide which network is joined.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Variables that belong to a login.
const VARIABLES: [&str; 18] = [
    "eap",
    "identity",
    "anonymous_identity",
    "password",
    "ca_cert",
    "ca_cert2",
    "client_cert",
    "private_key",
    "private_key_passwd",
    "phase1",
    "phase2",
    "domain_match",
    "domain_suffix_match",
    "subject_match",
    "altsubject_match",
    "openssl_ciphers",
    "pac_file",
    "realm",
];
/// Methods that check the server by themselves, without a certificate.
const WITHOUT_TLS: [&str; 5] = ["PWD", "SIM", "AKA", "AKA'", "PSK"];

/// Variables and values of a login.
#[derive(Clone, PartialEq, Eq)]
pub struct Login(Vec<(&'static str, String)>);

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}

/// Why a text is no login.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    /// A line has another form.
    #[error("line {0} is not `variable=value`, as in a network of wpa_supplicant.conf")]
    Form(usize),
    /// A variable does not belong to a login.
    #[error("line {line}: `{name}` does not belong to a login; remove it. These do: {}", VARIABLES.join(", "))]
    Variable {
        /// The line.
        line: usize,
        /// The variable.
        name: String,
    },
    /// A variable is missing.
    #[error("`{0}` is missing; add a line such as {1}")]
    Missing(&'static str, &'static str),
    /// The server's certificate would not be checked.
    #[error(
        "`ca_cert` is missing, so an impostor would get the password; add ca_cert=\"…\" with the file that your network's operator gives"
    )]
    Unchecked,
    /// Any server with a certificate for any name would pass.
    #[error(
        "`ca_cert` is a list of public authorities, each of which certifies impostors, too; add domain_suffix_match=\"…\" with the name of your network's login server"
    )]
    AnyName,
}

/// Files in which systems keep the certificates of public authorities.
const PUBLIC: [&str; 7] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",
];
/// Variables that bind the login to the name of the server.
const NAMES: [&str; 3] = ["domain_suffix_match", "domain_match", "altsubject_match"];

impl FromStr for Login {
    type Err = LoginError;

    /// Takes lines such as `identity="me"`. Empty lines and comments are left out.
    fn from_str(text: &str) -> Result<Self, LoginError> {
        let mut found = Vec::new();
        for (line, text) in (1..).zip(text.lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (name, value) = text.split_once('=').ok_or(LoginError::Form(line))?;
            let known = VARIABLES.into_iter().find(|known| *known == name);
            let Some(known) = known else {
                let name = name.to_owned();
                return Err(LoginError::Variable { line, name });
            };
            found.push((known, value.to_owned()));
        }
        let login = Self(found);
        let Some(methods) = login.value("eap") else {
            return Err(LoginError::Missing("eap", "eap=PEAP"));
        };
        if login.value("identity").is_none() {
            return Err(LoginError::Missing("identity", "identity=\"me@example.org\""));
        }
        let mut methods = methods.split_whitespace();
        if methods.any(|method| !WITHOUT_TLS.contains(&method)) {
            login.checks_server()?;
        }
        Ok(login)
    }
}

impl Login {
    fn value(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        all.find_map(|(of, value)| (*of == name).then_some(value.as_str()))
    }

    /// Whether an impostor cannot pass for the login server.
    fn checks_server(&self) -> Result<(), LoginError> {
        let authority = self.value("ca_cert").ok_or(LoginError::Unchecked)?;
        let is_public = PUBLIC.contains(&authority.trim_matches('"'));
        let is_name = |value: &str| !value.trim_matches('"').is_empty();
        let has_name = NAMES.iter().any(|name| self.value(name).is_some_and(is_name));
        (has_name || !is_public).then_some(()).ok_or(LoginError::AnyName)
    }

    /// Its variables and values.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.0.iter().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFICE: &str =
        "# the office\neap=PEAP\n  identity=\"me\"\npassword=\"a=b c\"\nca_cert=\"/ca.pem\"\n";

    #[test]
    fn a_login_is_handed_on_as_it_is_written() {
        let login: Login = OFFICE.parse().unwrap();
        let settings = Vec::from_iter(login.settings());
        assert_eq!(settings[0], ("eap", "PEAP".to_owned()));
        assert_eq!(settings[2], ("password", "\"a=b c\"".to_owned()));
        assert_eq!(settings.len(), 4);
        assert_eq!(format!("{login:?}"), "Login(…)");
    }

    #[test]
    fn what_would_be_unsafe_or_meaningless_is_refused() {
        let said = |text: &str| text.parse::<Login>().unwrap_err();
        assert_eq!(said("eap=PEAP\nidentity\n"), LoginError::Form(2));
        let ssid = said("ssid=\"other\"\n");
        assert!(matches!(ssid, LoginError::Variable { line: 1, ref name } if name == "ssid"));
        assert!(ssid.to_string().contains("These do: eap, identity"), "{ssid}");
        assert!(matches!(said("identity=\"me\"\n"), LoginError::Missing("eap", _)));
        assert!(matches!(said("eap=PWD\n"), LoginError::Missing("identity", _)));
        assert_eq!(said("eap=PWD PEAP\nidentity=\"me\"\n"), LoginError::Unchecked);
        assert!("eap=PWD\nidentity=\"me\"\n".parse::<Login>().is_ok());
        let public = "eap=PEAP\nidentity=\"me\"\nca_cert=\"/etc/ssl/certs/ca-certificates.crt\"\n";
        assert_eq!(said(public), LoginError::AnyName);
        assert_eq!(said(&format!("{public}domain_match=\"\"\n")), LoginError::AnyName);
        let own = public.replace("certs/ca-certificates.crt", "office.pem");
        assert!(own.parse::<Login>().is_ok());
        let named = format!("{public}domain_suffix_match=\"radius.example.org\"\n");
        assert!(named.parse::<Login>().is_ok());
    }
}

//! What `wpa_supplicant` reports of an interface.
//!
//! # Sources
//! - `src/common/wpa_ctrl.h` (2.10): the names of events. `wpa_supplicant/ctrl_iface_unix.c`: a message on
//!   the global interface begins with `IFNAME=`.

/// A change of one interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Name of the interface.
    pub(super) interface: String,
    /// What happened.
    pub(super) what: What,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// It is associated, and keys are set.
    Connected,
    /// The association ended, with this reason code.
    Disconnected { reason: u16 },
    /// The access point refuses the key.
    WrongKey,
    /// The network refuses the login.
    LoginRefused,
    /// The certificate of the login server is not what the login demands.
    Untrusted,
    /// The access point refuses the association, with this status code.
    Refused { status: u16 },
    /// The access point and this interface have changed to a channel of this frequency.
    Switched { mhz: u32 },
    /// A scan has ended.
    Scanned,
    /// A scan has found nothing because it failed.
    ScanFailed,
}

/// The status code of a failed challenge (IEEE 802.11-2020, table 9-50).
const CHALLENGE: u16 = 15;

impl Event {
    /// Parses a message. `None`: it is another one.
    pub(super) fn parse(message: &str) -> Option<Self> {
        let (interface, rest) = message.strip_prefix("IFNAME=")?.split_once(' ')?;
        let (_level, text) = rest.strip_prefix('<')?.split_once('>')?;
        let mut words = text.split(' ');
        let value = |name: &str| {
            let mut words = text.split(' ');
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let number = |name: &str| {
            value(name)
                .and_then(|value| value.parse().ok())
                .unwrap_or_default()
        };
        let what = match words.next()? {
            "CTRL-EVENT-CONNECTED" => What::Connected,
            "CTRL-EVENT-DISCONNECTED" => What::Disconnected {
                reason: number("reason"),
            },
            "CTRL-EVENT-SSID-TEMP-DISABLED" if text.contains("reason=WRONG_KEY") => What::WrongKey,
            // WPA3: the access point has got another proof of the key than it expects (IEEE 802.11-2020
            // §12.4.7.6). `wpa_supplicant` 2.10 does not report it.
            "CTRL-EVENT-AUTH-REJECT"
                if value("auth_type") == Some("3") && number("status_code") == CHALLENGE =>
            {
                What::WrongKey
            }
            "CTRL-EVENT-EAP-TLS-CERT-ERROR" => What::Untrusted,
            "CTRL-EVENT-EAP-FAILURE" => What::LoginRefused,
            "CTRL-EVENT-ASSOC-REJECT" => What::Refused {
                status: number("status_code"),
            },
            "CTRL-EVENT-CHANNEL-SWITCH" => What::Switched {
                mhz: value("freq")?.parse().ok()?,
            },
            "CTRL-EVENT-SCAN-RESULTS" => What::Scanned,
            "CTRL-EVENT-SCAN-FAILED" => What::ScanFailed,
            _ => return None,
        };
        Some(Self {
            interface: interface.to_owned(),
            what,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_each_kind_are_read() {
        #[rustfmt::skip]
        let table = [
            ("CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]", Some(What::Connected)),
            ("CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=4 locally_generated=1", Some(What::Disconnected { reason: 4 })),
            ("CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid=\"first\" auth_failures=1 duration=10 reason=WRONG_KEY", Some(What::WrongKey)),
            ("CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid=\"first\" auth_failures=1 duration=10 reason=CONN_FAILED", None),
            ("CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=3 auth_transaction=2 status_code=15", Some(What::WrongKey)),
            ("CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=3 auth_transaction=1 status_code=76", None),
            ("CTRL-EVENT-EAP-FAILURE EAP authentication failed", Some(What::LoginRefused)),
            ("CTRL-EVENT-EAP-TLS-CERT-ERROR reason=1 depth=1 subject='/CN=other' err='unknown CA'", Some(What::Untrusted)),
            ("CTRL-EVENT-ASSOC-REJECT bssid=02:00:00:00:01:00 status_code=17", Some(What::Refused { status: 17 })),
            ("CTRL-EVENT-CHANNEL-SWITCH freq=2462 ht_enabled=0 ch_offset=0 ch_width=20 MHz", Some(What::Switched { mhz: 2462 })),
            ("CTRL-EVENT-CHANNEL-SWITCH freq=", None),
            ("CTRL-EVENT-SCAN-RESULTS ", Some(What::Scanned)),
            ("CTRL-EVENT-SCAN-FAILED ret=-132", Some(What::ScanFailed)),
            ("WPS-AP-AVAILABLE ", None),
        ];
        for (text, what) in table {
            let found = Event::parse(&format!("IFNAME=slow-w1 <3>{text}"));
            assert_eq!(found.as_ref().map(|event| event.what), what, "{text}");
            assert!(found.is_none_or(|event| event.interface == "slow-w1"));
        }
    }

    #[test]
    fn what_is_no_event_of_an_interface_is_none() {
        for text in [
            "",
            "OK",
            "<3>CTRL-EVENT-CONNECTED",
            "IFNAME=x",
            "IFNAME=x <3",
            "IFNAME=x 3>CTRL",
        ] {
            assert_eq!(Event::parse(text), None, "{text}");
        }
    }
}

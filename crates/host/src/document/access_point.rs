//! Access points of the networks that the user named, in the documents of `status` and `why`.

use linux::nl80211::channel_number;
use linux::wifi::{PointReport, View};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// The access points of all named networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccessPoints {
    /// Each of them. A network of which none is heard has an entry, too.
    pub access_points: Vec<AccessPoint>,
    /// Why none can be joined; absent if nothing prevents it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The user's own interface whose place slowhand has (`take_over`); absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<String>,
}

/// An access point of a network that the user named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccessPoint {
    /// Name of its network.
    pub ssid: String,
    /// Its address; absent if none is heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bssid: Option<String>,
    /// Number of its channel; in 6 GHz, the centre frequency in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<u16>,
    /// Its signal when it was heard last, dBm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_dbm: Option<f64>,
    /// The interface that is joined to it, or is to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// URL of the network's captive portal, if its DHCP server gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portal: Option<String>,
    /// The DNS servers that its DHCP server gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolvers: Vec<Ipv4Addr>,
    /// Address or name and port of a relay, if its DHCP server announces one. It is not used unless the
    /// configuration names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
    /// `absent`, `heard`, `refused`, `joining`, `addressing`, `joined` or `lost`.
    pub state: String,
    /// Why it is not joined further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl From<&View> for AccessPoints {
    fn from(view: &View) -> Self {
        Self {
            access_points: view.points.iter().map(AccessPoint::from).collect(),
            trouble: view.trouble.clone(),
            taken_over: view.taken_over.clone(),
        }
    }
}

impl AccessPoints {
    /// A sentence for each, one for what prevents all of them, and one for what is taken from the user.
    pub fn sentences(&self) -> String {
        let trouble = self.trouble.iter();
        let trouble = trouble.map(|why| format!("access points cannot be joined: {why}\n"));
        let taken = self.taken_over.iter().map(|name| {
            format!(
                "slowhand has taken the place of {name}; `slowhand down` gives it back to NetworkManager\n"
            )
        });
        let points = self.access_points.iter().map(AccessPoint::sentence);
        trouble.chain(taken).chain(points).collect()
    }
}

impl From<&PointReport> for AccessPoint {
    fn from(report: &PointReport) -> Self {
        Self {
            ssid: report.ssid.clone(),
            bssid: report.bssid.map(|bssid| bssid.to_string()),
            channel: report.mhz.and_then(channel_number),
            signal_dbm: report.signal.map(|signal| f64::from(signal.as_mbm()) / 100.0),
            interface: report.interface.clone(),
            portal: report.portal.clone(),
            resolvers: report.resolvers.clone(),
            relay: report.relay.clone(),
            state: report.stage.id().to_owned(),
            why: report.why.clone(),
        }
    }
}

impl AccessPoint {
    fn sentence(&self) -> String {
        let mut words = vec![match &self.bssid {
            Some(bssid) => format!("network {} ({bssid})", self.ssid),
            None => format!("network {}", self.ssid),
        }];
        words.extend(self.channel.map(|channel| format!("channel {channel}")));
        words.extend(self.signal_dbm.map(|signal| format!("{signal:.0} dBm")));
        let mut text = format!("{}: {}", words.join(", "), self.state);
        text.extend(self.interface.iter().map(|name| format!(" as {name}")));
        text.extend(self.why.iter().map(|why| format!("; {why}")));
        text.extend(self.relay.iter().map(|relay| {
            format!("; its network announces the relay {relay}, which only `address` in [relay] turns on")
        }));
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::wifi::Stage;
    use units::{Dbm, MacAddr};

    #[test]
    fn what_is_taken_from_the_user_is_named() {
        let view = View {
            taken_over: Some("wlan0".into()),
            ..View::default()
        };
        assert_eq!(
            AccessPoints::from(&view).sentences(),
            "slowhand has taken the place of wlan0; `slowhand down` gives it back to NetworkManager\n"
        );
    }

    #[test]
    fn a_sentence_says_what_is_joined_and_why_not() {
        let joined = PointReport {
            ssid: "first".into(),
            bssid: Some(MacAddr::new([2, 0, 0, 0, 1, 0])),
            mhz: Some(2_437),
            signal: Some(Dbm::from_dbm(-58)),
            interface: Some("slow-w1".into()),
            portal: None,
            resolvers: Vec::new(),
            relay: Some("relay.example:4433".into()),
            stage: Stage::Joined,
            why: None,
        };
        let absent = PointReport {
            ssid: "second".into(),
            bssid: None,
            mhz: None,
            signal: None,
            interface: None,
            portal: None,
            resolvers: Vec::new(),
            relay: None,
            stage: Stage::Absent,
            why: Some("no access point of this name is heard".into()),
        };
        let said = [joined, absent].map(|report| AccessPoint::from(&report).sentence());
        assert_eq!(
            said,
            [
                "network first (02:00:00:00:01:00), channel 6, -58 dBm: joined as slow-w1; its network announces the relay relay.example:4433, which only `address` in [relay] turns on\n",
                "network second: absent; no access point of this name is heard\n",
            ]
        );
    }
}

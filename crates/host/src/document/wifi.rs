//! What a radio reports of a WiFi link, in the document of `status`.

use linux::daemon::{Report, WifiReport, WifiSource};
use linux::nl80211::channel_number;
use serde::{Deserialize, Serialize};

/// What a radio reports of a WiFi link. Counters begin with the association.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wifi {
    /// Address of the access point.
    pub bssid: String,
    /// Name of its network.
    pub ssid: String,
    /// Number of its channel; in 6 GHz, the centre frequency in MHz.
    pub channel: Option<u16>,
    /// Mean signal of its beacons, or that of its last frame, dBm.
    pub signal_dbm: Option<f64>,
    /// Rate of the last frame sent to it, Mb/s.
    pub tx_rate_mbps: Option<f64>,
    /// Packets sent to it.
    pub tx_packets: u32,
    /// Transmissions that had to be repeated.
    pub tx_retries: u32,
    /// Packets that were given up.
    pub tx_failed: u32,
    /// Where the facts about it come from: `monitor` (its frames), or `statistics` (the driver's counters:
    /// losses and airtime are unknown).
    pub source: String,
    /// Why no monitor interface hears its frames, although one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_monitor: Option<String>,
}

impl From<&WifiReport> for Wifi {
    fn from(report: &WifiReport) -> Self {
        Self {
            bssid: report.bssid.to_string(),
            ssid: report.ssid.clone(),
            channel: channel_number(report.mhz),
            signal_dbm: report.signal.map(|signal| f64::from(signal.as_mbm()) / 100.0),
            tx_rate_mbps: report.tx_rate.map(|rate| rate.as_bps() as f64 / 1e6),
            tx_packets: report.tx_packets,
            tx_retries: report.tx_retries,
            tx_failed: report.tx_failed,
            source: match report.source {
                WifiSource::Monitor => "monitor",
                WifiSource::Statistics => "statistics",
            }
            .to_owned(),
            no_monitor: report.no_monitor.clone(),
        }
    }
}

impl Wifi {
    /// The report as a sentence about the link called `name`.
    pub fn sentence(&self, name: &str) -> String {
        let ssid = if self.ssid.is_empty() {
            "a network of unknown name"
        } else {
            &self.ssid
        };
        let mut words = vec![format!("{name}: {ssid} ({})", self.bssid)];
        words.extend(self.channel.map(|channel| format!("channel {channel}")));
        words.extend(self.signal_dbm.map(|signal| format!("{signal:.0} dBm")));
        words.extend(self.tx_rate_mbps.map(|rate| format!("sends at {rate:.1} Mb/s")));
        let (retries, packets, failed) = (self.tx_retries, self.tx_packets, self.tx_failed);
        words.push(format!(
            "{retries} retries and {failed} losses in {packets} packets sent"
        ));
        words.push(if self.source == "monitor" {
            "measured on its frames".to_owned()
        } else {
            "from the driver's counters, without losses and airtime of what it receives".to_owned()
        });
        words.extend(self.no_monitor.clone());
        words.join(", ") + "\n"
    }
}

/// Which links no monitor interface hears, although one was wanted, and what follows.
pub(super) fn unheard(report: &Report) -> impl Iterator<Item = String> {
    report.links.iter().filter_map(|link| {
        let why = link.wifi.as_ref()?.no_monitor.as_ref()?;
        let name = &link.spec.name;
        Some(format!(
            "{name}: {why}; signal and beacons follow from the driver's counters, losses and airtime are unknown"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bitrate, Dbm, MacAddr};

    #[test]
    fn a_sentence_says_where_the_facts_come_from() {
        let report = WifiReport {
            bssid: MacAddr::new([2, 0, 0, 0, 0, 1]),
            ssid: "cafe".into(),
            mhz: 2_437,
            signal: Some(Dbm::from_dbm(-58)),
            tx_rate: Some(Bitrate::from_mbps(54)),
            tx_packets: 90,
            tx_retries: 9,
            tx_failed: 1,
            source: WifiSource::Statistics,
            no_monitor: None,
        };
        let said = |source, signal| {
            let report = WifiReport {
                source,
                signal,
                ..report.clone()
            };
            Wifi::from(&report).sentence("wlan0")
        };
        assert_eq!(
            said(WifiSource::Statistics, report.signal),
            "wlan0: cafe (02:00:00:00:00:01), channel 6, -58 dBm, sends at 54.0 Mb/s, 9 retries and 1 losses in 90 packets sent, from \
             the driver's counters, without losses and airtime of what it receives\n"
        );
        let wanted = WifiReport {
            no_monitor: Some("the driver of phy0 offers no monitor interface".into()),
            ..report.clone()
        };
        let wanted = Wifi::from(&wanted).sentence("wlan0");
        assert!(
            wanted.ends_with("of what it receives, the driver of phy0 offers no monitor interface\n"),
            "{wanted}"
        );
        assert_eq!(
            said(WifiSource::Monitor, None),
            "wlan0: cafe (02:00:00:00:00:01), channel 6, sends at 54.0 Mb/s, 9 retries and 1 losses in 90 packets sent, measured on its \
             frames\n"
        );
    }
}

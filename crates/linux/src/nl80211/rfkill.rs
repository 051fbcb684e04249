//! Switches that turn a radio off (rfkill).

use std::path::Path;

/// A switch of a WiFi radio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// What it switches, such as `phy0`.
    pub name: String,
    /// Software keeps the radio off.
    pub soft: bool,
    /// A button or the firmware keeps the radio off.
    pub hard: bool,
}

/// Reads the switches of WiFi radios below `root` (`/` on a host). Unreadable ones are left out.
pub fn switches(root: &Path) -> Vec<Switch> {
    let Ok(entries) = std::fs::read_dir(root.join("sys/class/rfkill")) else {
        return Vec::new();
    };
    let read = |directory: &Path| {
        let field = |name: &str| std::fs::read_to_string(directory.join(name)).ok();
        (field("type")?.trim() == "wlan").then_some(())?;
        Some(Switch {
            name: field("name")?.trim().to_owned(),
            soft: field("soft")?.trim() == "1",
            hard: field("hard")?.trim() == "1",
        })
    };
    let mut found: Vec<Switch> = entries.filter_map(|entry| read(&entry.ok()?.path())).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Names of the WiFi interfaces below `root`, whether or not the kernel has `nl80211`.
pub fn wifi_interfaces(root: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root.join("sys/class/net")) else {
        return Vec::new();
    };
    let is_wifi = |directory: &Path| {
        let event = std::fs::read_to_string(directory.join("uevent")).unwrap_or_default();
        event.lines().any(|line| line == "DEVTYPE=wlan") || directory.join("wireless").exists()
    };
    let mut found: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| is_wifi(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    found
}

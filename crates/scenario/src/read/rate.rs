//! How the rate of a frame is chosen: `rate_mbps`, `rate_control`, `ht`.

use crate::convert::letter;
use crate::document::Value;
use crate::plan::{Ht, RateControl, Standard, WalkerRate};
use crate::quantity::Quantity;
use crate::section::Section;
use crate::suggest;
use units::Bitrate;
use units::wifi::ht::{Band, Guard, Width};

/// What `rate_control` may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    Fixed,
    Aarf,
    Minstrel,
    MinstrelHt,
}

const CONTROLS: [(&str, Control); 4] = [
    ("fixed", Control::Fixed),
    ("aarf", Control::Aarf),
    ("minstrel", Control::Minstrel),
    ("minstrel-ht", Control::MinstrelHt),
];

pub(super) fn read(section: &Section<'_>, standard: Standard) -> RateControl {
    let given = rate(section, standard);
    let control = section
        .choice("rate_control", &CONTROLS)
        .unwrap_or(Control::Fixed);
    if control != Control::Fixed && given != RateControl::Auto {
        section.note(
            "rate_mbps",
            "a fixed rate contradicts a rate control",
            "remove `rate_mbps`, or set `rate_control = \"fixed\"`",
        );
    }
    if section.has("ht") && given != RateControl::Auto {
        section.note(
            "rate_mbps",
            "802.11n selects its rate by MCS",
            "remove `rate_mbps` and give `mcs` in `ht`",
        );
    }
    let right = if section.has("ht") {
        (Control::Minstrel, "\"minstrel-ht\", as 802.11n is enabled")
    } else {
        (
            Control::MinstrelHt,
            "\"minstrel\", or enable 802.11n: `ht = { streams = 2 }`",
        )
    };
    if control == right.0 {
        let what = "this rate control does not suit the access point";
        section.note("rate_control", what, format!("use {}", right.1));
    }
    match control {
        Control::Fixed => given,
        Control::Aarf => RateControl::Aarf,
        Control::Minstrel | Control::MinstrelHt => RateControl::Minstrel,
    }
}

/// The rate of a walker's radio, if it has one of its own.
pub(super) fn of_walker(section: &Section<'_>) -> Option<WalkerRate> {
    let entry = section.entry("rate_mbps")?;
    if matches!(&entry.node.value, Value::Text(word) if word == "auto") {
        return Some(WalkerRate::Auto);
    }
    let kbps = Quantity::MBPS.of(&entry.node.value).map(|bps| bps / 1_000);
    let standards = [Standard::A, Standard::B, Standard::G];
    let mut known = standards.iter().flat_map(|standard| standard.rates_kbps());
    let found = known.find(|&&rate| Some(i64::from(rate)) == kbps);
    if found.is_none() {
        section.note(
            "rate_mbps",
            "802.11a, b and g have no such rate",
            "use a rate of the access points' standard, or \"auto\"",
        );
    }
    found.map(|&rate| WalkerRate::Fixed(Bitrate::from_kbps(u64::from(rate))))
}

fn rate(section: &Section<'_>, standard: Standard) -> RateControl {
    match section.entry("rate_mbps").map(|entry| &entry.node.value) {
        None => RateControl::Auto,
        Some(Value::Text(word)) if word == "auto" => RateControl::Auto,
        Some(value) => fixed(section, standard, value),
    }
}

fn fixed(section: &Section<'_>, standard: Standard, value: &Value) -> RateControl {
    let kbps = Quantity::MBPS.of(value).map(|bps| bps / 1_000);
    let known = standard.rates_kbps();
    match known.iter().find(|&&rate| Some(i64::from(rate)) == kbps) {
        Some(&rate) => RateControl::Fixed(Bitrate::from_kbps(u64::from(rate))),
        None => {
            let rates: Vec<String> = known
                .iter()
                .map(|&rate| (f64::from(rate) / 1e3).to_string())
                .collect();
            section.note(
                "rate_mbps",
                format!("802.11{} has no such rate", letter(standard)),
                format!("use {} or {}", rates.join(", "), suggest::one_of(["auto"])),
            );
            RateControl::Auto
        }
    }
}

/// Notes it if there are no 40 MHz from this channel upwards.
fn check_upper_half(ht: &Section<'_>, standard: Standard, channel: u8) {
    let band = Band::of(standard);
    let right = match band {
        Band::Ghz2 => "channel 1 to 9",
        Band::Ghz5 => "channel 36 to 60 or 100 to 140 in steps of 8, 149 or 157",
    };
    if band.upper_half(channel).is_none() {
        ht.note(
            "width_mhz",
            format!("no 40 MHz channel starts at channel {channel}"),
            format!("use {right}, or 20 MHz"),
        );
    }
}

/// What there is of 802.11n; of a scheme that it says nothing of, the fastest.
pub(super) fn ht(section: &Section<'_>, standard: Standard, channel: u8) -> Option<Ht> {
    let table = section.child("ht", format!("`ht` of {}", section.what))?;
    if standard == Standard::B {
        section.note(
            "ht",
            "802.11n cannot extend 802.11b",
            "use standard \"a\" or \"g\", or remove `ht`",
        );
    }
    let streams = table.count("streams", 1..=4).unwrap_or(1);
    let width = match table.count("width_mhz", 20..=40) {
        None | Some(20) => Width::Mhz20,
        Some(40) => {
            check_upper_half(&table, standard, channel);
            Width::Mhz40
        }
        Some(_) => {
            table.note("width_mhz", "802.11n has no such channel width", "give 20 or 40");
            Width::Mhz20
        }
    };
    let short = table.flag("short_guard").unwrap_or(false);
    let ht = Ht {
        streams: streams as u8,
        width,
        guard: if short { Guard::Short } else { Guard::Long },
        mcs: table.count("mcs", 0..=streams * 8 - 1).unwrap_or(streams * 8 - 1) as u8,
    };
    table.finish();
    Some(ht)
}

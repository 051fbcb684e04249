//! Refuses invalid networks.

use alloc::format;
use alloc::string::{String, ToString};
use units::{Bitrate, Duration, Ratio};

use super::{
    CableConfig, CellConfig, CellRate, ConfigError, Holes, LinkConfig, Medium, NetworkConfig, RateControl,
    Rules, Thresholds, WifiConfig,
};
use crate::LinkId;

pub(crate) fn check(config: &NetworkConfig) -> Result<(), ConfigError> {
    let links = &config.links;
    let numbered = links.len() + config.other_links().count();
    if numbered > usize::from(u16::MAX) + 1 {
        return Err(ConfigError::TooManyLinks(numbered));
    }
    for (index, link) in links.iter().enumerate() {
        if links[..index].iter().any(|earlier| earlier.name() == link.name()) {
            return Err(ConfigError::DuplicateName(link.name().to_string()));
        }
        match link {
            LinkConfig::Cable(cable) => cable_is_sound(cable, config.bottlenecks.len())?,
            LinkConfig::Cell(cell) => cell_is_sound(cell)?,
            LinkConfig::Wifi(wifi) => wifi_is_sound(wifi)?,
        }
    }
    hosts_are_sound(config)?;
    if config.medium != Medium::Frames {
        coarse_is_enough(config)?;
    }
    if config.medium == Medium::Weighted {
        links.iter().try_for_each(has_a_turn)?;
    }
    let mut bottlenecks = config.bottlenecks.iter();
    bottlenecks.try_for_each(|shared| moves(&shared.name, &[shared.up, shared.down]))
}

/// Checks that the links of other hosts exist.
fn hosts_are_sound(config: &NetworkConfig) -> Result<(), ConfigError> {
    let known = config.links.len();
    match config
        .other_links()
        .find(|link| usize::from(link.through.0) >= known)
    {
        None => Ok(()),
        Some(link) => Err(ConfigError::UnknownLink {
            host: link.host.name.clone(),
            index: link.through.0,
            known,
        }),
    }
}

/// Checks that no option needs the exact medium.
fn coarse_is_enough(config: &NetworkConfig) -> Result<(), ConfigError> {
    let finer = |link: &LinkConfig| match link {
        LinkConfig::Wifi(wifi) => {
            wifi.ht.is_some()
                || wifi.control != RateControl::Fixed
                || wifi.fq_codel
                || !wifi.management
                || wifi.ad_hoc
                || wifi.thresholds != Thresholds::default()
        }
        LinkConfig::Cable(_) | LinkConfig::Cell(_) => false,
    };
    let link = config.links.iter().find(|link| finer(link)).map(LinkConfig::name);
    let noise = config.noise.first().map(|noise| noise.name.as_str());
    let is_wifi = |link: LinkId| matches!(config.links[usize::from(link.0)], LinkConfig::Wifi(_));
    let host = config.other_links().find(|link| is_wifi(link.through));
    let host = host.map(|link| link.host.name.as_str());
    let what = if config.rules != Rules::default() {
        "a value of the air other than the standard's".to_string()
    } else if config.thresholds != Thresholds::default() {
        "a threshold of the client's".to_string()
    } else if config.power_save {
        "a client that saves power".to_string()
    } else if config.single_radio {
        "a client with a single radio".to_string()
    } else if !config.background.flows.is_empty() {
        "the traffic of other stations, or to everyone,".to_string()
    } else if let Some(name) = link.or(noise).or(host) {
        format!("`{name}`")
    } else {
        return Ok(());
    };
    Err(ConfigError::Finer { what })
}

fn has_a_turn(link: &LinkConfig) -> Result<(), ConfigError> {
    match link {
        LinkConfig::Wifi(wifi)
            if wifi
                .turn
                .is_none_or(|turn| turn.packet.is_zero() || turn.weight == 0) =>
        {
            Err(ConfigError::Turn(wifi.name.clone()))
        }
        _ => Ok(()),
    }
}

fn moves(name: &str, rates: &[Bitrate]) -> Result<(), ConfigError> {
    if rates.contains(&Bitrate::ZERO) {
        return Err(ConfigError::NoRate(name.to_string()));
    }
    Ok(())
}

fn cable_is_sound(cable: &CableConfig, known: usize) -> Result<(), ConfigError> {
    match cable.behind {
        None => moves(&cable.name, &[cable.up.rate, cable.down.rate]),
        Some(index) if index < known => Ok(()),
        Some(index) => Err(ConfigError::UnknownBottleneck {
            link: cable.name.clone(),
            index,
            known,
        }),
    }
}

fn cell_is_sound(cell: &CellConfig) -> Result<(), ConfigError> {
    for lane in [&cell.up, &cell.down] {
        match &lane.rate {
            CellRate::Constant(rate) => moves(&cell.name, &[*rate])?,
            CellRate::Trace(times) => trace_is_sound(&cell.name, times)?,
        }
    }
    if cell
        .repeats
        .is_some_and(|repeats| repeats.most == 0 || repeats.loss >= Ratio::ONE)
    {
        return Err(ConfigError::Repeats(cell.name.clone()));
    }
    if holes_are_sound(&cell.holes) {
        return Ok(());
    }
    Err(ConfigError::Holes(cell.name.clone()))
}

fn trace_is_sound(link: &str, times: &[Duration]) -> Result<(), ConfigError> {
    if let Some(index) = times.windows(2).position(|pair| pair[1] < pair[0]) {
        return Err(ConfigError::TraceGoesBack {
            link: link.to_string(),
            index: index + 1,
        });
    }
    match times.last() {
        Some(last) if !last.is_zero() => Ok(()),
        _ => Err(ConfigError::EmptyTrace(link.to_string())),
    }
}

fn holes_are_sound(holes: &Holes) -> bool {
    let end = |&(at, length): &(Duration, Duration)| at.saturating_add(length);
    let apart = holes.spans.windows(2).all(|pair| end(&pair[0]) <= pair[1].0);
    let within = |period| holes.spans.last().is_none_or(|last| end(last) <= period);
    let length: Duration = holes
        .spans
        .iter()
        .fold(Duration::ZERO, |sum, span| sum.saturating_add(span.1));
    apart
        && holes
            .period
            .is_none_or(|period| within(period) && length < period)
}

fn wifi_is_sound(wifi: &WifiConfig) -> Result<(), ConfigError> {
    moves(&wifi.name, &[wifi.backhaul.up, wifi.backhaul.down])?;
    let (exists, band, right) = super::wifi::channels(wifi.standard);
    let link = String::from(&wifi.name);
    if !exists(wifi.channel) {
        let channel = wifi.channel;
        return Err(ConfigError::Channel {
            link,
            channel,
            band,
            right,
        });
    }
    let known = |rate: Bitrate| {
        let mut rates = wifi.standard.rates_kbps().iter();
        rates.any(|&kbps| Bitrate::from_kbps(kbps.into()) == rate)
    };
    match wifi.rate {
        Some(rate) if !known(rate) => Err(ConfigError::Rate { link, rate, band }),
        _ => Ok(()),
    }
}

//! A scenario's network as the lab plays it: its level of detail, and what the lab refuses.

use super::{NoController, StockSender, others, walkers};
use links::air;
use links::{Medium, NetworkConfig};
use scenario::{AccessPoint, ErrorModel, Plan, Rules, Server, Tcp, Thing, Thresholds, Transport, models};
use std::collections::BTreeSet;
use thiserror::Error;

/// Why a valid plan cannot be played here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The sender does not have the controller.
    #[error(transparent)]
    Sender(#[from] StockSender),
    /// No host has the controller.
    #[error(transparent)]
    Controller(#[from] NoController),
    /// Kernels reply, but the fair queue models one direction only.
    #[error(
        "`medium = \"wfq\"` needs virtual time, as only what access points send takes air; remove it, or use `--world sim`"
    )]
    Coarse,
    /// A sleeping radio wakes for the beacons of one access point.
    #[error(
        "`{walker}` saves power and can wake for the beacons of one access point only, but channel {channel} has several; remove `power_save`, or move the others to other channels"
    )]
    SleepsTwice {
        /// The walker.
        walker: String,
        /// The channel.
        channel: u8,
    },
    /// Walkers with flows of their own TCP have hosts, and the lab has room for a few.
    #[error(
        "`{0}` would be the fifth walker with a host of its own, and the lab has room for four beside the client; let another walker carry its flows (`by`), or remove them"
    )]
    TooManyHosts(String),
    /// Only the client's radio can sleep.
    #[error(
        "`{0}` saves power, and in the lab only the client's radio can sleep; remove `power_save` from `{0}`"
    )]
    Sleeps(String),
    /// Datagrams have one server address.
    #[error(
        "flow `{0}` is UDP, which the lab sends over IPv4 only; remove it, or all `families` and `server_families`"
    )]
    Datagrams(String),
    /// The server listens for signal reports at its IPv4 address.
    #[error(
        "`server = \"slowhand\"` hears signal reports over IPv4 only; remove it, or all `families` and `server_families`"
    )]
    Reports,
    /// Relay and agent of the lab have IPv4 addresses.
    #[error("`relay` has IPv4 only in the lab; remove it, or all `families` and `server_families`")]
    RelayOverV6,
    /// Hosts of the lab join by beacons.
    #[error(
        "`{0}` has `management = false`, which needs virtual time, as hosts of the lab join by beacons; remove it, or use `--world sim`"
    )]
    Unmanaged(String),
    /// Counters of kernels and links begin with the run.
    #[error(
        "`warmup_s` needs virtual time, as the lab counts from the start of the run; remove it, or use `--world sim`"
    )]
    Warmup,
    /// Hosts of the lab are kernels.
    #[error(
        "[tcp] differs from Linux's defaults, which needs virtual time, as hosts of the lab run this machine's TCP; remove it, or use `--world sim`"
    )]
    Tcp,
    /// Radios of the lab send as their access points do.
    #[error(
        "`{0}` has its own `rate_mbps`, which only virtual time supports; remove it, or use `--world sim`"
    )]
    OwnRate(String),
    /// The models refused it.
    #[error(transparent)]
    Model(#[from] links::ConfigError),
}

impl PlanError {
    /// The part of the plan that it is about; `None`: no single part.
    pub fn about(&self) -> Option<Thing<'_>> {
        match self {
            Self::TooManyHosts(walker) | Self::Sleeps(walker) | Self::OwnRate(walker) => {
                Some(Thing::Walker(walker))
            }
            Self::SleepsTwice { walker, .. } => Some(Thing::Walker(walker)),
            Self::Coarse => Some(Thing::Medium),
            Self::Warmup => Some(Thing::Warmup),
            Self::Tcp => Some(Thing::Tcp),
            Self::RelayOverV6 => Some(Thing::Relay),
            Self::Unmanaged(link) => Some(Thing::Link(link)),
            Self::Sender(sender) => Some(Thing::Flow(&sender.flow)),
            Self::Datagrams(flow) => Some(Thing::Flow(flow)),
            Self::Reports | Self::Controller(_) | Self::Model(_) => None,
        }
    }
}

/// The network of a run with this seed.
pub fn network_config(plan: &Plan, seed: u64) -> Result<NetworkConfig, PlanError> {
    if plan.medium == scenario::Medium::Wfq {
        return Err(PlanError::Coarse);
    }
    if !plan.warmup.is_zero() {
        return Err(PlanError::Warmup);
    }
    if plan.tcp != Tcp::default() {
        return Err(PlanError::Tcp);
    }
    if let Some((link, _)) = plan.access_points().find(|(_, ap)| !ap.management) {
        return Err(PlanError::Unmanaged(plan.links[link].name.clone()));
    }
    refuse_two_beacons(plan)?;
    refuse_v6(plan)?;
    if let Some(walker) = plan.walkers.iter().find(|walker| walker.rate.is_some()) {
        return Err(PlanError::OwnRate(walker.name.clone()));
    }
    Ok(NetworkConfig {
        medium: medium(plan),
        background: models::background(plan),
        hosts: walkers::in_network(plan)?,
        ..models::network(plan, seed)
    })
}

/// Refuses several access points on the channel of a sleeping radio, which wakes for the beacons of one.
fn refuse_two_beacons(plan: &Plan) -> Result<(), PlanError> {
    let Some(client) = plan.walkers.first().filter(|client| client.power_save) else {
        return Ok(());
    };
    let mut channels = BTreeSet::new();
    match plan.access_points().find(|(_, ap)| !channels.insert(ap.channel)) {
        None => Ok(()),
        Some((_, second)) => Err(PlanError::SleepsTwice {
            walker: client.name.clone(),
            channel: second.channel,
        }),
    }
}

/// Refuses what has no IPv6 here.
fn refuse_v6(plan: &Plan) -> Result<(), PlanError> {
    if !plan.uses_v6() {
        return Ok(());
    }
    if plan.server == Server::Slowhand {
        return Err(PlanError::Reports);
    }
    if plan.relay.is_some() {
        return Err(PlanError::RelayOverV6);
    }
    let mut flows = plan.flows.iter();
    match flows.find(|flow| matches!(flow.transport, Transport::Udp { .. })) {
        Some(flow) => Err(PlanError::Datagrams(flow.name.clone())),
        None => Ok(()),
    }
}

/// Models every frame if a plan says so, or needs what the coarse medium lacks.
fn medium(plan: &Plan) -> Medium {
    let usual = Thresholds::default();
    let finer = |ap: &AccessPoint| {
        ap.ht.is_some()
            || models::control(ap.rate) != air::RateControl::Fixed
            || ap.thresholds != usual
            || ap.propagation.error_model != ErrorModel::Nist
            || ap.fq_codel
            || ap.ad_hoc
    };
    let asked = plan.medium == scenario::Medium::Exact
        || others::flows(plan).next().is_some()
        || walkers::any_on_air(plan)
        || !plan.place.noises.is_empty()
        || !plan.losses.is_empty()
        || plan.rules != Rules::default()
        || plan
            .walkers
            .first()
            .is_some_and(|client| client.thresholds != usual || client.power_save || client.radio.is_some());
    if asked || plan.access_points().any(|(_, ap)| finer(ap)) {
        Medium::Frames
    } else {
        Medium::Exchanges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use links::LinkConfig;

    fn plan(top: &str, ap: &str, flow: &str) -> Plan {
        let text = format!(
            "sentence = \"x\"\nduration_s = 9\n{top}\n[aps.hall]\nat_m = [3, 0]\nstandard = \"a\"\nchannel = 36\n{ap}\n\
             backhaul = {{ rate_mbps = 9, rtt_ms = 9 }}\n[walkers.client]\nat_m = [0, 0]\n[flows.radio]\n{flow}\n"
        );
        let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
        scenario::parse("x.toml", text.as_bytes(), &[], &no_files).unwrap()
    }

    const DOWN: &str = "direction = \"down\"";

    #[test]
    fn scenarios_that_need_frames_get_the_exact_medium() {
        let medium = |top, ap| network_config(&plan(top, ap, DOWN), 1).unwrap().medium;
        assert_eq!(medium("", ""), Medium::Exchanges);
        assert_eq!(medium("medium = \"exact\"", ""), Medium::Frames);
        assert_eq!(medium("", "rate_control = \"minstrel\""), Medium::Frames);
        assert_eq!(medium("", "ht = { streams = 2 }"), Medium::Frames);
        assert_eq!(medium("air = { attempts = 4 }", ""), Medium::Frames);
        assert_eq!(medium("air = { attempts = 7 }", ""), Medium::Exchanges);
        assert_eq!(medium("", "aqm = \"fq-codel\""), Medium::Frames);
        assert_eq!(medium("", "rts_threshold_bytes = 500"), Medium::Frames);
        assert_eq!(medium("", "error_model = \"table\""), Medium::Frames);
        assert_eq!(medium("", "error_model = \"nist\""), Medium::Exchanges);
        assert_eq!(medium("air = { carrier_sense_dbm = -90 }", ""), Medium::Frames);
        let oven = "[noises.oven]\nat_m = [6, 1]\nchannel = 36";
        assert_eq!(medium(oven, ""), Medium::Frames);
    }

    #[test]
    fn air_settings_reach_the_models() {
        let air = "air = { attempts = 4, capture_db = \"never\", no_retry_bit_on_rate_change = true, energy_detection_dbm = -70 }";
        let config = network_config(&plan(air, "rts_threshold_bytes = 500", DOWN), 1).unwrap();
        assert_eq!((config.rules.attempts, config.rules.capture), (Some(4), None));
        assert!(config.rules.no_retry_bit_on_rate_change);
        let LinkConfig::Wifi(ap) = &config.links[0] else {
            panic!("{:?}", config.links)
        };
        assert_eq!((ap.thresholds.rts, config.thresholds.rts), (Some(500), None));
        assert_eq!(ap.thresholds.energy_detection, config.thresholds.energy_detection);
        assert!(links::Network::new(1, config).is_ok());
    }

    #[test]
    fn unsupported_scenarios_are_refused_with_a_remedy() {
        let refused = |plan: Plan| {
            let error = network_config(&plan, 1).unwrap_err();
            plan.spots.say(error.about(), &error)
        };
        let queue = plan("medium = \"wfq\"", "wfq = { packet_ms = 1, weight = 1 }", DOWN);
        let message = refused(queue);
        assert!(
            message.starts_with("x.toml:3:10: ") && message.contains("--world sim"),
            "{message}"
        );
        let message = refused(plan("tcp = { growth = \"per-ack\" }", "", DOWN));
        assert!(
            message.starts_with("x.toml:3:1: [tcp] differs from Linux's defaults, which needs virtual time"),
            "{message}"
        );
        assert!(network_config(&plan("tcp = { growth = \"per-segment\" }", "", DOWN), 1).is_ok());
        let families = "server_families = \"ipv4-first\"";
        let reports = format!("{families}\nserver = \"slowhand\"");
        let message = refused(plan(&reports, "", DOWN));
        assert!(
            message.contains("hears signal reports over IPv4 only"),
            "{message}"
        );
        let udp = "direction = \"down\"\ntransport = \"udp\"\nover = \"hall\"";
        let message = refused(plan(families, "", udp));
        assert!(message.contains("flow `radio` is UDP"), "{message}");
        let mut sleeper = plan("", "", DOWN);
        sleeper.walkers[0].power_save = true;
        assert!(network_config(&sleeper, 1).unwrap().power_save);
        let second = scenario::Link {
            name: "attic".to_owned(),
            ..sleeper.links[0].clone()
        };
        sleeper.links.push(second);
        let message = refused(sleeper);
        assert!(
            message.starts_with("x.toml:10:10: `client` saves power and can wake for the beacons of one access point only, but channel 36 has several"),
            "{message}"
        );
    }
}

//! Why a link is used, or is a backup.

use super::{Named, Names, steer};
use crate::estimate::mobility::HANDOFF;
use crate::io::Role;
use crate::io::reason::{Choice, Energy, Handover, SlowLink};
use alloc::format;
use alloc::string::String;

pub(super) fn sentence(choice: Choice, names: &(impl Names + ?Sized)) -> String {
    match choice {
        Choice::Healthy => String::from("it is up and healthy"),
        Choice::BestOfChannel { signal, expected } => {
            format!("the best access point of its channel: signal {signal}, about {expected} expected")
        }
        Choice::ChannelUnknown { signal, expected } => format!(
            "signal {signal}, about {expected} expected; its channel is unknown, so it is not compared with other access points"
        ),
        Choice::LastResort => String::from("no better link is alive"),
        Choice::Role(role) => String::from(by_role(role)),
        Choice::Fading { signal, slope } => {
            let tenths = slope.as_centi().unsigned_abs().saturating_add(5) / 10;
            let sign = if slope.as_centi() < 0 && tenths > 0 {
                "-"
            } else {
                ""
            };
            let (whole, tenth) = (tenths / 10, tenths % 10);
            format!("its signal is fading: {signal}, {sign}{whole}.{tenth} dB/s")
        }
        Choice::WorseOnChannel { better } => format!(
            "{} is better, and both would share the airtime of one channel",
            Named(better, names)
        ),
        Choice::PrimariesFull { goodput, capacity } => {
            format!("the primaries are full: they carry {goodput} of {capacity}")
        }
        Choice::Trial => String::from(
            "its goodput is unknown, and the peer takes no more subflows: it replaces the slowest link for a trial",
        ),
        Choice::LowTraffic { quickest, latency } => {
            let ms = latency.as_millis();
            match quickest {
                None => format!("low traffic: this link has the lowest latency ({ms} ms)"),
                Some(link) => format!(
                    "low traffic: {} has the lowest latency ({ms} ms)",
                    Named(link, names)
                ),
            }
        }
        Choice::Slow(slow) => slow_link(slow),
        Choice::Steer(steer) => steer::sentence(steer),
        Choice::Energy(energy) => by_energy(energy),
        Choice::Handover(handover) => by_handover(handover),
        Choice::PlainTcp => String::from("the policy is plain TCP over this link"),
        Choice::KernelPaths => String::from("it has an address, so the kernel's path manager may use it"),
        Choice::Foreseen { carries } => {
            format!("it will carry the most of all links in the next ten seconds: {carries}")
        }
    }
}

const fn by_role(role: Role) -> &'static str {
    match role {
        Role::Secondary => "its role is secondary: it carries data only while the primaries are full",
        Role::Backup => "its role is backup: it carries data only when no other link does",
        Role::Primary => "its role is primary",
        Role::Never => "its role is never",
    }
}

fn slow_link(slow: SlowLink) -> String {
    match slow {
        SlowLink::Blocks { rate, sum, held } => {
            format!("head-of-line blocking: it carries {rate} of {sum}, and {held} are out of order")
        }
        SlowLink::NoGain { with, without } => {
            format!("its use gained too little: goodput was {with} with it and {without} without it")
        }
        SlowLink::Gain { with, without } => {
            format!("its use pays off: goodput was {with} with it and {without} without it")
        }
        SlowLink::Tried { before } => {
            format!("a trial shows whether goodput rises above {before} with it")
        }
        SlowLink::FastEnough { rate, others } => {
            format!("fast enough: it may carry {rate}, and the others carry {others}")
        }
        SlowLink::OnlyLink => String::from("it is the only link of the connection"),
        SlowLink::FasterGone => String::from("the faster links are gone"),
    }
}

fn by_handover(handover: Handover) -> String {
    match handover {
        Handover::NoAccessPoint => String::from("no usable access point"),
        Handover::Stronger => format!(
            "it is clearly stronger than the previous access point, whose signal-to-noise ratio fell below {HANDOFF}"
        ),
        Handover::MostBeacons { heard } => {
            format!("most beacons when it was chosen: {heard} in two seconds")
        }
        Handover::FirstUsable => String::from(
            "the first access point with a carrier and an address, since no beacons are reported",
        ),
    }
}

fn by_energy(energy: Energy) -> String {
    match energy {
        Energy::Comparing => String::from("all radios are on to compare their bits per joule"),
        Energy::NothingUsable => String::from("no radio can carry data"),
        Energy::Best { bits_per_joule } => {
            let hundredths = bits_per_joule / 10_000;
            let (whole, rest) = (hundredths / 100, hundredths % 100);
            format!("it moves the most data per joule: {whole}.{rest:02} Mb")
        }
        Energy::ShortAssociations { association, tail } => format!(
            "associations last {} s, less than the {} s that the cellular radio stays awake anyway",
            association.as_secs(),
            tail.as_secs()
        ),
    }
}

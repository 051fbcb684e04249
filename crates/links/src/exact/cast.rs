//! Maps a network's access points and client to stations of the exact medium.

use alloc::format;
use alloc::vec::Vec;
use units::Duration;
use units::wifi::Standard;

use crate::air::wlan::{AccessPointConfig, ClientConfig, InterfaceId, WlanConfig};
use crate::air::{Addresses, AirConfig, Discipline, StationConfig, StationId, StationKind};
use crate::config::{Codel, LinkConfig, Medium, NetworkConfig, OtherHost, QueueLimit, Thresholds};
use crate::wifi::{Propagation, Radio, WifiConfig};
use crate::{ConfigError, LinkId};

/// Packet size that converts a queue limit in bytes to packets.
const FULL_PACKET: u64 = 1_500;
/// Packets of a queue whose limit depends on the link.
const DEFAULT_QUEUE: usize = 200;
/// A target that no sojourn time reaches, so CoDel never drops. Only FQ-CoDel's round robin among receivers
/// remains.
const NEVER: Duration = Duration::from_secs(86_400);

/// Where a single radio of 2.4 GHz may look for access points besides their channels: the three that do not
/// overlap.
const SCANNED: [u8; 3] = [1, 6, 11];

/// The participants.
pub(crate) struct Cast<'c> {
    pub(crate) wlan: WlanConfig,
    /// The access points, in the order of their links, and after them other hosts' associations with them.
    pub(crate) members: Vec<Member<'c>>,
    /// The client's radios, one for each channel, or a single one.
    pub(crate) radios: Vec<StationId>,
    /// The stations with background traffic.
    pub(crate) others: Vec<StationId>,
}

/// Addresses and roles of the stations on the exact medium, for monitor interfaces.
#[derive(Debug, Clone)]
pub struct Stations {
    /// Addresses, and what stations announce about themselves.
    pub addresses: Addresses,
    /// The access point of each WiFi link.
    pub access_points: Vec<(LinkId, StationId)>,
    /// The channels of access points, each with the client's radio for it.
    pub radios: Vec<(u8, StationId)>,
}

impl NetworkConfig {
    /// Addresses and roles of the stations. `None` on a medium without frames.
    ///
    /// # Errors
    /// As [`crate::Network::new`] for the air.
    pub fn stations(&self) -> Result<Option<Stations>, ConfigError> {
        if self.medium != Medium::Frames {
            return Ok(None);
        }
        let cast = Cast::of(self)?;
        let air = &cast.wlan.air;
        let count = access_points(self).count();
        let networks = access_points(self).map(|(_, wifi)| match wifi.ad_hoc {
            true => StationKind::Peer,
            false => StationKind::AccessPoint,
        });
        let clients = core::iter::repeat_n(StationKind::Client, air.stations.len() - count);
        let kinds = networks.chain(clients).collect();
        let own = cast.members[..count].iter();
        let mut radios: Vec<(u8, StationId)> = own.map(|own| (own.config.channel, own.radio)).collect();
        radios.sort_unstable();
        radios.dedup();
        Ok(Some(Stations {
            addresses: Addresses::of(air, kinds),
            access_points: cast.members[..count]
                .iter()
                .map(|member| (member.link, member.station))
                .collect(),
            radios,
        }))
    }
}

/// An access point, and the radio of the client, or of another host, on its channel.
pub(crate) struct Member<'c> {
    pub(crate) link: LinkId,
    /// With its index in the configuration. `None`: the client's.
    pub(crate) host: Option<(u16, &'c OtherHost)>,
    pub(crate) config: &'c WifiConfig,
    pub(crate) station: StationId,
    pub(crate) radio: StationId,
    pub(crate) interface: InterfaceId,
}

impl<'c> Member<'c> {
    /// The owner and the channel of its radio. A `single` radio of the client has no channel of its own.
    fn radio_of(&self, single: bool) -> (Option<&'c str>, Option<u8>) {
        let channel = Some(self.config.channel).filter(|_| self.host.is_some() || !single);
        (self.host.map(|(_, host)| &*host.name), channel)
    }
}

impl<'c> Cast<'c> {
    pub(crate) fn of(config: &'c NetworkConfig) -> Result<Self, ConfigError> {
        let all: Vec<(LinkId, &WifiConfig)> = access_points(config).collect();
        let mut cast = Self {
            wlan: WlanConfig {
                air: AirConfig {
                    stations: Vec::new(),
                    propagation: propagation(&all)?,
                    walls: config.walls.clone(),
                    noise: config.noise.clone(),
                    rules: config.rules,
                    losses: config.losses.clone(),
                },
                access_points: Vec::new(),
                clients: Vec::new(),
            },
            members: Vec::new(),
            radios: Vec::new(),
            others: Vec::new(),
        };
        for (number, (_, wifi)) in all.iter().enumerate() {
            cast.add_access_point(StationId(number as u32), wifi);
        }
        for (number, &(link, wifi)) in all.iter().enumerate() {
            cast.members.push(Member {
                link,
                host: None,
                config: wifi,
                station: StationId(number as u32),
                // Until its channel's radio is known.
                radio: StationId(0),
                interface: InterfaceId(0),
            });
        }
        cast.meet_hosts(config, &all);
        cast.add_radios(config, &all)?;
        cast.add_others(config, &all)?;
        Ok(cast)
    }

    /// Adds the associations of other hosts.
    fn meet_hosts(&mut self, config: &'c NetworkConfig, all: &[(LinkId, &'c WifiConfig)]) {
        for link in config.other_links() {
            let place = all.iter().position(|(own, _)| *own == link.through);
            self.members.extend(place.map(|number| Member {
                link: link.id,
                host: Some((link.of, link.host)),
                config: all[number].1,
                station: StationId(number as u32),
                radio: StationId(0),
                interface: InterfaceId(0),
            }));
        }
    }

    fn add_access_point(&mut self, station: StationId, wifi: &WifiConfig) {
        self.wlan.air.stations.push(StationConfig {
            channel: wifi.channel,
            power: wifi.power,
            rate: wifi.rate.unwrap_or(wifi.standard.basic_rate()),
            ht: wifi.ht,
            control: wifi.control,
            queue: packets(wifi),
            discipline: discipline(wifi),
            ..StationConfig::new(&wifi.name, wifi.standard, wifi.position).with(wifi.thresholds)
        });
        let usual = AccessPointConfig::new(station, &wifi.name);
        self.wlan.access_points.push(AccessPointConfig {
            wire: None,
            join: Some(wifi.join),
            patience: usual.patience.filter(|_| wifi.management && !wifi.ad_hoc),
            ad_hoc: wifi.ad_hoc,
            beacon: usual.beacon.filter(|_| wifi.management),
            ..usual
        });
    }

    /// Adds a radio for the client, and for each other host, on each of its channels.
    fn add_radios(
        &mut self,
        config: &NetworkConfig,
        all: &[(LinkId, &WifiConfig)],
    ) -> Result<(), ConfigError> {
        let mut interfaces = (0..).map(InterfaceId);
        for place in 0..self.members.len() {
            let single = config.single_radio;
            let (owner, channel) = (
                self.members[place].radio_of(single),
                self.members[place].config.channel,
            );
            let earlier = &self.members[..place];
            if earlier.iter().any(|member| member.radio_of(single) == owner) {
                continue;
            }
            let Some((_, first)) = all.iter().find(|(_, wifi)| wifi.channel == channel) else {
                continue;
            };
            let radio = StationId(self.wlan.air.stations.len() as u32);
            let here = self
                .members
                .iter_mut()
                .filter(|member| member.radio_of(single) == owner);
            let (mut count, mut queue) = (0, 0);
            for member in here {
                if (member.config.standard, member.config.ht.is_some())
                    != (first.standard, first.ht.is_some())
                {
                    return Err(match owner.1 {
                        Some(channel) => ConfigError::Unlike { channel },
                        None => ConfigError::UnlikeRadio(member.config.name.clone()),
                    });
                }
                (member.radio, count, queue) = (radio, count + 1, queue + packets(member.config));
                member.interface = interfaces.next().unwrap_or(InterfaceId(0));
            }
            let host = self.members[place].host;
            if host.is_none() && config.power_save && count > 1 {
                return Err(ConfigError::SleepsTwice { channel });
            }
            let mut station = match host {
                None => client(("client", config.radio, config.thresholds), first, queue),
                Some((_, host)) => client((&host.name, host.radio, host.thresholds), first, queue),
            };
            if host.is_none() {
                self.radios.push(radio);
                let scans = single && first.standard != Standard::A;
                station.also.extend(SCANNED.iter().filter(|_| scans));
            }
            self.wlan.air.stations.push(station);
            self.wlan.clients.push(ClientConfig {
                interfaces: count,
                join: first.join,
                roams: host.is_none() && single,
                ..ClientConfig::new(radio)
            });
        }
        Ok(())
    }
}

impl Cast<'_> {
    /// Adds the stations with background traffic.
    fn add_others(
        &mut self,
        config: &NetworkConfig,
        all: &[(LinkId, &WifiConfig)],
    ) -> Result<(), ConfigError> {
        for (number, other) in config.background.stations.iter().enumerate() {
            let mut known = all.iter().filter(|(link, _)| *link == other.link);
            let channel = known.next().map(|(_, wifi)| wifi.channel);
            let mut here = all.iter().filter(|(_, wifi)| Some(wifi.channel) == channel);
            let Some((_, first)) = here.next() else {
                return Err(ConfigError::Background(number));
            };
            self.others.push(StationId(self.wlan.air.stations.len() as u32));
            let name = format!("{}@{}", other.name, first.channel);
            self.wlan.air.stations.push(StationConfig {
                channel: first.channel,
                power: other.power,
                rate: first.rate.unwrap_or(first.standard.basic_rate()),
                ht: first.ht,
                control: first.control,
                queue: packets(first),
                discipline: discipline(first),
                ..StationConfig::new(&name, first.standard, other.position).with(other.thresholds)
            });
        }
        Ok(())
    }
}

const fn discipline(wifi: &WifiConfig) -> Discipline {
    if wifi.fq_codel {
        Discipline::fq_codel()
    } else {
        Discipline::TailDrop
    }
}

/// A host's radio on the channel of this access point: its owner's name, place and power, and thresholds.
fn client(
    (owner, radio, thresholds): (&str, Radio, Thresholds),
    first: &WifiConfig,
    queue: usize,
) -> StationConfig {
    let name = format!("{owner}@{}", first.channel);
    let station = StationConfig::new(&name, first.standard, radio.position).with(thresholds);
    StationConfig {
        channel: first.channel,
        power: radio.power,
        rate: first.standard.basic_rate(),
        ht: first.ht,
        control: first.control,
        queue,
        discipline: if first.fq_codel {
            Discipline::fq_codel()
        } else {
            Discipline::FqCodel(Codel {
                target: NEVER,
                interval: NEVER,
                ecn: false,
            })
        },
        ..station
    }
}

pub(crate) fn access_points(config: &NetworkConfig) -> impl Iterator<Item = (LinkId, &WifiConfig)> {
    let numbered = config.links.iter().zip((0..).map(LinkId));
    numbered.filter_map(|(link, id)| match link {
        LinkConfig::Wifi(wifi) => Some((id, wifi)),
        LinkConfig::Cable(_) | LinkConfig::Cell(_) => None,
    })
}

/// Propagation of the whole place. Losses of one access point apply between it and the client only.
fn propagation(all: &[(LinkId, &WifiConfig)]) -> Result<Propagation, ConfigError> {
    let of = |wifi: &WifiConfig| Propagation {
        shadowing: None,
        ..wifi.propagation
    };
    let Some((_, first)) = all.first() else {
        return Ok(Propagation::indoor(units::wifi::Standard::G));
    };
    let whole = |wifi: &WifiConfig| {
        let Propagation {
            noise_figure,
            implementation_loss,
            error_model,
            fading,
            ..
        } = wifi.propagation;
        (noise_figure, implementation_loss, error_model, fading)
    };
    match all.iter().find(|(_, wifi)| whole(wifi) != whole(first)) {
        None => Ok(of(first)),
        Some((_, other)) => Err(ConfigError::OwnFading(other.name.clone())),
    }
}

fn packets(wifi: &WifiConfig) -> usize {
    let packets = match wifi.queue.limit {
        QueueLimit::Packets(packets) => packets as usize,
        QueueLimit::Bytes(bytes) => (bytes.get() / FULL_PACKET) as usize,
        QueueLimit::Time(time) => ((wifi.standard.basic_rate() * time).get() / FULL_PACKET) as usize,
        QueueLimit::Bdp => DEFAULT_QUEUE,
    };
    packets.max(1)
}

//! Plans shared by tests and benchmarks: one saturated cell, and a network of many cells.

use links::Position;
use links::air::{AirConfig, Destination, StationConfig, StationId};
use units::wifi::Standard;
use units::{Bitrate, Instant};

use crate::traffic::{Flow, Pace};

/// The stations of an air and their traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The stations.
    pub air: AirConfig,
    /// Their traffic.
    pub flows: Vec<Flow>,
}

/// Saturated flow of datagrams with `payload` bytes each.
pub const fn saturated(from: u32, to: u32, payload: u32) -> Flow {
    Flow {
        from: StationId(from),
        to: Destination::Station(StationId(to)),
        payload,
        pace: Pace::Saturated,
        start: Instant::ZERO,
    }
}

/// One cell: an access point (station 0) and `senders` saturated stations that send to it. All are in one
/// place, so that all signals are equally strong and no frame captures a receiver.
pub fn cell(standard: Standard, rate: Bitrate, senders: u32, payload: u32) -> Plan {
    let station = |number: u32| {
        let name = format!("station-{number}");
        StationConfig {
            rate,
            ..StationConfig::new(&name, standard, Position::default())
        }
    };
    Plan {
        air: AirConfig::new(standard, (0..=senders).map(station).collect()),
        flows: (1..=senders).map(|from| saturated(from, 0, payload)).collect(),
    }
}

/// Channels of a network: four that do not overlap, placed so that no two neighbouring cells share one.
const CHANNELS: [u8; 4] = [36, 40, 44, 48];
/// Distance between neighbouring access points, in mm.
const SPACING_MM: i64 = 50_000;
/// Maximum distance of a client from its access point on either axis, in mm.
const AROUND_MM: i64 = 15_000;

/// Network of `access_points` 802.11a access points in a square grid of 50 m on four channels. Each has
/// `clients` saturated clients around it, at 54 Mb/s. The density is independent of the number of access
/// points.
pub fn network(access_points: u32, clients: u32) -> Plan {
    let columns = access_points.isqrt().max(1);
    let group = clients + 1;
    let station = |number: u32| {
        let (cell, client) = (number / group, number % group);
        let (column, row) = (cell % columns, cell / columns);
        let name = format!("cell-{cell}-{client}");
        StationConfig {
            channel: CHANNELS[(column % 2 + row % 2 * 2) as usize],
            ..StationConfig::new(&name, Standard::A, beside(column, row, client))
        }
    };
    let numbers = 0..access_points * group;
    Plan {
        air: AirConfig::new(Standard::A, numbers.clone().map(station).collect()),
        flows: numbers
            .filter(|number| number % group > 0)
            .map(|number| saturated(number, number / group * group, 1_470))
            .collect(),
    }
}

/// Position of a station: the access point (client 0) is in the middle. The clients are spread evenly around
/// it by multiples of the golden ratio and its square.
fn beside(column: u32, row: u32, client: u32) -> Position {
    let spread = |ratio: u64| {
        let part = u64::from(client) * ratio % 1_000;
        if client == 0 {
            0
        } else {
            (part as i64 - 500) * AROUND_MM / 500
        }
    };
    Position {
        x_mm: i64::from(column) * SPACING_MM + spread(618),
        y_mm: i64::from(row) * SPACING_MM + spread(382 + 57),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_near_their_access_point_and_on_its_channel() {
        for access_points in [10, 100] {
            let plan = network(access_points, 10);
            assert_eq!(plan.air.stations.len() as u32, access_points * 11);
            for flow in &plan.flows {
                let Destination::Station(to) = flow.to else {
                    unreachable!("clients send to their access points")
                };
                let (from, to) = [flow.from, to]
                    .map(|station| &plan.air.stations[station.0 as usize])
                    .into();
                let apart = (from.position.x_mm - to.position.x_mm)
                    .abs()
                    .max((from.position.y_mm - to.position.y_mm).abs());
                assert!(from.channel == to.channel && apart <= AROUND_MM && apart > 0);
            }
        }
    }
}

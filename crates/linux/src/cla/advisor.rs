//! From what is said of a path to windows.

use crate::bpf::cc::{AddressEnd, Controller, OrderError, WindowOrder};
use crate::diag::{Diag, DiagError, States};
use crate::mptcp_pm::AddressId;
use crate::netlink;
use policy::cc::{MOST_PATHS, MobileStage, Report, bdp_upper_bound};
use policy::{ConnId, Outlook};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// What is said of one path, in cla's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// The path's address.
    pub address: AddressId,
    /// `MI` in parts of a million: negative when the signal sinks.
    pub mobility_ppm: i32,
    /// `Q` in parts of a million.
    pub quality_ppm: u32,
    /// The path is new, and follows one that was given up.
    pub handed_off: bool,
}

impl Advice {
    const fn is_fading(&self) -> bool {
        self.mobility_ppm < 0 && self.quality_ppm <= HALF_PPM
    }

    /// What the engine says of the link that the path uses.
    pub fn of(address: AddressId, outlook: &Outlook, handed_off: bool) -> Self {
        Self {
            address,
            mobility_ppm: outlook.mobility_ppm,
            quality_ppm: (outlook.quality.as_f64() * 1e6) as u32,
            handed_off,
        }
    }
}

/// At this quality or less another access point is as good.
const HALF_PPM: u32 = 500_000;

/// Why advice was not followed.
#[derive(Debug, Error)]
pub enum AdviceError {
    /// No netlink.
    #[error(transparent)]
    Open(#[from] netlink::OpenError),
    /// The connection's subflows could not be looked at.
    #[error(transparent)]
    Diag(#[from] DiagError),
    /// The controller takes no more.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// It is not CLA.
    #[error("`{0}` takes no orders about windows; load `cla`")]
    NotCla(String),
}

/// Follows advice about the connections of the calling thread's network namespace.
#[derive(Debug)]
pub struct Advisor {
    controller: Arc<Controller>,
    end: AddressEnd,
    conns: BTreeMap<ConnId, Known>,
}

/// What was said of a connection's paths so far.
#[derive(Debug, Default)]
struct Known {
    stage: MobileStage,
    /// A path keeps its place in the stage.
    paths: Vec<Advice>,
}

/// One path as its sender sees it now.
#[derive(Debug, Clone, Copy)]
struct Seen {
    rate: f64,
    base_rtt_s: f64,
    mss: u32,
    cwnd: u32,
}

type Paths = BTreeMap<AddressId, Seen>;

impl Advisor {
    /// For a sender whose connections use `controller`. `end`: whose addresses advice names.
    pub fn new(controller: Arc<Controller>, end: AddressEnd) -> Result<Self, AdviceError> {
        if controller.orders().is_none() {
            return Err(AdviceError::NotCla(controller.name().to_string()));
        }
        Ok(Self {
            controller,
            end,
            conns: BTreeMap::new(),
        })
    }

    /// Follows advice about one path; says how many windows were ordered.
    pub fn hear(&mut self, conn: ConnId, advice: Advice) -> Result<usize, AdviceError> {
        let mut seen = self.look()?;
        self.forget_closed(&seen)?;
        let Some(paths) = seen.remove(&conn) else {
            return Ok(0);
        };
        let known = self.conns.entry(conn).or_default();
        let Some(place) = known.place(advice) else {
            return Ok(0);
        };
        if advice.handed_off {
            known.stage.handed_off(place);
            let order = WindowOrder {
                cwnd: bdp_upper_bound(None),
                ssthresh: None,
            };
            self.order(conn, advice.address, order)?;
            return Ok(1);
        }
        let Some(windows) = known.windows(&paths) else {
            return Ok(0);
        };
        for &(address, cwnd) in &windows {
            let ssthresh = Some(cwnd);
            self.order(conn, address, WindowOrder { cwnd, ssthresh })?;
        }
        Ok(windows.len())
    }

    fn order(&self, conn: ConnId, address: AddressId, order: WindowOrder) -> Result<(), AdviceError> {
        let orders = self.controller.orders().expect("`new` has asked for them");
        Ok(orders.give(conn, self.end, address, order)?)
    }

    /// Every connection's paths.
    fn look(&self) -> Result<BTreeMap<ConnId, Paths>, AdviceError> {
        let mut found: BTreeMap<ConnId, Paths> = BTreeMap::new();
        let end = self.end;
        Diag::open()?.each_tcp(States::CONNECTED, |socket| {
            if let (Some(subflow), Some(info)) = (socket.subflow, &socket.info) {
                let address = match end {
                    AddressEnd::Local => subflow.local_id,
                    AddressEnd::Remote => subflow.remote_id,
                };
                let seen = Seen {
                    rate: info.delivery_rate.as_bps() as f64 / 8.0,
                    base_rtt_s: info.min_rtt.unwrap_or(info.rtt).as_secs_f64(),
                    mss: info.snd_mss,
                    cwnd: info.snd_cwnd,
                };
                found
                    .entry(ConnId(subflow.token.0))
                    .or_default()
                    .insert(address, seen);
            }
        })?;
        Ok(found)
    }

    /// Orders stand until they are taken back.
    fn forget_closed(&mut self, open: &BTreeMap<ConnId, Paths>) -> Result<(), AdviceError> {
        let closed: Vec<ConnId> = self
            .conns
            .keys()
            .filter(|conn| !open.contains_key(conn))
            .copied()
            .collect();
        for conn in closed {
            self.forget(conn)?;
        }
        Ok(())
    }

    /// Takes back everything ordered for a connection.
    pub fn forget(&mut self, conn: ConnId) -> Result<(), AdviceError> {
        let Some(known) = self.conns.remove(&conn) else {
            return Ok(());
        };
        let orders = self.controller.orders().expect("`new` has asked for them");
        for path in &known.paths {
            orders.take_back(conn, self.end, path.address)?;
        }
        Ok(())
    }
}

impl Known {
    /// Remembers what is said of a path, and where; `None` when the connection has too many.
    fn place(&mut self, advice: Advice) -> Option<usize> {
        let place = self.paths.iter().position(|path| path.address == advice.address);
        match place {
            Some(place) => self.paths[place] = advice,
            None if self.paths.len() < MOST_PATHS => self.paths.push(advice),
            None => return None,
        }
        place.or(Some(self.paths.len() - 1))
    }

    /// New windows, if a path has just begun to fade.
    fn windows(&mut self, seen: &Paths) -> Option<Vec<(AddressId, u32)>> {
        // Paths of which nothing was said have a steady signal.
        for &address in seen.keys() {
            if !self.paths.iter().any(|path| path.address == address) {
                let steady = Advice {
                    address,
                    mobility_ppm: 0,
                    quality_ppm: 1_000_000,
                    handed_off: false,
                };
                self.place(steady);
            }
        }
        let reports: Vec<Report> = self.paths.iter().map(|path| report(path, seen)).collect();
        let mss = seen.values().map(|path| path.mss).max()?;
        let windows = self.stage.report(&reports, mss)?;
        let ordered = self.paths.iter().zip(windows);
        let changes = |(path, window): &(&Advice, u32)| {
            let now = seen.get(&path.address);
            now.is_some_and(|now| path.is_fading() || *window > now.cwnd)
        };
        Some(
            ordered
                .filter(changes)
                .map(|(path, window)| (path.address, window))
                .collect(),
        )
    }
}

/// A path that has gone has no rate.
fn report(path: &Advice, seen: &Paths) -> Report {
    let seen = seen.get(&path.address);
    Report {
        rate: seen.map_or(0.0, |seen| seen.rate),
        base_rtt_s: seen.map_or(0.0, |seen| seen.base_rtt_s),
        mi: f64::from(path.mobility_ppm) / 1e6,
        q: f64::from(path.quality_ppm) / 1e6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn says(address: u8, mobility_ppm: i32, quality_ppm: u32) -> Advice {
        Advice {
            address: AddressId(address),
            mobility_ppm,
            quality_ppm,
            handed_off: false,
        }
    }

    fn seen(paths: &[(u8, f64, f64, u32)]) -> Paths {
        let path = |&(address, rate, base_rtt_s, cwnd)| {
            let mss = 1_448;
            (
                AddressId(address),
                Seen {
                    rate,
                    base_rtt_s,
                    mss,
                    cwnd,
                },
            )
        };
        paths.iter().map(path).collect()
    }

    #[test]
    fn a_path_that_begins_to_fade_gives_its_rate_to_those_nothing_was_said_of() {
        let mut known = Known::default();
        known.place(says(0, -800_000, 300_000));
        let paths = seen(&[(0, 1e6, 0.02, 30), (3, 2e6, 0.06, 90)]);
        let windows = known.windows(&paths).unwrap();
        assert_eq!(
            windows,
            [
                (AddressId(0), (4.4e5 * 0.02 / 1_448.0) as u32),
                (AddressId(3), (2.56e6 * 0.06 / 1_448.0) as u32)
            ]
        );
        // Once for each fading.
        assert_eq!(known.windows(&paths), None);
        known.place(says(0, 100_000, 600_000));
        assert_eq!(known.windows(&paths), None);
        known.place(says(0, -800_000, 300_000));
        assert!(known.windows(&paths).is_some());
    }

    #[test]
    fn a_path_that_does_not_fade_keeps_a_larger_window() {
        let mut known = Known::default();
        known.place(says(0, -800_000, 300_000));
        let paths = seen(&[(0, 1e6, 0.02, 30), (3, 2e6, 0.06, 200)]);
        let windows = known.windows(&paths).unwrap();
        assert_eq!(windows, [(AddressId(0), (4.4e5 * 0.02 / 1_448.0) as u32)]);
    }

    #[test]
    fn there_are_only_so_many_paths() {
        let mut known = Known::default();
        for address in 0..MOST_PATHS as u8 {
            assert_eq!(known.place(says(address, 0, 0)), Some(usize::from(address)));
        }
        assert_eq!(known.place(says(200, 0, 0)), None);
        assert_eq!(known.place(says(2, 1, 1)), Some(2));
    }
}

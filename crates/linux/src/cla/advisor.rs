//! Turns advice about paths into windows.

use crate::bpf::cc::{AddressEnd, Controller, OrderError, WindowOrder};
use crate::diag::{Diag, DiagError, States};
use crate::info::TcpInfo;
use crate::mptcp_pm::AddressId;
use crate::netlink;
use policy::cc::{MOST_PATHS, MobileStage, Report, bdp_upper_bound};
use policy::{ConnId, Outlook};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Advice about one path, in the terms of cla.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// The path's address id.
    pub address: AddressId,
    /// `MI` in parts per million. Negative if the signal weakens.
    pub mobility_ppm: i32,
    /// `Q` in parts per million.
    pub quality_ppm: u32,
    /// The path is new and replaces one that was abandoned.
    pub handed_off: bool,
}

impl Advice {
    const fn is_fading(&self) -> bool {
        self.mobility_ppm < 0 && self.quality_ppm <= HALF_PPM
    }

    /// Derives advice from the engine's outlook for the link of the path.
    pub fn of(address: AddressId, outlook: &Outlook, handed_off: bool) -> Self {
        Self {
            address,
            mobility_ppm: outlook.mobility_ppm,
            quality_ppm: (outlook.quality.as_f64() * 1e6) as u32,
            handed_off,
        }
    }
}

/// At this quality or below, another access point is as good.
const HALF_PPM: u32 = 500_000;
/// Smallest window, in segments.
const LEAST_WINDOW: u32 = 2;
/// RFC 9406's limits of `RttThresh`, in seconds. `RttThresh` is an eighth of the round trip, and a smaller
/// delay is not a queue.
const LEAST_JITTER_S: f64 = 0.004;
const MOST_JITTER_S: f64 = 0.016;
/// A path without a queue may have this many times the rate that it, or the previous access point, carried.
const HEADROOM: u32 = 2;

/// Why advice could not be followed.
#[derive(Debug, Error)]
pub enum AdviceError {
    /// The netlink socket could not be opened.
    #[error(transparent)]
    Open(#[from] netlink::OpenError),
    /// The connection's subflows could not be read.
    #[error(transparent)]
    Diag(#[from] DiagError),
    /// The controller accepts no more orders.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The controller is not CLA.
    #[error("`{0}` does not accept window orders; load `cla`")]
    NotCla(String),
}

/// Follows advice about the connections of the calling thread's network namespace.
#[derive(Debug)]
pub struct Advisor {
    controller: Arc<Controller>,
    end: AddressEnd,
    conns: BTreeMap<ConnId, Known>,
}

/// Advice about a connection's paths so far.
#[derive(Debug, Clone, Default)]
struct Known {
    stage: MobileStage,
    /// What the fading path carried when it began to fade, until a hand-off from it.
    faded: Option<Faded>,
    /// Each path keeps its index in the stage.
    paths: Vec<Advice>,
}

/// Traffic of a fading path.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Faded {
    /// Cookie of the socket that carried it.
    cookie: u64,
    /// Rate in bytes per second.
    rate: f64,
    /// Segment size in bytes.
    segment: f64,
}

/// The current state of a path at its sender.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Socket cookie. It distinguishes subflows with the same address.
    cookie: u64,
    /// Rate in bytes per second.
    rate: f64,
    base_rtt_s: f64,
    rtt_s: f64,
    /// Mean size of the segments in flight, in bytes. Windows count segments, and an application-limited
    /// sender sends small ones.
    segment: f64,
    cwnd: u32,
    in_slow_start: bool,
}

impl Seen {
    fn of(cookie: u64, info: &TcpInfo) -> Self {
        let gone = info.bytes_retrans.get().saturating_add(info.bytes_acked.get());
        let under_way = info.bytes_sent.get().saturating_sub(gone) as f64;
        let mss = f64::from(info.snd_mss.max(1));
        let segment = under_way / f64::from(info.unacked.max(1));
        let rtt_s = info.rtt.as_secs_f64();
        Self {
            cookie,
            rate: if rtt_s > 0.0 { under_way / rtt_s } else { 0.0 },
            base_rtt_s: info.min_rtt.unwrap_or(info.rtt).as_secs_f64(),
            rtt_s,
            segment: if segment >= 1.0 { segment.min(mss) } else { mss },
            cwnd: info.snd_cwnd,
            in_slow_start: info.snd_ssthresh.is_none_or(|ssthresh| info.snd_cwnd < ssthresh),
        }
    }

    /// Whether more data is queued than in flight. Then the rate is that of the path, and a smaller window
    /// loses none of it.
    fn has_queue(&self) -> bool {
        self.rtt_s > 2.0 * self.base_rtt_s
    }

    /// Round trip without a queue, in seconds: the minimum plus an allowance for jitter and transmission.
    fn without_queue_s(&self) -> f64 {
        let jitter_s = (self.base_rtt_s / 8.0).clamp(LEAST_JITTER_S, MOST_JITTER_S);
        self.rtt_s.min(self.base_rtt_s + jitter_s)
    }

    /// Whether a queue exists. More data would only lengthen it.
    fn has_no_room(&self) -> bool {
        self.rtt_s > self.without_queue_s()
    }

    /// `R·RTT` without a queue, in segments.
    fn segments(&self, bytes: u32) -> u32 {
        ((f64::from(bytes) / self.segment) as u32).max(LEAST_WINDOW)
    }

    /// New window of a path that does not fade, given the mobile stage's `tuned` window. `None` keeps the
    /// current one.
    fn of_another(&self, tuned: u32) -> Option<u32> {
        let window = match (self.has_queue(), self.in_slow_start) {
            (true, _) => self.cwnd.min(tuned),
            (false, true) => self.cwnd.clamp(tuned, tuned.saturating_mul(HEADROOM)),
            (false, false) => self.cwnd.max(tuned),
        };
        (self.in_slow_start || window != self.cwnd).then_some(window)
    }
}

type Paths = BTreeMap<AddressId, Seen>;

impl Advisor {
    /// Creates an advisor for a sender whose connections use `controller`. `end` says whose addresses the
    /// advice names.
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

    /// Follows advice about one path and returns the number of windows ordered.
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
            let order = known.beginning(paths.get(&advice.address));
            match order {
                Some(order) => self.order(conn, advice.address, order)?,
                // The order from the fading has expired, also for a new subflow with the same id.
                None => self.take_back(conn, advice.address)?,
            }
            return Ok(order.is_some().into());
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
        let orders = self
            .controller
            .orders()
            .expect("`new` checked that the controller has orders");
        Ok(orders.give(conn, self.end, address, order)?)
    }

    fn take_back(&self, conn: ConnId, address: AddressId) -> Result<(), AdviceError> {
        let orders = self
            .controller
            .orders()
            .expect("`new` checked that the controller has orders");
        orders.take_back(conn, self.end, address)?;
        Ok(())
    }

    /// Reads every connection's paths.
    fn look(&self) -> Result<BTreeMap<ConnId, Paths>, AdviceError> {
        let mut found: BTreeMap<ConnId, Paths> = BTreeMap::new();
        let end = self.end;
        Diag::open()?.each_tcp(States::CONNECTED, |socket| {
            if let (Some(subflow), Some(info)) = (socket.subflow, &socket.info) {
                let address = match end {
                    AddressEnd::Local => subflow.local_id,
                    AddressEnd::Remote => subflow.remote_id,
                };
                found
                    .entry(ConnId(subflow.token.0))
                    .or_default()
                    .insert(address, Seen::of(socket.cookie, info));
            }
        })?;
        Ok(found)
    }

    /// Withdraws the orders of closed connections. They stay in force until withdrawn.
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

    /// Withdraws all orders for a connection.
    pub fn forget(&mut self, conn: ConnId) -> Result<(), AdviceError> {
        let Some(known) = self.conns.remove(&conn) else {
            return Ok(());
        };
        known
            .paths
            .iter()
            .try_for_each(|path| self.take_back(conn, path.address))
    }
}

impl Known {
    /// Stores advice about a path and returns the path's index. `None` if the connection has too many paths.
    fn place(&mut self, advice: Advice) -> Option<usize> {
        let place = self.paths.iter().position(|path| path.address == advice.address);
        match place {
            Some(place) => self.paths[place] = advice,
            None if self.paths.len() < MOST_PATHS => self.paths.push(advice),
            None => return None,
        }
        place.or(Some(self.paths.len() - 1))
    }

    /// Returns new windows if a path has just begun to fade.
    fn windows(&mut self, seen: &Paths) -> Option<Vec<(AddressId, u32)>> {
        // Paths without advice have a steady signal.
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
        // With segments of one byte, windows are in bytes.
        let windows = self.stage.report(&reports, 1)?;
        let fading = self.paths.iter().filter(|path| path.is_fading());
        if let Some(path) = fading.filter_map(|path| seen.get(&path.address)).next() {
            self.faded = Some(Faded {
                cookie: path.cookie,
                rate: path.rate,
                segment: path.segment,
            });
        }
        let ordered = self.paths.iter().zip(windows).filter_map(|(path, bytes)| {
            let now = seen.get(&path.address)?;
            let window = now.segments(bytes);
            let window = if path.is_fading() {
                Some(window.min(now.cwnd))
            } else {
                now.of_another(window)
            };
            // An idle path has no rate, so nothing is gained from a new window.
            let window = window.filter(|_| now.rate > 0.0);
            Some((path.address, window?))
        });
        Some(ordered.collect())
    }

    /// Initial window after a hand-off: BDP_UB, with slow start up to twice what the previous subflow
    /// carried.
    ///
    /// `None` if no path is known to have faded, because a new subflow starts with that much by itself.
    /// `None` also if the subflow is the faded one and its path has changed under it. The kernel keeps its
    /// shortest round trip for minutes, so it still belongs to the previous path. A threshold from it would
    /// end slow start too early or too late.
    fn beginning(&mut self, after: Option<&Seen>) -> Option<WindowOrder> {
        let faded = self.faded.take()?;
        let after = after.filter(|after| after.cookie != faded.cookie)?;
        let cwnd = bdp_upper_bound(None);
        let segments = f64::from(HEADROOM) * faded.rate * after.base_rtt_s / faded.segment;
        let ssthresh = Some((segments as u32).max(cwnd));
        Some(WindowOrder { cwnd, ssthresh })
    }
}

/// Report for a path. A closed path has no rate and takes none.
fn report(path: &Advice, seen: &Paths) -> Report {
    let seen = seen.get(&path.address);
    Report {
        rate: seen.map_or(0.0, |seen| seen.rate),
        base_rtt_s: seen.map_or(0.0, Seen::without_queue_s),
        mi: f64::from(path.mobility_ppm) / 1e6,
        q: f64::from(path.quality_ppm) / 1e6,
        queued: seen.is_none_or(Seen::has_no_room),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    const fn says(address: u8, mobility_ppm: i32, quality_ppm: u32) -> Advice {
        Advice {
            address: AddressId(address),
            mobility_ppm,
            quality_ppm,
            handed_off: false,
        }
    }

    /// Each path as address id, bytes per second, base round trip, window.
    fn seen(paths: &[(u8, f64, f64, u32)]) -> Paths {
        let path = |&(address, rate, base_rtt_s, cwnd): &(u8, f64, f64, u32)| {
            let seen = Seen {
                cookie: u64::from(address),
                rate,
                base_rtt_s,
                rtt_s: base_rtt_s,
                segment: 1_448.0,
                cwnd,
                in_slow_start: false,
            };
            (AddressId(address), seen)
        };
        paths.iter().map(path).collect()
    }

    #[test]
    fn a_fading_path_gives_its_rate_to_paths_without_advice() {
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
        // Once per fading.
        assert_eq!(known.windows(&paths), None);
        known.place(says(0, 100_000, 600_000));
        assert_eq!(known.windows(&paths), None);
        known.place(says(0, -800_000, 300_000));
        assert!(known.windows(&paths).is_some());
    }

    #[test]
    fn a_steady_path_keeps_its_window() {
        let mut known = Known::default();
        known.place(says(0, -800_000, 300_000));
        let paths = seen(&[(0, 1e6, 0.02, 30), (3, 2e6, 0.06, 200)]);
        let fading = (AddressId(0), (4.4e5 * 0.02 / 1_448.0) as u32);
        assert_eq!(known.windows(&paths).unwrap(), [fading]);
    }

    #[test]
    fn slow_start_of_a_steady_path_ends() {
        let slow_start = |cwnd, rtt_s| Seen {
            cookie: 0,
            rate: 1e6,
            base_rtt_s: 0.06,
            rtt_s,
            segment: 1_448.0,
            cwnd,
            in_slow_start: true,
        };
        // At most twice and at least its intended rate, and exactly that rate if there is a queue.
        assert_eq!(slow_start(2_000, 0.06).of_another(50), Some(100));
        assert_eq!(slow_start(70, 0.06).of_another(50), Some(70));
        assert_eq!(slow_start(40, 0.06).of_another(50), Some(50));
        assert_eq!(slow_start(2_000, 0.2).of_another(50), Some(50));
        assert_eq!(slow_start(40, 0.2).of_another(50), Some(40));
        let steady = Seen {
            in_slow_start: false,
            ..slow_start(2_000, 0.06)
        };
        assert_eq!(steady.of_another(50), None);
    }

    #[test]
    fn a_short_queue_leaves_no_room() {
        let mut known = Known::default();
        known.place(says(0, -800_000, 300_000));
        let mut paths = seen(&[(0, 1e6, 0.02, 30), (3, 2e6, 0.06, 200)]);
        paths.get_mut(&AddressId(3)).unwrap().rtt_s = 0.07;
        // The fading path's window is lowered to its rate with 4 ms of jitter. The other's queue is too short
        // to be drained.
        paths.get_mut(&AddressId(0)).unwrap().rtt_s = 0.03;
        let fading = (AddressId(0), (1e6 * 0.024 / 1_448.0) as u32);
        assert_eq!(known.windows(&paths).unwrap(), [fading]);
    }

    #[test]
    fn an_idle_path_keeps_its_window() {
        let mut known = Known::default();
        known.place(says(0, -800_000, 300_000));
        let paths = seen(&[(0, 0.0, 0.02, 30), (3, 2e6, 0.06, 10)]);
        let other = (AddressId(3), (2e6 * 0.06 / 1_448.0) as u32);
        assert_eq!(known.windows(&paths).unwrap(), [other]);
    }

    #[test]
    fn a_fading_path_keeps_its_rate_if_the_others_have_queues() {
        let mut known = Known::default();
        known.place(says(0, -800_000, 300_000));
        let mut paths = seen(&[(0, 1e6, 0.02, 30), (3, 2e6, 0.06, 200)]);
        paths.get_mut(&AddressId(3)).unwrap().rtt_s = 0.15;
        let fading = (AddressId(0), (1e6 * 0.02 / 1_448.0) as u32);
        // 60 ms, plus the eighth of it that is not yet a queue.
        let other = (AddressId(3), (2e6 * 0.0675 / 1_448.0) as u32);
        assert_eq!(known.windows(&paths).unwrap(), [fading, other]);
    }

    #[test]
    fn windows_count_segments_of_the_actual_size() {
        let info = TcpInfo {
            bytes_sent: Bytes::new(60_000),
            bytes_retrans: Bytes::new(1_000),
            bytes_acked: Bytes::new(29_000),
            unacked: 100,
            snd_mss: 1_448,
            rtt: units::Duration::from_millis(50),
            ..TcpInfo::default()
        };
        let seen = Seen::of(7, &info);
        assert!((seen.segment - 300.0).abs() < 1e-9);
        // Data in flight divided by the round trip.
        assert!((seen.rate - 600_000.0).abs() < 1e-6);
        assert_eq!(seen.segments(9_000), 30);
        assert_eq!(seen.segments(0), LEAST_WINDOW);
        let idle = Seen::of(7, &TcpInfo { unacked: 0, ..info });
        assert!((idle.segment - 1_448.0).abs() < 1e-9);
    }

    #[test]
    fn slow_start_after_a_hand_off_ends_at_the_previous_rate() {
        let mut known = Known::default();
        known.place(says(0, -800_000, 300_000));
        let mut paths = seen(&[(0, 1.5e6, 0.02, 30)]);
        known.windows(&paths).unwrap();
        paths.extend(seen(&[(1, 0.0, 0.025, 10)]));
        let order = known.beginning(paths.get(&AddressId(1))).unwrap();
        assert_eq!(order.cwnd, bdp_upper_bound(None));
        assert_eq!(order.ssthresh, Some((2.0 * 1.5e6 * 0.025 / 1_448.0) as u32));
        // No path has faded in the meantime.
        assert_eq!(known.beginning(paths.get(&AddressId(1))), None);
    }

    #[test]
    fn a_subflow_whose_path_changed_under_it_gets_no_order() {
        let fades = || {
            let mut known = Known::default();
            known.place(says(0, -800_000, 300_000));
            let paths = seen(&[(0, 1.5e6, 0.02, 30)]);
            known.windows(&paths).unwrap();
            (known, paths)
        };
        let (mut known, paths) = fades();
        assert_eq!(known.beginning(paths.get(&AddressId(0))), None);
        // Another socket under the same address id is a new subflow.
        let (mut known, mut paths) = fades();
        paths.get_mut(&AddressId(0)).unwrap().cookie = 99;
        assert!(known.beginning(paths.get(&AddressId(0))).is_some());
        // A closed subflow cannot be ordered.
        let (mut known, _) = fades();
        assert_eq!(known.beginning(None), None);
    }

    #[test]
    fn the_number_of_paths_is_limited() {
        let mut known = Known::default();
        for address in 0..MOST_PATHS as u8 {
            assert_eq!(known.place(says(address, 0, 0)), Some(usize::from(address)));
        }
        assert_eq!(known.place(says(200, 0, 0)), None);
        assert_eq!(known.place(says(2, 1, 1)), Some(2));
    }
}

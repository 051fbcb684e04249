//! The client's airtime estimate against the exact medium of `links`, in which a station contends, transmits,
//! waits for its acknowledgement and retries. Nothing there uses the formula.

use links::Position;
use links::air::{
    Air, AirConfig, Counters, Destination, Ht, Input, Output, Packet, StationConfig, StationId,
};
use policy::estimate::airtime::{Exchange, Form};
use units::wifi::ht::{Band, Guard, Mode, Width};
use units::wifi::{ACK_BYTES, Standard};
use units::{Bitrate, Db, Dbm, Duration, Instant, Ratio};

const SENDER: StationId = StationId(0);
const PACKETS: u64 = 1_000;

/// A sender and a receiver, alone on the air.
fn pair(standard: Standard, rate: Bitrate, power: Dbm, attempts: u32) -> Air {
    let station = |name, x_mm| StationConfig {
        rate,
        power,
        // Low enough that only decoding, not carrier sense, loses frames.
        carrier_sense: Dbm::from_dbm(-110),
        ..StationConfig::new(name, standard, Position { x_mm, y_mm: 0 })
    };
    let mut config = AirConfig::new(standard, vec![station("ap", 0), station("client", 5_000)]);
    config.rules.attempts = Some(attempts);
    Air::new(11, &config).expect("a sound plan")
}

/// Counters of a sender that always has packets to send, and the time it took.
fn saturate(air: &mut Air, bytes: u32) -> (Counters, Duration) {
    queued(air, bytes, 2, PACKETS)
}

/// Sends packets with `waiting` of them queued at any time, until `packets` are sent.
fn queued(air: &mut Air, bytes: u32, waiting: u64, packets: u64) -> (Counters, Duration) {
    let packet = |token| Packet::new(Destination::Station(StationId(1)), bytes, token);
    (0..waiting).for_each(|token| air.handle(Instant::ZERO, Input::Send(SENDER, packet(token))));
    let (mut sent, mut now) = (waiting, Instant::ZERO);
    while let Some((at, _)) = air.wake_at() {
        air.tick(at);
        while let Some((done, output)) = air.poll_due() {
            if matches!(output, Output::Done { .. }) {
                now = done;
                if sent < packets {
                    air.handle(done, Input::Send(SENDER, packet(sent)));
                    sent += 1;
                }
            }
        }
    }
    (air.counters(SENDER), now - Instant::ZERO)
}

/// Loss of an attempt, the actual airtime of a delivered packet, and the client's estimate from that loss.
fn point(
    standard: Standard,
    rate: Bitrate,
    power: Dbm,
    attempts: u32,
    bytes: u32,
) -> Option<(f64, f64, f64)> {
    let (counters, took) = saturate(&mut pair(standard, rate, power, attempts), bytes);
    if counters.acknowledged < 50 {
        return None;
    }
    let loss = Ratio::from_fraction(counters.failures, counters.attempts);
    let exchange = Exchange::legacy(standard, rate, bytes).with_retries(attempts - 1);
    let reckoned = exchange.airtime(Form::PerDelivered, loss)?;
    Some((
        loss.as_f64(),
        took.as_secs_f64() / counters.acknowledged as f64,
        reckoned.as_secs_f64(),
    ))
}

/// What the formula leaves out: a sender continues at once if its acknowledgement does not start in time,
/// because the time-out is longer than DIFS.
fn gained(standard: Standard, rate: Bitrate) -> Duration {
    let ack = standard.frame_time(ACK_BYTES, standard.ack_rate(rate));
    let header = Duration::from_micros(if standard == Standard::B { 192 } else { 20 });
    let timeout = standard.sifs() + standard.slot() + header;
    standard.sifs() + ack + standard.difs() - timeout
}

/// Falling signal power, from no loss to hardly any delivery.
fn powers() -> impl Iterator<Item = Dbm> {
    (0..120).map(|step| Dbm::from_dbm(15) - Db::from_centi(50 * step))
}

#[test]
fn the_estimated_airtime_holds_at_any_loss() {
    for (standard, kbps) in [
        (Standard::A, 6_000),
        (Standard::A, 54_000),
        (Standard::G, 24_000),
        (Standard::B, 11_000),
    ] {
        for attempts in [1, 4, 7] {
            let rate = Bitrate::from_kbps(kbps);
            let points: Vec<(f64, f64, f64)> = powers()
                .filter_map(|power| point(standard, rate, power, attempts, 1_500))
                .collect();
            let gained = gained(standard, rate).as_secs_f64();
            for &(loss, was, reckoned) in &points {
                let expected = reckoned - gained * loss / (1.0 - loss);
                // 1,000 backoff draws scatter by 2 % of the backoff, and fewer packets are delivered where
                // most are lost.
                assert!(
                    (was / expected - 1.0).abs() < 0.025,
                    "{standard:?} {rate}, {attempts} attempts, loss {loss}: {was} s, not {expected}"
                );
                assert!(
                    (0.9..1.025).contains(&(was / reckoned)),
                    "{standard:?} {rate}: {was} s, not {reckoned}"
                );
            }
            for (from, to) in [(0.0, 0.01), (0.02, 0.4), (0.4, 0.95)] {
                let found = points.iter().any(|(loss, ..)| (from..to).contains(loss));
                assert!(
                    found,
                    "{standard:?} {rate}: no point between {from} and {to}: {points:?}"
                );
            }
        }
    }
}

#[test]
fn the_estimate_holds_for_short_packets() {
    for (standard, kbps) in [(Standard::A, 54_000), (Standard::G, 6_000), (Standard::B, 1_000)] {
        let rate = Bitrate::from_kbps(kbps);
        let (loss, was, reckoned) = point(standard, rate, Dbm::from_dbm(15), 7, 52).expect("5 m are near");
        assert!(
            loss < 0.001 && (was / reckoned - 1.0).abs() < 0.02,
            "{standard:?} {rate}: {loss}, {was} s, not {reckoned}"
        );
    }
}

/// Loss of a frame, the actual airtime of a delivered packet, and the client's estimate from that loss and
/// the aggregates' length.
fn aggregated(ht: Ht, x_mm: i64) -> Option<(f64, f64, f64)> {
    let station = |name, x_mm| StationConfig {
        ht: Some(ht),
        ..StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 })
    };
    let config = AirConfig::new(Standard::A, vec![station("ap", 0), station("client", x_mm)]);
    let mut air = Air::new(11, &config).expect("a sound plan");
    let (counters, took) = queued(&mut air, 1_500, 200, 20_000);
    if counters.acknowledged < 10_000 {
        return None;
    }
    let loss = Ratio::from_fraction(counters.failures, counters.attempts);
    let frames_milli = (counters.attempts * 1_000 / counters.aggregates.max(1)) as u32;
    let mode = Mode::new(ht.mcs, ht.width, ht.guard).expect("a mode of the table");
    let reckoned = Exchange::ht(mode, Band::Ghz5, 1_500, frames_milli).airtime(Form::PerDelivered, loss)?;
    Some((
        loss.as_f64(),
        took.as_secs_f64() / counters.acknowledged as f64,
        reckoned.as_secs_f64(),
    ))
}

#[test]
fn a_packet_in_an_aggregate_takes_its_share() {
    for (streams, width, guard) in [
        (1, Width::Mhz20, Guard::Long),
        (1, Width::Mhz40, Guard::Short),
        (2, Width::Mhz20, Guard::Short),
        (4, Width::Mhz40, Guard::Short),
    ] {
        let ht = Ht::new(streams, width, guard);
        let points: Vec<(f64, f64, f64)> = (2..40)
            .filter_map(|metres| aggregated(ht, metres * 1_000))
            .collect();
        for &(loss, was, reckoned) in points.iter().filter(|(loss, ..)| *loss < 0.4) {
            assert!(
                (was / reckoned - 1.0).abs() < 0.015,
                "{streams} streams, {width:?}, {guard:?}, loss {loss}: {was} s, not {reckoned}"
            );
        }
        let found = |from, to| points.iter().any(|(loss, ..)| (from..to).contains(loss));
        assert!(found(0.0, 0.001) && found(0.005, 0.4), "{points:?}");
    }
}

//! What limits a link, derived from what a client can see of the modelled air.

use links::wifi::Backhaul;
use links::{Direction, Input, LinkConfig, LinkId, Network, Packet, Position, WifiConfig};
use policy::estimate::airtime::{Contention, Exchange, Form};
use policy::estimate::bandwidth::{Bandwidth, Limit, Sight};
use units::wifi::Standard;
use units::{Bitrate, Bytes, Duration, Instant, Ratio};

const OURS: LinkId = LinkId(0);
const OTHERS: LinkId = LinkId(1);

/// Two access points near the client on one channel, both joined.
fn network(backhaul: Bitrate) -> Network {
    let access_point = |name, x_mm| WifiConfig::new(name, Position { x_mm, y_mm: 0 });
    let mut ours = access_point("ours", 3_000);
    ours.backhaul = Backhaul::new(backhaul, Duration::from_millis(5));
    let links = [ours, access_point("others", -3_000)].map(LinkConfig::Wifi);
    let mut network = Network::new(7, links.to_vec()).unwrap();
    for link in [OURS, OTHERS] {
        network.handle(Instant::ZERO, Input::Associate(link));
    }
    pass(&mut network, Instant::from_secs(2));
    network
}

fn pass(network: &mut Network, until: Instant) {
    while let Some((at, _)) = network.wake_at().filter(|(at, _)| *at <= until) {
        network.tick(at);
        while network.poll().is_some() {}
    }
    network.tick(until);
    while network.poll().is_some() {}
}

fn sight(network: &Network) -> Sight {
    let of = |link| network.counters(link);
    Sight {
        received: Bytes::new(of(OURS).delivered_bytes),
        busy: of(OURS).airtime + of(OTHERS).airtime,
        exchanges: of(OURS).frames + of(OTHERS).frames,
    }
}

/// Offers these rates to the two access points for three seconds. Returns the client's estimate.
fn seen(backhaul: Bitrate, ours: Bitrate, others: Bitrate) -> Bandwidth {
    let mut network = network(backhaul);
    let mut bandwidth = Bandwidth::new(&Contention::dcf(Standard::G));
    let exchange = Exchange::legacy(Standard::G, Bitrate::from_mbps(54), 1_500);
    let airtime = exchange.airtime(Form::PerDelivered, Ratio::ZERO);
    let tick = Duration::from_millis(1);
    let mut owed = [Bytes::ZERO; 2];
    for n in 0..3_000 {
        let now = Instant::from_secs(2) + tick * n;
        for (owed, (link, rate)) in owed.iter_mut().zip([(OURS, ours), (OTHERS, others)]) {
            *owed += rate * tick;
            while *owed >= Bytes::new(1_500) {
                *owed = *owed - Bytes::new(1_500);
                let packet = Packet {
                    link,
                    direction: Direction::Down,
                    bytes: 1_500,
                    ect: false,
                    flow: 0,
                    token: 0,
                };
                network.handle(now, Input::Packet(packet));
            }
        }
        pass(&mut network, now + tick);
        if n % 100 == 0 {
            bandwidth.read(now + tick, sight(&network), Bytes::new(1_500), airtime);
        }
    }
    bandwidth
}

const MUCH: Bitrate = Bitrate::from_mbps(60);
const WIRE: Bitrate = Bitrate::from_mbps(100);

#[test]
fn a_saturated_access_point_is_limited_by_its_air() {
    let bandwidth = seen(WIRE, MUCH, Bitrate::ZERO);
    assert_eq!(bandwidth.limit(), Some(Limit::Air), "{bandwidth:?}");
}

#[test]
fn a_slow_backhaul_is_distinguished_from_a_full_air() {
    let bandwidth = seen(Bitrate::from_mbps(5), MUCH, Bitrate::ZERO);
    assert_eq!(bandwidth.limit(), Some(Limit::Backhaul), "{bandwidth:?}");
    let bandwidth = seen(Bitrate::from_mbps(5), MUCH, Bitrate::from_mbps(10));
    assert_eq!(bandwidth.limit(), Some(Limit::Backhaul), "{bandwidth:?}");
}

#[test]
fn a_neighbour_can_fill_the_air() {
    let bandwidth = seen(WIRE, Bitrate::from_mbps(5), MUCH);
    assert_eq!(bandwidth.limit(), Some(Limit::Air), "{bandwidth:?}");
    let bandwidth = seen(WIRE, Bitrate::ZERO, MUCH);
    assert_eq!(bandwidth.limit(), Some(Limit::Idle), "{bandwidth:?}");
}

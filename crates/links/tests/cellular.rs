//! Cellular links beyond their rate: promotions, tails, local retransmissions.

use links::{
    CellConfig, Direction, DropReason, Input, LinkConfig, LinkId, Network, Output, Packet, RadioStates,
    Repeats,
};
use units::{Bitrate, Duration, Instant, Ratio};

fn network(change: impl Fn(&mut CellConfig)) -> Network {
    let mut cell = CellConfig::constant("cell", Bitrate::from_mbps(12), Duration::from_millis(20));
    change(&mut cell);
    Network::new(5, vec![LinkConfig::Cell(cell)]).unwrap()
}

fn send(network: &mut Network, ms: u64, token: u64) {
    let packet = Packet {
        link: LinkId(0),
        direction: Direction::Down,
        bytes: 1_500,
        ect: false,
        flow: 0,
        token,
    };
    network.handle(Instant::from_millis(ms), Input::Packet(packet));
}

/// Token and delay in ms of delivered packets, and tokens of lost ones.
fn run(network: &mut Network) -> (Vec<(u64, u128)>, Vec<u64>) {
    let (mut delivered, mut lost) = (Vec::new(), Vec::new());
    while let Some((at, _)) = network.wake_at() {
        network.tick(at);
    }
    while let Some((at, output)) = network.poll_due() {
        match output {
            Output::Delivered { packet, .. } => {
                delivered.push((
                    packet.token,
                    at.since(Instant::from_millis(packet.token)).as_millis(),
                ));
            }
            Output::Dropped { packet, reason } => {
                assert_eq!(reason, DropReason::Retries);
                lost.push(packet.token);
            }
            _ => {}
        }
    }
    (delivered, lost)
}

#[test]
fn a_radio_that_sleeps_wakes_slowly_and_stays_up_for_its_tail() {
    let mut network = network(|cell| cell.radio = Some(RadioStates::LTE));
    for ms in [0, 100, 5_000, 16_000, 30_000] {
        send(&mut network, ms, ms);
    }
    let (delivered, _) = run(&mut network);
    // 1 ms of transmission and 20 ms of propagation. The radio sleeps at first, and after more than 11.6 s
    // without a packet.
    assert_eq!(
        delivered,
        [(0, 280), (100, 180), (5_000, 21), (16_000, 21), (30_000, 280)]
    );
}

#[test]
fn local_repetitions_turn_loss_into_delay() {
    let mut network = network(|cell| cell.repeats = Some(Repeats::lte()));
    (0..50_000).for_each(|step| send(&mut network, step * 20, step * 20));
    let (delivered, lost) = run(&mut network);
    let late = |ms: u128| delivered.iter().filter(|(_, delay)| *delay >= ms).count() as f64 / 50_000.0;
    assert!((late(29) - 0.1).abs() < 0.01, "{}", late(29));
    assert!((late(37) - 0.01).abs() < 0.003, "{}", late(37));
    // One in ten thousand is lost for good: below the 0.1 % of imc13.
    assert!(!lost.is_empty() && lost.len() < 20, "{}", lost.len());
    assert!(
        delivered.iter().is_sorted_by_key(|&(token, _)| token),
        "order is kept"
    );
}

#[test]
fn a_buffer_holds_a_second_of_the_rate() {
    let mut network = network(|_| {});
    (0..1_500).for_each(|token| send(&mut network, 0, token));
    while let Some((at, _)) = network.wake_at() {
        network.tick(at);
    }
    let (mut delivered, mut full) = (Vec::new(), 0);
    while let Some((at, output)) = network.poll_due() {
        match output {
            Output::Delivered { .. } => delivered.push(at.as_millis()),
            Output::Dropped { reason, .. } => {
                assert_eq!(reason, DropReason::QueueFull);
                full += 1;
            }
            _ => {}
        }
    }
    // One is being sent, 1,000 are queued, 1 ms each: fifty times the delay of an empty cell.
    assert_eq!((delivered.len(), full), (1_001, 499));
    assert_eq!((delivered[0], delivered[1_000]), (21, 1_021));
}

#[test]
fn what_can_not_be_is_refused() {
    let cell = |repeats| {
        let mut cell = CellConfig::constant("cell", Bitrate::from_mbps(12), Duration::from_millis(20));
        cell.repeats = Some(repeats);
        Network::new(5, vec![LinkConfig::Cell(cell)])
            .unwrap_err()
            .to_string()
    };
    let never = Repeats {
        most: 0,
        ..Repeats::lte()
    };
    assert!(cell(never).contains("`cell`") && cell(never).contains("at least once"));
    let always = Repeats {
        loss: Ratio::ONE,
        ..Repeats::lte()
    };
    assert!(cell(always).contains("below 1"));
}

use super::*;
use crate::EventQueue;
use policy::cc::Controller;
use units::{Duration, Instant, Rng};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(20);
/// Service time of a transmission, so that no two arrive at the same time.
const SERVICE: Duration = Duration::from_micros(1);
const THRESHOLD: u32 = 20;

const fn config(controller: Controller, detection: Detection) -> Config {
    Config {
        detection,
        ssthresh: Some(THRESHOLD),
        ..Config::new(controller)
    }
}

/// Runs a sender for 1.5 s. `after` is the delay of each transmission's ACK, or `None` if it is lost.
fn play(config: Config, mut after: impl FnMut(Segment) -> Option<Duration>) -> Sender {
    let mut sender = Sender::new(config).unwrap();
    let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
    let (mut out, mut arrivals) = (Vec::new(), EventQueue::default());
    sender.send(now, &mut out);
    while now < Instant::from_millis(1_500) {
        for segment in out.drain(..) {
            free = free.max(now) + SERVICE;
            if let Some(after) = after(segment) {
                arrivals.push(free + after, segment);
            }
        }
        let arrives = arrivals.first();
        let Some(next) = [arrives, sender.wake_at()].into_iter().flatten().min() else {
            break;
        };
        now = next;
        if arrives == Some(now)
            && let Some((_, segment)) = arrivals.pop()
        {
            sender.acknowledge(now, &[segment]);
            sender.send(now, &mut out);
        } else {
            sender.wake(now, &mut out);
        }
    }
    sender
}

const fn is_first_of(segment: Segment, number: u64) -> bool {
    segment.number == number && !segment.retransmission
}

#[test]
fn a_sender_without_loss_only_grows() {
    for detection in [Detection::Linux, Detection::ThreeDuplicates] {
        let sender = play(config(Controller::Reno, detection), |_| Some(RTT));
        assert_eq!(sender.counts(), Counts::default());
        assert_eq!(sender.ssthresh(), Some(THRESHOLD));
        // One RTT for the first window, then one segment more per RTT.
        let rounds = 1_500 / 20 - 1;
        let cwnd = sender.cwnd();
        assert!(
            (THRESHOLD + rounds - 3..=THRESHOLD + rounds).contains(&cwnd),
            "{cwnd}"
        );
        let srtt = sender.round_trip().srtt().unwrap();
        assert!((RTT..RTT + MS).contains(&srtt), "{srtt:?}");
    }
}

#[test]
fn a_loss_is_repaired_once_and_halves_the_window_with_every_controller() {
    for controller in [
        Controller::Reno,
        Controller::Lia,
        Controller::Olia,
        Controller::Balia,
    ] {
        for detection in [Detection::Linux, Detection::ThreeDuplicates] {
            let lost = |segment| (!is_first_of(segment, 30)).then_some(RTT);
            let sender = play(config(controller, detection), lost);
            let expected = Counts {
                retransmits: 1,
                recoveries: 1,
                ..Counts::default()
            };
            assert_eq!(sender.counts(), expected, "{controller:?}, {detection:?}");
            let left = sender.ssthresh().unwrap();
            assert!((9..=11).contains(&left), "{controller:?}: {left}");
            assert!(sender.cwnd() > left && sender.scoreboard().first() > 1_000);
        }
    }
}

#[test]
fn a_spurious_loss_is_undone_with_timestamps() {
    for (detection, undone) in [(Detection::Linux, 1), (Detection::ThreeDuplicates, 0)] {
        let late = |segment| Some(if is_first_of(segment, 30) { 30 * MS } else { RTT });
        let sender = play(config(Controller::Reno, detection), late);
        let counts = sender.counts();
        assert_eq!((counts.retransmits, counts.undone), (1, undone), "{detection:?}");
        assert_eq!(sender.ssthresh() == Some(THRESHOLD), undone == 1, "{detection:?}");
        assert!(sender.scoreboard().seen_reordering());
    }
}

/// From 100 to 700 ms all transmissions are lost. The last ACK comes before 120 ms.
#[test]
fn an_outage_causes_a_probe_and_time_outs_with_back_off() {
    for (detection, probes) in [(Detection::Linux, 1), (Detection::ThreeDuplicates, 0)] {
        let mut retransmitted = Vec::new();
        let silent = Instant::from_millis(100)..Instant::from_millis(700);
        let sender = play(config(Controller::Reno, detection), |segment| {
            if segment.retransmission && retransmitted.len() < 2 {
                retransmitted.push(segment.sent);
            }
            (!silent.contains(&segment.sent)).then_some(RTT)
        });
        let counts = sender.counts();
        assert_eq!((counts.probes, counts.timeouts), (probes, 2), "{detection:?}");
        let waited = retransmitted[1] - retransmitted[0];
        assert!(
            (400 * MS..460 * MS).contains(&waited),
            "{detection:?}: {waited:?}"
        );
        assert!(sender.scoreboard().first() > 300, "the sender continues");
    }
}

#[test]
fn the_window_of_a_hand_off_applies_at_once_only_if_configured() {
    for (at_once, cwnd) in [(true, INITIAL_WINDOW), (false, 40)] {
        let steps = Steps {
            window_at_once: at_once,
            ..Steps::ordering(Ordered::ByThePathBefore)
        };
        let config = Config {
            initial_window: 40,
            ..Config::cla(steps)
        };
        let mut sender = Sender::new(config).unwrap();
        sender.hand_off(Instant::ZERO);
        assert_eq!(sender.cwnd(), cwnd);
        assert_eq!(sender.counts().orders, u64::from(at_once));
    }
}

#[test]
fn the_whole_stage_resets_the_estimates_at_a_hand_off() {
    for (cla, known) in [
        (None, true),
        (Some(Steps::KERNEL), true),
        (Some(Steps::WHOLE), false),
    ] {
        let config = Config {
            cla,
            ..config(Controller::Lia, Detection::Linux)
        };
        let mut sender = play(config, |_| Some(RTT));
        sender.hand_off(Instant::from_millis(1_500));
        assert_eq!(sender.round_trip().srtt().is_some(), known, "{cla:?}");
    }
}

#[test]
fn windows_out_of_range_are_rejected() {
    let reno = Config::new(Controller::Reno);
    for initial_window in [0, MAX_WINDOW + 1] {
        let refused = Sender::new(Config {
            initial_window,
            ..reno
        });
        assert_eq!(refused.err(), Some(ConfigError::InitialWindow(initial_window)));
    }
    let ssthresh = Some(1);
    let refused = Sender::new(Config { ssthresh, ..reno }).err();
    assert_eq!(refused, Some(ConfigError::Threshold(1)));
    assert_eq!(
        ConfigError::InitialWindow(0).to_string(),
        "an initial window of 0 segments; give it at least 1 and at most 741534"
    );
}

/// Arrivals of segments never sent, times that run backwards, hand-offs in between.
#[test]
fn random_inputs_keep_the_window_in_range() {
    let mut random = Rng::named(1, "anything");
    for kind in [Config::new(Controller::Balia), Config::cla(Steps::WHOLE)] {
        for _ in 0..100 {
            let mut sender = Sender::new(kind).unwrap();
            let (mut out, mut now) = (Vec::new(), Instant::ZERO);
            for _ in 0..100 {
                now = now + random.duration_up_to(50 * MS) - random.duration_up_to(10 * MS);
                match random.below(6) {
                    0 => sender.hand_off(now),
                    1 => sender.fade(),
                    2 => sender.acknowledge(now, &[]),
                    3 => sender.acknowledge(now, &[anything(&mut random)]),
                    4 => sender.wake(now, &mut out),
                    _ if out.is_empty() => {}
                    _ => {
                        let at = random.below(out.len() as u64) as usize;
                        sender.acknowledge(now, &[out[at]]);
                    }
                }
                sender.send(now, &mut out);
                assert!((1..=MAX_WINDOW).contains(&sender.cwnd()));
            }
        }
    }
}

fn anything(random: &mut Rng) -> Segment {
    let bits = random.below(64) as u32;
    Segment {
        sent: Instant::from_nanos(random.next_u64() >> bits),
        number: random.next_u64() >> bits,
        retransmission: random.below(2) == 0,
    }
}

use super::*;
use crate::air::{Destination, StationId};
use units::wifi::ht::{Guard, Width};

fn packet(token: u64) -> Packet {
    Packet::new(Destination::Station(StationId(1)), 1_498, token)
}

/// A session of 802.11n, with as many packets to send as it wants.
fn session(ht: Ht) -> (Session, Mode) {
    let mode = Mode::of_ht(ht.mode().unwrap());
    (Session::new(1, 0, Some(ht), Rate::Fixed(mode), mode), mode)
}

fn ht() -> Ht {
    Ht::new(1, Width::Mhz20, Guard::Long)
}

fn fill(session: &mut Session, from: u64, count: u64) {
    let (mut shared, mut tokens) = (SeqNum::new(77), from..from + count);
    let mut rng = Rng::named(1, "rates");
    session.fill((0, &mut rng), &mut shared, |most| {
        tokens.next().filter(|_| most > 1_540).map(packet)
    });
}

fn tokens(session: &Session) -> Vec<u64> {
    session.tried().map(|mpdu| mpdu.packet.token).collect()
}

fn delivered(session: &mut Session) -> Vec<u64> {
    let mut packets = Vec::new();
    session.deliver(&mut packets);
    packets.iter().map(|packet| packet.token).collect()
}

#[test]
fn an_aggregate_ends_at_its_limit_of_time() {
    let (mut session, mode) = session(ht());
    fill(&mut session, 0, 100);
    // 1,362 symbols of 260 bits within 5.484 ms: 44,261 bytes; a frame takes 4 + 1,536.
    assert_eq!(session.count(), 28);
    assert_eq!(session.psdu_bytes(), 28 * 1_540);
    let time = mode.time(units::wifi::Standard::A, session.psdu_bytes());
    assert!(time <= ht().time && mode.time(units::wifi::Standard::A, 29 * 1_540) > ht().time);
}

#[test]
fn an_aggregate_ends_at_its_limits_of_frames_and_bytes() {
    let fast = Ht::new(4, Width::Mhz40, Guard::Short);
    for (ht, frames) in [
        (fast, 42),
        (Ht { frames: 7, ..fast }, 7),
        (Ht { bytes: 8_000, ..fast }, 5),
        (Ht { frames: 1, ..fast }, 1),
    ] {
        let (mut session, _) = session(ht);
        fill(&mut session, 0, 100);
        assert_eq!(session.count(), frames, "{ht:?}");
    }
}

#[test]
fn without_802_11n_frames_go_one_by_one_and_share_the_senders_numbers() {
    let mode = Mode::basic(units::wifi::Standard::A);
    let mut session = Session::new(1, 0, None, Rate::Fixed(mode), mode);
    fill(&mut session, 0, 10);
    assert_eq!(session.count(), 1);
    assert_eq!(session.tried().next().unwrap().number, SeqNum::new(77));
}

#[test]
fn frames_behind_a_hole_wait_for_it() {
    let (mut session, _) = session(Ht { frames: 5, ..ht() });
    fill(&mut session, 0, 5);
    let got = session.receive(0b11101);
    assert_eq!(got, 0b11101);
    let said = session.scoreboard();
    assert_eq!((said.start.get(), said.bitmap), (0, 0b11101));
    assert_eq!(delivered(&mut session), [0]);
    let mut done = Vec::new();
    session.settle(got, &mut done);
    session.slide();
    assert_eq!(done.len(), 4);
    fill(&mut session, 5, 5);
    assert_eq!(tokens(&session), [1, 5, 6, 7, 8], "what failed goes first");
    // The second aggregate's first and third frame: 1 and 6.
    let got = session.receive(0b101);
    // Earlier frames count, too: 1 to 4 and 6.
    let said = session.scoreboard();
    assert_eq!((said.start.get(), said.bitmap), (1, 0b101111));
    assert_eq!(delivered(&mut session), [1, 2, 3, 4]);
    session.settle(got, &mut done);
    session.slide();
    assert_eq!(session.pending(), 3);
}

#[test]
fn a_frame_that_is_given_up_lets_the_others_pass() {
    let (mut session, _) = session(Ht { frames: 3, ..ht() });
    fill(&mut session, 0, 3);
    let got = session.receive(0b110);
    let mut done = Vec::new();
    session.settle(got, &mut done);
    assert!(delivered(&mut session).is_empty());
    session.attempt();
    assert_eq!(session.exhausted(Some(2)), 0);
    assert_eq!(session.exhausted(Some(1)), 0b001);
    session.settle(0b001, &mut done);
    assert_eq!(delivered(&mut session), [1, 2]);
    session.slide();
    assert_eq!((session.pending(), session.count()), (0, 0));
}

/// An RTS that nobody answers counts as an attempt but not as a frame: what follows is not a retransmission
/// yet.
#[test]
fn only_what_has_been_on_the_air_is_repeated() {
    let (mut session, _) = session(ht());
    fill(&mut session, 0, 1);
    let retry = |session: &Session| session.tried().next().unwrap().retry;
    session.attempt();
    session.attempt();
    session.sent(false);
    assert!(!retry(&session));
    session.attempt();
    session.sent(false);
    assert!(retry(&session));
}

#[test]
fn a_duplicate_is_handed_on_once() {
    let (mut session, _) = session(Ht { frames: 2, ..ht() });
    fill(&mut session, 0, 2);
    session.receive(0b11);
    assert_eq!(delivered(&mut session), [0, 1]);
    session.receive(0b11);
    assert!(delivered(&mut session).is_empty());
}

#[test]
fn the_window_never_spans_more_than_an_acknowledgement_can_say() {
    let (mut session, _) = session(Ht::new(4, Width::Mhz40, Guard::Short));
    let mut done = Vec::new();
    for round in 0..5 {
        fill(&mut session, round * 100, 100);
        // The first frame never arrives.
        let got = session.receive(!1);
        session.settle(got, &mut done);
        session.slide();
        assert!(session.window.len() <= WINDOW);
    }
    assert_eq!(done.len(), WINDOW - 1, "then only the first is left to send");
    assert_eq!(session.pending(), 1);
}

use super::super::faults::worker;
use super::*;

const AT: [MacAddr; 3] = [MacAddr::local(1), MacAddr::local(2), MacAddr::local(3)];
/// No host has it, so no program of the host learns of it.
const GONE: u32 = 0x7fff_fff0;

fn taken(now: Instant) -> Place {
    let mut place = Place::default();
    take(&mut place, now, "first");
    place
}

fn take(place: &mut Place, now: Instant, network: &str) {
    let from = TakenOver {
        name: "gone0".parse().unwrap(),
        ifindex: GONE,
    };
    place.take(now, from, heard(&[network]));
}

fn heard(networks: &[&str]) -> BTreeSet<String> {
    networks.iter().map(|&network| network.to_owned()).collect()
}

fn give_back(place: &mut Place, now: Instant) {
    place.give_back(now, Reason::Idle, std::iter::empty()).unwrap();
}

#[test]
fn the_place_goes_back_after_a_while_with_nothing_joined() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut place = taken(start);
    assert!(!place.is_idle(at(29)) && place.is_idle(at(30)));
    place.joined(at(29));
    assert!(!place.is_idle(at(58)) && place.is_idle(at(59)));
    assert!(!Place::default().is_idle(at(1_000)), "it is not taken");
}

#[test]
fn the_pause_before_it_is_taken_again_grows_until_something_is_joined() {
    let start = Instant::now();
    let mut place = taken(start);
    let mut now = start;
    let mut pauses = Vec::new();
    let first = heard(&["first"]);
    for _ in 0..8 {
        give_back(&mut place, now);
        let returned = now;
        while place.may_take(now, &first).is_err() {
            now += Duration::from_secs(10);
        }
        pauses.push(now.duration_since(returned).as_secs());
        take(&mut place, now, "first");
    }
    assert_eq!(pauses, [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
    place.joined(now);
    give_back(&mut place, now);
    assert_eq!(place.pause(), PAUSES.0);
    assert_eq!(place.may_take(now, &first), Err(Reason::Idle));
    place.begin_anew();
    assert!(place.may_take(now, &first).is_ok(), "the user may have fixed it");
}

#[test]
fn a_network_that_is_heard_anew_ends_a_long_pause() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut place = Place::default();
    for network in ["known", "silent", "known", "silent", "known"] {
        take(&mut place, start, network);
        give_back(&mut place, start);
    }
    let mut may = |seconds, networks: &[&str]| place.may_take(at(seconds), &heard(networks)).is_ok();
    assert!(!may(200, &["known", "silent"]));
    assert!(may(200, &["known", "new"]));
    assert!(!may(400, &["known"]));
    assert!(may(510, &["silent"]), "it was away for long");
    assert!(!may(59, &["new"]), "not at once");
}

#[test]
fn only_primary_networks_are_worth_the_place() {
    let (mut worker, _inlet) = worker(Instant::now(), Stage::Joined);
    for role in [Role::Never, Role::Backup] {
        worker.plan.setup.networks[1].role = role;
        let heard = ["first", "second", "other"].map(|ssid| ssid.as_bytes().to_vec());
        let worth = worker.worth_joining(AT.into_iter().zip(heard).collect());
        assert_eq!(worth, BTreeMap::from([(AT[0], "first".to_owned())]));
    }
}

#[test]
fn the_place_is_kept_while_something_is_joined_or_tried() {
    let start = Instant::now();
    let later = start + IDLE;
    for stage in [Stage::Joined, Stage::Joining, Stage::Addressing, Stage::Lost] {
        let (mut worker, _inlet) = worker(start, stage);
        worker.place = taken(start);
        worker.mind_place(later);
        assert!(worker.place.taken().is_some(), "{stage:?}");
        assert_eq!(worker.view().taken_over.as_deref(), Some("gone0"));
    }
    let (mut worker, _inlet) = worker(start, Stage::Joining);
    worker.place = taken(start);
    worker.close(AT[0]);
    worker.mind_place(later);
    assert!(worker.place.taken().is_none() && worker.place.owed.is_none());
    assert!(
        worker
            .trouble
            .unwrap()
            .contains("takes it again at most 60 s after that")
    );
}

#[test]
fn networks_that_refuse_do_not_cost_the_users_connection_each_minute() {
    let start = Instant::now();
    let (mut worker, _inlet) = worker(start, Stage::Joining);
    // None of its access points was ever listed while the place was taken.
    worker.dismiss(AT[0]);
    let mut now = start;
    for pause in [60, 120, 240] {
        take(&mut worker.place, now, "second");
        now += IDLE;
        worker.mind_place(now);
        let mut may = |seconds| {
            let heard = worker.worth_joining(vec![(AT[1], b"second".to_vec())]);
            let networks = heard.into_values().collect();
            worker
                .place
                .may_take(now + Duration::from_secs(seconds), &networks)
        };
        assert_eq!(may(pause - 1), Err(Reason::Idle));
        assert_eq!(may(pause), Ok(()));
        now += Duration::from_secs(pause);
    }
}

#[test]
fn what_is_owed_is_tried_again_and_nothing_is_joined_before() {
    let start = Instant::now();
    let (mut worker, _inlet) = worker(start, Stage::Joining);
    let from = taken(start).taken.unwrap().from;
    worker.place.owed = Some((from, start + AGAIN, "NetworkManager does not reply".into()));
    assert_eq!(worker.place.due(), Some(start + AGAIN));
    worker.mind_place(start);
    let refused = worker.make_room(start).unwrap_err().to_string();
    assert_eq!(refused, "NetworkManager does not reply");
    worker.mind_place(start + AGAIN);
    assert!(worker.place.owed.is_none(), "the interface has gone");
    assert!(worker.make_room(start).is_ok());
}

#[test]
fn an_interface_that_is_down_has_the_place_if_networkmanager_manages_it() {
    let of = |up, manages, early| claims_place(up, || manages, early);
    assert_eq!(of(true, None, false), Some(true));
    assert_eq!(of(false, Some(true), false), Some(true));
    assert_eq!(of(false, Some(false), true), Some(false));
    assert_eq!(of(false, None, false), Some(false), "the place is free");
    assert_eq!(of(false, None, true), None, "NetworkManager may start yet");
}

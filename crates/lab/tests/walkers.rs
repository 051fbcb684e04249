//! Walkers other than the client are hosts of their own: their TCP leaves from their own namespaces.

mod plans;
mod witness;

use lab::stop::Stop;
use lab::world::{PlanError, Play, PlayError, Played, play};
use linux::diag::{Diag, States};
use linux::netns::Netns;
use linux::netstat;
use linux::rtnl::Rtnl;
use plans::{plan, two_cables};
use scenario::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use trace::{Event, Flow, PolicyName, What};
use witness::{Witnesses, namespaces_of};

/// Each of these tests inspects all namespaces of this process, so they run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// The port of the lab's server.
const PORT: u16 = 5_001;

/// Two cables, with flows of the client and of a walker who stands beside it.
fn with_a_rival(seconds: u32, flows: &str) -> Plan {
    two_cables(
        seconds,
        &format!("[walkers.client]\nat_m = [0, 0]\n[walkers.rival]\nat_m = [1, 1]\n{flows}"),
    )
}

fn flow<'p>(played: &'p Played, name: &str) -> &'p Flow {
    let flow = played.run.flows.iter().find(|flow| flow.name == name);
    flow.unwrap_or_else(|| panic!("no flow {name}: {:#?}", played.run))
}

fn carried(flow: &Flow, link: &str) -> u64 {
    let path = flow.paths.iter().find(|path| path.link == link);
    path.map_or(0, |path| path.bytes)
}

/// What a namespace shows of the clients in it.
#[derive(Debug, PartialEq, Eq, Default)]
struct Sight {
    /// Its own addresses of connections to the server.
    addresses: BTreeSet<IpAddr>,
    /// SYNs that it had to send again.
    syns_repeated: u64,
}

/// Plays the plan, and inspects every namespace with a client once all of these flows have moved something.
fn played_and_seen(plan: &Plan, policy: &str, flows: &[&str]) -> (Played, Vec<Sight>) {
    let what = Play::new(plan, policy.parse().unwrap());
    let (mut moving, mut seen) = (BTreeMap::new(), None);
    let mut watch = |event: &Event| {
        if let What::AppBytes { flow, bytes } = &event.what {
            moving.insert(flow.clone(), *bytes);
        }
        let has_moved = |flow: &&str| moving.get(*flow).is_some_and(|bytes| *bytes > 0);
        if seen.is_none() && flows.iter().all(has_moved) {
            seen = Some(clients());
        }
    };
    let played = play(&what, &Stop::new(), &mut watch).unwrap();
    assert!(played.run.intact(), "{:#?}", played.run);
    (played, seen.expect("every flow moves"))
}

fn clients() -> Vec<Sight> {
    let namespaces = namespaces_of(std::process::id(), None);
    let sights = namespaces.iter().map(|netns| netns.run(sight).unwrap());
    sights.filter(|sight| !sight.addresses.is_empty()).collect()
}

fn sight() -> Sight {
    let mut addresses = BTreeSet::new();
    let mut diag = Diag::open().unwrap();
    diag.each_tcp(States::ESTABLISHED, |tcp| {
        if tcp.remote.port() == PORT {
            addresses.insert(tcp.local.ip().to_canonical());
        }
    })
    .unwrap();
    Sight {
        addresses,
        syns_repeated: netstat::counted("TcpExt", "TCPSynRetrans").unwrap(),
    }
}

#[test]
fn a_rivals_tcp_leaves_from_its_own_namespace() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let flows = "[flows.own]\nrequests = { every_s = 0.2, reply_kb = 20 }\n\
                 [flows.theirs]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"left\"\nby = \"rival\"\n";
    let (played, seen) = played_and_seen(&with_a_rival(5, flows), "mptcp", &["own", "theirs"]);
    let [one, other] = &seen[..] else {
        panic!("a client and a rival: {seen:?}")
    };
    assert!(one.addresses.is_disjoint(&other.addresses), "{seen:?}");
    assert!(
        seen.iter().any(|sight| sight.addresses.len() == 1),
        "plain TCP has one address: {seen:?}"
    );
    let theirs = flow(&played, "theirs");
    assert!(theirs.bytes > 2_000_000, "{theirs:#?}");
    assert!(carried(theirs, "left") > theirs.bytes / 2, "{theirs:#?}");
    assert_eq!(carried(theirs, "right"), 0, "{theirs:#?}");
    // The client's own interfaces carried its own replies only.
    let own: u64 = played.emulator.links.iter().map(|link| link.down.get()).sum();
    let moved = flow(&played, "own").bytes;
    assert!((moved..moved * 2).contains(&own), "{own} bytes for {moved}");
    let notes = &played.run.notes;
    assert!(
        notes.len() == 1 && notes[0].contains("half of the replies took"),
        "{notes:?}"
    );
    let confirmed = &played.controllers.confirmed;
    assert!(confirmed.contains_key("theirs"), "{confirmed:?}");
}

/// The policy is the client's. Another walker's kernel uses what it has.
#[test]
fn a_rivals_mptcp_uses_all_links_whatever_the_policy() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let flows = "[flows.own]\ndirection = \"down\"\nlimit_mbps = 2\n\
                 [flows.theirs]\ndirection = \"down\"\nby = \"rival\"\n[flows.up]\ndirection = \"up\"\nsize_mb = 1\nby = \"rival\"\n";
    let (played, seen) = played_and_seen(&with_a_rival(6, flows), "tcp:right", &["own", "theirs"]);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(carried(flow(&played, "own"), "left"), 0, "{:#?}", played.run);
    let theirs = flow(&played, "theirs");
    for link in ["left", "right"] {
        assert!(carried(theirs, link) > 200_000, "{link}: {theirs:#?}");
    }
    let up = flow(&played, "up");
    let carried = carried(up, "left") + carried(up, "right");
    // Bytes acknowledged after the last poll are missing.
    assert!(carried > 500_000 && up.bytes == 1_000_000, "{up:#?}");
}

/// A SYN that is lost is sent again after a second, so no flow may begin before its link is up.
#[test]
fn a_rival_joins_an_access_point_before_its_tcp_begins() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let plan = plan(
        "sentence = \"Two at one access point.\"\nduration_s = 6\n\
         [aps.hall]\nat_m = [3, 0]\nchannel = 6\nbackhaul = { rate_mbps = 50, rtt_ms = 10 }\n\
         [walkers.client]\nat_m = [0, 0]\n[walkers.rival]\nat_m = [6, 0]\n\
         [flows.own]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"hall\"\nlimit_mbps = 1\n\
         [flows.theirs]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"hall\"\nlimit_mbps = 5\nby = \"rival\"\n",
    );
    let (played, seen) = played_and_seen(&plan, "mptcp", &["own", "theirs"]);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.iter().all(|sight| sight.syns_repeated == 0), "{seen:?}");
    let [own, theirs] = ["own", "theirs"].map(|name| flow(&played, name));
    assert!(
        theirs.bytes > 1_000_000 && own.bytes > 100_000,
        "{:#?}",
        played.run
    );
    assert!(carried(theirs, "hall") > 1_000_000, "{theirs:#?}");
    let hall = &played.run.links[0];
    assert!(hall.frames > 1_000, "the rival's frames count: {hall:?}");
}

/// It walks out of range in its fourth second.
#[test]
fn a_rival_that_walks_away_keeps_what_it_has_and_gets_no_more() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let plan = plan(
        "sentence = \"One of two leaves.\"\nduration_s = 8\n\
         [aps.hall]\nat_m = [3, 0]\nchannel = 6\nbackhaul = { rate_mbps = 50, rtt_ms = 10 }\n\
         [walkers.client]\nat_m = [0, 0]\n\
         [walkers.rival]\nway = [{ at_m = [6, 0], t_s = 3 }, { at_m = [4000, 0], t_s = 3.5 }]\n\
         [flows.own]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"hall\"\nlimit_mbps = 1\n\
         [flows.theirs]\ndirection = \"down\"\ntransport = \"tcp\"\nover = \"hall\"\nlimit_mbps = 5\nby = \"rival\"\n",
    );
    let (played, _) = played_and_seen(&plan, "mptcp", &["own", "theirs"]);
    let [own, theirs] = ["own", "theirs"].map(|name| flow(&played, name));
    // 5 Mb/s in at most 3.5 s, of 8 s.
    assert!((200_000..2_200_000).contains(&theirs.bytes), "{theirs:#?}");
    assert!(theirs.longest_stall_ms > 3_000.0, "{theirs:#?}");
    assert!(own.bytes > 400_000 && own.longest_stall_ms < 2_000.0, "{own:#?}");
}

#[test]
fn soon_after_an_error_all_namespaces_are_gone() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let flows = "[flows.own]\ndirection = \"down\"\n[flows.theirs]\ndirection = \"down\"\nby = \"rival\"\n\
                 [[faults]]\nat_s = 2\nfor_s = 1\nlink = \"left\"\nkind = \"down\"\n";
    let plan = with_a_rival(60, flows);
    let home = Netns::new().expect("this test needs root");
    let mut rtnl = home.run(Rtnl::open).unwrap().unwrap();
    let mut witnesses = None;
    let ended = play(&Play::new(&plan, PolicyName::Mptcp), &Stop::new(), &mut |event| {
        if witnesses.is_none() && event.t_ns > 1_000_000_000 {
            let except = Some(home.id().unwrap());
            witnesses = Some(Witnesses::place(&mut rtnl, std::process::id(), except));
            // Then the fault cannot be carried out.
            for netns in namespaces_of(std::process::id(), except) {
                netns.run(|| delete("rival.left")).unwrap();
            }
        }
    });
    assert!(matches!(ended, Err(PlayError::Plug(_))), "{ended:?}");
    let witnesses = witnesses.expect("something happened in the first second");
    assert_eq!(witnesses.len(), 3, "a client, a rival and a server");
    witnesses.watch_until_gone(&mut rtnl, Duration::from_secs(20));
}

/// Deletes the interface of that name in the calling thread's namespace, if there is one.
fn delete(name: &str) {
    let mut rtnl = Rtnl::open().unwrap();
    if let Some(link) = rtnl.link_named(name.parse().unwrap()).unwrap() {
        rtnl.delete_link(link.ifindex).unwrap();
    }
}

#[test]
fn a_fifth_host_is_refused_at_its_place() {
    let walker = |number: u32| {
        format!(
            "[walkers.w{number}]\nat_m = [1, 1]\n[flows.f{number}]\ndirection = \"down\"\n\
             transport = \"tcp\"\nover = \"dsl\"\nby = \"w{number}\"\n"
        )
    };
    let cable = "sentence = \"x\"\nduration_s = 5\n[cables.dsl]\nrate_mbps = 20\nrtt_ms = 20\n\
                 [walkers.client]\nat_m = [0, 0]\n";
    let text = format!("{cable}{}", (1..=5).map(walker).collect::<String>());
    let plan = plan(&text);
    let refused = play(&Play::new(&plan, PolicyName::Mptcp), &Stop::new(), &mut |_| {});
    let Err(PlayError::Plan(error @ PlanError::TooManyHosts(_))) = refused else {
        panic!("{refused:?}")
    };
    let message = plan.spots.say(error.about(), &error);
    let line = 1 + text.lines().position(|line| line == "[walkers.w5]").unwrap();
    let expected = format!("test.toml:{line}:10: `w5` would be the fifth walker with a host of its own");
    assert!(message.starts_with(&expected), "{message}");
}

//! Flows whose link drops everything, and flows that only seem to be cut off.

use super::liveness::{Host, MS, OTHER_SITE, S, SITE, link};
use crate::flow::FlowId;
use crate::*;
use units::{Duration, Instant};

const FLOW: FlowId = FlowId(7);

impl Host {
    fn flow(&mut self, event: FlowEvent) {
        self.engine.handle(self.now, Input::Flow(FLOW, event));
        self.carry_out();
    }

    /// Two cables, and a flow to this host, which has replies.
    fn with_flow(to: HostId) -> Self {
        let mut host = Self::usual();
        host.run(30 * S);
        host.flow(FlowEvent::Began(Wish::Active));
        host.flow(FlowEvent::Answered(to));
        host.run(S);
        host
    }

    fn silent(&mut self, to: HostId) {
        let (silence, usual) = (40 * MS, 20 * MS);
        self.flow(FlowEvent::Silent {
            host: to,
            silence,
            usual,
        });
    }

    /// Moves of the flow from then on: when, and where to.
    fn moves(&self, since: Instant) -> Vec<(Duration, LinkId)> {
        let done = self.done.iter().filter(|(at, _)| *at >= since);
        let moves = done.filter_map(|(at, action)| match action {
            Action::Move(FLOW, link) => Some((*at - since, *link)),
            _ => None,
        });
        moves.collect()
    }
}

#[test]
fn a_flow_leaves_a_link_over_which_its_server_does_not_reply() {
    let mut host = Host::with_flow(SITE);
    host.dies(0);
    let cut = host.now;
    host.silent(SITE);
    host.run(2 * S);
    let moves = host.moves(cut);
    assert!(
        matches!(moves[..], [(took, to)] if to == link(1) && took <= 80 * MS),
        "{moves:?}"
    );
    assert_eq!(host.state(0).state, "dead", "the same evidence condemns the link");
    let ended = |action: &Action| *action == Action::EndFlow(FLOW);
    assert!(!host.done.iter().any(|(_, action)| ended(action)));
}

#[test]
fn a_flow_stays_while_its_server_replies_to_probes() {
    let mut host = Host::with_flow(SITE);
    let since = host.now;
    // The program pauses: its silence is reported whenever it has doubled.
    for pause in [40, 80, 160, 320, 640, 1_280] {
        host.silent(SITE);
        host.run(pause * MS);
    }
    assert_eq!(host.moves(since), []);
    assert_eq!(host.verbs(since), []);
}

#[test]
fn a_late_reply_keeps_the_flow_and_lengthens_the_patience_with_its_link() {
    let mut host = Host::with_flow(SITE);
    // Overdue after 70 ms over a cable whose last reply took 20 ms, and then after 230 ms.
    host.rtt = 100 * MS;
    let since = host.now;
    host.silent(SITE);
    host.run(S);
    assert_eq!(host.moves(since), []);
    host.dies(0);
    host.rtt = 20 * MS;
    let cut = host.now;
    host.silent(SITE);
    host.run(S);
    assert!(host.moves(cut)[0].0 > 200 * MS, "{:?}", host.moves(cut));
}

#[test]
fn a_flow_that_is_heard_again_stays() {
    let mut host = Host::with_flow(SITE);
    let since = host.now;
    host.dies(0);
    host.silent(SITE);
    host.run(30 * MS);
    host.flow(FlowEvent::Answered(SITE));
    host.run(S);
    assert_eq!(host.moves(since), []);
}

#[test]
fn a_suspend_ends_the_doubt_about_a_flow_and_a_silence_afterwards_begins_another_one() {
    let mut host = Host::with_flow(SITE);
    host.dies(0);
    let since = host.now;
    host.silent(SITE);
    host.now += 600 * S;
    host.engine.handle(host.now, Input::Resumed);
    host.carry_out();
    let resumed = host.now;
    host.run(60 * MS);
    assert_eq!(host.moves(since), [], "what was silent before proves nothing");
    host.silent(SITE);
    host.run(S);
    assert!(matches!(host.moves(resumed)[..], [(_, to)] if to == link(1)));
}

#[test]
fn where_the_server_never_replied_to_probes_silence_must_last_and_each_move_doubles_it() {
    let mut host = Host::with_flow(OTHER_SITE);
    for id in [0, 1] {
        host.reached.remove(&(link(id), OTHER_SITE));
    }
    // Its first probe had a reply: begin with a host that has none.
    let mute = HostId(77);
    let mut needed = Vec::new();
    for _ in 0..3 {
        host.flow(FlowEvent::Answered(mute));
        host.run(S);
        let since = host.now;
        host.silent(mute);
        host.run(4 * S);
        needed.extend(host.moves(since).into_iter().map(|(took, _)| took + 40 * MS));
    }
    assert_eq!(needed, [400 * MS, 800 * MS, 1_600 * MS]);
}

#[test]
fn a_flow_moves_nowhere_without_another_sound_link() {
    let mut host = Host::with_flow(SITE);
    host.about(1, LinkEvent::Usable(false));
    host.dies(0);
    let cut = host.now;
    host.silent(SITE);
    host.run(5 * S);
    assert_eq!(host.moves(cut), []);
}

#[test]
fn the_user_moves_a_flow_to_a_link_that_can_carry_it() {
    let mut host = Host::with_flow(SITE);
    let since = host.now;
    host.flow(FlowEvent::Wanted(link(0)));
    host.flow(FlowEvent::Wanted(link(9)));
    assert_eq!(host.moves(since), [], "it is there, and there is no such link");
    host.flow(FlowEvent::Wanted(link(1)));
    assert_eq!(host.moves(since), [(Duration::ZERO, link(1))]);
    // It stays there when its first link goes.
    host.about(0, LinkEvent::Usable(false));
    host.run(S);
    let ended = |action: &Action| *action == Action::EndFlow(FLOW);
    assert!(!host.done.iter().any(|(_, action)| ended(action)));
}

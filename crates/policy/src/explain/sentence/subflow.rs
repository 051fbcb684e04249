//! Why subflows are refused, drained or replaced, and which network flows get.

use crate::io::JoinFailure;
use crate::io::reason::{Assigned, Replaced};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

pub(super) const fn join_failed(failure: JoinFailure) -> &'static str {
    match failure {
        JoinFailure::Refused => "the peer takes no more subflows",
        JoinFailure::Timeout => "the peer did not reply to a join",
        JoinFailure::Local => "this host's kernel refused a join",
        JoinFailure::NoAddress => "it has no address of the peer's family (IPv4 or IPv6)",
        JoinFailure::Elsewhere => "the user's routes to the peer use another interface",
        JoinFailure::Untimely => "a join was requested at the wrong moment",
    }
}

pub(super) fn sentence(replaced: Replaced) -> String {
    match replaced {
        Replaced::TooWeak { signal } => {
            format!("its signal of {signal} is too weak for frames: data in flight is drained")
        }
        Replaced::Reinjection { lasts } => format!(
            "the peer would retransmit {} ms of data we already have; a new subflow acknowledges it",
            lasts.as_millis()
        ),
        Replaced::Backlog { lasts } => format!(
            "retransmissions would wait {} ms behind the peer's backlog; a new subflow has none",
            lasts.as_millis()
        ),
    }
}

pub(super) fn assigned(assigned: Assigned) -> String {
    let why = match assigned {
        Assigned::Active => "uses this link, on which new connections start",
        Assigned::Requested => "uses this link, as its program or a rule asks",
        Assigned::RequestedHasNoAddress => {
            "uses this link: the one for which its program or a rule asks cannot carry it"
        }
        Assigned::Spread => "uses this link: peers are spread evenly over all networks",
        Assigned::Waits => "waits until its network can carry it",
        Assigned::NetworkGone => "ends: its network is gone, and its peer knows it by that address",
        Assigned::TooMany => "uses this link, and is not watched: too many flows are open",
        Assigned::Moved => "moves to this link, as the user asked",
        Assigned::RepliesHere { silence } => {
            let ms = silence.as_millis();
            return format!(
                "moves to this link: its server replied here, and not over the former one for {ms} ms"
            );
        }
        Assigned::Unanswered { silence } => {
            let ms = silence.as_millis();
            return format!("moves to this link: it had no reply over the former one for {ms} ms");
        }
    };
    why.to_owned()
}

//! Why a link is suspect, dead, or alive again.

use super::{Count, Named, Names};
use crate::io::reason::Evidence;
use alloc::format;
use alloc::string::String;

pub(super) fn sentence(evidence: Evidence, names: &(impl Names + ?Sized)) -> String {
    match evidence {
        Evidence::Silent { silence } => {
            format!(
                "nothing was received over it for {} ms: it is probed",
                silence.as_millis()
            )
        }
        Evidence::HostsSilent { silence, hosts } => format!(
            "nothing beyond it has replied for {} ms: {} probed over it and over other links",
            silence.as_millis(),
            if hosts == 1 {
                String::from("1 host is")
            } else {
                format!("{hosts} hosts are")
            }
        ),
        Evidence::Unanswered {
            silence,
            probes,
            waited,
        } => format!(
            "nothing was received over it for {} ms, and {} had no reply for {} ms",
            silence.as_millis(),
            Count(probes as usize, "probe"),
            waited.as_millis()
        ),
        Evidence::ReachedElsewhere {
            hosts,
            probes,
            waited,
            over,
            reached,
        } => format!(
            "{} did not reply to {} over it in {} ms; {reached} replied over {}",
            Count(hosts, "host"),
            Count(probes as usize, "probe"),
            waited.as_millis(),
            Named(over, names)
        ),
        Evidence::StoppedReplying {
            hosts,
            probes,
            waited,
            works,
        } => format!(
            "{} stopped replying over it: {} had no reply in {} ms, while {} works",
            Count(hosts, "host"),
            Count(probes as usize, "probe"),
            waited.as_millis(),
            Named(works, names)
        ),
        Evidence::RepliesAgain => String::from("it replies again"),
        Evidence::NoHostToProbe => {
            String::from("it is used again, since no known host could show whether it is back")
        }
    }
}

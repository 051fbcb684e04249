//! Why a link must not be used, or may be used again.

use super::{Named, Names};
use crate::io::Trust;
use crate::io::reason::{Access, Held, Refused};
use crate::known::tuning::WHILE_HELD;
use alloc::format;
use alloc::string::String;

pub(super) fn sentence(access: Access, names: &(impl Names + ?Sized)) -> String {
    match access {
        Access::Refused(Refused::Trust(trust)) => {
            format!("it is {} network, and the user does not allow those", of(trust))
        }
        Access::Refused(Refused::Cap { used, cap }) => {
            format!("{used} of {cap} are used: it waits for the next metering period")
        }
        Access::Allowed => String::from("the user's rules allow it again"),
        Access::Held(Held::Portal) => format!(
            "a captive portal blocks it: log in over this link; it is checked every {} s",
            WHILE_HELD.as_secs()
        ),
        Access::Held(Held::NoReply(passes)) => format!(
            "the check for the Internet gets no reply over it, but passes over {}; it is checked every {} s",
            Named(passes, names),
            WHILE_HELD.as_secs()
        ),
        Access::Held(Held::Unchecked(passes)) => format!(
            "the check for the Internet has not passed over it yet, but passes over {}",
            Named(passes, names)
        ),
        Access::Passes => String::from("the check for the Internet passes over it again"),
        Access::NotKnown => String::from("its captive portal no longer says that it is closed"),
        Access::NoAlternative => {
            String::from("the check for the Internet does not pass over it, but no other link is usable")
        }
    }
}

const fn of(trust: Trust) -> &'static str {
    match trust {
        Trust::Known => "a known",
        Trust::Open => "an open",
        Trust::Unknown => "an unknown",
    }
}

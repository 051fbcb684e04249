//! A reason as a sentence. Each file renders the reasons of a few rooms.
//!
//! # Checked by
//! `explain::tests`: the exact sentence of every reason.

mod access;
mod choice;
mod evidence;
mod queue;
mod radio;
mod steer;
mod subflow;

use crate::io::{LinkId, Reason};
use crate::known::path::Path;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;
use units::Duration;

/// The names of links, by which sentences mention them.
pub trait Names {
    /// The name of this link, if it is known.
    fn name(&self, link: LinkId) -> Option<&str>;
}

impl Names for BTreeMap<LinkId, String> {
    fn name(&self, link: LinkId) -> Option<&str> {
        self.get(&link).map(String::as_str)
    }
}

/// Names by the numbers of links.
impl Names for [String] {
    fn name(&self, link: LinkId) -> Option<&str> {
        self.get(usize::from(link.0)).map(String::as_str)
    }
}

impl Names for BTreeMap<LinkId, Path> {
    fn name(&self, link: LinkId) -> Option<&str> {
        self.get(&link).map(|path| path.spec.name.as_str())
    }
}

impl Reason {
    /// The reason as a sentence with its numbers.
    pub fn sentence(&self, names: &(impl Names + ?Sized)) -> String {
        match self {
            Self::Choice(choice) => choice::sentence(*choice, names),
            Self::Evidence(evidence) => evidence::sentence(*evidence, names),
            Self::Access(access) => access::sentence(*access, names),
            Self::Join(failure) => String::from(subflow::join_failed(*failure)),
            Self::Subflow(replaced) => subflow::sentence(*replaced),
            Self::Queue(queue) => queue::sentence(*queue),
            Self::Trend(trend) => radio::trend(*trend),
            Self::Cycle(cycle) => radio::cycle(cycle, names),
            Self::Flow(flow, assigned) => format!("flow {} {}", flow.0, subflow::assigned(*assigned)),
        }
    }
}

/// A link by its name, or by its number if its name is unknown.
struct Named<'n, N: ?Sized>(LinkId, &'n N);

impl<N: Names + ?Sized> fmt::Display for Named<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1.name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "link {}", self.0.0),
        }
    }
}

/// "1 host", "2 hosts".
struct Count(usize, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

/// Seconds with one decimal.
struct Tenths(Duration);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.as_millis() / 100;
        write!(f, "{}.{} s", tenths / 10, tenths % 10)
    }
}

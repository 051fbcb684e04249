//! What a route says about connections over it: MTU, initial windows, features.

use crate::netlink::{Attr, Builder};
use libc::RTA_METRICS;

const RTAX_CC_ALGO: u16 = 16;
const RTAX_FEATURES: u16 = 12;
const RTAX_FEATURE_ECN: u32 = 1;
/// One more than the largest `RTAX_*`.
const COUNT: usize = 18;

/// The numbers of `RTA_METRICS` by their `RTAX_*`; zero: not set.
///
/// `congctl`, the only one that is a name, is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metrics([u32; COUNT]);

impl Metrics {
    /// Nothing set.
    pub const NONE: Self = Self([0; COUNT]);

    /// The same, and TCP connections over the route ask for ECN, whatever `tcp_ecn` says.
    #[must_use]
    pub const fn asking_for_ecn(mut self) -> Self {
        self.0[RTAX_FEATURES as usize] |= RTAX_FEATURE_ECN;
        self
    }

    /// Whether TCP connections over the route ask for ECN.
    pub const fn asks_for_ecn(self) -> bool {
        self.0[RTAX_FEATURES as usize] & RTAX_FEATURE_ECN != 0
    }

    pub(super) fn parse(attr: &Attr<'_>) -> Self {
        let mut metrics = Self::NONE;
        for metric in attr.attrs().filter(|metric| metric.kind != RTAX_CC_ALGO) {
            if let (Some(slot), Some(value)) = (metrics.0.get_mut(usize::from(metric.kind)), metric.u32()) {
                *slot = value;
            }
        }
        metrics
    }

    pub(super) fn write(self, request: &mut Builder) {
        if self == Self::NONE {
            return;
        }
        request.nested(RTA_METRICS, |nested| {
            for (kind, value) in (0u16..).zip(self.0).filter(|(_, value)| *value != 0) {
                nested.u32(kind, value);
            }
        });
    }
}

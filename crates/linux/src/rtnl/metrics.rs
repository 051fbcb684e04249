//! Route metrics for connections over the route: MTU, initial windows, features.

use crate::netlink::{Attr, Builder};
use libc::RTA_METRICS;

const RTAX_CC_ALGO: u16 = 16;
const RTAX_FEATURES: u16 = 12;
const RTAX_FEATURE_ECN: u32 = 1;
/// One more than the largest `RTAX_*`.
const COUNT: usize = 18;

/// The values of `RTA_METRICS` by their `RTAX_*` number, 0 if not set.
///
/// The only one that is a name, `congctl`, is not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metrics([u32; COUNT]);

impl Metrics {
    /// No metric is set.
    pub const NONE: Self = Self([0; COUNT]);

    /// These metrics, with ECN requested on TCP connections over the route, whatever `tcp_ecn` says.
    #[must_use]
    pub const fn asking_for_ecn(mut self) -> Self {
        self.0[RTAX_FEATURES as usize] |= RTAX_FEATURE_ECN;
        self
    }

    /// Whether TCP connections over the route request ECN.
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

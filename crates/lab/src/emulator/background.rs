//! Traffic that the models carry and no kernel sends: how much of each flow has arrived, and when.

use trace::FlowMeter;
use units::Instant;

/// Headers of UDP and IPv4 around a payload.
const HEADERS: u32 = 28;

/// The flows of [`links::Background`], in their order, until the run is over.
#[derive(Debug)]
pub struct Background {
    meters: Vec<FlowMeter>,
    until: Instant,
}

impl Background {
    /// Measures the flows with these meters until then.
    pub const fn new(meters: Vec<FlowMeter>, until: Instant) -> Self {
        Self { meters, until }
    }

    /// No background traffic.
    pub const fn none() -> Self {
        Self::new(Vec::new(), Instant::ZERO)
    }

    /// Records a datagram that a station has received.
    pub(super) fn arrived(&mut self, due: Instant, flow: u32, bytes: u32) {
        if due < self.until
            && let Some(meter) = self.meters.get_mut(flow as usize)
        {
            meter.read(due, u64::from(bytes.saturating_sub(HEADERS)));
        }
    }

    /// Payload bytes of each flow that have arrived.
    pub(super) fn bytes(&self) -> Vec<u64> {
        self.meters.iter().map(|meter| meter.bytes().get()).collect()
    }

    pub(super) fn into_meters(self) -> Vec<FlowMeter> {
        self.meters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_payload_is_counted_until_the_run_ends() {
        let meters = vec![FlowMeter::new("probe", Instant::ZERO)];
        let mut background = Background::new(meters, Instant::from_secs(2));
        background.arrived(Instant::from_secs(1), 0, 128);
        background.arrived(Instant::from_secs(2), 0, 128);
        background.arrived(Instant::from_secs(1), 1, 128);
        assert_eq!(background.bytes(), [100]);
        assert_eq!(background.into_meters()[0].bytes().get(), 100);
    }
}

//! The links of a mix, drawn at random by its number.

use scenario::{Aqm, Cable, Families, Link, LinkKind, Queue, QueueLimit, Wire};
use trace::Role;
use units::{Bitrate, Bytes, Duration, Ratio, Rng};

const RATE_MBPS: (f64, f64) = (1.0, 100.0);
const RTT_MS: (f64, f64) = (5.0, 300.0);
const BUFFER_BDP: (f64, f64) = (0.5, 20.0);
const LOSS: (f64, f64) = (0.0, 0.02);
/// Least capacity of a buffer. Packets are whole, and if there were room for only one, none could wait while
/// another is sent.
const LEAST_PACKETS: u64 = 2;
const PACKET: u64 = 1_500;
const LEAST_BUFFER: u64 = LEAST_PACKETS * PACKET;

/// The links of the mix with this number.
pub fn links(mix: u64) -> Vec<Link> {
    let mut rng = Rng::named(mix, "window-mixes");
    let count = 2 + rng.below(2);
    (0..count).map(|index| drawn(index, &mut rng)).collect()
}

fn drawn(index: u64, rng: &mut Rng) -> Link {
    let mbps = log_uniform(rng, RATE_MBPS);
    let rtt_ms = log_uniform(rng, RTT_MS);
    let buffer = log_uniform(rng, BUFFER_BDP) * mbps * 1e3 / 8.0 * rtt_ms;
    let loss = LOSS.0 + (LOSS.1 - LOSS.0) * rng.unit();
    let wire = Wire {
        rate: Bitrate::from_bps((mbps * 1e6) as u64),
        jitter: Duration::ZERO,
        loss: Ratio::clamped(loss),
        queue: Queue {
            limit: QueueLimit::Bytes(Bytes::new((buffer as u64).max(LEAST_BUFFER))),
            aqm: Aqm::TailDrop,
        },
    };
    cable(index, wire, Duration::from_micros((rtt_ms * 1e3) as u64))
}

/// A cable that is the same in both directions.
pub fn cable(index: u64, wire: Wire, rtt: Duration) -> Link {
    Link {
        name: format!("link{index}"),
        role: Role::Primary,
        subnet: None,
        families: Families::V4,
        kind: LinkKind::Cable(Cable {
            up: wire,
            down: wire,
            rtt,
            behind: None,
        }),
    }
}

fn log_uniform(rng: &mut Rng, (from, to): (f64, f64)) -> f64 {
    from * (to / from).powf(rng.unit())
}

/// Whether a link's buffer was raised to the least capacity. No buffer is drawn with exactly that.
pub fn is_raised(link: &Link) -> bool {
    let LinkKind::Cable(cable) = &link.kind else {
        return false;
    };
    cable.down.queue.limit == QueueLimit::Bytes(Bytes::new(LEAST_BUFFER))
}

/// A link as what was drawn of it.
pub fn in_words(link: &Link) -> String {
    let LinkKind::Cable(cable) = &link.kind else {
        return link.name.clone();
    };
    let queue_ms = match cable.down.queue.limit {
        QueueLimit::Bytes(bytes) => bytes.get() as f64 * 8.0 / cable.down.rate.as_mbps_f64() / 1e3,
        _ => 0.0,
    };
    let raised = if is_raised(link) {
        " (raised to two packets)"
    } else {
        ""
    };
    format!(
        "{:.1} Mb/s {} ms, queue {queue_ms:.0} ms{raised}, loss {:.1} %",
        cable.down.rate.as_mbps_f64(),
        cable.rtt.as_millis(),
        cable.down.loss.as_f64() * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_within_their_bounds_and_the_same_again() {
        for mix in 1..=200 {
            let links = links(mix);
            assert_eq!(links, self::links(mix));
            assert!((2..=3).contains(&links.len()));
            for link in &links {
                let LinkKind::Cable(cable) = &link.kind else {
                    panic!()
                };
                let mbps = cable.down.rate.as_mbps_f64();
                assert!((0.99..=100.0).contains(&mbps), "{mbps}");
                assert!(cable.down.loss.as_f64() <= 0.02);
                assert!((Duration::from_millis(4)..=Duration::from_millis(300)).contains(&cable.rtt));
            }
        }
    }

    #[test]
    fn links_are_described_by_what_was_drawn() {
        let mut rng = Rng::named(1, "window-mixes");
        let words = in_words(&drawn(0, &mut rng));
        assert!(
            words.contains("Mb/s") && words.contains("queue") && words.contains("loss"),
            "{words}"
        );
    }

    #[test]
    fn buffers_are_as_drawn_wherever_two_packets_fit() {
        let (mut raised, mut small) = (0, 0);
        for link in (1..=500).flat_map(links) {
            let LinkKind::Cable(cable) = &link.kind else {
                panic!()
            };
            let QueueLimit::Bytes(buffer) = cable.down.queue.limit else {
                panic!()
            };
            assert!(buffer >= Bytes::new(LEAST_BUFFER));
            raised += usize::from(is_raised(&link));
            small += usize::from(buffer < Bytes::new(30 * PACKET) && !is_raised(&link));
            let products = buffer.get() as f64 / (cable.down.rate * cable.rtt).get() as f64;
            assert!(
                is_raised(&link) || (0.49..=20.1).contains(&products),
                "{products}"
            );
            assert_eq!(in_words(&link).contains("raised"), is_raised(&link));
        }
        assert!(raised > 0 && small > raised, "{raised} raised, {small} small");
    }
}

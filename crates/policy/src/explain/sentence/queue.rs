//! Why a queue is limited or marked.

use super::Tenths;
use crate::io::reason::Queue;
use crate::window;
use alloc::format;
use alloc::string::String;
use units::{Bitrate, Bytes, Duration};

/// The receive window of a stock host (the default `tcp_rmem`).
const STOCK: Bytes = Bytes::new(6_000_000);

pub(super) fn sentence(queue: Queue) -> String {
    match queue {
        Queue::Window {
            window,
            loses,
            rate,
            rtt,
        } => self::window(window, loses, rate, rtt),
        Queue::Narrowed { window, loses } => {
            format!("{window}{} while an empty subflow is closed", with_losses(loses))
        }
        Queue::Unsent { limit, unsent, lasts } => {
            let kib = limit.get() / 1_024;
            match lasts {
                Some(lasts) => format!(
                    "{kib} KiB on each path: {unsent} waited unsent, and would be delayed by {} if a path died",
                    Tenths(lasts)
                ),
                None => {
                    format!(
                        "{kib} KiB on each path: {unsent} waited unsent, and would be reassigned if a path died"
                    )
                }
            }
        }
        Queue::SlowStart { rate, lasts, rtt } => format!(
            "pacing is capped at {rate} for {} ms: slow start has begun to fill a queue (RTT {} ms)",
            lasts.as_millis(),
            rtt.as_millis()
        ),
        Queue::Marked {
            queue,
            target,
            rate,
            sent,
        } => {
            let ms = queue.as_millis();
            let which = if sent { "sent" } else { "arriving" };
            match target {
                Some(target) => format!(
                    "{ms} ms of queueing delay, {} ms allowed: {rate} of {which} packets are marked",
                    target.as_millis()
                ),
                None => {
                    format!("{ms} ms of queueing delay by a slow start: {rate} of {which} packets are marked")
                }
            }
        }
    }
}

/// "1.1 MB = 2.0 × 90 Mb/s × 50 ms; 6.0 MB would be 0.5 s of queue"
fn window(window: Bytes, loses: bool, rate: Bitrate, rtt: Duration) -> String {
    let extra = with_losses(loses);
    let queue = Tenths(rate.time_for(STOCK).unwrap_or_default());
    let product = (rate * rtt).get().max(1);
    if window <= window::tuning::LEAST {
        let under = rtt < Duration::from_millis(1);
        let rtt = if under {
            String::from("under 1 ms")
        } else {
            format!("{} ms", rtt.as_millis())
        };
        return format!("{window}{extra}, the minimum ({rate}, RTT {rtt})");
    }
    let tenths = window.get().saturating_mul(10).saturating_add(product / 2) / product;
    format!(
        "{window} = {}.{} × {rate} × {} ms{extra}; {STOCK} at the server would be {queue} of queue",
        tenths / 10,
        tenths % 10,
        rtt.as_millis(),
    )
}

const fn with_losses(loses: bool) -> &'static str {
    if loses { " plus room for losses" } else { "" }
}

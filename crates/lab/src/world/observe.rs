//! Translates what the daemon does into events of a trace.

use linux::daemon::Observation;
use trace::{Event, Observer, What};
use units::Instant;

/// The event for an observation, if it has one.
pub(super) fn event(observer: &mut Observer, now: Instant, observation: &Observation<'_>) -> Option<Event> {
    let what = match observation {
        Observation::Told(input) => observer.told(input)?,
        Observation::Done(action) => observer.done(action)?,
        Observation::Failed { action, why } => observer.failed(action, why),
        Observation::LeftAlone { conn, why } => {
            observer.left_alone(*conn);
            What::Decision {
                link: None,
                conn: Some(conn.0),
                verb: "leave-alone".to_owned(),
                reason: String::new(),
                why: why.why().to_owned(),
            }
        }
        Observation::Trouble { what, why } => What::Decision {
            link: None,
            conn: None,
            verb: "trouble".to_owned(),
            reason: String::new(),
            why: format!("{what}: {why}"),
        },
        _ => return None,
    };
    Some(Event::new(now, what))
}

//! The kinds of facts that an engine can be told.

use crate::codec::Variants;
use policy::{ConnEvent, FlowEvent, Input, LinkEvent, RadioEvent, SubflowEvent};

/// The kind of a fact, such as `Link Beacon`, `Conn Sample` or `Resumed`.
pub fn kind(input: &Input) -> String {
    let inner = match input {
        Input::Link(_, event) => event.name(),
        Input::Conn(_, event) => event.name(),
        Input::Subflow(_, event) => event.name(),
        Input::Radio(_, event) => event.name(),
        Input::Flow(_, event) => event.name(),
        Input::Allow(..) | Input::Resumed => return input.name().to_owned(),
    };
    format!("{} {inner}", input.name())
}

/// All kinds.
pub fn kinds() -> Vec<String> {
    let inner = |outer: &&str| match *outer {
        "Link" => LinkEvent::NAMES,
        "Conn" => ConnEvent::NAMES,
        "Subflow" => SubflowEvent::NAMES,
        "Radio" => RadioEvent::NAMES,
        "Flow" => FlowEvent::NAMES,
        _ => &[],
    };
    let of_one = |outer: &&str| match inner(outer) {
        [] => vec![(*outer).to_owned()],
        inner => inner.iter().map(|inner| format!("{outer} {inner}")).collect(),
    };
    Input::NAMES.iter().flat_map(of_one).collect()
}

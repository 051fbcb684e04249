//! Names: what may be one, and which thing one means.

use crate::document::{Node, Value};
use crate::plan::Link;
use crate::section::Section;
use crate::source::At;
use crate::suggest;
use trace::{ParsePolicyError, PolicyName};

/// Words that mean more than one link.
const RESERVED: [&str; 2] = ["all", "busiest"];

/// A link's name becomes part of the name of an interface, which has 15 characters.
pub(super) const LONGEST: usize = 12;

/// More names than this are counted, not listed.
const LISTED: usize = 20;

/// Notes it if a scenario cannot have this name for one of its things.
pub(super) fn checked<'n>(section: &Section<'_>, at: At, kind: &str, name: &'n str) -> &'n str {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let longest = if kind == "scenario" { 64 } else { LONGEST };
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if name.len() > longest || !begins_well || !name.chars().all(plain) {
        let shown: String = name.chars().take(40).collect();
        let form = format!("use 1 to {longest} letters, digits, - and _, starting with a letter or digit");
        section
            .log
            .note(at, format!("\"{shown}\" cannot be the name of a {kind}"), form);
    } else if RESERVED.contains(&name) {
        section.log.note(
            at,
            format!("\"{name}\" has a special meaning in faults"),
            "choose another name",
        );
    }
    name
}

/// The index of the thing called `name`; if there is none, notes a problem.
pub(super) fn resolve<'n>(
    section: &Section<'_>,
    at: At,
    kind: &str,
    name: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Option<usize> {
    let index = names.clone().position(|known| known == name);
    // A scenario without any link or flow has that reported already, once.
    let is_told = ["link", "flow"].contains(&kind) && names.clone().next().is_none();
    if index.is_none() && !is_told {
        let shown: String = name.chars().take(40).collect();
        section.log.note(
            at,
            format!("there is no {kind} \"{shown}\""),
            known(kind, name, names),
        );
    }
    index
}

fn known<'n>(kind: &str, name: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    match (suggest::nearest(name, names.clone()), names.clone().next()) {
        (Some(near), _) => format!("did you mean \"{near}\"?"),
        (None, Some(_)) => match names.clone().count() {
            ..=LISTED => format!("the scenario has {}", suggest::one_of(names)),
            count => format!(
                "the scenario has {}, and {} others",
                names
                    .take(LISTED)
                    .map(|name| format!("\"{name}\""))
                    .collect::<Vec<_>>()
                    .join(", "),
                count - LISTED
            ),
        },
        (None, None) => format!("the scenario has no {kind} at all"),
    }
}

/// The index of the link that a key names.
pub(super) fn link(section: &Section<'_>, key: &'static str, links: &[Link]) -> Option<usize> {
    let name = section.text(key)?;
    resolve(
        section,
        section.place_of(key),
        "link",
        name,
        links.iter().map(|link| link.name.as_str()),
    )
}

/// The policy that a key names.
pub(super) fn policy(section: &Section<'_>, key: &'static str, links: &[Link]) -> Option<PolicyName> {
    let entry = section.entry(key)?;
    policy_in(section, &entry.node, links)
}

/// The policy that a value names.
pub(super) fn policy_in(section: &Section<'_>, node: &Node, links: &[Link]) -> Option<PolicyName> {
    let Value::Text(name) = &node.value else {
        section.log.note(
            node.at,
            format!("a policy is {}", node.value.kind()),
            "give its name in double quotes",
        );
        return None;
    };
    match name.parse::<PolicyName>() {
        Ok(PolicyName::Tcp(link)) => resolve(
            section,
            node.at,
            "link",
            &link,
            links.iter().map(|link| link.name.as_str()),
        )
        .map(|_| PolicyName::Tcp(link)),
        Ok(policy) => Some(policy),
        Err(error) => {
            note_unknown_policy(section, node.at, &error);
            None
        }
    }
}

fn note_unknown_policy(section: &Section<'_>, at: At, error: &ParsePolicyError) {
    let shown = |name: &str| name.chars().take(40).collect::<String>();
    let (what, instead) = match error {
        ParsePolicyError::NoLink => (
            "the policy `tcp:` names no link".to_owned(),
            "name one, such as \"tcp:lte\"".to_owned(),
        ),
        ParsePolicyError::NoForm(form) => {
            let what = format!("there is no form \"{}\" of the marking rate", shown(form));
            (what, ParsePolicyError::FORMS.to_owned())
        }
        ParsePolicyError::NoVariant(variant) => {
            let what = format!(
                "there is no variant \"{}\" of the policy `energy`",
                shown(variant)
            );
            (what, ParsePolicyError::variants())
        }
        ParsePolicyError::Unknown(name) => {
            let instead = match suggest::nearest(name, PolicyName::VALID) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("one of {}", suggest::one_of(PolicyName::VALID)),
            };
            (format!("there is no policy \"{}\"", shown(name)), instead)
        }
    };
    section.log.note(at, what, instead);
}

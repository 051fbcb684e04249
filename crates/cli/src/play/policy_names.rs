//! `--policy` on the command line: names with their descriptions, for `--help`, man pages and completion.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use trace::PolicyName;

/// Parses a policy's name. `tcp:<link>` depends on the scenario, so it is no possible value.
#[derive(Debug, Clone, Copy)]
pub struct PolicyNames;

impl TypedValueParser for PolicyNames {
    type Value = PolicyName;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<PolicyName, clap::Error> {
        let parser = StringValueParser::new().try_map(|name| name.parse::<PolicyName>());
        parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |policy: PolicyName| Some(PossibleValue::new(policy.word()?).help(policy.sentence()));
        Some(Box::new(PolicyName::known().filter_map(value)))
    }
}

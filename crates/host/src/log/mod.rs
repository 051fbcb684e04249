//! The log of the daemon and of the commands, on standard error: its levels, its filter and its lines.
//!
//! | level | for |
//! |---|---|
//! | error | the program ends |
//! | warn | the program continues without something |
//! | info | normal operation: decisions, and what changed on the host |
//! | debug | what explains them: every action, links under suspicion, files and sockets in use |
//! | trace | every input of the engine, including each sample |
//!
//! Results and the reports of wrong use are no log: no filter hides them.

mod filter;
mod line;

pub use filter::{Filter, FilterError};
pub use line::Form;

use clap::ArgAction;
use tracing_subscriber::layer::SubscriberExt as _;

/// The environment variable with the filter.
pub const VARIABLE: &str = "SLOWHAND_LOG";

/// The part of the log that holds the engine's decisions.
pub const DECISION: &str = "decision";
/// The part that holds the actions of the daemon.
pub const ACTION: &str = "action";
/// The part that holds the inputs of the engine.
pub const INPUT: &str = "input";

/// The environment variable has no valid filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE}: {0}")]
pub struct VariableError(FilterError);

/// Options of every program.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// Log these levels on standard error: error, warn, info, debug, trace or off. PART=LEVEL sets the level
    /// of one part: decision, action, input or a crate, as in info,decision=debug. Overrides SLOWHAND_LOG
    /// [default: info].
    #[arg(long, value_name = "FILTER", global = true)]
    log: Option<Filter>,

    /// Log more: -v is --log debug, -vv is --log trace.
    #[arg(short, action = ArgAction::Count, global = true, conflicts_with = "log")]
    verbose: u8,
}

impl Options {
    /// The filter that these options ask for, if they do.
    pub fn filter(&self) -> Option<Filter> {
        match self.verbose {
            0 => self.log.clone(),
            1 => Some(Filter::DEBUG),
            _ => Some(Filter::TRACE),
        }
    }

    /// The filter of these options, or else that of the environment, or else `info`.
    fn chosen(&self, variable: Option<&str>) -> Result<Filter, VariableError> {
        match (self.filter(), variable) {
            (Some(filter), _) => Ok(filter),
            (None, Some(text)) if !text.is_empty() => text.parse().map_err(VariableError),
            (None, _) => Ok(Filter::INFO),
        }
    }

    /// Writes the log from now on.
    ///
    /// # Panics
    /// If it is called twice in a process.
    pub fn start(&self, form: Form) -> Result<(), VariableError> {
        let variable = std::env::var_os(VARIABLE).map(|text| text.to_string_lossy().into_owned());
        let filter = self.chosen(variable.as_deref())?;
        let lines = tracing_subscriber::fmt::layer()
            .event_format(form)
            .with_writer(std::io::stderr)
            .log_internal_errors(false);
        let subscriber = tracing_subscriber::registry().with(filter.layer()).with(lines);
        tracing::subscriber::set_global_default(subscriber).expect("the log starts once in a process");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        log: Options,
    }

    fn chosen(arguments: &[&str], variable: Option<&str>) -> String {
        let arguments = ["program"].iter().chain(arguments);
        let options = Program::try_parse_from(arguments).map(|program| program.log);
        let chosen = options.unwrap_or_else(|error| panic!("{error}")).chosen(variable);
        chosen.map_or_else(|error| error.to_string(), |filter| filter.to_string())
    }

    #[test]
    fn an_option_overrides_the_environment() {
        assert_eq!(chosen(&[], None), "info");
        assert_eq!(chosen(&[], Some("")), "info");
        assert_eq!(chosen(&[], Some("warn")), "warn");
        assert_eq!(chosen(&["--log", "error"], Some("warn")), "error");
        assert_eq!(chosen(&["-v"], Some("warn")), "debug");
        assert_eq!(chosen(&["-vv"], Some("nonsense")), "trace");
        assert!(chosen(&[], Some("nonsense")).starts_with("SLOWHAND_LOG: `nonsense` is no level; "));
    }

    #[test]
    fn a_wrong_option_is_refused_with_its_name() {
        let refused = Program::try_parse_from(["program", "--log", "linux=loud"])
            .err()
            .unwrap();
        let text = refused.to_string();
        assert!(text.contains("'--log <FILTER>': `loud` is no level"), "{text}");
        assert!(Program::try_parse_from(["program", "-v", "--log", "warn"]).is_err());
    }
}

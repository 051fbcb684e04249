//! Names of policies.

use policy::energy_schedule::Variant;
use policy::steer::{Form, Model};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What decides which links carry a run's traffic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PolicyName {
    /// Plain TCP over the link of this name only.
    Tcp(String),
    /// For every whole 10 s the best `tcp:<link>` run. Computed, not run.
    TcpBest,
    /// One access point at a time, break before make; no cellular.
    Handover,
    /// `handover`, with the next access point already associated.
    HandoverWarm,
    /// `handover-warm` for WiFi, with cellular joined throughout.
    HandoverCell,
    /// WiFi where there is any, otherwise cellular; one path at a time.
    WifiFirst,
    /// Every link joined, the stock path manager and scheduler, and nothing else.
    Mptcp,
    /// `mptcp` with loss estimation and ECN marking.
    Ecn,
    /// `ecn`, with this form of the marking rate.
    EcnForm(Form),
    /// Every link joined; of the access points of a channel, one is used at a time.
    OneAtATime,
    /// Radios on and off by their bits per joule.
    Energy(Variant),
    /// One path at a time, the one that will carry most in the next 10 s.
    Omniscient,
    /// All of slowhand's measures.
    Slowhand,
    /// All of slowhand's measures but the window.
    SlowhandNoWindow,
}

/// An invalid policy name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParsePolicyError {
    /// The text is no policy's name.
    #[error("unknown policy `{0}`; valid: {list}", list = PolicyName::VALID.join(", "))]
    Unknown(String),
    /// `tcp:` without a link.
    #[error("policy `tcp:` names no link; write `tcp:<link>` with a link of the scenario, such as `tcp:lte`")]
    NoLink,
    /// `ecn:` without a form of the marking rate.
    #[error("policy `ecn:{0}` names no form of the marking rate; {forms}", forms = Self::FORMS)]
    NoForm(String),
    /// `energy:` without a variant.
    #[error("policy `energy:{0}` names no variant; {variants}", variants = Self::variants())]
    NoVariant(String),
}

impl ParsePolicyError {
    /// The forms of the marking rate, for messages.
    pub const FORMS: &str = "valid: printed, printed-capped, exact, base-rtt, cap, or, with half the buffer in packets \
         and the constant k (1, 3/2 or 2), such as exact(50,k=3/2) or base-rtt(100,k=2)";

    /// The variants of `energy`, for messages.
    pub fn variants() -> String {
        let name = |variant| PolicyName::Energy(variant).word().unwrap_or_default();
        let names = PolicyName::VARIANTS.map(|variant| name(variant).trim_start_matches("energy:"));
        format!("valid: {}", names.join(", "))
    }
}

/// Half the buffer of nsdi15's access points, in packets.
const BUFFER: u16 = 100;

impl PolicyName {
    /// Every valid spelling.
    pub const VALID: [&'static str; 14] = [
        "tcp:<link>",
        "tcp-best",
        "handover",
        "handover-warm",
        "handover+cell",
        "wifi-first",
        "mptcp",
        "ecn",
        "ecn:<form>",
        "one-at-a-time",
        "energy:<variant>",
        "omniscient",
        "slowhand",
        "slowhand-no-window",
    ];

    /// Policies without a link, a form or a variant in their name.
    pub const FIXED: [Self; 11] = [
        Self::TcpBest,
        Self::Handover,
        Self::HandoverWarm,
        Self::HandoverCell,
        Self::WifiFirst,
        Self::Mptcp,
        Self::Ecn,
        Self::OneAtATime,
        Self::Omniscient,
        Self::Slowhand,
        Self::SlowhandNoWindow,
    ];

    /// The forms of the marking rate that have a short name, with the whole policy's name.
    const FORMS: [(Form, &'static str); 5] = [
        (Form::Printed, "ecn:printed"),
        (Form::PrintedCapped, "ecn:printed-capped"),
        (
            Form::Exact {
                buffer: BUFFER,
                model: Model::One,
            },
            "ecn:exact",
        ),
        (
            Form::BaseRtt {
                buffer: BUFFER,
                model: Model::One,
            },
            "ecn:base-rtt",
        ),
        (Form::Cap, "ecn:cap"),
    ];

    const VARIANTS: [Variant; 4] = [
        Variant::Probing,
        Variant::AssociationAware,
        Variant::Omniscient,
        Variant::Damped,
    ];

    /// Every policy that can be named without knowing a scenario's links, for completion and help.
    pub fn known() -> impl Iterator<Item = Self> {
        let forms = Self::FORMS.into_iter().map(|(form, _)| Self::EcnForm(form));
        let variants = Self::VARIANTS.into_iter().map(Self::Energy);
        Self::FIXED.into_iter().chain(forms).chain(variants)
    }

    /// Name of the policy, if it is one of [`Self::known`].
    pub fn word(&self) -> Option<&'static str> {
        Some(match self {
            Self::Tcp(_) => return None,
            Self::EcnForm(form) => Self::FORMS.iter().find(|(known, _)| known == form)?.1,
            Self::Energy(Variant::Probing) => "energy:probing",
            Self::Energy(Variant::AssociationAware) => "energy:association-aware",
            Self::Energy(Variant::Omniscient) => "energy:omniscient",
            Self::Energy(Variant::Damped) => "energy:damped",
            Self::TcpBest => "tcp-best",
            Self::Handover => "handover",
            Self::HandoverWarm => "handover-warm",
            Self::HandoverCell => "handover+cell",
            Self::WifiFirst => "wifi-first",
            Self::Mptcp => "mptcp",
            Self::Ecn => "ecn",
            Self::OneAtATime => "one-at-a-time",
            Self::Omniscient => "omniscient",
            Self::Slowhand => "slowhand",
            Self::SlowhandNoWindow => "slowhand-no-window",
        })
    }

    /// Whether it is computed from other runs instead of being run.
    pub const fn is_computed(&self) -> bool {
        matches!(self, Self::TcpBest)
    }

    /// Whether it is one of ours, not a baseline.
    pub const fn is_ours(&self) -> bool {
        matches!(self, Self::Slowhand | Self::SlowhandNoWindow)
    }

    /// Whether it controls senders by congestion marks alone.
    pub const fn is_marking(&self) -> bool {
        matches!(self, Self::Ecn | Self::EcnForm(_))
    }

    /// Whether it must know what the links will carry. Only virtual time does.
    pub const fn needs_foresight(&self) -> bool {
        matches!(
            self,
            Self::Omniscient | Self::Energy(Variant::Omniscient | Variant::Damped)
        )
    }

    /// The link of `tcp:<link>`.
    pub fn only_link(&self) -> Option<&str> {
        match self {
            Self::Tcp(link) => Some(link),
            _ => None,
        }
    }

    /// What it is, in a few words for a reader who has not seen the list.
    pub const fn sentence(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "plain TCP over this link only",
            Self::TcpBest => "computed: in every 10 s, the link with the highest goodput",
            Self::Handover => {
                "one access point at a time, leaving the old one before joining the next; no cellular"
            }
            Self::HandoverWarm => {
                "one access point at a time, joining the next before leaving the old one; no cellular"
            }
            Self::HandoverCell => {
                "one access point at a time, joining the next before leaving the old one, and cellular at the same time"
            }
            Self::WifiFirst => "WiFi where available, otherwise cellular; one link at a time",
            Self::Mptcp => "a subflow on every link, scheduled by the kernel alone",
            Self::Ecn => "a subflow on every link, with ECN marks that slow down poor access points",
            Self::EcnForm(form) => form_sentence(*form),
            Self::OneAtATime => {
                "a subflow on every link, with one access point of a channel in use at a time"
            }
            Self::Energy(variant) => variant_sentence(*variant),
            Self::Omniscient => "one link at a time, the one that will carry most in the next 10 s",
            Self::Slowhand => {
                "the best links together; each link is monitored and removed when it fails or is about to"
            }
            Self::SlowhandNoWindow => {
                "slowhand without limits on queues: no window, unsent limit, marks or caps; no link is demoted, no subflow replaced"
            }
        }
    }
}

const fn form_sentence(form: Form) -> &'static str {
    match form {
        Form::Printed => "ecn at the rate of equation 5 of nsdi15",
        Form::PrintedCapped => {
            "ecn at the rate of equation 5 of nsdi15; 5 % where the round trip is shorter than its buffer"
        }
        Form::Exact { .. } => "ecn at the rate that solves equation 4 of nsdi15 for the measured round trip",
        Form::BaseRtt { .. } => {
            "ecn at the rate that solves equation 4 of nsdi15 for the round trip without queue"
        }
        Form::Cap => "ecn that always marks 5 % of a poor access point's packets",
    }
}

const fn variant_sentence(variant: Variant) -> &'static str {
    match variant {
        Variant::Probing => "all radios for 10 s, then for 100 s only the one that moved most bits per joule",
        Variant::AssociationAware => {
            "as energy:probing, with cellular left on while WiFi associations are shorter than its tail"
        }
        Variant::Omniscient => "only the radio that will move most bits per joule, changed at once",
        Variant::Damped => {
            "only the radio that will move most bits per joule, changed when another is 20 % better for 10 s"
        }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(link) => f.pad(&format!("tcp:{link}")),
            named => match (named.word(), named) {
                (None, Self::EcnForm(form)) => f.pad(&format!("ecn:{form}")),
                (word, _) => f.pad(word.unwrap_or_default()),
            },
        }
    }
}

impl FromStr for PolicyName {
    type Err = ParsePolicyError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if let Some(known) = Self::known().find(|policy| policy.word() == Some(name)) {
            return Ok(known);
        }
        match name.split_once(':') {
            Some(("tcp", "")) => Err(ParsePolicyError::NoLink),
            Some(("tcp", link)) => Ok(Self::Tcp(link.to_owned())),
            Some(("ecn", form)) => match form.parse() {
                Ok(form) => Ok(Self::EcnForm(form)),
                Err(_) => Err(ParsePolicyError::NoForm(form.to_owned())),
            },
            Some(("energy", variant)) => Err(ParsePolicyError::NoVariant(variant.to_owned())),
            _ => Err(ParsePolicyError::Unknown(name.to_owned())),
        }
    }
}

impl TryFrom<String> for PolicyName {
    type Error = ParsePolicyError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl From<PolicyName> for String {
    fn from(policy: PolicyName) -> Self {
        policy.to_string()
    }
}

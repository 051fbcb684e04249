//! Results of many runs: a row for each flow of each run.

use columns::{Column, Table};
use scenario::{Setting, TypedValue, Way, Work};
use sim::Played;
use trace::{Case, Datagrams, Playback, SetValue, StationUse, TimesMs};

use super::virtual_world::Job;

/// One flow of one run.
struct Row<'r> {
    job: &'r Job,
    played: &'r Played,
    flow: &'r trace::Flow,
}

impl Row<'_> {
    fn link(&self) -> Option<&trace::LinkUse> {
        let path = self.flow.paths.first()?;
        self.played.run.links.iter().find(|link| link.name == path.link)
    }

    /// One-way delays of its datagrams.
    fn delay(&self) -> Option<TimesMs> {
        self.flow.delay
    }

    /// Round-trip times over its link.
    fn rtt(&self) -> Option<TimesMs> {
        self.flow.paths.first()?.rtt
    }

    /// How much of its link's channel was idle.
    fn idle_share(&self) -> Option<f64> {
        let link = self.job.plan.link(&self.flow.paths.first()?.link)?;
        let number = link.kind.channel()?;
        let mut channels = self.played.run.channels.iter();
        let own = channels.find(|known| u16::from(known.channel) == number);
        own.map(|known| known.idle_share)
    }

    /// The station that sends its data over its link: the access point, or the radio of its walker.
    fn sender(&self) -> Option<&StationUse> {
        let (plan, link) = (&self.job.plan, &self.flow.paths.first()?.link);
        let channel = plan.link(link)?.kind.channel()?;
        let flow = plan.flows.iter().find(|flow| flow.name == self.flow.name)?;
        let name = match flow.work {
            Work::Upload { .. } | Work::OnOff { up: true, .. } | Work::Datagrams { way: Way::Up, .. } => {
                format!("{}@{channel}", plan.walkers[flow.by].name)
            }
            Work::Download { .. }
            | Work::OnOff { .. }
            | Work::Requests { .. }
            | Work::Stripe { .. }
            | Work::Swarm { .. }
            | Work::Datagrams { .. } => link.clone(),
        };
        let mut stations = self.played.run.stations.iter();
        stations.find(|station| station.name == name)
    }

    /// Share of the sender's frames that collided. Not a number without such a station.
    fn collided(&self) -> f64 {
        let sender = self.sender();
        sender.map_or(f64::NAN, |station| station.collision_probability)
    }

    /// Segments over its link, and how many of them were retransmissions.
    fn segments(&self) -> Option<[u64; 2]> {
        let path = self.flow.paths.first()?;
        Some([path.segments?, path.retransmits])
    }

    fn of_link(&self, figure: impl Fn(&trace::LinkUse) -> f64) -> f64 {
        self.link().map_or(0.0, figure)
    }
}

type Count = fn(Datagrams) -> u64;
type Player = fn(Playback) -> f64;
type Time = fn(TimesMs) -> f64;
type Times = fn(&Row<'_>) -> Option<TimesMs>;

/// Columns of a flow's datagrams. Other flows have 0.
const COUNTS: [(&str, Count); 3] = [
    ("sent", |datagrams| datagrams.sent),
    ("received", |datagrams| datagrams.received),
    ("lost", |datagrams| datagrams.lost),
];

/// Columns of a player. A flow without one has no number.
const PLAYBACK: [(&str, Player); 2] = [
    ("gaps", |playback| playback.gaps as f64),
    ("gap_total_ms", |playback| playback.gap_total_ms),
];

/// Kinds of times that a flow may have.
const KINDS: [(&str, Times); 3] = [
    ("delay", |row| row.delay()),
    ("rtt", |row| row.rtt()),
    ("reply", |row| row.flow.reply),
];

/// Columns of times. A flow without such times has no number: `null` in JSON Lines, NaN in Parquet.
const TIMES: [(&str, Time); 5] = [
    ("mean_ms", |times| times.mean_ms),
    ("p50_ms", |times| times.p50_ms),
    ("p95_ms", |times| times.p95_ms),
    ("p99_ms", |times| times.p99_ms),
    ("max_ms", |times| times.max_ms),
];

/// A key that has several values, and the type of its column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    key: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Real,
    Flag,
    Text,
}

impl Kind {
    const fn of(value: &TypedValue) -> Self {
        match value {
            TypedValue::Integer(_) => Self::Integer,
            TypedValue::Real(_) => Self::Real,
            TypedValue::Flag(_) => Self::Flag,
            TypedValue::Text(_) => Self::Text,
        }
    }

    /// The type that holds values of both.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Integer, Self::Real) | (Self::Real, Self::Integer) => Self::Real,
            _ => Self::Text,
        }
    }
}

impl Swept {
    /// The keys that differ from run to run.
    pub fn of(jobs: &[Job]) -> Vec<Self> {
        let first = jobs.first().map_or(&[][..], |job| &job.settings);
        let of_key = |(place, setting): (usize, &Setting)| {
            let values = jobs.iter().map(|job| Kind::of(&job.settings[place].given()));
            Self {
                key: setting.key().to_owned(),
                kind: values.reduce(Kind::with).unwrap_or(Kind::Text),
            }
        };
        first.iter().enumerate().map(of_key).collect()
    }

    /// Column of the swept key with these values.
    fn column<'s>(&self, values: impl Iterator<Item = &'s Setting>) -> Column {
        let given = values.map(|setting| (setting.given(), setting.value()));
        match self.kind {
            Kind::Integer => Column::Integer(given.map(|(value, _)| whole(&value)).collect()),
            Kind::Real => Column::Real(given.map(|(value, _)| real(&value)).collect()),
            Kind::Flag => Column::Flag(given.map(|(value, _)| value == TypedValue::Flag(true)).collect()),
            Kind::Text => Column::Text(given.map(|(value, written)| text_of(value, written)).collect()),
        }
    }
}

const fn whole(value: &TypedValue) -> i64 {
    match *value {
        TypedValue::Integer(whole) => whole,
        TypedValue::Real(_) | TypedValue::Flag(_) | TypedValue::Text(_) => 0,
    }
}

const fn real(value: &TypedValue) -> f64 {
    match *value {
        TypedValue::Integer(whole) => whole as f64,
        TypedValue::Real(number) => number,
        TypedValue::Flag(_) | TypedValue::Text(_) => f64::NAN,
    }
}

/// Text without its quotes, everything else as it was written.
fn text_of(value: TypedValue, written: &str) -> String {
    match value {
        TypedValue::Text(text) => text,
        TypedValue::Integer(_) | TypedValue::Real(_) | TypedValue::Flag(_) => written.to_owned(),
    }
}

/// What distinguishes a run from others of a sweep with these keys, for documents.
pub fn case(settings: &[Setting]) -> Case {
    let value = |setting: &Setting| match setting.given() {
        TypedValue::Integer(whole) => SetValue::Integer(whole),
        TypedValue::Real(number) => SetValue::Real(number),
        TypedValue::Flag(flag) => SetValue::Flag(flag),
        TypedValue::Text(text) => SetValue::Text(text),
    };
    let set = settings.iter();
    Case {
        world: None,
        set: set
            .map(|setting| (setting.key().to_owned(), value(setting)))
            .collect(),
    }
}

/// Runs and their results, a row for each flow of each run. Each key that was given several values has a
/// column `set.KEY`.
pub fn table<'r>(swept: &[Swept], done: impl IntoIterator<Item = (&'r Job, &'r Played)>) -> Table {
    let rows: Vec<Row<'_>> = done
        .into_iter()
        .flat_map(|(job, played)| played.run.flows.iter().map(move |flow| Row { job, played, flow }))
        .collect();
    let text = |value: &dyn Fn(&Row<'_>) -> String| Column::Text(rows.iter().map(value).collect());
    let real = |value: &dyn Fn(&Row<'_>) -> f64| Column::Real(rows.iter().map(value).collect());
    let integer = |value: &dyn Fn(&Row<'_>) -> u64| {
        let whole = |row| i64::try_from(value(row)).unwrap_or(i64::MAX);
        Column::Integer(rows.iter().map(whole).collect())
    };
    let mut table = Table::default();
    table.add("scenario", text(&|row| row.job.plan.name.clone()));
    table.add("policy", text(&|row| row.job.policy.to_string()));
    table.add("seed", integer(&|row| row.job.seed));
    for (place, swept) in swept.iter().enumerate() {
        let values = rows.iter().map(|row| &row.job.settings[place]);
        table.add(format!("set.{}", swept.key), swept.column(values));
    }
    table.add("flow", text(&|row| row.flow.name.clone()));
    table.add(
        "link",
        text(&|row| {
            row.flow
                .paths
                .first()
                .map_or_else(String::new, |path| path.link.clone())
        }),
    );
    table.add("duration_s", real(&|row| row.played.run.duration_s));
    table.add("bytes", integer(&|row| row.flow.bytes));
    table.add("goodput_mbps", real(&|row| row.flow.goodput_mbps));
    table.add("longest_stall_ms", real(&|row| row.flow.longest_stall_ms));
    for (name, count) in COUNTS {
        table.add(name, integer(&|row| row.flow.datagrams.map_or(0, count)));
    }
    for (place, name) in ["segments", "retransmits"].into_iter().enumerate() {
        let count = |row: &Row<'_>| row.segments().map_or(0, |counts| counts[place]);
        table.add(name, integer(&count));
    }
    for (kind, times) in KINDS {
        for (name, time) in TIMES {
            let column = real(&|row| times(row).map_or(f64::NAN, time));
            table.add(format!("{kind}_{name}"), column);
        }
    }
    table.add("jitter_ms", real(&|row| row.flow.jitter_ms.unwrap_or(f64::NAN)));
    for (name, figure) in PLAYBACK {
        table.add(name, real(&|row| row.flow.playback.map_or(f64::NAN, figure)));
    }
    table.add("frames", integer(&|row| row.link().map_or(0, |link| link.frames)));
    table.add(
        "retries",
        integer(&|row| row.link().map_or(0, |link| link.retries)),
    );
    table.add(
        "airtime_share",
        real(&|row| row.of_link(|link| link.airtime_share)),
    );
    let attempts = |row: &Row<'_>| row.sender().map_or(0, |station| station.attempts);
    table.add("attempts", integer(&attempts));
    table.add("collision_probability", real(&|row| row.collided()));
    table.add("idle_share", real(&|row| row.idle_share().unwrap_or(f64::NAN)));
    table.add(
        "stopped",
        Column::Flag(rows.iter().map(|row| row.played.stopped.is_some()).collect()),
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(values: &str) -> Kind {
        let values = Setting::alternatives(&format!("k={values}")).unwrap();
        let kinds = values.iter().map(|setting| Kind::of(&setting.given()));
        kinds.reduce(Kind::with).unwrap()
    }

    #[test]
    fn a_column_has_the_type_of_its_values() {
        let table = [
            ("6,54", Kind::Integer),
            ("5.5,11.0", Kind::Real),
            ("5.5,11", Kind::Real),
            ("true,false", Kind::Flag),
            ("fixed,minstrel", Kind::Text),
            ("54,auto", Kind::Text),
            ("5.5,true", Kind::Text),
            ("[1, 2],[3, 4]", Kind::Text),
        ];
        for (values, expected) in table {
            assert_eq!(kind(values), expected, "{values}");
        }
    }

    #[test]
    fn mixed_values_are_text_as_written_without_quotes() {
        let values = Setting::alternatives("k=54,\"auto\",5.50,true").unwrap();
        let swept = Swept {
            key: "k".to_owned(),
            kind: Kind::Text,
        };
        let expected = ["54", "auto", "5.50", "true"].map(str::to_owned);
        assert_eq!(swept.column(values.iter()), Column::Text(expected.to_vec()));
        let numbers = Setting::alternatives("k=5.5,11").unwrap();
        let swept = Swept {
            kind: Kind::Real,
            ..swept
        };
        assert_eq!(swept.column(numbers.iter()), Column::Real(vec![5.5, 11.0]));
    }
}

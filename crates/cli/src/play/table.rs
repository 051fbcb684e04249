//! Results of many runs: a row for each flow of each run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sim::Played;
use trace::{Column, PlayDocument, Table};

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

    fn of_link(&self, figure: impl Fn(&trace::LinkUse) -> f64) -> f64 {
        self.link().map_or(0.0, figure)
    }
}

/// All of them. Keys that were given several values have a column each.
pub fn table(jobs: &[Job], done: &[Played]) -> Table {
    let rows: Vec<Row<'_>> = jobs
        .iter()
        .zip(done)
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
    for (place, setting) in jobs[0].settings.iter().enumerate() {
        table.add(
            setting.key(),
            text(&|row| row.job.settings[place].value().to_owned()),
        );
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
    table.add("frames", integer(&|row| row.link().map_or(0, |link| link.frames)));
    table.add(
        "retries",
        integer(&|row| row.link().map_or(0, |link| link.retries)),
    );
    table.add(
        "airtime_share",
        real(&|row| row.of_link(|link| link.airtime_share)),
    );
    table.add(
        "stopped",
        Column::Flag(rows.iter().map(|row| row.played.stopped.is_some()).collect()),
    );
    table
}

/// Mean, least and largest goodput of each flow, for every combination of values.
pub fn text(jobs: &[Job], document: &PlayDocument) -> String {
    let mut groups: BTreeMap<(usize, String, String), Vec<f64>> = BTreeMap::new();
    let mut labels: Vec<String> = Vec::new();
    for (job, run) in jobs.iter().zip(&document.runs) {
        let values: Vec<String> = job.settings.iter().map(ToString::to_string).collect();
        let label = values.join(" ");
        let place = labels
            .iter()
            .position(|known| *known == label)
            .unwrap_or_else(|| {
                labels.push(label);
                labels.len() - 1
            });
        for flow in &run.flows {
            let key = (place, job.policy.to_string(), flow.name.clone());
            groups.entry(key).or_default().push(flow.goodput_mbps);
        }
    }
    let mut out = format!("{}\n\n", jobs[0].plan.sentence);
    for ((place, policy, flow), goodputs) in groups {
        let mean = goodputs.iter().sum::<f64>() / goodputs.len() as f64;
        let least = goodputs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = goodputs.iter().copied().fold(0.0, f64::max);
        let label = &labels[place];
        let gap = if label.is_empty() { "" } else { "  " };
        let _ = writeln!(
            out,
            "{label}{gap}{policy}  {flow}: {mean:.3} Mb/s ({least:.3} to {most:.3}, {} runs)",
            goodputs.len()
        );
    }
    let _ = writeln!(out, "\n{} runs in {:.1} s", document.runs.len(), document.wall_s);
    out
}

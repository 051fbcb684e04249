//! What happened on the air: the tables of stations and of channels.

use super::escape;
use crate::figures::Row;
use trace::{ChannelUse, StationUse};

/// Renders both. Empty if no run knows its stations.
pub(super) fn tables(rows: &[Row<'_>]) -> String {
    let runs = || rows.iter().filter(|row| !row.run.policy.is_computed());
    let stations = runs().flat_map(|row| {
        row.run
            .stations
            .iter()
            .map(|station| of_station(&row.label, station))
    });
    let channels = runs().flat_map(|row| {
        row.run
            .channels
            .iter()
            .map(|channel| of_channel(&row.label, channel))
    });
    let tables = [
        table(&["channel", "idle"], channels.collect()),
        table(
            &["station", "frames sent", "failed", "collided", "airtime"],
            stations.collect(),
        ),
    ]
    .concat();
    match tables.is_empty() {
        true => tables,
        false => {
            format!("<details><summary>The air, by channel and by station</summary>\n{tables}</details>")
        }
    }
}

/// Empty without lines. `heads`: those after that of the run.
fn table(heads: &[&str], lines: Vec<String>) -> String {
    let heads = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>"));
    match lines.is_empty() {
        true => String::new(),
        false => format!(
            "<table><thead><tr><th scope=\"col\">run</th>{}</tr></thead><tbody>\n{}</tbody></table>\n",
            heads.collect::<String>(),
            lines.concat()
        ),
    }
}

fn of_station(label: &str, station: &StationUse) -> String {
    let cells = [
        station.name.clone(),
        station.attempts.to_string(),
        station.failures.to_string(),
        percent(station.collision_probability),
        percent(station.airtime_share),
    ];
    line(label, &cells)
}

fn of_channel(label: &str, channel: &ChannelUse) -> String {
    line(label, &[channel.channel.to_string(), percent(channel.idle_share)])
}

fn line(label: &str, cells: &[String]) -> String {
    let cells = cells
        .iter()
        .map(|cell| format!("<td><span class=\"num\">{}</span></td>", escape(cell)));
    format!(
        "<tr><th scope=\"row\">{}</th>{}</tr>\n",
        escape(label),
        cells.collect::<String>()
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_shares_in_percent() {
        let station = StationUse {
            name: "a<b@36".into(),
            attempts: 1_234,
            failures: 5,
            collision_probability: 0.025,
            airtime_share: 0.5,
        };
        let shown = of_station("mptcp", &station);
        for cell in ["a&lt;b@36", ">1234<", ">5<", ">2.5 %<", ">50.0 %<"] {
            assert!(shown.contains(cell), "{cell}: {shown}");
        }
        let channel = ChannelUse {
            channel: 36,
            idle_share: 0.125,
        };
        assert!(of_channel("mptcp", &channel).contains(">12.5 %<"));
        assert_eq!(tables(&[]), "");
    }
}

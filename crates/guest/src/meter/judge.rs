//! What a host says of its links, and what its monitor has heard, against what happened on the air.
//!
//! An estimate covers the last half second ([docs/wifi-box.md]). The truth of the same time is in five bins.
//!
//! [docs/wifi-box.md]: ../../../../docs/wifi-box.md

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What happened on the air, from `wifi-medium`.
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    /// Names of the access points in the scenario, in the order of sta1 to staN. An interface of slowhand
    /// belongs to the access point whose name is its SSID.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    scenario_links: Vec<String>,
    /// What the daemon said of its links.
    #[arg(long, value_name = "FILE")]
    estimates: Option<PathBuf>,
    /// Of an access point: its configured loss in percent, frames of it that the monitor heard, and those of
    /// them with the Retry bit.
    #[arg(long, value_name = "'NAME PERCENT FRAMES RETRIES'", value_parser = retries)]
    retries: Vec<Retries>,
}

/// Frames of an access point that the monitor has heard.
#[derive(Debug, Clone, PartialEq)]
struct Retries {
    ap: String,
    percent: f64,
    frames: u64,
    retries: u64,
}

fn retries(text: &str) -> Result<Retries, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [ap, percent, frames, retries] = words[..] else {
        return Err("give a name and three numbers, as in 'near 20 500 97'".into());
    };
    let parsed = || {
        Some(Retries {
            ap: ap.to_owned(),
            percent: percent.parse().ok()?,
            frames: frames.parse().ok()?,
            retries: retries.parse().ok()?,
        })
    };
    parsed().ok_or_else(|| format!("{text}: not a name and three numbers"))
}

/// A line of the truth about one access point and direction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Bin {
    t_s: f64,
    ap: String,
    way: String,
    frames: u64,
    first_lost: u64,
    first_collided: u64,
    attempts: u64,
    given_up: u64,
    dropped: u64,
    bytes: u64,
    air_us: u64,
    full: u64,
    full_air_us: u64,
}

/// A line of estimates: what `slowhand why --json` said at a time.
#[derive(Debug, Deserialize)]
struct Said {
    t_s: f64,
    why: Why,
}

#[derive(Debug, Deserialize)]
struct Why {
    links: Vec<LinkWhy>,
    wifi: Option<AccessPoints>,
}

/// What slowhand has joined.
#[derive(Debug, Deserialize)]
struct AccessPoints {
    access_points: Vec<AccessPoint>,
}

#[derive(Debug, Deserialize)]
struct AccessPoint {
    ssid: String,
    interface: Option<String>,
}

impl Why {
    /// The access point of a link.
    fn access_point<'n>(&self, link: &str, names: &'n [String]) -> Option<&'n String> {
        if let Some(number) = link.strip_prefix("sta") {
            return names.get(number.parse::<usize>().ok()?.checked_sub(1)?);
        }
        let mut joined = self.wifi.as_ref()?.access_points.iter();
        let joined = joined.find(|one| one.interface.as_deref() == Some(link))?;
        names.iter().find(|name| **name == joined.ssid)
    }
}

#[derive(Debug, Deserialize)]
struct LinkWhy {
    link: String,
    why: String,
}

/// Length of an estimate's window, and the fewest frames for a comparison.
const WINDOW_S: f64 = 0.5;
const FEWEST: u64 = 50;
/// Fewest first attempts of a window for the mean error: consecutive estimates count together until then.
const WINDOW_FRAMES: u64 = 500;
/// Length of a bin.
const BIN_S: f64 = 0.1;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let text = read(&args.truth)?;
    let bins = bins(&text)?;
    let mut judged = json!({
        "air": air(&bins, &args.scenario_links),
        "late_max_us": ended(&text)?,
    });
    if !args.retries.is_empty() {
        judged["retries"] = heard(&args.retries, &bins);
    }
    if let Some(path) = &args.estimates {
        judged["estimates"] = estimates(&read(path)?, &bins, &args.scenario_links)
            .with_context(|| path.display().to_string())?;
    }
    println!("{judged}");
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The lines about access points.
fn bins(text: &str) -> anyhow::Result<Vec<Bin>> {
    let about = text.lines().filter(|line| line.contains("\"ap\":"));
    let bins: Result<Vec<Bin>, _> = about.map(serde_json::from_str).collect();
    bins.context("the truth is not what wifi-medium writes")
}

/// How late the medium was at most, from its last line. Without that line it did not live to the end.
fn ended(text: &str) -> anyhow::Result<u64> {
    let last: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_default();
    let late = last["late_max_us"].as_u64().filter(|_| last["event"] == "ended");
    late.context("the truth has no end: the medium has died")
}

/// Sums over the whole run, for each access point towards the client.
fn air(bins: &[Bin], names: &[String]) -> Value {
    let of = |name: &String| {
        let own = || bins.iter().filter(|bin| bin.ap == *name && bin.way == "down");
        let sum = |count: fn(&Bin) -> u64| own().map(count).sum::<u64>();
        json!({
            "ap": name, "frames": sum(|bin| bin.frames), "first_lost": sum(|bin| bin.first_lost),
            "attempts": sum(|bin| bin.attempts), "given_up": sum(|bin| bin.given_up),
            "dropped": sum(|bin| bin.dropped), "bytes": sum(|bin| bin.bytes), "air_us": sum(|bin| bin.air_us),
        })
    };
    names.iter().map(of).collect()
}

/// Shares of retries at the monitor, against first attempts that were lost. Losses without collisions,
/// against the configured loss.
///
/// The truth begins before the monitor listens and ends after it. Two frames that it did not hear are more
/// than a point of 180 frames. So the worst error is that of access points with [`WINDOW_FRAMES`] or more. It
/// is null if none has as many.
fn heard(all: &[Retries], bins: &[Bin]) -> Value {
    let (mut worst_heard, mut worst_loss) = (None, 0.0);
    let mut listed = Vec::new();
    for one in all {
        let own = || bins.iter().filter(|bin| bin.ap == one.ap && bin.way == "down");
        let sum = |count: fn(&Bin) -> u64| own().map(count).sum::<u64>();
        let (frames, lost) = (sum(|bin| bin.frames), sum(|bin| bin.first_lost));
        let collided = sum(|bin| bin.first_collided);
        let heard = percent(one.retries, one.frames);
        let truth = percent(lost, frames);
        let alone = percent(lost - collided, frames - collided);
        if one.frames >= WINDOW_FRAMES {
            let error = (heard - truth).abs();
            worst_heard = Some(worst_heard.map_or(error, |worst| f64::max(worst, error)));
        }
        worst_loss = f64::max(worst_loss, (alone - one.percent).abs());
        listed.push(json!({
            "ap": one.ap, "heard": one.frames, "retry_percent": heard, "first_lost_percent": truth,
            "collided_percent": percent(collided, frames), "lost_alone_percent": alone,
            "configured_percent": one.percent,
        }));
    }
    json!({
        "worst_points": worst_heard, "worst_configured_points": worst_loss, "access_points": listed,
    })
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Errors of the estimates: loss of first attempts in points, airtime of a delivered packet in percent.
fn estimates(text: &str, bins: &[Bin], names: &[String]) -> anyhow::Result<Value> {
    let (mut losses, mut airtimes) = (Vec::new(), Vec::new());
    let mut windows = Windows::default();
    for said in serde_json::Deserializer::from_str(text).into_iter::<Said>() {
        let said = said.context("this is not what `slowhand why --json` prints")?;
        for about in &said.why.links {
            let Some(name) = said.why.access_point(&about.link, names) else {
                continue;
            };
            let truth = Truth::of(bins, name, said.t_s);
            if truth.frames < FEWEST {
                continue;
            }
            if let Some((percent, frames)) = delivered(&about.why).filter(|(_, frames)| *frames >= FEWEST) {
                losses.push(((100.0 - percent) - truth.loss_percent()).abs());
                windows.add(name, (100.0 - percent, frames), &truth);
                if let Some((told, real)) = airtime(&about.why).zip(truth.airtime_us()) {
                    airtimes.push(100.0 * (told - real).abs() / real);
                }
            } else {
                windows.missed += 1;
            }
        }
    }
    Ok(json!({
        "loss_points": spread(losses), "airtime_percent": spread(airtimes), "windows": windows.judged(names),
    }))
}

/// Estimates of the loss over at least [`WINDOW_FRAMES`] first attempts each.
#[derive(Debug, Default)]
struct Windows {
    open: BTreeMap<String, Pooled>,
    /// Errors in points.
    errors: BTreeMap<String, Vec<f64>>,
    /// Half seconds with enough frames on the air in which the daemon knew of too few.
    missed: u64,
}

/// Frames of consecutive estimates, and those that the daemon and the air know as lost at first.
#[derive(Debug, Default)]
struct Pooled {
    told_frames: u64,
    told_lost: f64,
    frames: u64,
    first_lost: u64,
}

impl Windows {
    fn add(&mut self, name: &str, (told_percent, told_frames): (f64, u64), truth: &Truth) {
        let pooled = self.open.entry(name.to_owned()).or_default();
        pooled.told_frames += told_frames;
        pooled.told_lost += told_percent / 100.0 * told_frames as f64;
        pooled.frames += truth.frames;
        pooled.first_lost += truth.first_lost;
        if pooled.frames >= WINDOW_FRAMES {
            let told = 100.0 * pooled.told_lost / pooled.told_frames as f64;
            let error = (told - percent(pooled.first_lost, pooled.frames)).abs();
            *pooled = Pooled::default();
            self.errors.entry(name.to_owned()).or_default().push(error);
        }
    }

    fn judged(&self, names: &[String]) -> Value {
        let all: Vec<f64> = self.errors.values().flatten().copied().collect();
        let of = |name: &String| {
            let errors = self.errors.get(name).map_or(&[][..], Vec::as_slice);
            json!({"ap": name, "n": errors.len(), "mean": mean(errors)})
        };
        let each: Vec<Value> = names.iter().map(of).collect();
        json!({
            "n": all.len(), "mean": mean(&all), "worst": all.iter().copied().reduce(f64::max),
            "missed": self.missed, "access_points": each,
        })
    }
}

/// `None` of nothing.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The truth of the window that ends at a time.
struct Truth {
    frames: u64,
    first_lost: u64,
    full: u64,
    full_air_us: u64,
}

impl Truth {
    fn of(bins: &[Bin], name: &str, until_s: f64) -> Self {
        let from_s = until_s - WINDOW_S;
        let mut truth = Self {
            frames: 0,
            first_lost: 0,
            full: 0,
            full_air_us: 0,
        };
        // A bin belongs to the window that has its middle.
        let inside = |bin: &&Bin| {
            bin.ap == name && bin.way == "down" && {
                let middle_s = bin.t_s + BIN_S / 2.0;
                middle_s >= from_s && middle_s < until_s
            }
        };
        for bin in bins.iter().filter(inside) {
            truth.frames += bin.frames;
            truth.first_lost += bin.first_lost;
            truth.full += bin.full;
            truth.full_air_us += bin.full_air_us;
        }
        truth
    }

    fn loss_percent(&self) -> f64 {
        100.0 * self.first_lost as f64 / self.frames as f64
    }

    fn airtime_us(&self) -> Option<f64> {
        (self.full >= FEWEST / 2).then(|| self.full_air_us as f64 / self.full as f64)
    }
}

/// "75.00 % of 1000 frames got through at the first attempt": the share and the frames.
fn delivered(why: &str) -> Option<(f64, u64)> {
    let (before, _) = why.split_once(" frames got through at the first attempt")?;
    let (percent, frames) = before.rsplit_once(" % of ")?;
    let percent = percent.rsplit([' ', ';']).next()?;
    Some((percent.parse().ok()?, frames.parse().ok()?))
}

/// "a packet takes 310 µs of airtime": the time.
fn airtime(why: &str) -> Option<f64> {
    let (before, _) = why.rsplit_once(" µs of airtime")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Median, 95th percentile and number.
fn spread(mut errors: Vec<f64>) -> Value {
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (errors.len() as f64 * share) as usize;
        errors.get(place.min(errors.len().saturating_sub(1))).copied()
    };
    json!({"n": errors.len(), "median": at(0.5), "p95": at(0.95)})
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: &str = concat!(
        r#"{"t_s":0.5,"ap":"near","way":"down","frames":100,"first_lost":30,"first_collided":10,"attempts":140,"given_up":1,"dropped":2,"bytes":9,"air_us":50,"full":100,"full_air_us":40000}"#,
        "\n",
        r#"{"t_s":0.5,"mhz":2437,"busy_us":90}"#,
        "\n",
        r#"{"t_s":1.5,"ap":"near","way":"down","frames":100,"first_lost":99,"first_collided":10,"attempts":140,"given_up":1,"dropped":2,"bytes":9,"air_us":50,"full":100,"full_air_us":90000}"#,
        "\n",
        r#"{"t_s":1.6,"event":"ended","late_max_us":7,"figures":{}}"#,
    );

    #[test]
    fn estimates_are_compared_with_their_own_half_second() {
        let why = "use: it is up; 75.00 % of 100 frames got through at the first attempt at 54.0 Mb/s; \
                   a packet takes 500 µs of airtime";
        let said = json!({"t_s": 1.0, "why": {"links": [{"link": "sta1", "why": why}]}}).to_string();
        let judged = estimates(&said, &bins(TRUTH).unwrap(), &["near".into()]).unwrap();
        assert_eq!(judged["loss_points"], json!({"n": 1, "median": 5.0, "p95": 5.0}));
        assert_eq!(
            judged["airtime_percent"],
            json!({"n": 1, "median": 25.0, "p95": 25.0})
        );
    }

    #[test]
    fn an_interface_of_slowhand_is_that_of_its_network() {
        let why: Why = serde_json::from_value(json!({"links": [], "wifi": {"access_points": [
            {"ssid": "near", "interface": "slow-w2"}, {"ssid": "other", "interface": "slow-w1"},
            {"ssid": "absent"},
        ]}}))
        .unwrap();
        let names = ["far".to_owned(), "near".to_owned()];
        let of = |link| why.access_point(link, &names).map(String::as_str);
        assert_eq!([of("sta1"), of("slow-w2")], [Some("far"), Some("near")]);
        assert_eq!(["sta0", "sta3", "slow-w1", "eth0"].map(of), [None; 4]);
    }

    #[test]
    fn consecutive_estimates_are_one_window_of_500_frames() {
        let truth = |frames, first_lost| Truth {
            frames,
            first_lost,
            full: 0,
            full_air_us: 0,
        };
        let mut windows = Windows::default();
        // 150 of 600 lost as told, 120 of 500 in truth.
        windows.add("near", (25.0, 400), &truth(300, 90));
        assert_eq!(windows.judged(&[])["n"], 0);
        windows.add("near", (25.0, 200), &truth(200, 30));
        // Too few by themselves.
        windows.add("near", (99.0, 200), &truth(200, 0));
        windows.add("far", (60.0, 500), &truth(500, 285));
        let judged = windows.judged(&["near".into(), "far".into()]);
        assert_eq!(
            (&judged["n"], &judged["mean"], &judged["worst"]),
            (&json!(2), &json!(2.0), &json!(3.0))
        );
        assert_eq!(
            judged["access_points"][0],
            json!({"ap": "near", "n": 1, "mean": 1.0})
        );
    }

    #[test]
    fn an_access_point_with_few_frames_does_not_count_for_the_worst_error_of_retries() {
        let worst = |texts: &[&str]| {
            let all: Vec<Retries> = texts.iter().map(|text| retries(text).unwrap()).collect();
            heard(&all, &bins(TRUTH).unwrap())["worst_points"].as_f64()
        };
        assert_eq!(worst(&["near 60 499 100"]), None);
        let few_and_many = worst(&["near 60 499 100", "near 60 1000 645"]);
        assert!(
            few_and_many.is_some_and(|points| points < 1e-9),
            "{few_and_many:?}"
        );
    }

    #[test]
    fn a_truth_without_its_end_is_refused() {
        assert_eq!(ended(TRUTH).unwrap(), 7);
        let died = TRUTH.rsplit_once('\n').unwrap().0;
        assert!(ended(died).unwrap_err().to_string().contains("has died"));
    }

    #[test]
    fn retries_are_compared_with_lost_attempts_and_losses_with_the_configured_ones() {
        let near = retries("near 60 500 330").unwrap();
        let judged = heard(&[near], &bins(TRUTH).unwrap());
        // 129 of 200 first attempts were lost: 20 collided, and 109 of the other 180 were lost.
        assert!(
            (judged["worst_points"].as_f64().unwrap() - 1.5).abs() < 1e-9,
            "{judged}"
        );
        let alone = 100.0 * 109.0 / 180.0 - 60.0;
        assert!(
            (judged["worst_configured_points"].as_f64().unwrap() - alone).abs() < 1e-9,
            "{judged}"
        );
        assert!(retries("20 500 97").is_err());
    }

    #[test]
    fn the_best_of_an_explanation_is_not_its_own_airtime() {
        let why = "a packet takes 1.56 ms of airtime, but only 0.39 ms at the best; a packet takes 393 µs of airtime";
        assert_eq!(airtime(why), Some(393.0));
        assert_eq!(delivered("nothing is known"), None);
    }
}

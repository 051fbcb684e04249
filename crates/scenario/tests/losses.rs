//! `[[losses]]`: which pairs it names, and what is refused.

use scenario::{Plan, Problems, Setting, Way, parse};
use units::Ratio;

/// Two access points and two walkers.
fn read(top: &str, losses: &str, settings: &[&str]) -> Result<Plan, Problems> {
    let ap = |name: &str| {
        format!(
            "[aps.{name}]\nat_m = [0, 0]\nchannel = 1\n{}backhaul = {{ rate_mbps = 9, rtt_ms = 9 }}\n",
            if top.is_empty() {
                ""
            } else {
                "wfq = { packet_ms = 1, weight = 1 }\n"
            }
        )
    };
    let text = format!(
        "sentence = \"x\"\nduration_s = 6\n{top}{}{}[walkers.client]\nat_m = [0, 5]\n\
         [walkers.guard]\nat_m = [0, 6]\n[flows.file]\ndirection = \"down\"\n{losses}",
        ap("near"),
        ap("far")
    );
    let settings = settings
        .iter()
        .flat_map(|text| Setting::alternatives(text).unwrap());
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    parse(
        "losses.toml",
        text.as_bytes(),
        &settings.collect::<Vec<_>>(),
        &no_files,
    )
}

fn loss(from: &str, to: &str, percent: &str) -> String {
    format!("[[losses]]\nfrom = \"{from}\"\nto = \"{to}\"\npercent = {percent}\n")
}

/// Link, walker, direction and share in ppm of each.
fn pairs(plan: &Plan) -> Vec<(usize, usize, Way, Ratio)> {
    let losses = plan.losses.iter();
    losses
        .map(|loss| (loss.link, loss.walker, loss.way, loss.share))
        .collect()
}

#[test]
fn every_pair_has_a_share_in_each_direction() {
    let matrix = [
        loss("near", "client", "10"),
        loss("client", "near", "0.5"),
        loss("far", "client", "20"),
        loss("far", "guard", "100"),
    ];
    let plan = read("", &matrix.concat(), &[]).unwrap();
    let share = Ratio::from_ppm;
    let expected = [
        (0, 0, Way::Down, share(100_000)),
        (0, 0, Way::Up, share(5_000)),
        (1, 0, Way::Down, share(200_000)),
        (1, 1, Way::Down, share(1_000_000)),
    ];
    assert_eq!(pairs(&plan), expected);
}

#[test]
fn settings_make_a_loss_that_the_file_does_not_have() {
    let settings = ["losses.0.from=far", "losses.0.to=guard", "losses.0.percent=25"];
    let plan = read("", "", &settings).unwrap();
    assert_eq!(pairs(&plan), [(1, 1, Way::Down, Ratio::from_ppm(250_000))]);
}

#[test]
fn a_new_link_can_have_the_name_of_a_list() {
    for name in ["losses", "walls"] {
        let settings = [("rate_mbps", 10), ("rtt_ms", 20)];
        let settings = settings.map(|(key, value)| format!("cables.{name}.{key}={value}"));
        let plan = read("", "", &settings.each_ref().map(String::as_str)).unwrap();
        assert!(plan.link_index(name).is_some(), "{name}");
    }
}

#[test]
fn what_is_no_pair_is_refused() {
    let coarse = "medium = \"wfq\"\n";
    for (top, losses, said) in [
        (
            "",
            loss("near", "far", "1"),
            "are not an access point and a walker",
        ),
        (
            "",
            loss("client", "guard", "1"),
            "are not an access point and a walker",
        ),
        ("", loss("near", "gard", "1"), "there is no walker"),
        ("", loss("near", "client", "101"), "give a number from 0 to 100"),
        (
            "",
            loss("near", "client", "1").repeat(2),
            "another loss from it to the same receiver",
        ),
        (coarse, loss("near", "client", "1"), "has no frames"),
    ] {
        let problems = read(top, &losses, &[]).unwrap_err().to_string();
        assert!(problems.contains(said), "{losses}: {problems}");
    }
}

//! One table for many: `count` with `grid` or `scatter`, flows of groups, and large files.

use scenario::{LinkKind, Plan, Point, Problems, Thing, Transport, WalkerRate, parse};
use units::Bitrate;

const HEAD: &str = "sentence = \"x\"\nduration_s = 5\n";
const CLIENT: &str = "[walkers.client]\nat_m = [0, 0]\n";
const WIRE: &str = "channel = 6\nbackhaul = { rate_mbps = 100, rtt_ms = 2 }\n";

fn read(text: &str) -> Result<Plan, Problems> {
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    parse("many.toml", text.as_bytes(), &[], &no_files)
}

/// Three access points in a row, and as many walkers as `walkers` says, each with an upload.
fn plan(walkers: &str) -> Plan {
    read(&format!(
        "{HEAD}[aps.ap]\ncount = 3\ngrid = {{ from_m = [10, 0], columns = 2, step_m = [20, 30] }}\n{WIRE}{CLIENT}\
         [walkers.sta]\n{walkers}\n[flows.up]\nby = \"sta\"\ntransport = \"udp\"\nover = \"ap\"\ndirection = \"up\"\n"
    ))
    .unwrap()
}

fn places(plan: &Plan) -> Vec<Point> {
    let places = plan.walkers.iter().map(|walker| walker.way[0].point);
    places.collect()
}

fn over(plan: &Plan) -> Vec<&str> {
    let link = |flow: &scenario::Flow| match flow.transport {
        Transport::Udp { over } => plan.links[over].name.as_str(),
        Transport::Tcp { .. } | Transport::Mptcp | Transport::EachLink | Transport::EachPeer { .. } => "",
    };
    plan.flows.iter().map(link).collect()
}

#[test]
fn a_grid_is_filled_row_by_row() {
    let plan = plan("count = 2\nat_m = [1, 1]");
    let of_link = |link: &scenario::Link| match &link.kind {
        LinkKind::Wifi(ap) => (link.name.clone(), ap.at),
        LinkKind::Cell(_) | LinkKind::Cable(_) => unreachable!(),
    };
    let links: Vec<(String, Point)> = plan.links.iter().map(of_link).collect();
    let expected = [(1, 10, 0), (2, 30, 0), (3, 10, 30)];
    let expected = expected.map(|(number, x, y)| (format!("ap-{number}"), Point::from_m(x, y)));
    assert_eq!(links, expected);
}

#[test]
fn each_member_has_the_flow_over_its_nearest_access_point() {
    let plan = plan("count = 4\ngrid = { from_m = [12, 1], columns = 2, step_m = [17, 40] }");
    let names: Vec<&str> = plan.walkers.iter().map(|walker| walker.name.as_str()).collect();
    assert_eq!(names, ["client", "sta-1", "sta-2", "sta-3", "sta-4"]);
    let flows: Vec<(&str, usize)> = plan
        .flows
        .iter()
        .map(|flow| (flow.name.as_str(), flow.by))
        .collect();
    assert_eq!(flows, [("up-1", 1), ("up-2", 2), ("up-3", 3), ("up-4", 4)]);
    assert_eq!(over(&plan), ["ap-1", "ap-2", "ap-3", "ap-3"]);
}

#[test]
fn the_seed_scatters_members_within_their_rectangle() {
    let scattered = |count: u32| {
        plan(&format!(
            "count = {count}\nscatter = {{ from_m = [10, 30], to_m = [30, 0] }}"
        ))
    };
    let (few, many) = (scattered(3), scattered(300));
    assert_eq!(
        places(&few),
        places(&many)[..4],
        "more members move none of the others"
    );
    let inside =
        |point: &Point| (10_000..=30_000).contains(&point.x_mm) && (0..=30_000).contains(&point.y_mm);
    assert!(places(&many)[1..].iter().all(inside));
    let mean = |of: fn(&Point) -> i64| places(&many)[1..].iter().map(of).sum::<i64>() / 300;
    // Four standard deviations of the mean of a uniform distribution.
    assert!((mean(|point| point.x_mm) - 20_000).abs() < 1_400);
    assert!((mean(|point| point.y_mm) - 15_000).abs() < 2_000);
    let again = many.clone().with_seed(many.seed);
    assert_eq!(again, many);
    let other = many.clone().with_seed(2);
    assert!(places(&other) != places(&many) && over(&other) != over(&many));
    assert_eq!(other.with_seed(1), many, "a plan forgets the seeds before");
}

#[test]
fn a_walker_may_have_a_rate_of_its_own() {
    let rate = |keys: &str| plan(&format!("count = 2\nat_m = [1, 1]\n{keys}")).walkers[2].rate;
    assert_eq!(rate(""), None);
    assert_eq!(rate("rate_mbps = \"auto\""), Some(WalkerRate::Auto));
    assert_eq!(
        rate("rate_mbps = 5.5"),
        Some(WalkerRate::Fixed(Bitrate::from_kbps(5_500)))
    );
}

#[test]
fn a_member_has_the_place_of_its_table() {
    let plan = plan("count = 2\nat_m = [1, 1]");
    let line = |thing| plan.spots.spot(thing).map(|spot| spot.line);
    assert_eq!(line(Thing::Link("ap-3")), Some(3));
    assert_eq!(line(Thing::Walker("sta-2")), line(Thing::Walker("sta")));
    assert_eq!(line(Thing::Walker("sta-2")), Some(10));
}

#[test]
fn invalid_groups_are_refused_with_their_place() {
    let table = [
        (
            "[walkers.sta]\ngrid = { from_m = [0, 0], columns = 2, step_m = [1, 1] }",
            "9:8: `grid` places the members of a group, and there is no `count`; add `count`, or give one place: `at_m = [x, y]`",
        ),
        (
            "[walkers.sta]\ncount = 2\nat_m = [0, 0]\nscatter = { from_m = [0, 0], to_m = [1, 1] }",
            "10:8: `at_m` contradicts the places of the group; keep `grid` or `scatter`, or this key",
        ),
        (
            "[walkers.sta]\ncount = 2\ngrid = { from_m = [0, 0], step_m = [1, 1] }",
            "10:1: `grid` of walker \"sta\" has no `columns`; add `columns = 10`: the number of members in a row",
        ),
        (
            "[walkers.sta]\ncount = 10001\nat_m = [0, 0]",
            "9:9: `count` is 10001; give a whole number from 1 to 10000",
        ),
        (
            "[walkers.stations]\ncount = 1000\nat_m = [0, 0]",
            "9:9: the last member would be \"stations-1000\", of 13 characters; shorten \"stations\": names have at most 12 characters",
        ),
        (
            "[walkers.sta-2]\nat_m = [0, 0]\n[walkers.sta]\ncount = 2\nat_m = [0, 0]",
            "8:10: there are two walkers named \"sta-2\"; rename it, or the group",
        ),
        (
            "[walkers.sta]\nat_m = [0, 0]\nrate_mbps = 7",
            "10:13: 802.11a, b and g have no such rate; use a rate of the access points' standard, or \"auto\"",
        ),
        (
            "[aps.ap-1]\nat_m = [0, 0]\nchannel = 6\nbackhaul = { rate_mbps = 1, rtt_ms = 1 }",
            "8:6: there are two links named \"ap-1\"; give each link a different name, whatever its kind",
        ),
    ];
    for (more, expected) in table {
        let ap = format!("[aps.ap]\ncount = 2\nat_m = [0, 0]\n{WIRE}");
        let text = format!("{HEAD}{ap}{more}\n{CLIENT}[flows.f]\ndirection = \"down\"\n");
        let problems = read(&text).unwrap_err();
        let said: Vec<String> = problems
            .iter()
            .map(|problem| {
                let spot = &problem.spot;
                format!(
                    "{}:{}: {}; {}",
                    spot.line, spot.column, problem.what, problem.instead
                )
            })
            .collect();
        assert_eq!(said, [expected], "{more}");
    }
}

#[test]
fn ten_thousand_of_everything_written_out_are_read_and_an_unknown_name_is_not_answered_with_all() {
    use std::fmt::Write;
    let mut text = HEAD.to_owned();
    for n in 0..10_000 {
        let (x, y) = (n % 100, n / 100);
        let _ = write!(
            text,
            "[aps.a{n}]\nat_m = [{x}, {y}]\n{WIRE}[walkers.w{n}]\nat_m = [{x}, {y}]\n"
        );
        let _ = write!(
            text,
            "[flows.f{n}]\nby = \"w{n}\"\ntransport = \"udp\"\nover = \"a{n}\"\ndirection = \"up\"\n"
        );
    }
    text += CLIENT;
    assert!(text.len() > 1 << 20, "the file is larger than a mebibyte");
    let plan = read(&text).unwrap();
    assert_eq!(
        (plan.links.len(), plan.walkers.len(), plan.flows.len()),
        (10_000, 10_001, 10_000)
    );
    let wrong = text.replace("over = \"a77\"", "over = \"nowhere\"");
    let said = read(&wrong).unwrap_err().to_string();
    assert!(said.contains("\"a19\", and 9980 others"), "{said}");
}

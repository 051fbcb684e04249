//! A plan in the words of the models, and the most that they allow.

use links::{Condition, Direction, LinkConfig};
use scenario::{Plan, models};
use units::{Bitrate, Duration, Instant};

/// A cable of 15 Mb/s down and 3 up, and more.
fn plan(flows: &str) -> Plan {
    let text = format!(
        "sentence = \"x\"\nduration_s = 4\n\n[cables.desk]\ndown_mbps = 15\nup_mbps = 3\nrtt_ms = 10\n{flows}"
    );
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    scenario::parse("models.toml", text.as_bytes(), &[], &no_files).unwrap_or_else(|error| panic!("{error}"))
}

const TCP_DOWN: &str = "\n[flows.tcp_down]\ndirection = \"down\"\n";
const TCP_UP: &str = "\n[flows.tcp_up]\ndirection = \"up\"\n";
const UDP_UP: &str = "\n[flows.udp_up]\ntransport = \"udp\"\nover = \"desk\"\ndirection = \"up\"\n";

/// TCP's payload of a cable in full packets.
fn payload(mbps: u64) -> Bitrate {
    Bitrate::from_bps(mbps * 1_000_000 * 1_448 / 1_500)
}

fn optimal(plan: &Plan, conditions: impl Fn(Instant, Direction) -> Vec<Condition>) -> Bitrate {
    models::optimal(plan, &models::network(plan, 1), plan.duration, conditions)
}

fn unharmed(_: Instant, _: Direction) -> Vec<Condition> {
    Vec::new()
}

#[test]
fn the_optimum_is_of_uplinks_if_every_flow_is_up() {
    let of = |flows: &str| optimal(&plan(flows), unharmed);
    assert_eq!(of(TCP_DOWN), payload(15));
    assert_eq!(of(TCP_UP), payload(3));
    assert_eq!(of(UDP_UP), Bitrate::from_bps(3_000_000 * 1_470 / 1_498));
    // Datagrams down and up do not share the cable's rates.
    let both = of(&format!("{UDP_UP}{}", UDP_UP.replace("up", "down")));
    assert_eq!(
        both.as_bps(),
        3_000_000 * 1_470 / 1_498 + 15_000_000 * 1_470 / 1_498
    );
    assert_eq!(of(&format!("{TCP_UP}{UDP_UP}")), payload(3));
    assert_eq!(of(&format!("{TCP_UP}{TCP_DOWN}")), payload(15));
}

#[test]
fn the_optimum_is_a_mean_over_time() {
    let plan = plan(TCP_DOWN);
    // Gone for the last of four seconds.
    let gone = |at: Instant, _| {
        vec![Condition {
            gone: at >= Instant::from_secs(3),
            ..Condition::default()
        }]
    };
    let mean = optimal(&plan, gone).as_bps();
    assert_eq!(mean, payload(15).as_bps() * 3 / 4);
    let none = models::optimal(&plan, &models::network(&plan, 1), Duration::ZERO, unharmed);
    assert_eq!(none, Bitrate::ZERO);
}

#[test]
fn the_optimum_follows_the_client() {
    let access_point = |way: &str| {
        let more = format!(
            "\n[aps.hall]\nat_m = [0, 0]\nstandard = \"a\"\nchannel = 36\nbackhaul = {{ rate_mbps = 100, rtt_ms = 2 }}\n\n\
             [walkers.client]\n{way}\n{TCP_DOWN}"
        );
        optimal(&plan(&more), unharmed)
    };
    let near = access_point("at_m = [1, 0]");
    let far = access_point("at_m = [900, 0]");
    // There for a second, and then on his way to where nothing is heard.
    let away = access_point("way = [{ at_m = [1, 0], t_s = 1 }, { at_m = [900, 0], t_s = 1.1 }]");
    assert_eq!(far, payload(15));
    let share = (away - far).as_bps() as f64 / (near - far).as_bps() as f64;
    // Of forty moments the first eleven: he starts at the eleventh.
    assert!((share - 11.0 / 40.0).abs() < 1e-6, "{share}");
}

#[test]
fn links_keep_their_order_in_the_models() {
    let more = "\n[cells.lte]\nrate_mbps = 9\nrtt_ms = 60\n\n[aps.hall]\nat_m = [3, 4]\nchannel = 11\n\
                backhaul = { rate_mbps = 100, rtt_ms = 2 }\n\n[walkers.client]\nat_m = [1, 2]\n";
    let plan = plan(&format!("{more}{TCP_DOWN}"));
    let network = models::network(&plan, 1);
    let names: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
    let same: Vec<&str> = network.links.iter().map(name).collect();
    assert_eq!(same, names);
    assert_eq!(
        (network.radio.position.x_mm, network.radio.position.y_mm),
        (1_000, 2_000)
    );
    assert!(links::Network::new(1, network).is_ok());
}

fn name(link: &LinkConfig) -> &str {
    match link {
        LinkConfig::Wifi(ap) => &ap.name,
        LinkConfig::Cell(cell) => &cell.name,
        LinkConfig::Cable(cable) => &cable.name,
    }
}

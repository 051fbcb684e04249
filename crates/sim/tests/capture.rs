//! What a capture of the virtual air says: to `linux`'s capture code what the engine is told, and to tshark what happened.

mod common;

use common::{ONE, plan};
use linux::capture;
use sim::{Addresses, Capture, Cast, Play, World, digest, play};
use std::collections::BTreeSet;
use std::process::Command;
use trace::PolicyName;
use units::Duration;

/// Somebody else is served too, and nobody hears everything.
const TWO: &str = "\n[walkers.other]\nat_m = [0, 24]\n\n[flows.rival]\ntransport = \"udp\"\nover = \"near\"\nby = \"other\"\n\
                   direction = \"down\"\n\n[flows.probe]\ntransport = \"udp\"\nover = \"near\"\ndirection = \"everyone\"\nevery_ms = 50\n";

#[test]
fn the_engine_is_told_what_a_monitor_interface_would_show() {
    let plan = plan(&format!("{ONE}{TWO}"), &["aps.near.tx_power_dbm=6"]);
    let cast = Cast::of(&plan).unwrap();
    let client = cast.client_radios().next().unwrap();
    let access_points = cast.access_points.iter().map(Option::is_some).collect();
    let mut bytes = Capture::new(
        Addresses::of(&cast.air, access_points),
        cast.flows.clone(),
        "client",
    );
    let mut world = World::new(1, &cast.air, cast.flows.clone()).unwrap();
    world.monitor(client);
    world.run_for(Duration::from_secs(1));
    let (mut seen, mut kinds) = (0, BTreeSet::new());
    while let Some(frame) = world.overheard() {
        let shown = bytes.bytes(&frame).to_vec();
        // Radiotap's octets, ten more with an antenna, and the frame without its check sum, which a payload that was left out has taken along.
        let radiotap = if frame.from == frame.monitor { 23 } else { 33 };
        let length = radiotap + frame.bytes as usize - 4;
        let read = capture::digest(&shown, length.max(shown.len()), Addresses::mac(client));
        assert_eq!(read.map(|sighting| sighting.frame), digest(&frame), "{frame:?}");
        seen += usize::from(read.is_some());
        kinds.insert(read.map(|sighting| (format!("{:?}", sighting.frame.receiver), sighting.frame.retry)));
    }
    assert!(seen > 300, "{seen}");
    // Ours, the other's with repeats, everybody's, and what is not numbered.
    assert!(kinds.len() >= 5, "{kinds:?}");
}

fn tshark(file: &std::path::Path, filter: &str, fields: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    command
        .args(["-n", "-r"])
        .arg(file)
        .args(["-Y", filter, "-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn tshark_reads_what_was_on_the_air() {
    let plan = plan(
        &format!("{ONE}{TWO}"),
        &["duration_s=1", "walkers.other.at_m=[0, 8]"],
    );
    let played = play(&Play {
        capture: true,
        ..Play::new(&plan, PolicyName::Slowhand)
    })
    .unwrap();
    let file = std::env::temp_dir().join(format!("slowhand-capture-{}.pcapng", std::process::id()));
    std::fs::write(&file, played.capture.unwrap()).unwrap();
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.ra",
        "wlan.seq",
        "radiotap.datarate",
        "radiotap.channel.freq",
        "udp.length",
        "frame.len",
    ];
    let data = tshark(
        &file,
        "wlan.ra == 02:5b:00:00:00:01 && wlan.fc.type == 2",
        &fields,
    );
    let Some(data) = data else {
        println!("skipped: tshark is not installed (scripts/setup.sh test)");
        std::fs::remove_file(&file).unwrap();
        return;
    };
    let acks = tshark(
        &file,
        "wlan.fc.type_subtype == 29",
        &["wlan.ra", "wlan.fcs.status"],
    )
    .unwrap();
    let wrong = tshark(
        &file,
        "_ws.malformed || wlan.fcs.status == 0 || ip.checksum.status == 0",
        &["frame.number"],
    )
    .unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(wrong, [""; 0], "frames that tshark finds fault with");
    assert!(
        data.len() > 500 && acks.len() > 500,
        "{} {}",
        data.len(),
        acks.len()
    );
    let first: Vec<&str> = data[0].split('\t').collect();
    // 1,470 bytes of payload: 1,478 with UDP's header, 1,530 with all but the check sum, behind 33 of radiotap.
    assert_eq!(first[..2], ["0x0020", "02:5b:00:00:00:01"]);
    assert_eq!(first[3..], ["54", "5180", "1478", "1563"]);
}

#[test]
fn tshark_sees_who_sleeps_and_polls() {
    let text = ONE.replace("[walkers.client]", "[walkers.client]\npower_save = true");
    let plan = plan(&text, &["flows.download.limit_mbps=0.5"]);
    let played = play(&Play {
        capture: true,
        ..Play::new(&plan, PolicyName::Slowhand)
    })
    .unwrap();
    let file = std::env::temp_dir().join(format!("slowhand-asleep-{}.pcapng", std::process::id()));
    std::fs::write(&file, played.capture.unwrap()).unwrap();
    let count = |filter: &str| tshark(&file, filter, &["frame.number"]).map(|frames| frames.len());
    let polls = count("wlan.fc.type_subtype == 0x1a");
    let Some(polls) = polls else {
        println!("skipped: tshark is not installed (scripts/setup.sh test)");
        std::fs::remove_file(&file).unwrap();
        return;
    };
    let beacons = count("wlan.fc.type_subtype == 8").unwrap();
    let farewells = count("wlan.fc.type_subtype == 0x24 && wlan.fc.pwrmgt == 1").unwrap();
    let more = count("wlan.fc.type == 2 && wlan.fc.moredata == 1 && wlan.ta == 02:5b:00:00:00:00").unwrap();
    let data = count("wlan.fc.type_subtype == 0x20").unwrap();
    std::fs::remove_file(&file).unwrap();
    // 0.5 Mb/s are 42 datagrams a second, held until one of ten beacons, and each is asked for.
    assert!(
        (70..=90).contains(&data) && polls.abs_diff(data) < 10,
        "{polls} for {data}"
    );
    assert!(more > 30, "{more}");
    assert!(
        (15..=20).contains(&beacons) && farewells >= 1,
        "{beacons} {farewells}"
    );
}

//! What is refused, and the message for each: a table of small edits to a valid file. Datagrams:
//! `datagrams.rs`.

mod sound;

use sound::{edited, messages};

/// One edit, one message. `cargo test -p scenario --test refused` prints the differences.
fn refuses(table: &[(&str, &str, &str)]) {
    for (old, new, expected) in table {
        assert_eq!(messages(edited(old, new)), [*expected], "`{old}` -> `{new}`");
    }
}

#[test]
fn warm_up() {
    refuses(&[
        (
            "duration_s = 30",
            "duration_s = 30\nwarmup_s = 30",
            "bad.toml:3:12: the warm-up takes all of the run, and nothing would count; make it shorter than `duration_s`",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\nwarmup_s = -1",
            "bad.toml:3:12: `warmup_s` is -1; give a number from 0 to 86400 s",
        ),
    ]);
}

#[test]
fn general_keys() {
    refuses(&[
        (
            "duration_s = 30",
            "duration_s = 0",
            "bad.toml:2:14: `duration_s` is 0; give a number from 1 to 21600 s",
        ),
        (
            "duration_s = 30",
            "duration_s = 1e9",
            "bad.toml:2:14: `duration_s` is 1000000000; give a number from 1 to 21600 s",
        ),
        (
            "duration_s = 30",
            "duration_s = nan",
            "bad.toml:2:14: `duration_s` is NaN; give a number from 1 to 21600 s",
        ),
        (
            "duration_s = 30",
            "duration_s = \"30\"",
            "bad.toml:2:14: `duration_s` is \"30\"; give a number from 1 to 21600 s",
        ),
        (
            "duration_s = 30",
            "",
            "bad.toml:1:1: the scenario has no `duration_s`; add `duration_s = 60`: how long a run lasts",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\nduration = 3",
            "bad.toml:3:1: unknown key `duration` in the scenario; did you mean `duration_s`?",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\ncolour = \"red\"",
            "bad.toml:3:1: unknown key `colour` in the scenario; known here: duration_s, place, medium, air, bottlenecks, server_families, aps, cells, cables, noises, walkers, \
             flows, name, sentence, warmup_s, seed, cc, tcp, server, relay, server_subflows, faults, report, expect, losses",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\ncc = \"Reno!\"",
            "bad.toml:3:6: \"Reno!\" cannot be a congestion controller; give a name from net.ipv4.tcp_available_congestion_control, such as \"reno\", or one of \"lia\", \"olia\", \
             \"balia\", \"cla\"",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\nserver = \"stok\"",
            "bad.toml:3:10: `server` is \"stok\"; give \"stock\", \"slowhand\" or \"legacy\"",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\nserver_subflows = 9",
            "bad.toml:3:19: `server_subflows` is 9; give a whole number from 0 to 8",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\nserver_families = \"both\"",
            "bad.toml:3:19: `server_families` is \"both\"; give \"ipv4\", \"ipv6\", \"ipv4-first\" or \"ipv6-first\"",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\nseed = -1",
            "bad.toml:3:8: `seed` is -1; give a whole number from 0 to 9223372036854775807",
        ),
    ]);
}

#[test]
fn rates() {
    refuses(&[
        (
            "channel = 6",
            "channel = 6\nstandard = \"n\"",
            "bad.toml:7:12: 802.11n is configured as an extension of 802.11a or g; use \"a\" (5 GHz) or \"g\" (2.4 GHz), and `ht = { streams = 2 }`",
        ),
        (
            "channel = 6",
            "channel = 6\nstandard = \"ax\"",
            "bad.toml:7:12: 802.11ax is not modelled yet; use \"a\" (5 GHz), \"b\" or \"g\" (2.4 GHz)",
        ),
        (
            "channel = 6",
            "channel = 6\nrate_control = \"samplerate\"",
            "bad.toml:7:16: `rate_control` is \"samplerate\"; give \"fixed\", \"aarf\", \"minstrel\" or \"minstrel-ht\"",
        ),
        (
            "channel = 6",
            "channel = 6\naqm = \"codel\"",
            "bad.toml:7:7: `aqm` is \"codel\"; give \"tail-drop\" or \"fq-codel\"",
        ),
        (
            "channel = 6",
            "channel = 6\nrate_control = \"aarf\"\nrate_mbps = 54",
            "bad.toml:8:13: a fixed rate contradicts a rate control; remove `rate_mbps`, or set `rate_control = \"fixed\"`",
        ),
        (
            "channel = 6",
            "channel = 6\nrate_control = \"minstrel-ht\"",
            "bad.toml:7:16: this rate control does not suit the access point; use \"minstrel\", or enable 802.11n: \
             `ht = { streams = 2 }`",
        ),
        (
            "channel = 6",
            "channel = 6\nrate_control = \"minstrel\"\nht = {}",
            "bad.toml:7:16: this rate control does not suit the access point; use \"minstrel-ht\", as 802.11n is enabled",
        ),
        (
            "channel = 6",
            "channel = 6\nrate_mbps = 54\nht = {}",
            "bad.toml:7:13: 802.11n selects its rate by MCS; remove `rate_mbps` and give `mcs` in `ht`",
        ),
        (
            "channel = 6",
            "channel = 6\nstandard = \"b\"\nht = {}",
            "bad.toml:8:6: 802.11n cannot extend 802.11b; use standard \"a\" or \"g\", or remove `ht`",
        ),
    ]);
}

#[test]
fn channels_and_schemes_of_802_11n() {
    refuses(&[
        (
            "channel = 6",
            "channel = 6\nht = { width_mhz = 30 }",
            "bad.toml:7:20: 802.11n has no such channel width; give 20 or 40",
        ),
        (
            "channel = 6",
            "channel = 13\nht = { width_mhz = 40 }",
            "bad.toml:7:20: no 40 MHz channel starts at channel 13; use channel 1 to 9, or 20 MHz",
        ),
        (
            "channel = 6",
            "channel = 165\nstandard = \"a\"\nht = { width_mhz = 40 }",
            "bad.toml:8:20: no 40 MHz channel starts at channel 165; use channel 36 to 60 or 100 to 140 in steps of 8, 149 or 157, or \
             20 MHz",
        ),
        (
            "channel = 6",
            "channel = 6\nht = { width_mhz = 40 }\nbackhaul = { rate_mbps = 100, rtt_ms = 20 }\n\n[aps.ap2]\nat_m = [1, 2]\nchannel = 10",
            "bad.toml:12:11: channel 10 is the upper half of the 40 MHz channel of \"ap1\"; move one of them, or give \"ap1\" `width_mhz = 20`",
        ),
        (
            "channel = 6",
            "channel = 6\nht = { streams = 5 }",
            "bad.toml:7:18: `streams` is 5; give a whole number from 1 to 4",
        ),
        (
            "channel = 6",
            "channel = 6\nht = { streams = 2, mcs = 16 }",
            "bad.toml:7:27: `mcs` is 16; give a whole number from 0 to 15",
        ),
    ]);
}

#[test]
fn noise_and_the_coarse_medium() {
    refuses(&[
        (
            "[walkers.client]",
            "[noises.oven]\nat_m = [1, 1]\nchannel = 11\n\n[walkers.client]",
            "bad.toml:23:11: no access point is on channel 11; give the channel of an access point",
        ),
        (
            "[walkers.client]",
            "[noises.oven]\nat_m = [1, 1]\n\n[walkers.client]",
            "bad.toml:21:9: noise \"oven\" has no `channel`; add `channel = 6`: the channel that it interferes with",
        ),
        (
            "[walkers.client]",
            "[noises.oven]\nat_m = [1, 1]\nchannel = 6\non_ms = 0\n\n[walkers.client]",
            "bad.toml:24:9: `on_ms` is 0; give a number from 0.1 to 60000 ms",
        ),
        (
            "[walkers.client]",
            "[noises.ap1]\nat_m = [1, 1]\nchannel = 6\n\n[walkers.client]",
            "bad.toml:21:9: a link already has the name \"ap1\"; give the noise another name",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\nmedium = \"csma\"",
            "bad.toml:3:10: `medium` is \"csma\"; give \"dcf\", \"exact\" or \"wfq\"",
        ),
        (
            "duration_s = 30",
            "duration_s = 30\nmedium = \"wfq\"",
            "bad.toml:5:6: access point \"ap1\" has no `wfq`; add `wfq = { packet_ms = 1, weight = 1 }`: the airtime of a packet, and the share of the medium",
        ),
        (
            "channel = 6",
            "channel = 6\nwfq = { packet_ms = 3 }",
            "bad.toml:7:7: `wfq` has no effect without `medium = \"wfq\"`; remove it, or set `medium = \"wfq\"` at the top of the file",
        ),
        (
            "duration_s = 30\n\n[aps.ap1]",
            "duration_s = 30\nmedium = \"wfq\"\n[aps.ap1]\nwfq = { packet_ms = 0 }",
            "bad.toml:5:21: `packet_ms` is 0; give a number from 0.001 to 1000 ms",
        ),
        (
            "duration_s = 30\n\n[aps.ap1]",
            "duration_s = 30\nmedium = \"wfq\"\n[aps.ap1]\nwfq = { packet_ms = 1 }\nmanagement = false",
            "bad.toml:6:14: `management` has no effect with `medium = \"wfq\"`, which has no frames; remove it, or `medium = \"wfq\"`",
        ),
    ]);
}

#[test]
fn what_is_not_toml() {
    let [message] = &messages(edited("duration_s = 30", "duration_s = "))[..] else {
        panic!()
    };
    assert!(message.starts_with("bad.toml:2:14: "), "{message}");
    assert!(
        message.ends_with("; this is not TOML: fix it here (https://toml.io shows the syntax)"),
        "{message}"
    );
}

#[test]
fn access_points() {
    refuses(&[
        (
            "channel = 6\n",
            "",
            "bad.toml:4:6: access point \"ap1\" has no `channel`; add `channel`: 1 to 13 for 802.11g",
        ),
        (
            "channel = 6",
            "chanel = 6\nchannel = 6",
            "bad.toml:6:1: unknown key `chanel` in access point \"ap1\"; did you mean `channel`?",
        ),
        (
            "channel = 6",
            "channel = 36",
            "bad.toml:6:11: channel 36 is not in the band of 802.11g; use 1 to 13",
        ),
        (
            "channel = 6",
            "channel = 6\nstandard = \"a\"",
            "bad.toml:6:11: channel 6 is not in the band of 802.11a; use 36 to 64, 100 to 144 or 149 to 165, in steps of 4",
        ),
        (
            "channel = 6",
            "channel = 6\nstandard = \"q\"",
            "bad.toml:7:12: `standard` is \"q\"; give \"a\", \"b\" or \"g\"",
        ),
        (
            "channel = 6",
            "channel = 6\nrate_mbps = 11",
            "bad.toml:7:13: 802.11g has no such rate; use 6, 9, 12, 18, 24, 36, 48, 54 or \"auto\"",
        ),
        (
            "channel = 6",
            "channel = 6\ntx_power_dbm = 60",
            "bad.toml:7:16: `tx_power_dbm` is 60; give a number from -30 to 36 dBm",
        ),
        (
            "at_m = [1, 2]",
            "at_m = [1, 2, 3]",
            "bad.toml:5:8: `at_m` is a list; give [x, y], each a number from -100000 to 100000 m",
        ),
        (
            "at_m = [1, 2]\n",
            "",
            "bad.toml:4:6: access point \"ap1\" has no `at_m`; add `at_m = [x, y]` in metres east and north",
        ),
        (
            "backhaul = { rate_mbps = 100, rtt_ms = 20 }",
            "",
            "bad.toml:4:6: access point \"ap1\" has no `backhaul`; add `backhaul = { rate_mbps = 100, rtt_ms = 20 }`: the link from the access point to the server",
        ),
        (
            "rate_mbps = 100, ",
            "",
            "bad.toml:7:1: the backhaul of access point \"ap1\" has no `rate_mbps`; add `rate_mbps` for both directions, or \
             `up_mbps` and `down_mbps`",
        ),
        (
            "[walkers.client]\nat_m = [0, 0]\n",
            "",
            "bad.toml:1:1: the scenario has no `walkers.client`; add [walkers.client] with `at_m = [x, y]` or a `way`: with access points, the client needs a position",
        ),
    ]);
}

#[test]
fn a_table_without_its_name() {
    let told = messages(edited("[aps.ap1]", "[aps]"));
    let keys = [
        "5:8: access point \"at_m\" is a list",
        "6:11: access point \"channel\" is a number",
    ];
    for expected in keys {
        let form = format!("bad.toml:{expected}; make it a table: [name] or {{ key = value }}");
        assert!(told.contains(&form), "{told:#?}");
    }
    let of_the_list = |message: &&String| message.contains("\"at_m\"");
    assert_eq!(
        told.iter().filter(of_the_list).count(),
        1,
        "nothing is missed in a list: {told:#?}"
    );
}

#[test]
fn links() {
    refuses(&[
        (
            "rate_mbps = 16",
            "rate_mbps = -16",
            "bad.toml:18:13: `rate_mbps` is -16; give a number from 0.001 to 100000 Mb/s",
        ),
        (
            "rate_mbps = 16",
            "rate_mbps = 99999999999999999999",
            "bad.toml:18:13: `rate_mbps` is too large a number; give a number from 0.001 to 100000 Mb/s",
        ),
        (
            "rate_mbps = 16",
            "rate_mbps = 16\nup_mbps = 2",
            "bad.toml:19:11: `up_mbps` contradicts `rate_mbps`, which sets both directions; keep one of them",
        ),
        (
            "rate_mbps = 16",
            "up_mbps = 2",
            "bad.toml:17:9: cable \"dsl\" has no `down_mbps`; add `down_mbps`, as only the other direction has a rate",
        ),
        (
            "[cables.dsl]",
            "[cables.lte]",
            "bad.toml:17:9: there are two links named \"lte\"; give each link a different name, whatever its kind",
        ),
        (
            "[bottlenecks.street]\nrate_mbps = 40\n",
            "[cells.lte]\nrate_mbps = 40\n",
            "bad.toml:14:8: duplicate key; each name and key may occur once; rename or remove this one",
        ),
        (
            "[cables.dsl]",
            "[cables.\"my dsl\"]",
            "bad.toml:17:9: \"my dsl\" cannot be the name of a link; use 1 to 12 letters, digits, - and _, starting with a letter or digit",
        ),
        (
            "[cables.dsl]",
            "[cables.all]",
            "bad.toml:17:9: \"all\" has a special meaning in faults; choose another name",
        ),
        (
            "rtt_ms = 30",
            "rtt_ms = 30\nrole = \"spare\"",
            "bad.toml:20:8: `role` is \"spare\"; give \"primary\", \"secondary\", \"backup\" or \"never\"",
        ),
        (
            "rtt_ms = 30",
            "rtt_ms = 30\nfamilies = \"ipv5\"",
            "bad.toml:20:12: `families` is \"ipv5\"; give \"ipv4\", \"ipv6\" or \"both\"",
        ),
        (
            "rtt_ms = 30",
            "rtt_ms = 30\nfamilies = \"ipv6\"",
            "bad.toml:17:9: the link and the server have no version of IP in common; give the link `families`, or the \
             scenario `server_families`, that fit",
        ),
        (
            "rtt_ms = 30",
            "rtt_ms = 30\nsubnet = \"192.168.1.7/24\"",
            "bad.toml:20:10: \"192.168.1.7/24\" is not a network address; give an IPv4 network and its prefix length, 8 to 30, \
             such as \"192.168.1.0/24\"",
        ),
    ]);
}

#[test]
fn queues_and_holes() {
    refuses(&[
        (
            "rate_mbps = 16\nrtt_ms = 30",
            "rtt_ms = 30\nbehind = \"stret\"",
            "bad.toml:19:10: there is no bottleneck \"stret\"; did you mean \"street\"?",
        ),
        (
            "rtt_ms = 30",
            "rtt_ms = 30\nbehind = \"street\"",
            "bad.toml:18:13: `rate_mbps` of a cable behind a bottleneck has no effect; move it to the bottleneck, or remove \
             `behind`",
        ),
        (
            "rtt_ms = 30",
            "rtt_ms = 30\necn = true",
            "bad.toml:20:7: `ecn` has no effect on a tail-drop queue; add `aqm = \"codel\"` or remove it",
        ),
        (
            "rtt_ms = 30",
            "rtt_ms = 30\nqueue_ms = 5\nqueue_packets = 7",
            "bad.toml:20:12: `queue_ms` contradicts `queue_packets`; keep one of them",
        ),
        (
            "rtt_ms = 60",
            "",
            "bad.toml:9:8: cell \"lte\" has no `rtt_ms`; add `rtt_ms`: the round-trip time without queues, half of it in each direction",
        ),
        (
            "rtt_ms = 60",
            "rtt_ms = 60\nholes = [{ at_s = 5, for_s = 2 }, { at_s = 6, for_s = 1 }]",
            "bad.toml:13:44: this hole begins before the previous one ends; list holes in order of time",
        ),
        (
            "rtt_ms = 60",
            "rtt_ms = 60\nholes = { covered_s = [5, 2], for_s = 1 }",
            "bad.toml:13:23: `covered_s` is a list; give a number from 0.1 to 86400 s, or [from, to]",
        ),
    ]);
}

#[test]
fn walkers_and_flows() {
    refuses(&[
        (
            "at_m = [0, 0]",
            "way = [{ at_m = [0, 0], t_s = 5 }, { at_m = [1, 0], t_s = 4 }]",
            "bad.toml:22:59: this point is reached before the previous one; list the way in order of time",
        ),
        (
            "at_m = [0, 0]",
            "speed_m_per_s = 1\nway = [{ at_m = [0, 0], t_s = 5 }]",
            "bad.toml:23:31: a point cannot have a time if the walker has a speed; use `pause_s`, or remove the speed",
        ),
        (
            "at_m = [0, 0]",
            "at_m = [0, 0]\npower_save = 1",
            "bad.toml:23:14: `power_save` is 1; give true or false",
        ),
        (
            "at_m = [0, 0]",
            "way = []",
            "bad.toml:22:7: the way has no points; add { at_m = [x, y], t_s = 0 }, or use `at_m` for one place",
        ),
        (
            "[flows.download]\ndirection = \"down\"\n",
            "",
            "bad.toml:1:1: there are no flows; add [flows.download] with `direction = \"down\"`",
        ),
        (
            "direction = \"down\"",
            "direction = \"sideways\"",
            "bad.toml:25:13: `direction` is \"sideways\"; give \"down\" or \"up\"",
        ),
        (
            "direction = \"down\"",
            "direction = \"down\"\nover = \"lte\"",
            "bad.toml:26:8: the policy chooses the links of an MPTCP flow; add `transport = \"tcp\"` or \"udp\", or remove `over`",
        ),
        (
            "direction = \"down\"",
            "direction = \"down\"\ntransport = \"tcp\"\nover = \"wlan\"",
            "bad.toml:27:8: there is no link \"wlan\"; the scenario has \"ap1\", \"lte\" or \"dsl\"",
        ),
        (
            "direction = \"down\"",
            "direction = \"down\"\nstart_s = 40",
            "bad.toml:26:11: this would begin after 40 s, when the run has ended; begin before 30 s, or make \
             `duration_s` longer",
        ),
        (
            "direction = \"down\"",
            "requests = { every_s = 3 }",
            "bad.toml:25:1: table `requests` has no `reply_kb`; add `every_s` and `reply_kb`: the interval and the size of a reply",
        ),
    ]);
}

#[test]
fn faults() {
    refuses(&[
        (
            "link = \"lte\"",
            "link = \"lt\"",
            "bad.toml:29:8: there is no link \"lt\"; did you mean \"lte\"?",
        ),
        (
            "at_s = 10",
            "at_s = 30",
            "bad.toml:28:8: this would begin after 30 s, when the run has ended; begin before 30 s, or make \
             `duration_s` longer",
        ),
        (
            "kind = \"down\"",
            "kind = \"explode\"",
            "bad.toml:30:8: `kind` is \"explode\"; give \"blackhole\", \"down\", \"rate\", \"fade\" or \"new-address\"",
        ),
        (
            "kind = \"down\"",
            "kind = \"down\"\nloss_db = 3",
            "bad.toml:31:11: `loss_db` has no effect on a fault of kind \"down\"; remove it, or make the kind \"fade\"",
        ),
        (
            "kind = \"down\"",
            "kind = \"fade\"\nloss_db = 60\nover_s = 5",
            "bad.toml:29:8: \"lte\" cannot have this fault; only access points have it",
        ),
        (
            "kind = \"down\"",
            "kind = \"rate\"\nrate_mbps = 3",
            "bad.toml:29:8: \"lte\" cannot have this fault; only cables of their own, cells of constant rate and \
             the backhauls of access points have it",
        ),
        (
            "kind = \"down\"",
            "kind = \"down\"\nfor_s = 3\nevery_s = 2",
            "bad.toml:32:11: the fault repeats before it has ended; make `every_s` longer than 3 s",
        ),
        (
            "kind = \"down\"",
            "kind = \"down\"\nevery_s = 2",
            "bad.toml:31:11: the fault never ends, so it cannot repeat; add `for_s`",
        ),
        (
            "kind = \"down\"",
            "kind = \"down\"\nnew_address = true",
            "bad.toml:31:15: the link never returns, so it gets no new address; add `for_s`",
        ),
    ]);
}

#[test]
fn expectations() {
    refuses(&[
        (
            "policy = \"slowhand\"",
            "policy = \"slowhands\"",
            "bad.toml:33:10: there is no policy \"slowhands\"; did you mean \"slowhand\"?",
        ),
        (
            "policy = \"slowhand\"",
            "policy = \"magic\"",
            "bad.toml:33:10: there is no policy \"magic\"; one of \"tcp:<link>\", \"tcp-best\", \"handover\", \
             \"handover-warm\", \"handover+cell\", \"wifi-first\", \"mptcp\", \"ecn\", \"ecn:<form>\", \"one-at-a-time\", \"energy:<variant>\", \"omniscient\", \"slowhand\" or \"slowhand-no-window\"",
        ),
        (
            "policy = \"slowhand\"",
            "policy = \"tcp:lt\"",
            "bad.toml:33:10: there is no link \"lt\"; did you mean \"lte\"?",
        ),
        (
            "intact = true",
            "",
            "bad.toml:32:1: the expectation has no condition; add one of intact, longest_stall_ms_max, stall_total_ms_max, \
             first_byte_ms_max, goodput_mbps_min, moved_mb_min, vs_tcp_best_min, vs_optimal_min, vs",
        ),
        (
            "intact = true",
            "intact = false",
            "bad.toml:34:10: `intact` cannot be false; give true, or remove it",
        ),
        (
            "intact = true",
            "intact = true\nlongest_stall_max_ms = 5",
            "bad.toml:35:1: unknown key `longest_stall_max_ms` in expectation; did you mean `longest_stall_ms_max`?",
        ),
        (
            "intact = true",
            "intact = true\nflow = \"upload\"",
            "bad.toml:35:8: there is no flow \"upload\"; the scenario has \"download\"",
        ),
    ]);
}

use super::*;
use proptest::prelude::*;
use units::{Duration, Instant};

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn every_policy_name_parses_to_itself() {
    let with_parts = ["tcp:ap1", "ecn:exact(50,k=3/2)", "ecn:base-rtt(100,k=2)"];
    let with_parts = with_parts.map(|name| name.parse::<PolicyName>().unwrap());
    for policy in PolicyName::known().chain(with_parts) {
        assert_eq!(policy.to_string().parse(), Ok(policy.clone()));
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<PolicyName>(&json).unwrap(), policy);
    }
    let written: Vec<String> = PolicyName::FIXED.iter().map(ToString::to_string).collect();
    let without_parts = PolicyName::VALID.iter().filter(|name| !name.contains('<'));
    assert!(
        written.iter().eq(without_parts),
        "the list in messages is the list of policies"
    );
    let long: PolicyName = "ecn:exact(100,k=1)".parse().unwrap();
    assert_eq!(long.to_string(), "ecn:exact");
}

#[test]
fn unknown_names_are_refused_with_the_valid_ones() {
    let policy = "slowhnad".parse::<PolicyName>().unwrap_err().to_string();
    assert!(
        policy.contains("`slowhnad`") && policy.contains("tcp:<link>, tcp-best, handover, "),
        "{policy}"
    );
    assert_eq!("tcp:".parse::<PolicyName>(), Err(ParsePolicyError::NoLink));
    let said = |name: &str| name.parse::<PolicyName>().unwrap_err().to_string();
    assert!(
        said("ecn:exakt").contains(
            "`ecn:exakt` names no form of the marking rate; valid: printed, printed-capped, exact, "
        )
    );
    assert_eq!(
        said("energy:all"),
        "policy `energy:all` names no variant; valid: probing, association-aware, omniscient, damped"
    );
    let role = "main".parse::<Role>().unwrap_err().to_string();
    assert_eq!(
        role,
        "unknown link role `main`; valid: primary, secondary, backup, never"
    );
    let json = serde_json::from_str::<Mode>("\"fast\"").unwrap_err().to_string();
    assert!(
        json.contains("valid: handover, interactive, aggregate, redundant"),
        "{json}"
    );
}

/// What it shows; reads at these milliseconds, one byte each; the end; and the stalls that must come of it.
type StallCase = (&'static str, &'static [u64], u64, &'static [(u64, u64)]);

const STALLS: &[StallCase] = &[
    ("nothing ever came", &[], 5_000, &[]),
    (
        "the time before the first byte is no stall",
        &[3_000, 3_050],
        3_060,
        &[],
    ),
    ("exactly 100 ms is none", &[0, 100, 200], 300, &[]),
    ("101 ms is one", &[0, 101], 102, &[(0, 101)]),
    ("the wait until the end counts", &[0, 50], 1_000, &[(50, 1_000)]),
    ("several", &[10, 400, 450, 600], 650, &[(10, 400), (450, 600)]),
];

#[test]
fn stalls_follow_the_definition() {
    for (case, reads, end, expected) in STALLS {
        let mut detector = StallDetector::new();
        let mut found: Vec<Stall> = reads.iter().filter_map(|at| detector.read(ms(*at), 1)).collect();
        found.extend(detector.end(ms(*end)));
        let expected: Vec<Stall> = expected
            .iter()
            .map(|(a, b)| Stall {
                from: ms(*a),
                to: ms(*b),
            })
            .collect();
        assert_eq!(found, expected, "{case}");
        assert_eq!(detector.count(), expected.len() as u64, "{case}");
        assert_eq!(
            detector.total(),
            expected.iter().map(Stall::length).sum(),
            "{case}"
        );
        assert_eq!(
            detector.longest(),
            expected.iter().map(Stall::length).max().unwrap_or_default(),
            "{case}"
        );
    }
}

#[test]
fn a_request_waits_from_when_it_is_written() {
    let mut detector = StallDetector::new();
    detector.wait_from(ms(1_000));
    assert_eq!(detector.open_since(ms(1_100)), None);
    assert_eq!(detector.open_since(ms(1_101)), Some(ms(1_000)));
    assert_eq!(detector.read(ms(1_250), 0), None, "reading nothing ends nothing");
    assert_eq!(
        detector.read(ms(1_300), 9).map(|stall| stall.length()),
        Some(Duration::from_millis(300))
    );
}

#[test]
fn time_between_requests_is_not_a_stall() {
    let mut meter = FlowMeter::new("requests", ms(0));
    for asked in [0, 3_000, 6_000] {
        meter.requested(ms(asked));
        assert_eq!(meter.read(ms(asked + 60), 500), None);
        assert_eq!(meter.read(ms(asked + 110), 500), None);
        assert_eq!(meter.replied(ms(asked + 110)), None);
    }
    meter.requested(ms(9_000));
    let cut_off = meter.end(ms(9_400)).map(|stall| stall.length());
    assert_eq!(
        cut_off,
        Some(Duration::from_millis(400)),
        "the last reply never came"
    );
    assert_eq!(meter.stalls().count(), 1);
}

#[test]
fn a_flow_is_measured_where_it_is_read() {
    let mut meter = FlowMeter::new("download", ms(200));
    assert_eq!(meter.read(ms(450), 1_000), None);
    assert_eq!(meter.read(ms(460), 500), None);
    assert!(meter.read(ms(1_000), 8_500).is_some());
    assert_eq!(meter.end(ms(1_200)).map(|stall| stall.from), Some(ms(1_000)));
    assert_eq!(meter.end(ms(9_000)), None, "only the first end counts");
    assert_eq!(meter.series(), [0, 0, 0, 0, 1_500, 0, 0, 0, 0, 0, 8_500]);
    let waits: Vec<u64> = meter
        .waits()
        .iter()
        .map(|wait| wait.length().as_millis() as u64)
        .collect();
    assert_eq!(waits, [10, 540, 200], "gaps that are no stalls are kept too");
    let flow = meter.result(ms(9_000), true, Vec::new());
    assert_eq!((flow.bytes, flow.stalls), (10_000, 2));
    assert_eq!(flow.first_byte_ms, Some(250.0));
    assert_eq!((flow.longest_stall_ms, flow.stall_total_ms), (540.0, 740.0));
    assert!((flow.goodput_mbps - 0.08).abs() < 1e-9, "{}", flow.goodput_mbps);
}

fn run(policy: &str, duration_s: f64, series: Vec<u64>) -> Run {
    Run {
        policy: policy.parse().unwrap(),
        case: crate::Case::default(),
        cc: Some("reno".into()),
        server: "stock".into(),
        seed: 7,
        duration_s,
        flows: vec![Flow {
            name: "download".into(),
            bytes: series.iter().sum(),
            goodput_mbps: 0.0,
            intact: Some(true),
            first_byte_ms: Some(12.5),
            longest_stall_ms: 0.0,
            stall_total_ms: 0.0,
            stalls: 0,
            datagrams: None,
            delay: None,
            reply: None,
            jitter_ms: None,
            playback: None,
            paths: vec![PathUse {
                link: "ap1".into(),
                bytes: 3,
                retransmits: 1,
                segments: None,
                ce_marks: 0,
                rtt: None,
            }],
        }],
        links: vec![LinkUse {
            name: "ap1".into(),
            kind: LinkKind::Wifi,
            frames: 9,
            retries: 2,
            collisions: 1,
            airtime_share: 0.25,
            marks: None,
            sent_marks: None,
        }],
        stations: Vec::new(),
        channels: Vec::new(),
        warmup_s: 0.0,
        energy_j: 0.0,
        optimal_mbps: 20.0,
        goodput_series: series,
        levels: Levels::default(),
        notes: Vec::new(),
    }
}

#[test]
fn tcp_best_takes_each_ten_seconds_from_the_best_link() {
    // a: 10 s at 5, then nothing (its series ends). b: 1 throughout. The last 5 s are no whole window.
    let a = run("tcp:a", 25.0, vec![5; 100]);
    let b = run("tcp:b", 25.0, vec![1; 250]);
    let ours = run("slowhand", 25.0, vec![6; 250]);
    let best = tcp_best(&[a, b, ours.clone()]).unwrap();
    assert_eq!(best.goodput_series.len(), 200);
    assert_eq!((best.bytes(), best.duration_s), (600, 20.0));
    assert_eq!(
        versus_best(&ours, &best),
        Some(2.0),
        "ours counts within the same 20 s"
    );
    assert_eq!(tcp_best(&[ours]), None);
    assert_eq!(tcp_best(&[run("tcp:a", 9.9, vec![5; 99])]), None);
}

#[test]
fn the_document_has_the_fields_of_the_contract() {
    let document = PlayDocument {
        schema: PlaySchema,
        scenario: "building-walk".into(),
        world: World::Lab,
        seed: 7,
        runs: vec![run("slowhand", 60.0, vec![1])],
        wall_s: 61.0,
    };
    let value = serde_json::to_value(&document).unwrap();
    assert_eq!(value["schema"], "slowhand.play/1");
    for pointer in [
        "/scenario",
        "/world",
        "/seed",
        "/wall_s",
        "/runs/0/policy",
        "/runs/0/cc",
        "/runs/0/server",
        "/runs/0/duration_s",
        "/runs/0/energy_j",
        "/runs/0/optimal_mbps",
        "/runs/0/flows/0/name",
        "/runs/0/flows/0/bytes",
        "/runs/0/flows/0/goodput_mbps",
        "/runs/0/flows/0/intact",
        "/runs/0/flows/0/first_byte_ms",
        "/runs/0/flows/0/longest_stall_ms",
        "/runs/0/flows/0/stall_total_ms",
        "/runs/0/flows/0/paths/0/link",
        "/runs/0/flows/0/paths/0/retransmits",
        "/runs/0/flows/0/paths/0/ce_marks",
        "/runs/0/links/0/name",
        "/runs/0/links/0/kind",
        "/runs/0/links/0/frames",
        "/runs/0/links/0/retries",
        "/runs/0/links/0/collisions",
        "/runs/0/links/0/airtime_share",
    ] {
        assert!(value.pointer(pointer).is_some(), "{pointer} is missing");
    }
    assert_eq!(serde_json::from_value::<PlayDocument>(value).unwrap(), document);
}

#[test]
fn a_run_without_a_controller_has_null_and_older_documents_parse() {
    let none = Run {
        cc: None,
        ..run("slowhand", 60.0, vec![1])
    };
    let mut value = serde_json::to_value(&none).unwrap();
    assert_eq!(value.get("cc"), Some(&serde_json::Value::Null));
    assert_eq!(serde_json::from_value::<Run>(value.clone()).unwrap(), none);
    value.as_object_mut().unwrap().remove("cc");
    assert_eq!(serde_json::from_value::<Run>(value.clone()).unwrap(), none);
    value["cc"] = "reno".into();
    assert_eq!(
        serde_json::from_value::<Run>(value).unwrap().cc.as_deref(),
        Some("reno")
    );
}

#[test]
fn a_decision_has_the_identifier_of_its_reason_and_older_ones_are_read() {
    let what = |reason: &str| What::Decision {
        link: Some("far".to_owned()),
        conn: None,
        verb: "demote".to_owned(),
        reason: reason.to_owned(),
        why: "its signal is fading".to_owned(),
    };
    let older = r#"{"t_ns":1,"what":"decision","link":"far","verb":"demote","why":"its signal is fading"}"#;
    let event = |reason| Event::new(Instant::from_nanos(1), what(reason));
    assert_eq!(serde_json::from_str::<Event>(older).unwrap(), event(""));
    assert_eq!(serde_json::to_string(&event("")).unwrap(), older);
    let json = serde_json::to_value(event("fading")).unwrap();
    assert_eq!(json["reason"], "fading");
    assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event("fading"));
}

#[test]
fn a_document_of_another_version_is_refused() {
    let json = r#"{"schema":"slowhand.play/2","scenario":"x","world":"lab","seed":1,"runs":[],"wall_s":0}"#;
    let error = serde_json::from_str::<PlayDocument>(json)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`slowhand.play/2`") && error.contains("`slowhand.play/1`"),
        "{error}"
    );
}

#[test]
fn bench_rows_carry_fields_of_their_own() {
    let row = BenchRow::new("walk", "ratio", Better::Higher)
        .trials(&[3.0, 1.0, 2.0, 4.0])
        .with("vs_optimal", 0.9);
    assert_eq!(
        (row.ours, row.p50, row.p99, row.runs),
        (Some(2.5), Some(2.5), Some(4.0), 4)
    );
    let value = serde_json::to_value(BenchDocument {
        schema: BenchSchema,
        benches: vec![row.clone()],
    })
    .unwrap();
    assert_eq!(value["benches"][0]["vs_optimal"], 0.9);
    assert_eq!(value["benches"][0]["theirs"], serde_json::Value::Null);
    assert_eq!(value["benches"][0]["theirs_from"], "none");
    assert_eq!(
        serde_json::from_value::<BenchDocument>(value).unwrap().benches,
        [row]
    );
    let empty = BenchRow::new("walk", "ratio", Better::Higher).trials(&[]);
    assert_eq!((empty.ours, empty.p99, empty.runs), (None, None, 0));
}

fn plan() -> Plan {
    Plan {
        name: "two".into(),
        sentence: "Two links.".into(),
        duration_s: 3.5,
        links: vec![PlanLink::new("lte", LinkKind::Cell)],
        walls: vec![[0.0, 1.0, 2.5, 1.0]],
        walkers: vec![Walker {
            name: "client".into(),
            points: vec![Waypoint {
                t_s: 0.0,
                x_m: 1.0,
                y_m: 2.0,
            }],
        }],
        faults: vec![PlanFault {
            t_s: 1.0,
            link: "lte".into(),
            what: "drops everything".into(),
        }],
    }
}

/// Odd seeds have a controller.
fn start(seed: u64) -> What {
    What::RunStart(Box::new(RunStart {
        scenario: "two".into(),
        world: World::Lab,
        policy: PolicyName::Tcp("lte".into()),
        cc: (seed % 2 == 1).then(|| "reno".into()),
        server: "stock".into(),
        seed,
        plan: plan(),
    }))
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn number() -> impl Strategy<Value = f64> {
    prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL
}

fn path_sender() -> impl Strategy<Value = What> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u32>());
    (text(), text(), numbers, prop::option::of(any::<u32>())).prop_map(
        |(flow, link, (retransmits, srtt_us, cwnd), ssthresh)| What::PathSender {
            flow,
            link,
            retransmits,
            srtt_us,
            cwnd,
            ssthresh,
        },
    )
}

fn something() -> impl Strategy<Value = What> {
    let link_things = prop_oneof![
        (number(), number()).prop_map(|(x_m, y_m)| What::Position { x_m, y_m }),
        (text(), number()).prop_map(|(link, dbm)| What::Signal { link, dbm }),
        (text(), 0..LinkState::ALL.len()).prop_map(|(link, state)| What::LinkState {
            link,
            state: LinkState::ALL[state]
        }),
        (text(), text(), any::<bool>()).prop_map(|(link, fault, applied)| What::Fault {
            link,
            fault,
            applied
        }),
        (
            prop::option::of(text()),
            prop::option::of(any::<u32>()),
            text(),
            text(),
            text()
        )
            .prop_map(|(link, conn, verb, reason, why)| What::Decision {
                link,
                conn,
                verb,
                reason,
                why
            }),
    ];
    let flow_things = prop_oneof![
        (any::<u32>(), text(), 0..SubflowEvent::ALL.len(), any::<bool>()).prop_map(
            |(conn, link, event, backup)| What::Subflow {
                conn,
                link,
                event: SubflowEvent::ALL[event],
                backup
            }
        ),
        (text(), text(), any::<u64>()).prop_map(|(flow, link, bytes)| What::PathBytes { flow, link, bytes }),
        path_sender(),
        (text(), any::<u64>()).prop_map(|(flow, bytes)| What::AppBytes { flow, bytes }),
        (text(), any::<u64>(), any::<u64>()).prop_map(|(flow, from_ns, to_ns)| What::Stall {
            flow,
            from_ns,
            to_ns
        }),
        (any::<u32>(), prop::option::of(any::<u64>()), text()).prop_map(|(conn, bytes, why)| What::Window {
            conn,
            bytes,
            why
        }),
        (any::<u32>(), any::<u64>()).prop_map(|(conn, bytes)| What::ServerQueue { conn, bytes }),
        (any::<u32>(), any::<u64>()).prop_map(|(conn, bytes)| What::OutOfOrder { conn, bytes }),
        any::<[u64; 3]>().prop_map(|[p50_us, p99_us, max_us]| What::Lateness(LatenessUs {
            p50_us,
            p99_us,
            max_us
        })),
        Just(What::RunEnd {
            summary: Box::new(run("tcp:lte", 3.5, vec![0, 7]))
        }),
    ];
    prop_oneof![link_things, flow_things]
}

fn record() -> impl Strategy<Value = RunRecord> {
    let rest = prop::collection::vec((any::<u64>(), something()), 0..20);
    (any::<u64>(), rest).prop_map(|(seed, rest)| {
        let all = std::iter::once((0, start(seed))).chain(rest);
        RunRecord {
            events: all.map(|(t_ns, what)| Event { t_ns, what }).collect(),
        }
    })
}

proptest! {
    #[test]
    fn a_trace_file_reads_back_as_it_was_written(runs in prop::collection::vec(record(), 0..4)) {
        let mut file = Vec::new();
        write_runs(&mut file, &runs).unwrap();
        let header = b"{\"schema\":\"slowhand.trace/1\"}\n";
        prop_assert!(file.starts_with(header), "the first line names the schema");
        prop_assert_eq!(read_runs(&file[..]).unwrap(), runs);
    }

    #[test]
    fn a_truncated_file_is_detected_or_complete(run in record(), share in 0.0..1.0f64) {
        let mut file = Vec::new();
        write_runs(&mut file, [&run]).unwrap();
        let cut = (file.len() as f64 * share) as usize;
        match read_runs(&file[..cut]) {
            Ok(runs) => prop_assert!(runs.iter().all(|found| run.events.starts_with(&found.events))),
            Err(ReadError::Empty | ReadError::Schema { .. } | ReadError::CutOff { .. }) => {}
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }

    #[test]
    fn stalls_never_overlap_and_fit_the_run(gaps in prop::collection::vec(0u64..400, 0..60), tail in 0u64..400) {
        let mut detector = StallDetector::new();
        let mut now = 0;
        let mut stalls = Vec::new();
        for gap in &gaps {
            now += gap;
            stalls.extend(detector.read(ms(now), 1));
        }
        stalls.extend(detector.end(ms(now + tail)));
        prop_assert!(stalls.iter().all(|stall| stall.length() > STALL_THRESHOLD));
        prop_assert!(stalls.windows(2).all(|pair| pair[0].to <= pair[1].from));
        let expected: u64 = gaps.iter().skip(1).chain(gaps.first().map(|_| &tail)).filter(|gap| **gap > 100).sum();
        prop_assert_eq!(detector.total(), Duration::from_millis(expected));
    }
}

#[test]
fn a_bad_line_is_named() {
    let mut file = Vec::new();
    write_runs(
        &mut file,
        [&RunRecord {
            events: vec![Event {
                t_ns: 0,
                what: start(1),
            }],
        }],
    )
    .unwrap();
    let good = String::from_utf8(file).unwrap();
    let error = |text: String| read_runs(text.as_bytes()).unwrap_err().to_string();
    let unknown = error(format!("{good}{{\"t_ns\":5,\"what\":\"explosion\"}}\n"));
    assert!(
        unknown.starts_with("line 3, column ") && unknown.contains("explosion"),
        "{unknown}"
    );
    assert!(error(format!("{good}{{\"t_ns\":5,\"wh")).starts_with("line 3: incomplete"));
    assert!(error(good.replace("trace/1", "trace/9")).starts_with("line 1: not a trace of this version"));
    assert!(error(String::new()).starts_with("the file is empty"));
    let orphan =
        "{\"schema\":\"slowhand.trace/1\"}\n{\"t_ns\":5,\"what\":\"app_bytes\",\"flow\":\"d\",\"bytes\":1}\n";
    assert!(error(orphan.to_owned()).starts_with("line 2: no run has started"));
}

/// A sink that accepts so many bytes and then fails, as a full disk does.
#[derive(Debug, Clone)]
struct Disk(std::sync::Arc<std::sync::Mutex<(Vec<u8>, usize)>>);

impl std::io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut disk = self.0.lock().unwrap();
        if disk.0.len() + bytes.len() > disk.1 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        disk.0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_recorder_writes_each_event_at_once() {
    let disk = Disk(std::sync::Arc::new(std::sync::Mutex::new((Vec::new(), 1 << 20))));
    let mut recorder = Recorder::with_sink(disk.clone()).unwrap();
    recorder.record(Instant::ZERO, start(3));
    recorder.record(
        ms(5),
        What::AppBytes {
            flow: "d".into(),
            bytes: 9,
        },
    );
    let written = read_runs(&disk.0.lock().unwrap().0[..]).unwrap();
    assert_eq!(written, [recorder.so_far().clone()]);
    assert_eq!(written[0].start().map(|start| start.seed), Some(3));
    assert!(recorder.finish().1.is_ok());
}

#[test]
fn a_full_disk_is_reported_and_the_run_continues() {
    let disk = Disk(std::sync::Arc::new(std::sync::Mutex::new((Vec::new(), 60))));
    let mut recorder = Recorder::with_sink(disk).unwrap();
    recorder.record(Instant::ZERO, start(3));
    recorder.record(
        ms(5),
        What::AppBytes {
            flow: "d".into(),
            bytes: 9,
        },
    );
    let (record, written) = recorder.finish();
    assert_eq!(record.events.len(), 2);
    assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

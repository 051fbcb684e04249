//! `up`, `down`, `status`, `why` and `doctor` in namespaces: the program as users run it.

#[path = "host/calls.rs"]
mod calls;
mod common;
mod connections;
#[path = "host/doctor.rs"]
mod doctor;
#[path = "host/families.rs"]
mod families;
#[path = "host/fixed.rs"]
mod fixed;
#[path = "host/harm.rs"]
mod harm;
#[path = "host/names.rs"]
mod names;
#[path = "host/narrow.rs"]
mod narrow;
#[path = "host/networks.rs"]
mod networks;
#[path = "../../linux/src/testing/patience.rs"]
mod patience;
#[path = "host/portal.rs"]
mod portal;
#[path = "common/pty.rs"]
mod pty;
#[path = "host/quic.rs"]
mod quic;
#[path = "host/reload.rs"]
mod reload;
#[path = "host/rig.rs"]
mod rig;
#[path = "host/rights.rs"]
mod rights;
#[path = "host/service.rs"]
mod service;
#[path = "host/start.rs"]
mod start;
#[path = "host/targets.rs"]
mod targets;
#[path = "host/top.rs"]
mod top;
#[path = "host/wishes.rs"]
mod wishes;

use common::{Scratch, seeing};
use connections::{Download, connection, plain_connection};
use rig::{Host, SERVER, output, until, words, write};
use std::path::Path;

/// From the next start on the configuration asks that connections over plain TCP are bounded.
fn ask_for_fallback_window(host: &Host) {
    let additions = host.root.join("conf.d");
    std::fs::create_dir(&additions).unwrap();
    write(
        &additions.join("plain.toml"),
        "fallback_window_bytes = 65536\n",
        0o644,
    );
}

#[test]
fn a_fallback_connection_gets_a_window_limit_if_configured() {
    let Some(host) = Host::new("fallback") else { return };
    let before = host.state();
    ask_for_fallback_window(&host);
    let mut up = host.up();
    let _connection = plain_connection(&host);
    until("it is bounded", || {
        host.json("status")["fallbacks"][0]["window_bytes"] == 65_536
    });
    let found = &host.json("status")["fallbacks"][0];
    assert_eq!(
        (&found["remote"], &found["link"]),
        (&SERVER.into(), &"desk".into())
    );
    let kernels = || output("sysctl -n net.ipv4.tcp_congestion_control");
    assert_eq!(found["cc"], host.client.run(kernels).unwrap().trim());
    assert_eq!(&host.json("why")["fallbacks"][0], found);
    let (code, text) = words(&host.ask("status", &[]));
    assert!(code == Some(0) && text.contains("\nFELL BACK"), "{text}");
    let (_, text) = words(&host.ask("why", &[]));
    let sentence = "to 10.255.0.1:5001: it fell back to plain TCP: the server or a middlebox does not support MPTCP; its server may have 65.5 kB in flight, as configured";
    assert!(text.contains(sentence), "{text}");
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
}

#[test]
fn the_reason_why_a_fallback_has_no_window_limit_is_shown() {
    let Some(host) = Host::new("nofallback") else {
        return;
    };
    ask_for_fallback_window(&host);
    let nothing = Scratch::new("up-without-fallback");
    let mut up = host.up_where(&[], |command| {
        seeing(command, &nothing.path(""), "/sys/kernel/btf")
    });
    let _connection = plain_connection(&host);
    let why = || {
        host.json("why")["fallbacks"][0]["why"]
            .as_str()
            .map(str::to_owned)
    };
    until("it is told", || {
        why().is_some_and(|why| why.contains("this kernel has no BTF"))
    });
    assert!(host.json("status")["fallbacks"][0]["window_bytes"].is_null());
    let (_, text) = words(&host.ask("status", &[]));
    assert!(
        text.contains("its server is not limited to the configured 65.5 kB in flight"),
        "{text}"
    );
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn without_window_limits_new_connections_get_a_small_buffer_until_down() {
    let Some(host) = Host::new("nowindow") else { return };
    let buffer = || {
        let shown = || output("sysctl -n net.ipv4.tcp_rmem");
        host.client.run(shown).unwrap()
    };
    let before = buffer();
    let nothing = Scratch::new("up-without-window");
    let mut up = host.up_where(&[], |command| {
        seeing(command, &nothing.path(""), "/sys/kernel/btf")
    });
    let _download = Download::start(&host);
    until("the buffer is smaller", || buffer() != before);
    let most = |buffer: String| buffer.split_whitespace().last().unwrap().parse::<u64>().unwrap();
    assert!(most(buffer()) < most(before.clone()), "{} of {before}", buffer());
    let (code, text) = words(&host.ask("why", &[]));
    for sentence in [
        "windows of running connections are not limited: this kernel has no BTF",
        "instead, new connections get a receive buffer of",
        "unsent bytes are not limited: this kernel has no BTF",
    ] {
        assert!(code == Some(0) && text.contains(sentence), "{text}");
    }
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    assert_eq!(buffer(), before);
}

#[test]
fn a_host_is_managed_from_up_to_down() {
    let Some(host) = Host::new("life") else { return };
    let before = host.state();
    let mut up = host.up();
    let _connection = connection(&host);
    until("both links carry the connection", || {
        let status = host.json("status");
        status["connections"][0]["subflows"]
            .as_array()
            .is_some_and(|subflows| subflows.len() == 2)
    });
    let status = host.json("status");
    assert_eq!(status["schema"], "slowhand.status/1");
    assert_eq!(status["policy"], "slowhand");
    let names: Vec<_> = status["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| &link["name"])
        .collect();
    assert_eq!(names, ["desk", "w1"]);
    assert_eq!(status["links"][0]["gateways"][0], "10.0.0.2");
    assert_eq!(status["connections"][0]["remote"], SERVER);

    let (code, text) = words(&host.ask("status", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("desk *") && text.contains("10.255.0.1:5001"),
        "{text}"
    );

    let why = host.json("why");
    assert_eq!(why["schema"], "slowhand.why/1");
    assert_eq!(why["links"][0]["link"], "desk");
    assert!(!why["links"][0]["why"].as_str().unwrap().is_empty());
    let (code, text) = words(&host.ask("why", &["w1"]));
    assert!(code == Some(0) && text.starts_with("w1: "), "{text}");
    let (code, text) = words(&host.ask("why", &["w7"]));
    assert!(
        code == Some(2) && text.contains("no link `w7`; the links are: desk, w1"),
        "{text}"
    );

    let (code, text) = words(&host.ask("up", &["--config", host.two_links().to_str().unwrap()]));
    assert!(code == Some(2) && text.contains("is running already"), "{text}");

    assert_ne!(host.state(), before);
    let (code, text) = words(&host.ask("down", &[]));
    assert!(
        code == Some(0) && text.contains("everything is as it was"),
        "{text}"
    );
    assert_eq!(host.state(), before);
    assert!(up.child.wait().unwrap().success());
    let (code, text) = words(&host.ask("status", &[]));
    assert!(
        code == Some(1) && text.contains("slowhand is not running here"),
        "{text}"
    );
}

#[test]
fn earlier_connections_are_left_alone_without_a_warning() {
    let Some(host) = Host::new("before") else { return };
    let _connections = connection(&host);
    let mut up = host.up();
    let sentence = "it began before slowhand and belongs to the kernel's own path manager";
    until("it is left alone", || {
        host.json("status")["connections"][0]["left_alone"] == sentence
    });
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    let log = up.log();
    let about: Vec<&str> = log.lines().filter(|line| line.contains("connection")).collect();
    assert!(
        about.len() == 1 && about[0].starts_with("info: connection ") && about[0].ends_with(sentence),
        "{log}"
    );
}

#[test]
fn a_service_manager_stops_the_daemon_by_signal() {
    let Some(host) = Host::new("signal") else { return };
    let before = host.state();
    let mut up = host.up();
    let pid = nix::unistd::Pid::from_raw(up.child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(up.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
    until("it says that it stops", || up.hears() == "STOPPING=1");
}

#[test]
fn down_lists_what_somebody_changed_after_a_crash() {
    let Some(host) = Host::new("crash-and-change") else {
        return;
    };
    host.up().kill();
    let change = || output("ip mptcp limits set subflows 5");
    host.client.run(change).unwrap();
    let (code, text) = words(&host.ask("down", &[]));
    let told = "left as it is: limits";
    assert!(
        code == Some(1) && text.contains(told) && text.contains("subflows 5"),
        "{text}"
    );
    let (code, text) = words(&host.ask("down", &[]));
    assert!(
        code == Some(0) && text.contains("nothing of it is left"),
        "{text}"
    );
}

#[test]
fn down_restores_after_a_crash_without_a_daemon() {
    let Some(host) = Host::new("crash") else { return };
    let before = host.state();
    host.up().kill();
    assert_ne!(host.state(), before);
    let (code, text) = words(&host.ask("down", &[]));
    assert!(
        code == Some(0) && text.contains("that a crash had left were put back"),
        "{text}"
    );
    assert_eq!(host.state(), before);
    let (code, text) = words(&host.ask("down", &[]));
    assert!(
        code == Some(0) && text.contains("nothing of it is left"),
        "{text}"
    );
}

#[test]
fn a_wrong_configuration_changes_nothing() {
    let Some(host) = Host::new("wrong") else { return };
    let before = host.state();
    let config = host.config("policy = \"slowhand\"\n[[link]]\ninterface = \"w0\"\nkind = \"cabel\"\n");
    let (code, text) = words(&host.ask("up", &["--config", config.to_str().unwrap()]));
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("slowhand.toml:4:8: `kind` is \"cabel\"\n") && text.contains("did you mean \"cable\"?"),
        "{text}"
    );
    assert_eq!(host.state(), before);
}

#[test]
fn a_wrong_configuration_of_wifi_changes_nothing() {
    let Some(host) = Host::new("wrongwifi") else {
        return;
    };
    let before = host.state();
    let secret = host.root.join("home.psk");
    write(&secret, "correct horse battery\n", 0o644);
    let place = secret.display();
    let network = format!("[wifi]\n[[wifi.network]]\nssid = \"home\"\npsk_file = \"{place}\"\n");
    let open = format!("[[wifi.network]] {place}: mode 0644, readable by others; run chmod 600 {place}\n");
    let unknown = "slowhand.toml:1:1: unknown key `moniter`".to_owned();
    let number = "slowhand.toml:1:11: `monitor` is 1".to_owned();
    for (line, said) in [
        ("", open),
        ("moniter = true\n", unknown),
        ("monitor = 1\n", number),
    ] {
        let config = host.config(&format!("{line}{network}"));
        let (code, text) = words(&host.ask("up", &["--config", config.to_str().unwrap()]));
        assert!(code == Some(2) && text.contains(&said), "{said}: {text}");
        assert_eq!(host.state(), before);
    }
}

/// From the next start the daemon reports signals to servers, with the key in this file.
fn ask_for_reports(host: &Host, key_file: &Path) {
    let additions = host.root.join("conf.d");
    std::fs::create_dir_all(&additions).unwrap();
    let text = format!("report_key_file = \"{}\"\n", key_file.display());
    write(&additions.join("report.toml"), &text, 0o644);
}

#[test]
fn with_a_report_key_the_daemon_starts_and_ends() {
    let Some(host) = Host::new("report") else { return };
    let before = host.state();
    let key_file = host.root.join("report.key");
    write(&key_file, &("0123456789abcdef".repeat(4) + "\n"), 0o600);
    ask_for_reports(&host, &key_file);
    let mut up = host.up();
    assert_eq!(host.json("status")["links"].as_array().unwrap().len(), 2);
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    assert_eq!(host.state(), before);
}

#[test]
fn an_invalid_report_key_is_refused_with_its_place_and_a_remedy() {
    let Some(host) = Host::new("wrongreport") else {
        return;
    };
    let before = host.state();
    let key_file = host.root.join("report.key");
    ask_for_reports(&host, &key_file);
    let (config, place) = (host.two_links(), key_file.display().to_string());
    let refusal = || {
        let (code, text) = words(&host.ask("up", &["--config", config.to_str().unwrap()]));
        assert_eq!(code, Some(2), "{text}");
        text
    };
    let absent = refusal();
    let remedy =
        format!("{place}: there is no such file; `(umask 077; openssl rand -hex 32 > {place})` makes a key");
    assert!(absent.contains(&remedy), "{absent}");
    write(&key_file, "0123", 0o644);
    let open = refusal();
    let remedy = format!("{place}: mode 0644, readable by others; run chmod 600 {place}\n");
    assert_eq!(open, remedy);
    write(&key_file, "0123", 0o600);
    let short = refusal();
    let remedy = format!("{place}: a key is 64 hexadecimal digits, as `openssl rand -hex 32` prints them");
    assert!(short.contains(&remedy), "{short}");
    assert_eq!(host.state(), before);
}

#[test]
fn doctor_says_whether_slowhand_works_here() {
    let Some(host) = Host::new("doctor") else { return };
    let found = host.json("doctor");
    assert_eq!(found["schema"], "slowhand.doctor/1");
    assert_eq!(found["works"], true, "{found:#}");
    host.client
        .run(|| output("sysctl -w net.mptcp.enabled=0"))
        .unwrap();
    let (code, text) = words(&host.ask("doctor", &[]));
    assert!(
        code == Some(1) && text.contains("sysctl -w net.mptcp.enabled=1"),
        "{text}"
    );
}

#[test]
fn connections_use_the_configured_controller_until_the_daemon_ends() {
    let Some(host) = Host::new("cc") else { return };
    let default = || {
        let shown = || output("sysctl -n net.ipv4.tcp_congestion_control");
        host.client.run(shown).unwrap().trim().to_owned()
    };
    let before = default();
    let mut up = host.up_with(&["--cc", "olia"]);
    let during = default();
    assert!(during.starts_with("slow_olia"), "{during}");
    assert_eq!(host.json("status")["cc"], during.as_str());
    let [client, _server, _listener] = connection(&host);
    until("both subflows are told to be sent with it", || {
        sent_with(&host) == Some(vec![during.clone(); 2])
    });
    // The socket's own choice counts, whatever the namespace's is.
    client.set_tcp_congestion(b"reno").unwrap();
    assert_eq!(sent_with(&host), Some(vec!["reno".to_owned(); 2]));
    let status = host.json("status");
    assert_eq!(
        (&status["cc"], &status["connections"][0]["cc"]),
        (&during.as_str().into(), &serde_json::json!(["reno"]))
    );
    let (_, text) = words(&host.ask("status", &[]));
    assert!(
        text.contains(&format!("congestion control {during}, ")) && text.contains("  reno\n"),
        "{text}"
    );
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    drop(client);
    assert_eq!(default(), before);
}

/// The congestion controllers that send on the only connection's subflows, by `status`; `None` until some are
/// known.
fn sent_with(host: &Host) -> Option<Vec<String>> {
    let status = host.json("status");
    let subflows = status["connections"][0]["subflows"].as_array()?;
    subflows
        .iter()
        .map(|subflow| subflow["cc"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn without_bpf_controllers_connections_keep_the_kernels_own() {
    let Some(host) = Host::new("nocc") else { return };
    let nothing = Scratch::new("up-without-btf");
    let mut up = host.up_where(&["--cc", "olia"], |command| {
        seeing(command, &nothing.path(""), "/sys/kernel/btf");
    });
    let before = || output("sysctl -n net.ipv4.tcp_congestion_control");
    let kernels = host.client.run(before).unwrap().trim().to_owned();
    assert_eq!(host.json("status")["cc"], kernels.as_str());
    let (code, text) = words(&host.ask("down", &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(up.child.wait().unwrap().success());
    let said = up.log();
    assert!(
        said.contains("warning: without `olia`: this kernel has no BTF"),
        "{said}"
    );
}

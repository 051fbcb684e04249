//! Unmodified programs in the lab's hosts.

mod plans;

use lab::shell::Programs;
use lab::stop::Stop;
use lab::world::{Play, Played, play};
use plans::two_cables;
use std::fs;
use std::path::{Path, PathBuf};
use trace::{Event, PolicyName, What};

/// A folder of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slowhand-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(seconds: u32, client: &str, servers: &[&str]) -> Played {
    run_under(PolicyName::Mptcp, seconds, client, servers)
}

fn run_under(policy: PolicyName, seconds: u32, client: &str, servers: &[&str]) -> Played {
    let plan = two_cables(seconds, plans::DOWNLOAD);
    let what = Play {
        programs: Some(Programs {
            client: client.into(),
            servers: servers.iter().map(Into::into).collect(),
        }),
        ..Play::new(&plan, policy)
    };
    play(&what, &Stop::new(), &mut |_| {}).unwrap()
}

fn carried(played: &Played) -> Vec<u64> {
    played.emulator.links.iter().map(|link| link.down.get()).collect()
}

/// Waits until something listens, then runs `then`.
fn once_there(port: u16, then: &str) -> String {
    format!(
        "for i in $(seq 600); do (: < /dev/tcp/$SLOWHAND_SERVER/{port}) 2>/dev/null && break; sleep 0.05; done; {then}"
    )
}

fn bash(script: &str) -> String {
    format!("exec bash -c '{}'", script.replace('\'', "'\\''"))
}

/// Counts the windows with which the client limited the server's queue.
fn windows(played: &Played) -> usize {
    let bounds = |event: &&Event| matches!(event.what, What::Window { bytes: Some(_), .. });
    played.record.events.iter().filter(bounds).count()
}

#[test]
fn curl_fetches_from_nginx_over_both_links() {
    curl_fetches_under(PolicyName::Mptcp, "nginx");
}

#[test]
fn curl_and_nginx_work_with_limited_windows() {
    let played = curl_fetches_under(PolicyName::Slowhand, "nginx-window");
    assert!(windows(&played) > 0, "no window was set");
}

fn curl_fetches_under(policy: PolicyName, name: &str) -> Played {
    let folder = Folder::new(name);
    let at = folder.path().display();
    let content: Vec<u8> = (0..6_000_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    fs::write(folder.path().join("file"), &content).unwrap();
    let config = format!(
        "daemon off; master_process off; user root; pid {at}/pid; error_log {at}/error.log;\n\
         events {{}}\nhttp {{ access_log off; client_body_temp_path {at}/a; proxy_temp_path {at}/b; fastcgi_temp_path {at}/c;\n\
         uwsgi_temp_path {at}/d; scgi_temp_path {at}/e; server {{ listen 80; root {at}; }} }}\n"
    );
    fs::write(folder.path().join("nginx.conf"), config).unwrap();
    let server = format!("exec mptcpize run nginx -c {at}/nginx.conf");
    let fetch = once_there(
        80,
        &format!("exec mptcpize run curl -s --fail http://$SLOWHAND_SERVER/file -o {at}/fetched"),
    );
    let played = run_under(policy, 60, &bash(&fetch), &[&server]);
    let ended = played.programs.clone().unwrap();
    assert_eq!(ended.code(), Some(0), "{ended:?} {}", folder.read("error.log"));
    assert!(ended.servers.is_empty(), "{ended:?}");
    assert!(
        fs::read(folder.path().join("fetched")).unwrap() == content,
        "the file arrived as it was"
    );
    assert!(
        carried(&played).iter().all(|bytes| *bytes > 500_000),
        "{:?}",
        carried(&played)
    );
    played
}

#[test]
fn iperf3_measures_between_the_hosts() {
    iperf3_measures_under(PolicyName::Mptcp, "iperf3");
}

#[test]
fn iperf3_works_with_limited_windows() {
    let played = iperf3_measures_under(PolicyName::Slowhand, "iperf3-window");
    assert!(windows(&played) > 0, "no window was set");
}

fn iperf3_measures_under(policy: PolicyName, name: &str) -> Played {
    let folder = Folder::new(name);
    let at = folder.path().display();
    // The server accepts one connection at a time, so a check whether it listens would block the client.
    let try_it = format!(
        "mptcpize run iperf3 -c $SLOWHAND_SERVER -R -t 3 -J > {at}/json; grep -q sum_received {at}/json && exit 0"
    );
    let measure = format!("for i in $(seq 100); do {try_it}; sleep 0.1; done; exit 9");
    let played = run_under(
        policy,
        60,
        &bash(&measure),
        &["exec mptcpize run iperf3 -s > /dev/null"],
    );
    let ended = played.programs.clone().unwrap();
    assert_eq!(ended.code(), Some(0), "{ended:?} {}", folder.read("json"));
    assert!(
        folder.read("json").contains("sum_received"),
        "{}",
        folder.read("json")
    );
    assert!(
        carried(&played).iter().all(|bytes| *bytes > 500_000),
        "{:?}",
        carried(&played)
    );
    played
}

/// The limit is 64 KiB, and the scheduler assigns a burst of the same size when less is queued.
const UNSENT: u64 = 200_000;

#[test]
fn iperf3_works_with_an_unsent_limit() {
    let stock = iperf3_uploads_under(PolicyName::Mptcp, "iperf3-up");
    assert!(stock > UNSENT, "{stock} bytes wait unsent without a limit");
    let ours = iperf3_uploads_under(PolicyName::Slowhand, "iperf3-up-unsent");
    assert!(ours <= UNSENT, "{ours} bytes wait unsent with it");
}

/// The most unsent bytes of one subflow in the second half of the upload.
fn iperf3_uploads_under(policy: PolicyName, name: &str) -> u64 {
    let folder = Folder::new(name);
    let at = folder.path().display();
    let look = format!("while sleep 0.1; do echo look; ss -tinH dport = 5201; done > {at}/looks & looks=$!");
    let try_it = format!(
        "mptcpize run iperf3 -c $SLOWHAND_SERVER -t 6 -J > {at}/json; grep -q sum_received {at}/json && kill $looks && exit 0"
    );
    let measure = format!("{look}; for i in $(seq 100); do {try_it}; sleep 0.1; done; exit 9");
    let server = "exec mptcpize run iperf3 -s > /dev/null";
    let played = run_under(policy, 60, &bash(&measure), &[server]);
    let ended = played.programs.clone().unwrap();
    assert_eq!(ended.code(), Some(0), "{ended:?} {}", folder.read("json"));
    let sent: Vec<u64> = played.emulator.links.iter().map(|link| link.up.get()).collect();
    assert!(sent.iter().all(|bytes| *bytes > 500_000), "{sent:?}");
    let looks = folder.read("looks");
    let looks: Vec<&str> = looks
        .split("look\n")
        .filter(|look| look.contains("bytes_sent:"))
        .collect();
    assert!(looks.len() > 20, "{} looks", looks.len());
    let rest = &looks[looks.len() / 2..];
    let told = |look: &str| numbers(look, "bytes_sent:").into_iter().min();
    // iperf3 announces the end over its control connection, and then closes the upload. From then on, more
    // waits unsent.
    let uploading = rest.iter().take_while(|look| told(look) == told(rest[0]));
    let waiting = |look: &&str| numbers(look, "notsent:").into_iter().max().unwrap_or(0);
    uploading.map(waiting).max().unwrap()
}

/// The numbers of all sockets after this name in what ss printed.
fn numbers(look: &str, name: &str) -> Vec<u64> {
    let digits = |value: &str| {
        value
            .split_whitespace()
            .next()
            .and_then(|number| number.parse().ok())
    };
    look.split(name).skip(1).filter_map(digits).collect()
}

#[test]
fn a_program_sees_the_links_and_its_own_processes_only() {
    let folder = Folder::new("inside");
    let at = folder.path().display();
    let look = format!("cat /proc/net/dev > {at}/devices; echo $$ > {at}/pid; exit 7");
    let played = run(30, &look, &[]);
    assert_eq!(played.programs.unwrap().code(), Some(7));
    let devices = folder.read("devices");
    let names: Vec<&str> = devices
        .lines()
        .skip(2)
        .filter_map(|line| Some(line.split_once(':')?.0.trim()))
        .collect();
    assert!(
        names.contains(&"left") && names.contains(&"right") && !names.contains(&"eth0"),
        "{names:?}"
    );
    assert_eq!(folder.read("pid").trim(), "1", "the first of its namespace");
    assert!(played.run.duration_s < 29.0, "the run ends with the program");
}

#[test]
fn the_client_waits_for_a_slow_server() {
    let slowly = bash("sleep 0.3; exec python3 -m http.server 7");
    let once = bash("exec 3<>/dev/tcp/$SLOWHAND_SERVER/7");
    let played = run(30, &once, &[&slowly]);
    let code = played.programs.unwrap().code();
    assert!(
        code == Some(0) || played.run.duration_s >= 5.0,
        "it answers at the first try, or has not begun within five seconds: {code:?}"
    );
}

#[test]
fn background_processes_of_a_program_die_with_it() {
    let folder = Folder::new("orphan");
    let at = folder.path().display();
    // The orphan would write after the program has ended; `setsid` takes it out of every process group.
    let leave = format!(
        "setsid sh -c 'touch {at}/born; sleep 2; touch {at}/alive' & while ! [ -e {at}/born ]; do sleep 0.05; done"
    );
    let played = run(30, &leave, &[]);
    assert_eq!(played.programs.unwrap().code(), Some(0));
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert!(folder.path().join("born").exists() && !folder.path().join("alive").exists());
}

#[test]
fn a_running_program_is_killed_at_the_end_of_the_run() {
    let folder = Folder::new("endless");
    let at = folder.path().display();
    let played = run(
        2,
        &format!("trap '' TERM INT HUP; while :; do date +%s%N > {at}/now; sleep 0.05; done"),
        &["sleep 600"],
    );
    let ended = played.programs.unwrap();
    assert!(ended.client.is_none() && ended.servers.is_empty(), "{ended:?}");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let last = folder.read("now");
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(folder.read("now"), last, "it writes no more");
}

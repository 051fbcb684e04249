//! Clients of the distribution that speak more than plain HTTP, and servers with and without MPTCP.

use crate::content;
use crate::site::{self, Running, Site, Speaks, V4};
use crate::together::{has, serve};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

/// HTTP/1.1, and HTTP/2 without TLS.
const PORTS: [u16; 2] = [8080, 8081];
const PAGE: &str = include_str!("websocket.py");
/// Options of the browser.
const HEADLESS: [&str; 5] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
];

fn words(speaks: Speaks) -> &'static [&'static str] {
    match speaks {
        Speaks::Tcp => &[],
        Speaks::Mptcp => &["mptcpize", "run"],
    }
}

/// nginx on the Internet, which serves a file of this content.
fn nginx(site: &Site, speaks: Speaks, served: &[u8]) -> Running {
    let root = site.folder().join("nginx");
    fs::create_dir_all(root.join("files")).unwrap();
    fs::write(root.join("files/file"), served).unwrap();
    let at = root.display();
    let [plain, two] = PORTS;
    let text = format!(
        "daemon off; master_process off; user root; pid {at}/pid; error_log {at}/error.log;\nevents {{}}\n\
         http {{ access_log off; client_body_temp_path {at}/a; proxy_temp_path {at}/b; fastcgi_temp_path {at}/c;\n\
         uwsgi_temp_path {at}/d; scgi_temp_path {at}/e;\n\
         server {{ listen {V4}:{plain}; listen {V4}:{two} http2; root {at}/files; }} }}\n"
    );
    let config = root.join("conf");
    fs::write(&config, text).unwrap();
    let words = [words(speaks), &["nginx"]].concat();
    let mut command = site.command_of_internet(words[0]);
    command.args(&words[1..]).arg("-c").arg(&config);
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(quiet.spawn().unwrap());
    for port in PORTS {
        site::until("nginx listens", || site.reaches(SocketAddr::new(V4, port)));
    }
    running
}

fn totals(site: &Site) -> [u64; 3] {
    let totals = &site.status()["agent"]["totals"];
    ["relay", "direct", "plain"].map(|way| totals[way].as_u64().unwrap())
}

/// Runs a client on the mobile host to its end.
fn run(site: &Site, words: &[&str]) {
    let done = site.command(words[0]).args(&words[1..]).output().unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
}

#[test]
fn http_2_and_http_1_reach_nginx_with_and_without_mptcp() {
    for speaks in [Speaks::Tcp, Speaks::Mptcp] {
        let Some(site) = Site::new(&format!("nginx-{}", words(speaks).len())) else {
            return;
        };
        if !(has("curl") && Path::new("/usr/sbin/nginx").exists() && has("mptcpize")) {
            println!("skipped: needs curl, nginx and mptcpize; install curl nginx-light mptcpize");
            return;
        }
        let _nginx = nginx(&site, speaks, &content());
        let _relay = site.relay();
        let _daemon = site.up(&site.through_relay());
        for (port, version) in PORTS.into_iter().zip(["--http1.1", "--http2-prior-knowledge"]) {
            fetch_twice(&site, speaks, port, version);
        }
    }
}

/// Fetches the file twice. A server that speaks MPTCP is reached directly the second time.
fn fetch_twice(site: &Site, speaks: Speaks, port: u16, version: &str) {
    let into = site.folder().join("fetched");
    let into = into.to_str().unwrap();
    let url = format!("http://{V4}:{port}/file");
    for number in 0..2 {
        let [relay, direct, plain] = totals(site);
        let quiet = ["curl", "--silent", "--show-error", version];
        run(site, &[&quiet[..], &["--output", into, &url]].concat());
        assert!(fs::read(into).unwrap() == content(), "{version}");
        let directly = speaks == Speaks::Mptcp && number == 1;
        let expected = match directly {
            true => [relay, direct + 1, plain],
            false => [relay + 1, direct, plain],
        };
        assert_eq!(totals(site), expected, "{version}, connection {number}");
    }
}

/// A server in Go, which makes its system calls itself: no preloaded library reaches it.
fn caddy(site: &Site, speaks: Speaks, served: &[u8]) -> Running {
    let root = site.folder().join("caddy");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("file"), served).unwrap();
    let listens = format!("{V4}:{}", PORTS[0]);
    let mut command = match speaks {
        Speaks::Tcp => site.command_of_internet("caddy"),
        Speaks::Mptcp => {
            let mut command = site.command_of_internet(site::program("slowhand"));
            command.args(["exec", "--", "caddy"]);
            command
        }
    };
    command
        .args(["file-server", "--listen", &listens, "--root"])
        .arg(&root);
    let quiet = command
        .env("HOME", &root)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let running = Running(quiet.spawn().unwrap());
    let address = SocketAddr::new(V4, PORTS[0]);
    site::until("caddy listens", || site.reaches(address));
    running
}

#[test]
fn a_server_in_go_is_reached_with_and_without_mptcp() {
    for speaks in [Speaks::Tcp, Speaks::Mptcp] {
        let Some(site) = Site::new(&format!("caddy-{}", words(speaks).len())) else {
            return;
        };
        if !(has("curl") && has("caddy")) {
            return;
        }
        let _caddy = caddy(&site, speaks, &content());
        let _relay = site.relay();
        let _daemon = site.up(&site.through_relay());
        fetch_twice(&site, speaks, PORTS[0], "--http1.1");
    }
}

#[test]
fn iperf3_measures_both_directions_over_the_relay() {
    for speaks in [Speaks::Tcp, Speaks::Mptcp] {
        let Some(site) = Site::new(&format!("iperf3-{}", words(speaks).len())) else {
            return;
        };
        if !(has("iperf3") && has("mptcpize")) {
            return;
        }
        let address = V4.to_string();
        let program = [words(speaks), &["iperf3", "--server", "--bind", &address]].concat();
        let mut server = site.command_of_internet(program[0]);
        let server = server.args(&program[1..]).stdout(Stdio::null());
        let _server = Running(server.spawn().unwrap());
        let listens = || site.reaches(SocketAddr::new(V4, 5201));
        site::until("iperf3 listens", listens);
        let _relay = site.relay();
        let _daemon = site.up(&site.through_relay());
        // An upload ends with a reset before its server sent a byte there.
        let measure = ["iperf3", "--client", &address, "--bytes", "4M"];
        for direction in [&[][..], &["--reverse"], &[]] {
            run(&site, &[&measure[..], direction].concat());
            // Its server refuses a client until the one before has gone, which it learns over the relay.
            let open = || site.status()["agent"]["connections"].to_string();
            site::until("the relay's connections have ended", || {
                !open().contains("\"relay\"")
            });
        }
        let [relay, direct, plain] = totals(&site);
        assert_eq!((relay + direct, plain), (6, 0), "two connections a run");
        let over_relay = if speaks == Speaks::Tcp { 6 } else { 1 };
        assert_eq!(relay, over_relay, "{direct} directly");
    }
}

#[test]
fn a_browser_and_its_websocket_reach_servers_with_and_without_mptcp() {
    for speaks in ["tcp", "mptcp"] {
        let Some(site) = Site::new(&format!("browser-{speaks}")) else {
            return;
        };
        let chromium = Path::new("/usr/bin/chromium");
        if !(chromium.exists() && has("python3")) {
            println!("skipped: needs chromium and python3; install them");
            return;
        }
        load(&site, chromium);
        let script = site.folder().join("websocket.py");
        fs::write(&script, PAGE).unwrap();
        let mut server = site.command_of_internet("python3");
        server.arg(&script).args([&V4.to_string(), "8080", speaks]);
        let mut server = Running(server.stdout(Stdio::piped()).spawn().unwrap());
        let address = SocketAddr::new(V4, 8080);
        site::until("the server listens", || site.reaches(address));
        let (tell, said) = channel();
        let lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let _relay = site.relay();
        let _daemon = site.up(&site.through_relay());
        let _browser = browser(&site, chromium, &format!("http://{address}/"));
        let mut echoed = None;
        site::until("the page reports the echo", || {
            echoed = said.try_recv().ok();
            echoed.is_some()
        });
        assert_eq!(echoed.as_deref(), Some("/echoed?100000"), "{speaks}");
        let [relay, direct, plain] = totals(&site);
        // The page may have opened all its connections before the agent knew the server.
        assert!(
            relay > 0 && relay + direct >= 2 && plain == 0,
            "{relay}, {direct}, {plain}"
        );
        assert!(speaks == "mptcp" || direct == 0, "{direct}");
    }
}

/// Makes a repository of one package, which has a file of this content.
fn repository(folder: &Path, served: &[u8]) -> bool {
    let (package, repository) = (folder.join("package"), folder.join("repository"));
    for folder in [&package.join("DEBIAN"), &package.join("opt"), &repository] {
        fs::create_dir_all(folder).unwrap();
    }
    let control =
        "Package: carried\nVersion: 1\nArchitecture: all\nMaintainer: n <e@example>\nDescription: one\n";
    fs::write(package.join("DEBIAN/control"), control).unwrap();
    fs::write(package.join("opt/file"), served).unwrap();
    let mut build = Command::new("dpkg-deb");
    build
        .args(["--root-owner-group", "-Znone", "--build"])
        .arg(&package);
    assert!(
        build
            .arg(repository.join("carried_1_all.deb"))
            .output()
            .unwrap()
            .status
            .success()
    );
    let mut list = Command::new("dpkg-scanpackages");
    let Ok(listed) = list.arg(".").current_dir(&repository).output() else {
        println!("skipped: needs dpkg-scanpackages; install dpkg-dev");
        return false;
    };
    fs::write(repository.join("Packages"), listed.stdout).unwrap();
    true
}

#[test]
fn apt_fetches_from_a_repository_behind_the_relay() {
    let Some(site) = Site::new("apt") else { return };
    let folder = site.folder().join("apt");
    if !(has("python3") && has("apt-get") && repository(&folder, &content())) {
        return;
    }
    let (server, _http) = serve(&site, &folder.join("repository"));
    let _relay = site.relay();
    let _daemon = site.up(&site.through_relay());
    // It takes nothing from this host's own configuration, and changes nothing there.
    for part in ["lists/partial", "archives/partial", "into"] {
        fs::create_dir_all(folder.join(part)).unwrap();
    }
    fs::write(folder.join("status"), "").unwrap();
    fs::write(
        folder.join("list"),
        format!("deb [trusted=yes] http://{server}/ ./\n"),
    )
    .unwrap();
    let at = folder.display();
    let config = format!(
        "Dir::State::lists \"{at}/lists\"; Dir::State::status \"{at}/status\"; Dir::Cache \"{at}\";\n\
         Dir::Cache::archives \"{at}/archives\"; Dir::Etc::sourcelist \"{at}/list\"; Dir::Etc::sourceparts \"-\";\n\
         Dir::Etc::parts \"-\"; APT::Sandbox::User \"root\"; Acquire::http::Proxy \"DIRECT\";\n"
    );
    fs::write(folder.join("conf"), config).unwrap();
    for words in [&["update"][..], &["download", "carried"]] {
        let [before, ..] = totals(&site);
        let mut apt = site.command("apt-get");
        apt.args(words).current_dir(folder.join("into"));
        let done = apt.env("APT_CONFIG", folder.join("conf")).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        let [relay, direct, plain] = totals(&site);
        assert!(
            relay > before && direct == 0 && plain == 0,
            "{words:?}: {relay}, {direct}, {plain}"
        );
    }
    let fetched = fs::read(folder.join("into/carried_1_all.deb")).unwrap();
    assert!(fetched == fs::read(folder.join("repository/carried_1_all.deb")).unwrap());
}

/// Runs the browser once without a page. Its first start reads some 300 MB, which has taken 17 s on a slow
/// disk while nothing of it was in memory.
fn load(site: &Site, program: &Path) {
    let profile = site.folder().join("empty-profile");
    let mut browser = site.command(program);
    browser.args(HEADLESS).args(["--dump-dom", "about:blank"]);
    browser.arg(format!("--user-data-dir={}", profile.display()));
    let done = browser.stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// A browser without a window that opens this page.
fn browser(site: &Site, program: &Path, url: &str) -> Running {
    let mut browser: Command = site.command(program);
    browser.args(HEADLESS);
    browser.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]);
    let profile = site.folder().join("profile");
    browser.args(["--disable-dev-shm-usage", "--remote-debugging-port=0"]);
    browser
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url);
    let quiet = browser
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Running(quiet.spawn().unwrap())
}

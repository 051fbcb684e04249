//! slowhand(7): what slowhand is, its parts and files, and which page to read next.

use super::page::Page;
use clap::Command;
use host::config::DEFAULT;

const WHAT: [&str; 6] = [
    "slowhand keeps the connections of a moving Linux host alive and fast. It uses every WiFi access point and \
     cellular link in range at the same time. It opens new paths before old ones break, and standard Multipath TCP \
     moves the traffic between them. A server needs only a kernel with MPTCP.",
    "The daemon measures each link, and decides which of them carry each connection. It removes a link that drops \
     everything, and keeps one as backup that would slow the others down. `slowhand why` explains each decision.",
    "Access points are joined by NetworkManager, iwd or you. With your networks in `[wifi]`, slowhand joins them by \
     itself: all that one radio can join at once.",
    "Programs that do not ask for MPTCP get it by `slowhand exec`. With `[relay]`, all plain TCP of this host uses every \
     link over a relay, also to servers without MPTCP. With `[networks]`, UDP keeps one address while links change.",
    "What slowhand changes on the host is in a journal. `slowhand down` undoes it, and so does the next start after a \
     crash.",
    "It runs as root, and only root can start, stop or reload it. Every user may ask for its state.",
];

const PARTS: [(&str, &str); 3] = [
    (
        "slowhand(1)",
        "the command: starts the daemon, asks it, and plays scenarios",
    ),
    (
        "slowhandd(8)",
        "the daemon of a mobile host; slowhand.service runs it",
    ),
    (
        "slowhand-relay(8)",
        "the relay, on a host with a fixed address; slowhand-relay.service runs it",
    ),
];

const FIRST_STEPS: &str = "\
slowhand doctor              # what this host has, and what is missing
sudo slowhand wifi import    # take over the networks that NetworkManager or iwd has saved
sudo slowhand up             # start the daemon
slowhand status              # in another terminal: links and connections
slowhand why                 # why each link is used or not
sudo slowhand down           # everything is put back as it was";

const FILES: [(&str, &str); 9] = [
    (DEFAULT, "the configuration: slowhand.toml(5)"),
    ("/etc/slowhand/conf.d/*.toml", "additions to it"),
    (
        "/etc/slowhand/relay.toml",
        "the configuration of a relay: slowhand-relay(8)",
    ),
    ("/run/slowhand/control.sock", "socket of the daemon for root"),
    (
        "/run/slowhand/status.sock",
        "socket of the daemon for every user's questions",
    ),
    (
        "/run/slowhand/agent.sock",
        "metrics of the agent for Prometheus, with `[relay]`",
    ),
    ("/var/lib/slowhand/journal", "what to undo on this host"),
    (
        "/var/lib/slowhand/leases",
        "addresses on earlier visits of networks",
    ),
    ("/usr/share/slowhand/scenarios", "scenarios for `slowhand play`"),
];

pub fn page(slowhand: &Command) -> Page {
    let about = "every WiFi access point and cellular link of a moving host at the same time";
    let mut page = Page::new("slowhand", "7", about);
    page.heading("DESCRIPTION");
    for paragraph in WHAT {
        page.text(paragraph);
    }
    page.heading("PARTS");
    for (part, what) in PARTS {
        page.item(part, what);
    }
    page.heading("FIRST STEPS").lines(FIRST_STEPS);
    page.heading("COMMANDS").text("Each has a page of its own.");
    for verb in slowhand.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        page.item(&format!("slowhand-{}(1)", verb.get_name()), &about);
    }
    page.heading("FILES");
    for (path, what) in FILES {
        page.item(path, what);
    }
    page.heading("SEE ALSO");
    page.text(
        "slowhand(1), slowhand.toml(5), slowhandd(8), slowhand-relay(8), ip-mptcp(8), wpa_supplicant(8)",
    );
    page.text(
        "The guides are in the folder `docs` of the sources, and README.md is in `/usr/share/doc/slowhand`.",
    );
    page
}

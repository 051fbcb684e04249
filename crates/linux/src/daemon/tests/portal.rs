//! A captive portal on one of two links: the link is not used while the portal is closed, and used again when
//! it opens.

use super::net::{Net, SERVER, nft};
use super::rig::{PATIENCE, Running, Seen, declared};
use crate::daemon::Probing;
use crate::portal::Check;
use crate::testing::{Root, output};
use policy::reason::Access;
use policy::{Action, Checked, Input, LinkEvent, LinkId, Reason, Verb};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

const FIRST: LinkId = LinkId(0);
const SITE: u16 = 8_080;
const PORTAL: u16 = 8_081;

/// Sends this reply to every client, until the process ends.
fn serve(net: &Net, port: u16, says: &'static str) {
    let listener = net.in_server(|| TcpListener::bind(("0.0.0.0", port)).unwrap());
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 1_024]);
            let _ = stream.write_all(says.as_bytes());
        }
    });
}

struct Cafe {
    net: Net,
    root: Root,
}

impl Cafe {
    /// Two links to a site. This rule blocks the way over the first.
    fn new(test: &str, rule: &str) -> Option<Self> {
        let net = Net::with_links(2)?;
        serve(&net, SITE, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nonline");
        serve(
            &net,
            PORTAL,
            "HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\nContent-Length: 0\r\n\r\n",
        );
        net.in_client(|| {
            for link in 0..2 {
                let metric = 100 + link;
                output(&format!(
                    "ip route add default via 10.0.{link}.2 dev w{link} metric {metric}"
                ));
            }
        });
        net.in_server(|| {
            nft("add table ip cafe");
            nft("add chain ip cafe in { type nat hook prerouting priority -100; }");
            nft("add chain ip cafe filter { type filter hook input priority 0; }");
            nft(rule);
        });
        let root = Root::new(test);
        Some(Self { net, root })
    }

    fn run(&self) -> Running {
        let probing = Probing {
            root: self.root.path().to_owned(),
            check: Some(Check {
                url: format!("http://{SERVER}:{SITE}/").parse().unwrap(),
                response: "online".to_owned(),
            }),
        };
        Running::probing(&self.net, declared(2), probing)
    }

    fn open(&self) {
        self.net.in_server(|| nft("delete table ip cafe"));
    }
}

fn said(seen: &Seen, verb: Verb) -> Option<&Reason> {
    seen.done.iter().find_map(|action| match action {
        Action::Note(note) if note.verb == verb && note.link == Some(FIRST) => Some(&note.reason),
        _ => None,
    })
}

fn checks(seen: &Seen) -> usize {
    let checked = |input: &&Input| matches!(input, Input::Link(FIRST, LinkEvent::Checked(_)));
    seen.told.iter().filter(checked).count()
}

/// Requests a check now instead of in half a minute.
fn check_again(daemon: &Running) {
    let before = checks(&daemon.seen());
    daemon
        .inlet
        .send(Input::Link(FIRST, LinkEvent::Checkable))
        .unwrap();
    daemon.until("it is checked again", |seen| checks(seen) > before);
}

fn state(daemon: &Running) -> (&'static str, String) {
    let report = daemon.inlet.report(PATIENCE).unwrap();
    let told = report.why.into_iter().find(|told| told.link == FIRST).unwrap();
    (told.state, told.why)
}

#[test]
fn a_portal_is_held_out_and_taken_back_when_it_opens() {
    let rule = format!("add rule ip cafe in iifname w0 tcp dport {SITE} redirect to :{PORTAL}");
    let Some(cafe) = Cafe::new("portal-redirect", &rule) else {
        return;
    };
    let daemon = cafe.run();
    daemon.until("it is held out", |seen| said(seen, Verb::Refuse).is_some());
    cafe.net.until_new_connections_leave_by(1);
    assert_eq!(
        state(&daemon),
        (
            "held-out",
            "a captive portal blocks it: log in over this link; it is checked every 30 s".to_owned()
        )
    );
    check_again(&daemon);
    assert_eq!(state(&daemon).0, "held-out", "it is still closed");
    cafe.open();
    check_again(&daemon);
    daemon.until("it is taken back", |seen| {
        said(seen, Verb::Retry) == Some(&Reason::Access(Access::Passes))
    });
    assert_eq!(state(&daemon).0, "use");
}

#[test]
fn a_portal_that_does_not_say_whether_it_is_open_is_no_reason_to_leave_its_link() {
    let rule = format!("add rule ip cafe filter iifname w0 tcp dport {SITE} reject with tcp reset");
    let Some(cafe) = Cafe::new("portal-api", &rule) else {
        return;
    };
    let probing = Probing {
        root: cafe.root.path().to_owned(),
        check: None,
    };
    let daemon = Running::probing(&cafe.net, declared(2), probing);
    let api = crate::portal::Api::new(&format!("https://{SERVER}:{SITE}/api"));
    assert!(api.is_some());
    daemon.inlet.portal(FIRST, api).unwrap();
    daemon.until("the request was made", |seen| checks(seen) > 0);
    let unknown = Input::Link(FIRST, LinkEvent::Checked(Checked::Unknown));
    assert!(daemon.seen().told.contains(&unknown));
    assert_eq!(state(&daemon).0, "use");
    let before = checks(&daemon.seen());
    daemon.inlet.portal(FIRST, None).unwrap();
    daemon.until("there is nothing to ask", |seen| checks(seen) > before);
    assert_eq!(state(&daemon).0, "use");
}

#[test]
fn a_link_whose_next_hop_answers_and_nothing_more_is_held_out_too() {
    let rule = format!("add rule ip cafe filter iifname w0 tcp dport {SITE} reject with tcp reset");
    let Some(cafe) = Cafe::new("portal-nothing", &rule) else {
        return;
    };
    let daemon = cafe.run();
    daemon.until("it was checked", |seen| checks(seen) > 0);
    check_again(&daemon);
    daemon.until("it is held out", |seen| said(seen, Verb::Refuse).is_some());
    assert_eq!(
        state(&daemon),
        (
            "held-out",
            "the check for the Internet gets no reply over it, but passes over w1; it is checked every 30 s"
                .to_owned()
        )
    );
    cafe.open();
    check_again(&daemon);
    daemon.until("it is taken back", |seen| said(seen, Verb::Retry).is_some());
}

use super::*;
use crate::testing::{Pair, Root, name};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

fn check(response: &str) -> Check {
    Check {
        url: "http://10.0.0.2:8080/check".parse().unwrap(),
        response: response.to_owned(),
    }
}

#[test]
fn urls_are_parsed() {
    for (text, host, port, path) in [
        ("http://a.example", "a.example", 80, "/"),
        ("http://a.example?x=1", "a.example", 80, "/?x=1"),
        ("http://192.0.2.1:8080/p", "192.0.2.1", 8080, "/p"),
        ("http://[2001:db8::1]:81/p/q?r", "2001:db8::1", 81, "/p/q?r"),
    ] {
        let url: Url = text.parse().unwrap();
        assert_eq!(
            (url.host.as_str(), url.port, url.path.as_str()),
            (host, port, path)
        );
        assert_eq!(url.to_string().parse::<Url>().unwrap(), url);
    }
    for (text, error) in [
        ("https://a.example/", UrlError::Scheme),
        ("a.example", UrlError::Scheme),
        ("http:///p", UrlError::Host),
        ("http://[::1/p", UrlError::Host),
        ("http://[::1]x/p", UrlError::Host),
        ("http://a..b/", UrlError::Host),
        ("http://a:0/", UrlError::Port),
        ("http://a:65536/", UrlError::Port),
        ("http://a/ b", UrlError::Characters),
        ("http://u@a/", UrlError::Characters),
        ("http://a/\r\nX: y", UrlError::Characters),
    ] {
        assert_eq!(text.parse::<Url>(), Err(error), "{text}");
    }
}

#[test]
fn a_redirect_says_where_the_portal_is() {
    for (reply, place) in [
        (
            "HTTP/1.1 302 Found\r\nlocation: http://login.example/?r=1 \r\n\r\n",
            Some("http://login.example/?r=1"),
        ),
        ("HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", None),
        ("HTTP/1.1 200 OK\r\n\r\nLocation: http://login.example/", None),
        ("HTTP/1.1 302 Found\r\nLocation: http://login.example/", None),
    ] {
        assert_eq!(location(reply.as_bytes()).as_deref(), place, "{reply}");
    }
}

#[test]
fn a_reply_is_classified_by_its_status_and_its_beginning() {
    let judge = |response: &str, reply: &str| check(response).judge(reply.as_bytes());
    let (passed, portal) = (Some(Checked::Passed), Some(Checked::Portal));
    for (response, reply, found) in [
        ("", "HTTP/1.1 204 No Content\r\n\r\n", passed),
        ("", "HTTP/1.0 200 OK\r\n\r\n", passed),
        ("", "HTTP/1.1 200 OK\r\n\r\n<html>log in", portal),
        (
            "online",
            "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nonline\n",
            passed,
        ),
        ("online", "HTTP/1.1 200 OK\r\n\r\n<html>log in", portal),
        ("online", "HTTP/1.1 204 No Content\r\n\r\n", portal),
        (
            "online",
            "HTTP/1.1 200 OK\r\nX-NetworkManager-Status: Online\r\n\r\n?",
            passed,
        ),
        (
            "online",
            "HTTP/1.1 302 Found\r\nLocation: http://portal/\r\n\r\n",
            portal,
        ),
        (
            "online",
            "HTTP/1.1 511 Network Authentication Required\r\n\r\n",
            portal,
        ),
        ("online", "HTTP/1.1 503 Busy\r\n\r\n", None),
        ("online", "HTTP/1.1 200 OK\r\nno end", None),
        ("online", "SSH-2.0-x\r\n\r\n", None),
        ("online", "HTTP/1.1 \u{e9}\u{e9}\r\n\r\n", None),
        ("online", "", None),
    ] {
        assert_eq!(judge(response, reply), found, "{response:?} {reply:?}");
    }
    assert!(!is_whole(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nonline"));
    assert!(is_whole(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nonline"));
}

/// Serves `says` to every request and returns the requests it received.
fn serve(pair: &Pair, says: &'static str) -> std::thread::JoinHandle<String> {
    let listener = pair
        .server
        .run(|| TcpListener::bind("10.0.0.2:8080").unwrap())
        .unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 1_024];
        let length = stream.read(&mut asked).unwrap();
        stream.write_all(says.as_bytes()).unwrap();
        String::from_utf8_lossy(&asked[..length]).into_owned()
    })
}

fn over(link: &str, from: &str) -> Over {
    Over {
        link: name(link),
        from: vec![from.parse().unwrap()],
        resolvers: Vec::new(),
    }
}

#[test]
fn one_request_leaves_over_the_link_and_reveals_nothing_of_the_host() {
    let Some(pair) = Pair::joined(2) else { return };
    let server = serve(&pair, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nonline");
    let found = pair
        .client
        .run(|| check("online").find(&over("w0", "10.0.0.1")).0);
    assert_eq!(found.unwrap(), Checked::Passed);
    assert_eq!(
        server.join().unwrap(),
        "GET /check HTTP/1.1\r\nHost: 10.0.0.2:8080\r\nUser-Agent: slowhand\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    // The other link cannot reach it, and on the first nothing listens now.
    let refused = pair
        .client
        .run(|| check("online").find(&over("w0", "10.0.0.1")).0);
    assert_eq!(refused.unwrap(), Checked::Failed);
}

#[test]
fn the_links_own_resolver_resolves_the_host() {
    let Some(pair) = Pair::joined(1) else { return };
    let resolver = pair
        .server
        .run(|| std::net::UdpSocket::bind("10.0.0.2:53").unwrap())
        .unwrap();
    std::thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = resolver.recv_from(&mut question) {
            let mut reply = question[..length].to_vec();
            (reply[2], reply[7]) = (0x81, 1);
            reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 10, 0, 0, 2]);
            resolver.send_to(&reply, from).unwrap();
            if question[12..].starts_with(b"\x05check\x07example") {
                return;
            }
        }
    });
    let server = serve(&pair, "HTTP/1.1 302 Found\r\nLocation: http://portal/\r\n\r\n");
    let check = Check {
        url: "http://check.example:8080/".parse().unwrap(),
        response: String::new(),
    };
    let over = Over {
        resolvers: vec!["10.0.0.2".parse().unwrap()],
        ..over("w0", "10.0.0.1")
    };
    let found = pair.client.run(|| check.find(&over).0);
    assert_eq!(found.unwrap(), Checked::Portal);
    assert!(server.join().unwrap().contains("Host: check.example:8080\r\n"));
}

#[test]
fn the_check_of_network_manager_is_parsed_from_its_files() {
    let root = Root::new("network-manager");
    let found = || from_network_manager(root.path());
    assert_eq!(found(), Ok(None));
    root.write(
        "usr/lib/NetworkManager/conf.d/20-connectivity.conf",
        "[main]\nuri=http://wrong/\n[connectivity]\nuri=http://vendor.example/nm\n",
    );
    let vendor = found().unwrap().unwrap();
    assert_eq!(vendor.url.to_string(), "http://vendor.example/nm");
    assert_eq!(vendor.response, "NetworkManager is online");
    root.write(
        "etc/NetworkManager/NetworkManager.conf",
        "[connectivity]\n# uri=http://no/\nuri = http://admin.example/\nresponse=\n",
    );
    let admin = found().unwrap().unwrap();
    assert_eq!(
        (admin.url.to_string().as_str(), admin.response.as_str()),
        ("http://admin.example/", "")
    );
    // A file of the same name replaces the vendor's.
    root.write(
        "etc/NetworkManager/conf.d/20-connectivity.conf",
        "[connectivity]\nenabled=false\n",
    );
    assert_eq!(found(), Ok(None));
    root.write(
        "etc/NetworkManager/conf.d/30.conf",
        "[connectivity]\nenabled=true\nuri=https://tls.example/\n",
    );
    assert_eq!(found(), Err(UrlError::Scheme));
}

use super::*;
use crate::testing::{Pair, name};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener};

const CLOSED: &str =
    r#"{"captive": true, "user-portal-url": "https://login.example/", "seconds-remaining": 0}"#;

#[test]
fn only_urls_of_https_are_apis() {
    let api = Api::new("https://portal.example/api?x=1").unwrap();
    assert_eq!(api.to_string(), "https://portal.example/api?x=1");
    assert_eq!(api.url.port, 443);
    for text in [
        "http://portal.example/",
        "https://",
        "https://u@a/",
        "urn:ietf:params:capport:unrestricted",
    ] {
        assert_eq!(Api::new(text), None, "{text}");
    }
}

#[test]
fn a_reply_says_whether_the_portal_is_open() {
    let judge = |head: &str, body: &str| {
        let state = judge(format!("HTTP/1.1 {head}\r\n\r\n{body}").as_bytes());
        state.map(|state| (state.is_closed, state.page))
    };
    assert_eq!(
        judge("200 OK", CLOSED),
        Some((true, Some("https://login.example/".to_owned())))
    );
    assert_eq!(judge("200 OK", r#"{"captive":false}"#), Some((false, None)));
    for page in [
        "javascript:alert(1)",
        "http://login.example/",
        "https://login.example/ -x",
    ] {
        let body = format!(r#"{{"captive":true,"user-portal-url":"{page}"}}"#);
        assert_eq!(judge("200 OK", &body), Some((true, None)), "{page}");
    }
    for (head, body) in [
        ("404 Not Found", r#"{"captive":false}"#),
        ("200 OK", "<html>log in"),
        ("200 OK", r#"{"captive":"no"}"#),
        ("200 OK", "{}"),
        ("200 OK", ""),
    ] {
        assert_eq!(judge(head, body), None, "{head} {body}");
    }
}

/// An API at the other end of a link, with a certificate for an address.
struct Server {
    pair: Pair,
    listener: TcpListener,
    certificate: CertificateDer<'static>,
    config: Arc<ServerConfig>,
}

impl Server {
    fn new(named: &str) -> Option<Self> {
        let pair = Pair::joined(1)?;
        let listener = pair.server.run(|| TcpListener::bind("10.0.0.2:8443").unwrap());
        let own = rcgen::generate_simple_self_signed(vec![named.to_owned()]).unwrap();
        let certificate = own.cert.der().clone();
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let chain = vec![certificate.clone()];
        let config = builder
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        Some(Self {
            pair,
            listener: listener.unwrap(),
            certificate,
            config: Arc::new(config),
        })
    }

    /// Answers one client, and returns its request.
    fn serve(&self, says: &'static str) -> std::thread::JoinHandle<io::Result<String>> {
        let listener = self.listener.try_clone().unwrap();
        let config = Arc::clone(&self.config);
        std::thread::spawn(move || {
            let (stream, _) = listener.accept()?;
            let session = ServerConnection::new(config).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(session, stream);
            let mut asked = [0; 1_024];
            let length = stream.read(&mut asked)?;
            // It closes the connection without the goodbye of TLS.
            stream.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{says}").as_bytes())?;
            Ok(String::from_utf8_lossy(&asked[..length]).into_owned())
        })
    }

    fn find(&self, trusted: &[&CertificateDer<'static>]) -> Result<State, ApiError> {
        let mut roots = RootCertStore::empty();
        for &certificate in trusted {
            roots.add(certificate.clone()).unwrap();
        }
        let over = Over {
            link: name("w0"),
            from: vec![IpAddr::from([10, 0, 0, 1])],
            resolvers: Vec::new(),
        };
        let api = Api::new("https://10.0.0.2:8443/api").unwrap();
        self.pair.client.run(|| api.find_trusting(&over, roots)).unwrap()
    }
}

#[test]
fn the_network_says_whether_its_portal_is_open_and_where_it_opens() {
    let Some(server) = Server::new("10.0.0.2") else {
        return;
    };
    let trusted = [&server.certificate];
    let asked = server.serve(CLOSED);
    let state = server.find(&trusted).unwrap();
    assert_eq!(state.page.as_deref(), Some("https://login.example/"));
    assert!(state.is_closed);
    assert_eq!(
        asked.join().unwrap().unwrap(),
        "GET /api HTTP/1.0\r\nHost: 10.0.0.2:8443\r\nUser-Agent: slowhand\r\nAccept: application/captive+json\r\n\
         Connection: close\r\n\r\n"
    );
    let asked = server.serve(r#"{"captive":false}"#);
    assert!(!server.find(&trusted).unwrap().is_closed);
    asked.join().unwrap().unwrap();
    let asked = server.serve("<html>log in");
    assert!(matches!(server.find(&trusted), Err(ApiError::Other(_))));
    asked.join().unwrap().unwrap();
}

#[test]
fn what_an_impostor_says_does_not_count() {
    let Some(server) = Server::new("10.0.0.2") else {
        return;
    };
    let Some(other) = Server::new("portal.example") else {
        return;
    };
    let impostors = [
        (&server, "nobody has signed its certificate"),
        (&other, "its certificate is for another host"),
    ];
    for (impostor, why) in impostors {
        let asked = impostor.serve(CLOSED);
        let found = impostor.find(&[&other.certificate]);
        assert!(matches!(found, Err(ApiError::NoReply(..))), "{why}: {found:?}");
        assert!(asked.join().unwrap().is_err(), "{why}");
    }
    assert!(matches!(server.find(&[]), Err(ApiError::NoCertificates)));
}

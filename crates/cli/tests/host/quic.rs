//! A QUIC upload (`quinn`) and a WireGuard tunnel through many lost links, beside the same upload without
//! `[networks]`.

use crate::calls::{Call, Tunnel};
use crate::networks::{nft, on_client, with_networks};
use crate::rig::{Host, until};
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig,
};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const SERVER: &str = "10.255.0.1:4433";
const NAME: &str = "server.example";
/// A QUIC connection without packets for this long is over.
const IDLE: Duration = Duration::from_secs(8);
/// Bytes of a write, one every 5 ms: several datagrams, which `quinn` gives to the kernel as one.
const WRITE: usize = 6_000;
const CUTS: usize = 20;

/// An upload over one QUIC connection, and its server.
struct Upload {
    runtime: tokio::runtime::Runtime,
    client: Connection,
    server: Connection,
    ends: [Endpoint; 2],
    stop: Arc<AtomicBool>,
    sends: tokio::task::JoinHandle<Result<u64, quinn::WriteError>>,
    received: Arc<AtomicU64>,
    receives: tokio::task::JoinHandle<Result<u64, quinn::ReadError>>,
}

impl Upload {
    fn begin(host: &Host) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
        let bound =
            |netns: &linux::netns::Netns, at: &str| netns.run(|| UdpSocket::bind(at).unwrap()).unwrap();
        let sockets = (bound(&host.server, SERVER), bound(&host.client, "0.0.0.0:0"));
        let (stop, received) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (ends, [server, client]) = runtime.block_on(connected(sockets));
        let (of_sender, of_receiver) = (Arc::clone(&stop), Arc::clone(&received));
        let (from, to) = (client.clone(), server.clone());
        Self {
            sends: runtime.spawn(send(from, of_sender)),
            receives: runtime.spawn(receive(to, of_receiver)),
            runtime,
            client,
            server,
            ends,
            stop,
            received,
        }
    }

    /// The client's address as the server sees it.
    fn seen(&self) -> String {
        self.server.remote_address().ip().to_string()
    }

    /// Whether more arrives.
    fn continues(&self) -> bool {
        let before = self.received.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(60));
        self.received.load(Ordering::Relaxed) > before
    }

    /// Ends the upload. Returns the bytes that were sent and received.
    fn end(self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self
            .runtime
            .block_on(async { (self.sends.await, self.receives.await) });
        drop(self.ends);
        (ended.0.unwrap().unwrap(), ended.1.unwrap().unwrap())
    }
}

/// Both ends of a connection: first the server's.
async fn connected((server, client): (UdpSocket, UdpSocket)) -> ([Endpoint; 2], [Connection; 2]) {
    let named = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let certificate = named.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(named.signing_key.serialize_der());
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(IDLE.try_into().unwrap()));
    let transport = Arc::new(transport);
    let mut serves = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).unwrap();
    serves.transport_config(Arc::clone(&transport));
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut asks = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    asks.transport_config(transport);
    let end = |socket, serves| {
        let runtime = Arc::new(TokioRuntime);
        Endpoint::new(EndpointConfig::default(), serves, socket, runtime).unwrap()
    };
    let (server, client) = (end(server, Some(serves)), end(client, None));
    let connecting = client.connect_with(asks, SERVER.parse().unwrap(), NAME).unwrap();
    let accepted = async { server.accept().await.unwrap().await.unwrap() };
    let (connection, accepted) = tokio::join!(async { connecting.await.unwrap() }, accepted);
    ([server, client], [accepted, connection])
}

async fn send(connection: Connection, stop: Arc<AtomicBool>) -> Result<u64, quinn::WriteError> {
    let mut stream = connection.open_uni().await?;
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(&[7; WRITE]).await?;
        sent += WRITE as u64;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = stream.finish();
    let _ = stream.stopped().await;
    Ok(sent)
}

async fn receive(connection: Connection, received: Arc<AtomicU64>) -> Result<u64, quinn::ReadError> {
    let mut stream = connection.accept_uni().await?;
    let mut buffer = [0; 65_536];
    while let Some(length) = stream.read(&mut buffer).await? {
        received.fetch_add(length as u64, Ordering::Relaxed);
    }
    Ok(received.load(Ordering::Relaxed))
}

/// A link that is cut, until it is restored.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The far end drops everything in both directions. The link stays up.
    Silent(usize),
    Down(usize),
}

impl Cut {
    fn make(self, host: &Host) {
        match self {
            Self::Silent(link) => {
                let rules = format!(
                    "add table inet cut; add chain inet cut in {{ type filter hook prerouting priority -300; }}; \
                     add chain inet cut out {{ type filter hook postrouting priority -300; }}; \
                     add rule inet cut in iifname w{link} drop; add rule inet cut out oifname w{link} drop"
                );
                host.server.run(|| nft(&rules)).unwrap();
            }
            Self::Down(link) => on_client(host, &format!("ip link set w{link} down")),
        }
    }

    fn restore(self, host: &Host) {
        match self {
            Self::Silent(_) => host.server.run(|| nft("delete table inet cut")).unwrap(),
            Self::Down(link) => {
                on_client(host, &format!("ip link set w{link} up"));
                let metric = 100 * (link + 1);
                let route = format!("ip route add default via 10.0.{link}.2 dev w{link} metric {metric}");
                on_client(host, &route);
            }
        }
    }
}

fn both_work(host: &Host) -> bool {
    let status = host.json("status");
    let links = status["links"].as_array().unwrap();
    links.len() == 2 && links.iter().all(|link| link["state"] == "use")
}

/// The link from which the server receives: 0 or 1.
fn link_of(address: &str) -> usize {
    usize::from(address.contains("10.0.1."))
}

#[test]
fn a_quic_connection_and_a_tunnel_survive_twenty_cuts() {
    let Some(host) = Host::new("quic-cuts") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up_with_config(host.command("up"), &host.config(crate::calls::LINKS), &[], |_| {});
    let upload = Upload::begin(&host);
    let tunnel = crate::calls::has_wireguard().then(|| Tunnel::between(&host));
    let call = tunnel.as_ref().map(|_| Call::through_tunnel(&host));
    let session = tunnel.as_ref().map(Tunnel::session);
    for number in 0..CUTS {
        until("the upload and the call continue", || {
            upload.continues() && call.as_ref().is_none_or(Call::is_on)
        });
        // A link that is cut while the other one is not known to work again leaves nothing to move to.
        until("both links are known to work", || both_work(&host));
        let before = upload.seen();
        let link = link_of(&before);
        let cut = if number % 2 == 0 {
            Cut::Silent(link)
        } else {
            Cut::Down(link)
        };
        cut.make(&host);
        until("the server sees another address", || upload.seen() != before);
        until("the upload continues", || upload.continues());
        if let (Some(call), Some(tunnel)) = (&call, &tunnel) {
            until("the call continues over another link", || {
                call.is_on() && link_of(&tunnel.seen()) != link
            });
        }
        cut.restore(&host);
    }
    assert_eq!(
        tunnel.as_ref().map(Tunnel::session),
        session,
        "the session has its keys"
    );
    assert_eq!(
        (upload.client.close_reason(), upload.server.close_reason()),
        (None, None)
    );
    let (sent, received) = upload.end();
    assert_eq!(received, sent);
}

#[test]
fn without_networks_a_silent_link_ends_a_quic_connection() {
    let Some(host) = Host::new("quic-alone") else {
        return;
    };
    let _up = host.up();
    let upload = Upload::begin(&host);
    until("the upload continues", || upload.continues());
    let before = upload.seen();
    Cut::Silent(link_of(&before)).make(&host);
    until("the connection is over", || {
        upload.client.close_reason().is_some()
    });
    assert_eq!(upload.seen(), before);
}

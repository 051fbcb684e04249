//! A QUIC upload (`quinn`) with `[networks]`, and through a silent link without.

use crate::networks::{nft, with_networks};
use crate::rig::{Host, output, until};
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

#[test]
fn packets_of_several_segments_have_right_checksums() {
    let Some(host) = Host::new("quic-segments") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let upload = Upload::begin(&host);
    until("the upload continues", || {
        upload.received.load(Ordering::Relaxed) > 300_000
    });
    let counters = "grep -h Udp: /proc/thread-self/net/snmp";
    let counters = host.server.run(|| output(counters)).unwrap();
    let mut rows = counters.lines().map(str::split_whitespace);
    let (names, values) = (rows.next().unwrap(), rows.next().unwrap());
    let wrong = names.zip(values).find(|(name, _)| *name == "InCsumErrors");
    assert_eq!(wrong, Some(("InCsumErrors", "0")), "{counters}");
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
    assert_eq!(upload.seen(), "10.0.0.1");
    let cut = "add table inet cut; add chain inet cut in { type filter hook prerouting priority -300; }; \
               add rule inet cut in iifname w0 drop";
    host.server.run(|| nft(cut)).unwrap();
    until("the connection is over", || {
        upload.client.close_reason().is_some()
    });
    assert_eq!(upload.seen(), "10.0.0.1");
}

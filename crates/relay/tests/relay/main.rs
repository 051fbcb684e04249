//! `slowhand-relay` as its users run it, on loopback.

mod fast_open;
mod guide;
mod limits;
mod meet;
#[path = "../../../linux/src/testing/patience.rs"]
mod patience;
mod refused;
mod rig;
mod socks;

use rig::{PATIENCE, Rig, listener, program, until};
use socket2::{Protocol, SockRef};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;
use wire::convert::{Code, Reply};

#[test]
fn bytes_cross_both_ways_and_each_end_closes_by_itself() {
    let rig = Rig::new("both", "");
    let (server, address) = listener(Protocol::TCP);
    let echo = thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut all = Vec::new();
        // It answers only once the client has closed its direction.
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(&all).unwrap();
        all.len()
    });
    let (mut client, mptcp) = rig.open(address);
    assert!(!mptcp);
    let sent = Vec::from_iter((0..3_000_000_u32).flat_map(u32::to_le_bytes));
    let mut writer = client.try_clone().unwrap();
    let bytes = sent.clone();
    let write = thread::spawn(move || {
        writer.write_all(&bytes).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut got = Vec::new();
    client.read_to_end(&mut got).unwrap();
    write.join().unwrap();
    assert_eq!(echo.join().unwrap(), sent.len());
    assert!(got == sent, "{} of {} bytes", got.len(), sent.len());
    until("its bytes are counted", || {
        let car = &rig.status()["keys"]["car"];
        car["open"] == 0 && car["up_bytes"] == sent.len() && car["down_bytes"] == sent.len()
    });
}

#[test]
fn a_server_that_speaks_first_is_heard() {
    let rig = Rig::new("first", "");
    let (server, address) = listener(Protocol::TCP);
    let (mut client, _) = rig.open(address);
    let (mut stream, _) = server.accept().unwrap();
    stream.write_all(b"220 ready").unwrap();
    let mut said = [0; 9];
    client.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"220 ready");
}

#[test]
fn a_server_that_speaks_mptcp_is_reported() {
    let rig = Rig::new("mptcp", "");
    let (_server, address) = listener(Protocol::MPTCP);
    assert!(rig.open(address).1);
    assert_eq!(rig.status()["mptcp_servers"], 1);
}

#[test]
fn a_reset_crosses_in_both_directions() {
    let rig = Rig::new("reset", "");
    let (server, address) = listener(Protocol::TCP);
    let is_reset = |stream: &mut std::net::TcpStream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.read_exact(&mut [0]).unwrap_err().kind() == ErrorKind::ConnectionReset
    };
    let (mut client, _) = rig.open(address);
    let (stream, _) = server.accept().unwrap();
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    assert!(is_reset(&mut client));
    let (client, _) = rig.open(address);
    let (mut stream, _) = server.accept().unwrap();
    SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    assert!(is_reset(&mut stream));
}

#[test]
fn an_end_that_does_not_read_loses_its_connection() {
    let rig = Rig::new("stalled", "stalled_timeout_s = 1");
    let (server, address) = listener(Protocol::TCP);
    let (mut client, _) = rig.open(address);
    // It never reads.
    let (_stream, _) = server.accept().unwrap();
    let error = loop {
        if let Err(error) = client.write_all(&[0; 64 * 1024]) {
            break error;
        }
    };
    assert!(
        matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        "{error}"
    );
    until("it is closed", || rig.status()["keys"]["car"]["open"] == 0);
}

#[test]
fn an_idle_connection_ends_after_its_time() {
    let rig = Rig::new("idle", "idle_timeout_s = 1");
    let (server, address) = listener(Protocol::TCP);
    let (mut client, _) = rig.open(address);
    let (_stream, _) = server.accept().unwrap();
    let error = client.read_exact(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn keys_can_be_added_and_removed_while_it_runs() {
    let rig = Rig::new("keys", "");
    let (server, address) = listener(Protocol::TCP);
    let (mut client, _) = rig.open(address);
    let _stream = server.accept().unwrap();
    assert!(rig.run(&["key", "remove", "car"]).status.success());
    assert_eq!(
        client.read_exact(&mut [0]).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
    let (_, reply) = rig.ask(&rig.car, address);
    assert_eq!(reply.unwrap(), Reply::Refused(Some(Code::NotAuthorised)));
    let added = rig.run(&["key", "add", "car"]);
    let path = String::from_utf8(added.stdout).unwrap();
    let key = relay::keys::read(path.trim().as_ref(), None).unwrap();
    until("the new key works", || {
        matches!(rig.ask(&key, address).1, Ok(Reply::Connected { .. }))
    });
    let listed = rig.run(&["key", "list"]);
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "bus\ncar\n");
}

#[test]
fn state_is_shown_as_table_json_and_prometheus_text() {
    let rig = Rig::new("state", "");
    let (_server, address) = listener(Protocol::TCP);
    let _open = rig.open(address);
    let table = String::from_utf8(rig.run(&["status"]).stdout).unwrap();
    assert!(table.starts_with("KEY ") && table.contains("\ncar "), "{table}");
    let status = rig.status();
    assert_eq!(
        (&status["keys"]["car"]["open"], &status["schema"]),
        (&1.into(), &"slowhand.relay/1".into())
    );
    let mut stream = std::os::unix::net::UnixStream::connect(rig.folder.join("relay.sock")).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: relay\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.0 200 OK\r\n"), "{text}");
    assert!(text.contains("\nslowhand_relay_open{key=\"car\"} 1\n"), "{text}");
}

#[test]
fn it_starts_only_with_keys_that_nobody_else_can_read() {
    let rig = Rig::new("start", "");
    let key = rig.folder.join("keys/car.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let check = rig.run(&["check"]);
    let said = String::from_utf8(check.stderr).unwrap();
    assert!(!check.status.success() && said.contains("chmod 600"), "{said}");
    let empty = rig.folder.join("empty.toml");
    std::fs::write(&empty, format!("keys = \"{}/none\"\n", rig.folder.display())).unwrap();
    let refused = program().arg("--config").arg(&empty).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && said.contains("slowhand relay key add NAME"),
        "{said}"
    );
}

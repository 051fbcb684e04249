use super::*;
use crate::testing::{Pair, Patience, name, output};

fn target(link: &str, from: &str, to: &str) -> Target {
    Target {
        link: name(link),
        from: from.parse().unwrap(),
        to: to.parse().unwrap(),
    }
}

/// Collects replies until `expected` have arrived, or none arrives within `patience` of the last.
fn answers(prober: &mut Prober, expected: usize, patience: Duration) -> Vec<u32> {
    let (mut heard, mut patience) = (Vec::new(), Patience::of(patience));
    while heard.len() < expected && patience.lasts() {
        match prober.answer() {
            Some(probe) => heard.push(probe),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    heard.sort_unstable();
    heard
}

const LONG: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn a_reachable_host_replies_over_every_link() {
    let Some(pair) = Pair::joined(2) else { return };
    let heard = pair.client.run(|| {
        let mut prober = Prober::open().unwrap();
        prober.echo(target("w0", "10.0.0.1", "10.0.0.2"), 7).unwrap();
        prober.echo(target("w1", "10.0.1.1", "10.0.1.2"), 8).unwrap();
        prober
            .echo(target("w0", "fd00:0::1", "fd00:0::2"), 70_000)
            .unwrap();
        answers(&mut prober, 3, LONG)
    });
    assert_eq!(heard.unwrap(), [7, 8, 70_000]);
}

#[test]
fn a_probe_does_not_leave_over_another_link() {
    let Some(pair) = Pair::joined(2) else { return };
    let heard = pair.client.run(|| {
        let mut prober = Prober::open().unwrap();
        // The peer is reachable, but only over the second link.
        output("ip link set w0 down");
        let refused = prober.echo(target("w0", "10.0.1.1", "10.0.1.2"), 9).is_err();
        let silent = answers(&mut prober, 1, SHORT).is_empty();
        prober.echo(target("w1", "10.0.1.1", "10.0.1.2"), 10).unwrap();
        (refused || silent, answers(&mut prober, 1, LONG))
    });
    assert_eq!(heard.unwrap(), (true, vec![10]));
}

#[test]
fn open_and_closed_ports_both_reply_to_a_handshake() {
    let Some(pair) = Pair::joined(1) else { return };
    let listener = pair
        .server
        .run(|| std::net::TcpListener::bind("10.0.0.2:80").unwrap())
        .unwrap();
    let heard = pair.client.run(|| {
        let mut prober = Prober::open().unwrap();
        prober
            .handshake(target("w0", "10.0.0.1", "10.0.0.2"), 80, 1)
            .unwrap();
        prober
            .handshake(target("w0", "10.0.0.1", "10.0.0.2"), 81, 2)
            .unwrap();
        answers(&mut prober, 2, LONG)
    });
    drop(listener);
    assert_eq!(heard.unwrap(), [1, 2]);
}

#[test]
fn no_reply_arrives_over_a_link_that_drops_everything() {
    let Some(pair) = Pair::joined(1) else { return };
    pair.server.run(|| output("ip link set w0 arp off")).unwrap();
    pair.server
        .run(|| output("ip route add blackhole 10.0.0.1/32"))
        .unwrap();
    let heard = pair.client.run(|| {
        let mut prober = Prober::open().unwrap();
        prober.echo(target("w0", "10.0.0.1", "10.0.0.2"), 1).unwrap();
        prober
            .handshake(target("w0", "10.0.0.1", "10.0.0.2"), 80, 2)
            .unwrap();
        answers(&mut prober, 1, SHORT)
    });
    assert_eq!(heard.unwrap(), [0u32; 0]);
}

#[test]
fn a_link_that_does_not_exist_is_an_error() {
    let Some(pair) = Pair::joined(1) else { return };
    let sent = pair.client.run(|| {
        Prober::open()
            .unwrap()
            .echo(target("nonesuch", "10.0.0.1", "10.0.0.2"), 1)
    });
    assert!(sent.unwrap().is_err());
}

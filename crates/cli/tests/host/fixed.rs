//! What other programs do to the interface for flows, and to the links: the interface is restored, and
//! `slowhand down` leaves nothing behind.

use crate::networks::{Echo, Flow, STEADY, on_client, with_networks};
use crate::rig::{Host, output, until};

fn on_host(host: &Host, command: &str) -> String {
    host.client.run(|| output(command)).unwrap()
}

#[test]
fn the_interface_for_flows_is_up_again_with_its_address() {
    let Some(host) = Host::new("fixed-interface") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let _echo = Echo::at(&host);
    let flow = Flow::to(&host, 7000);
    flow.comes_from("10.0.0.1");
    for harm in ["ip link set slow0 down", "ip address flush dev slow0"] {
        on_client(&host, harm);
        until(harm, || {
            let shown = on_host(&host, "ip address show dev slow0");
            shown.contains(STEADY) && shown.contains(",UP")
        });
        flow.comes_from("10.0.0.1");
        until("new flows have the address", || {
            Flow::to(&host, 7000).local() == STEADY
        });
        // Another link can still be set up.
        on_client(&host, "ip link set w1 down");
        on_client(&host, "ip link set w1 up");
        on_client(&host, "ip route replace default via 10.0.1.2 dev w1 metric 200");
        until("the other link is in use", || {
            host.json("status")["links"][1]["state"] == "use"
        });
    }
}

#[test]
fn down_restores_an_interface_that_was_renamed_and_forgets_one_that_is_gone() {
    let Some(host) = Host::new("fixed-renamed") else {
        return;
    };
    with_networks(&host, "");
    let _up = host.up();
    let parameter = |link: &str| on_host(&host, &format!("sysctl -n net.ipv4.conf.{link}.src_valid_mark"));
    assert_eq!(parameter("w0"), "1\n", "it was changed");
    assert_eq!(parameter("w1"), "1\n", "it was changed");
    on_client(&host, "ip link set w0 name x0");
    on_client(&host, "ip link delete w1");
    until("the second interface is gone", || {
        let links = host.json("status")["links"].clone();
        links
            .as_array()
            .unwrap()
            .iter()
            .all(|link| link["interface"] != "w1")
    });
    let said = host.ask("down", &[]);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(parameter("x0"), "0\n");
}

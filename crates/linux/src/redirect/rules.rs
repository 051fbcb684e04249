//! The rules that redirect connections of programs to the agent.

use std::fmt::Write as _;
use trace::agent::{MARK, Ports};

/// Networks that no relay reaches: this host, its neighbours, multicast.
const LOCAL_V4: &str = "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, \
                        192.0.0.0/24, 192.168.0.0/16, 224.0.0.0/3";
/// The same for IPv6.
const LOCAL_V6: &str = "::/127, fc00::/7, fe80::/10, ff00::/8";
/// DNS over TCP: the agent resolves names itself.
const DNS: u16 = 53;

/// The chain that redirects.
pub const CHAIN: &str = "inet slowhand output";

/// Checks that nftables has this pattern, too.
pub fn check(interface: &str) -> Result<(), String> {
    let name = interface.strip_suffix('*').unwrap_or(interface);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    if !name.is_empty() && name.len() <= 15 && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!(
        "[relay] cannot redirect what leaves over \"{interface}\"; name the interface, or end the pattern with one `*`"
    ))
}

/// The table. Connections that leave over one of `interfaces` go to the agent, unless they match one of
/// `bypass`, in the words of nftables.
pub fn table(bypass: impl IntoIterator<Item = String>, interfaces: &[String], ports: Ports) -> String {
    let mut rules = Vec::from([
        "meta l4proto != tcp return".to_owned(),
        // The agent's own.
        format!("meta mark {MARK:#x} return"),
        "oifname \"lo\" return".to_owned(),
        // Programs that speak MPTCP themselves.
        "tcp option mptcp exists return".to_owned(),
        format!("tcp dport {DNS} return"),
        format!("ip daddr {{ {LOCAL_V4} }} return"),
        format!("ip6 daddr {{ {LOCAL_V6} }} return"),
    ]);
    rules.extend(bypass.into_iter().map(|matched| format!("{matched} return")));
    let redirect =
        |family: &str, port: u16| format!("meta nfproto {family} meta l4proto tcp redirect to :{port}");
    let caught =
        std::iter::once(redirect("ipv4", ports.v4)).chain(ports.v6.map(|port| redirect("ipv6", port)));
    let goto = |name: &String| format!("oifname \"{name}\" goto caught");
    rules.extend(interfaces.iter().map(goto));
    let mut text = "table inet slowhand { flags owner;\n".to_owned();
    let _ = writeln!(text, "chain caught {{ {}; }};", Vec::from_iter(caught).join("; "));
    let _ = writeln!(
        text,
        "chain output {{ type nat hook output priority -100; policy accept; {}; }}; }}",
        rules.join("; ")
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bypassed_returns_before_the_redirection() {
        let bypass = ["meta skuid 7", "tcp dport 22", "ip daddr 192.0.2.0/24"].map(str::to_owned);
        let ports = Ports {
            v4: 4000,
            v6: Some(6000),
        };
        let text = table(bypass, &["wl*".to_owned(), "eth0".to_owned()], ports);
        let at = |rule: &str| text.find(rule).unwrap_or_else(|| panic!("{rule} in {text}"));
        for rule in [
            "meta mark 0x534c0a01 return",
            "tcp option mptcp exists return",
            "meta skuid 7 return",
            "tcp dport 22 return",
            "ip daddr 192.0.2.0/24 return",
        ] {
            assert!(at(rule) < at("oifname \"wl*\" goto caught"), "{rule}");
        }
        at("oifname \"eth0\" goto caught");
        at("meta nfproto ipv4 meta l4proto tcp redirect to :4000");
        at("meta nfproto ipv6 meta l4proto tcp redirect to :6000");
    }

    #[test]
    fn patterns_that_nftables_lacks_are_refused() {
        for name in ["eth0", "wl*", "veth-1.2"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["*", "e?0", "a*b", "x\" accept; \"", "a-name-that-is-too-long"] {
            assert!(check(name).unwrap_err().contains(name), "{name}");
        }
    }
}

//! The rules that redirect connections of programs to the agent.
//!
//! A program may bind to an interface (`SO_BINDTODEVICE`). It cannot reach the agent on loopback, and no rule
//! of the hook `output` can tell. Its redirected SYN tries to leave over that interface. There it is dropped,
//! and its connection is noted as `bound`. The next SYN, a second later, passes unchanged.

use std::fmt::Write as _;
use trace::agent::Ports;

/// Networks that no relay reaches: this host, its neighbours, multicast.
const LOCAL_V4: &str = "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, \
                        192.0.0.0/24, 192.168.0.0/16, 224.0.0.0/3";
/// The same for IPv6.
const LOCAL_V6: &str = "::/127, fc00::/7, fe80::/10, ff00::/8";
/// Connections that are known to be bound to an interface. Beyond that they wait until one is forgotten.
const MOST_BOUND: u32 = 65_535;
/// For how long each of them is known: longer than a client repeats its SYN.
const FORGOTTEN: &str = "3m";
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
        // The agent's own, and what other programs or rules have marked to be routed by it.
        "meta mark != 0 return".to_owned(),
        "oifname \"lo\" return".to_owned(),
        // Programs that speak MPTCP themselves.
        "tcp option mptcp exists return".to_owned(),
        format!("tcp dport {DNS} return"),
        format!("ip daddr {{ {LOCAL_V4} }} return"),
        format!("ip6 daddr {{ {LOCAL_V6} }} return"),
        "ip saddr . tcp sport . ip daddr . tcp dport @bound4 return".to_owned(),
        "ip6 saddr . tcp sport . ip6 daddr . tcp dport @bound6 return".to_owned(),
    ]);
    rules.extend(bypass.into_iter().map(|matched| format!("{matched} return")));
    let redirect =
        |family: &str, port: u16| format!("meta nfproto {family} meta l4proto tcp redirect to :{port}");
    let caught =
        std::iter::once(redirect("ipv4", ports.v4)).chain(ports.v6.map(|port| redirect("ipv6", port)));
    let goto = |name: &String| format!("oifname \"{name}\" goto caught");
    rules.extend(interfaces.iter().map(goto));
    let mut text = "table inet slowhand { flags owner;\n".to_owned();
    text += &bound(ports);
    let _ = writeln!(text, "chain caught {{ {}; }};", Vec::from_iter(caught).join("; "));
    let _ = writeln!(
        text,
        "chain output {{ type nat hook output priority -100; policy accept; {}; }}; }}",
        rules.join("; ")
    );
    text
}

/// The sets of connections that are bound to an interface, and the chain that adds to them.
fn bound(ports: Ports) -> String {
    let of_family = |number: &str, family: &str, agent: &str, port: u16| {
        let kind = format!(
            "{0} . inet_service . {0} . inet_service",
            format_args!("ipv{number}_addr")
        );
        let original = format!(
            "ct original {family} saddr . ct original proto-src . ct original {family} daddr . ct original proto-dst"
        );
        let set = format!(
            "set bound{number} {{ type {kind}; size {MOST_BOUND}; flags dynamic, timeout; timeout {FORGOTTEN}; }};\n"
        );
        let rule =
            format!("{family} daddr {agent} tcp dport {port} add @bound{number} {{ {original} }} drop");
        (set, rule)
    };
    let (set4, rule4) = of_family("4", "ip", "127.0.0.1", ports.v4);
    let six = ports.v6.map(|port| of_family("6", "ip6", "::1", port));
    // Without a port for IPv6, nothing is added.
    let (set6, rule6) = six.unwrap_or_else(|| (of_family("6", "ip6", "::1", 0).0, String::new()));
    format!(
        "{set4}{set6}chain left {{ type filter hook postrouting priority 0; policy accept; oifname \"lo\" return; \
         {rule4}; {rule6}; }};\n"
    )
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
            "meta mark != 0 return",
            "@bound4 return",
            "@bound6 return",
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

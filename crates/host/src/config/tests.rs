use super::*;

/// A directory of its own, removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(test: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("slowhand-config-{}-{test}", std::process::id()));
        std::fs::create_dir_all(root.join("conf.d")).unwrap();
        let made = Self(root);
        made.allow("conf.d", 0o755);
        for (name, text) in files {
            std::fs::write(made.0.join(name), text).unwrap();
            made.allow(name, 0o644);
        }
        made
    }

    /// Sets the mode whatever the umask is.
    fn allow(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        let allowed = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.0.join(name), allowed).unwrap();
    }

    fn read(&self) -> Result<Config, ConfigError> {
        Config::read(&self.0.join("slowhand.toml"), Asked::ByDefault)
    }

    /// The error message without this directory's path.
    fn error(&self, asked: Asked) -> String {
        let error = Config::read(&self.0.join("slowhand.toml"), asked).unwrap_err();
        error.to_string().replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The error message for this text, without the directory.
fn error(test: &str, text: &str) -> String {
    let files = Files::new(test, &[("slowhand.toml", text)]);
    files.error(Asked::ByDefault)
}

/// The place, what is wrong and the remedy, in one line.
fn said(test: &str, text: &str) -> String {
    let error = error(test, text);
    let place = error.lines().next().unwrap();
    let (_, remedy) = error
        .rsplit_once("\n  = help: ")
        .unwrap_or_else(|| panic!("{error}"));
    format!("{place}; {remedy}").replace("slowhand.toml:", "")
}

#[test]
fn without_a_file_every_adapter_is_used_by_its_kind() {
    let config = Files::new("none", &[]).read().unwrap();
    assert_eq!(
        (config.policy, config.mode, config.peer_subflows),
        (PolicyName::Slowhand, Mode::Aggregate, 2)
    );
    assert_eq!(config.fallback_window, None);
    assert_eq!((config.probe, config.monitor, config.portal), (true, None, None));
    let roles: Vec<_> = config
        .links
        .iter()
        .map(|link| (link.interface.as_str(), link.kind, link.role))
        .collect();
    assert_eq!(roles[0], ("wl*", LinkKind::Wifi, Role::Primary));
    assert_eq!(roles.last(), Some(&("ww*", LinkKind::Cell, Role::Backup)));
}

#[test]
fn a_whole_file_is_read() {
    let text = r#"
policy = "slowhand-no-window"
peer_subflows = 8
cc = "olia"
report_key_file = "/etc/slowhand/report.key"
report_port = 9000
fallback_window_bytes = 262_144
probe = false
monitor = true
portal_url = "http://check.example:8080/online"
portal_response = "yes"

[[link]]
interface = "wlan0"
name = "desk"
kind = "wifi"
channel = 6

[[link]]
interface = "wwan*"
kind = "cell"
metered = true
role = "secondary"
gateway = "10.64.0.1"
"#;
    let config = Files::new("whole", &[("slowhand.toml", text)]).read().unwrap();
    let portal = config.portal.as_ref().unwrap();
    assert_eq!(
        (
            config.probe,
            config.monitor,
            portal.url.to_string().as_str(),
            portal.response.as_str()
        ),
        (false, Some(true), "http://check.example:8080/online", "yes")
    );
    assert_eq!(
        (&config.policy, config.peer_subflows, config.cc.as_deref()),
        (&PolicyName::SlowhandNoWindow, 8, Some("olia"))
    );
    assert_eq!(
        (config.report_key_file.as_deref(), config.report_port),
        (Some(Path::new("/etc/slowhand/report.key")), 9_000)
    );
    assert_eq!(config.fallback_window, Some(Bytes::from_kib(256)));
    let [wifi, cell] = &config.links[..] else {
        panic!("{config:?}")
    };
    assert_eq!(
        (wifi.name.as_str(), wifi.channel, wifi.role),
        ("desk", Some(6), Role::Primary)
    );
    assert_eq!(
        (cell.name.as_str(), cell.role, cell.gateway),
        ("wwan*", Role::Secondary, "10.64.0.1".parse().ok())
    );
    assert_eq!((wifi.metered, cell.metered), (false, true));
}

/// The example of `slowhand up --help` has every key, and the values mean what it says.
#[test]
fn the_example_is_a_whole_configuration() {
    let text = include_str!("example.toml");
    let config = Files::new("example", &[("slowhand.toml", text)]).read().unwrap();
    let cc = (config.cc.as_deref(), config.fallback_window);
    assert_eq!(cc, (Some("cubic"), Some(Bytes::from_kib(256))));
    assert_eq!(config.report_port, linux::cla::DEFAULT_PORT);
    let relay = config.relay.as_ref().unwrap();
    let server = relay.server.as_ref().unwrap();
    assert_eq!(server.address, "relay.example:4433");
    assert_eq!((relay.way, relay.bypass.len()), (WayChoice::Auto, 3));
    assert_eq!(relay.socks, "127.0.0.1:1080".parse().ok());
    assert_eq!(server.early_data, EarlyData::Tls);
    let networks = config.networks.as_ref().unwrap();
    assert_eq!(networks.interface.as_str(), "slow0");
    let flow = &networks.flows[0];
    assert_eq!((flow.network.link(), flow.mark), (Some("phone"), Some(7)));
    assert_eq!(flow.cgroup.as_deref(), Some("system.slice/vpn.service"));
    assert!(flow.holds);
    let [phone, wifi] = &config.links[..] else {
        panic!("{config:?}")
    };
    assert_eq!((phone.role, phone.metered), (Role::Backup, true));
    assert_eq!((wifi.name.as_str(), wifi.channel), ("wl*", Some(6)));
    for (test, unknown) in [
        ("key", "speed = 1\n".to_owned()),
        ("link-key", format!("{LINK}speed = 1\n")),
        ("relay-key", "[relay]\nspeed = 1\n".to_owned()),
        ("network-key", "[wifi]\n[[wifi.network]]\nspeed = 1\n".to_owned()),
        ("networks-key", "[networks]\nspeed = 1\n".to_owned()),
        ("flow-key", "[networks]\n[[flow]]\nspeed = 1\n".to_owned()),
    ] {
        let refused = said(test, &unknown);
        let (_, keys) = refused.split_once("known here: ").unwrap();
        let mut keys = keys.split(", ").peekable();
        assert!(keys.peek().is_some(), "{refused}");
        let is_shown = |key: &str| text.lines().any(|line| line.trim_start().starts_with(key));
        assert!(
            keys.clone()
                .all(|key| ["link", "relay", "wifi", "networks", "flow"].contains(&key) || is_shown(key)),
            "{refused}"
        );
    }
}

#[test]
fn later_files_replace_what_they_name() {
    let link = |role: &str| format!("[[link]]\ninterface = \"eth0\"\nkind = \"cable\"\nrole = \"{role}\"\n");
    let other = "policy = \"mptcp\"\nfallback_window_bytes = 65536\n[[link]]\ninterface = \"eth1\"\nkind = \"cable\"\n";
    let files = Files::new(
        "later",
        &[
            (
                "slowhand.toml",
                &format!("fallback_window_bytes = 32768\n{}", link("primary")),
            ),
            ("conf.d/20.toml", &link("never")),
            ("conf.d/10.toml", &link("backup")),
            ("conf.d/30.toml", other),
            ("conf.d/40.toml.off", "this is not read"),
        ],
    );
    let config = files.read().unwrap();
    assert_eq!(config.policy, PolicyName::Mptcp);
    assert_eq!(config.fallback_window, Some(Bytes::from_kib(64)));
    let roles: Vec<_> = config
        .links
        .iter()
        .map(|link| (link.interface.as_str(), link.role))
        .collect();
    assert_eq!(roles, [("eth0", Role::Never), ("eth1", Role::Primary)]);
}

#[test]
fn the_handover_mode_has_a_policy() {
    let config = Files::new("mode", &[("slowhand.toml", "mode = \"handover\"\n")])
        .read()
        .unwrap();
    assert_eq!(config.policy, PolicyName::HandoverWarm);
}

const LINK: &str = "[[link]]\ninterface = \"eth0\"\nkind = \"cable\"\n";

/// Text after [`LINK`] or by itself, and the place, what is wrong, and the remedy.
#[rustfmt::skip]
const WRONG: [(&str, &str, &str); 31] = [
    ("", "policy = \"fastest\"\n", "1:10: `policy` is \"fastest\"; give \"tcp:<link>\", \"handover\", \"handover-warm\", \"handover+cell\", \"wifi-first\", \"mptcp\", \"slowhand\" or \"slowhand-no-window\""),
    ("", "policy = \"one-at-a-time\"\n", "1:10: policy \"one-at-a-time\" compares access points by the frames that a monitor interface hears, and not every radio has one; use \"slowhand\""),
    ("", "policy = \"energy:damped\"\n", "1:10: policy \"energy:damped\" must know what the links will carry, and only virtual time does; use \"slowhand\""),
    ("", "policy = \"slowhamd\"\n", "1:10: `policy` is \"slowhamd\"; did you mean \"slowhand\"?"),
    ("", "policy = \"tcp-best\"\n", "1:10: policy \"tcp-best\" is computed from other runs; use \"slowhand\""),
    ("", "\nspeed = 1\n", "2:1: unknown key `speed`; known here: policy, mode, peer_subflows, cc, report_key_file, report_port, fallback_window_bytes, probe, monitor, portal_url, portal_response, relay, wifi, networks, flow, link"),
    ("", "\npeer_subflow = 1\n", "2:1: unknown key `peer_subflow`; did you mean `peer_subflows`?"),
    (LINK, "chanel = 6\n", "4:1: unknown key `chanel`; did you mean `channel`?"),
    ("", "peer_subflows = 9\n", "1:17: `peer_subflows` is 9; give a whole number from 1 to 8; a stock Linux server takes 2"),
    ("", "cc = \"two words\"\n", "1:6: `cc` is \"two words\"; give the name of a congestion controller: lia, olia, balia, cla, or one of net.ipv4.tcp_available_congestion_control"),
    ("", "mode = \"redundant\"\n", "1:8: mode \"redundant\" needs a scheduler that stock kernels do not have; give \"aggregate\" or \"handover\""),
    ("", "\nfallback_window_bytes = 2_147_483_648\n", "2:25: `fallback_window_bytes` is 2147483648; give a whole number from 16384 to 1073741824, such as 262144, or remove this line to leave connections over plain TCP alone"),
    ("", "fallback_window_bytes = -65536\n", "1:25: `fallback_window_bytes` is -65536; give a whole number from 16384 to 1073741824, such as 262144, or remove this line to leave connections over plain TCP alone"),
    (LINK, "role = \"spare\"\n", "4:8: `role` is \"spare\"; give \"primary\", \"secondary\", \"backup\" or \"never\""),
    (LINK, "metered = true\nrole = \"primary\"\n", "5:8: a metered link cannot be primary, because every byte would use it; use \"secondary\" or \"backup\", or metered = false"),
    (LINK, "channel = 6\n", "4:11: only a link of kind \"wifi\" has a channel; remove this line"),
    (LINK, "gateway = \"here\"\n", "4:11: `gateway` is \"here\"; give an IP address in quotes, such as \"192.168.1.1\""),
    ("", "[[link]]\ninterface = \"a b\"\nkind = \"wifi\"\n", "2:13: \"a b\" cannot name an interface; give a name in quotes as in `ip link`, or a pattern such as \"wl*\""),
    ("", "[[link]]\ninterface = \"\"\nkind = \"wifi\"\n", "2:13: \"\" cannot name an interface; give a name in quotes as in `ip link`, or a pattern such as \"wl*\""),
    ("", "[[link]]\ninterface = \"a\"\n", "1:1: this link has no `kind`; add `kind`: \"wifi\", \"cell\" or \"cable\""),
    ("", "[[link]]\nkind = \"wifi\"\n", "1:1: this link has no `interface`; add `interface`: a name in quotes as in `ip link`, or a pattern such as \"wl*\""),
    ("", "report_port = 70000\n", "1:15: `report_port` is 70000; give a whole number from 1 to 65535, such as 7391"),
    ("", "[networks]\ndns = \"100.64.0.1\"\n", "2:7: `dns` is the interface's own address; choose another one, or remove this line"),
    ("", "[[flow]]\nport = 1\nnetwork = \"a\"\n", "1:1: a [[flow]] needs the table [networks]; add [networks] before it, or remove it"),
    ("[networks]\n", "[[flow]]\nnetwork = \"a\"\n", "2:1: this flow has no `user`, `to`, `port`, `mark` or `cgroup`, so it would match every flow; add one of them"),
    ("[networks]\n[[flow]]\nport = 1\nnetwork = \"a\"\n", "[[flow]]\nport = 1\nnetwork = \"b\"\n", "5:1: this flow selects the same as [[flow]] 1, which has network \"a\"; remove one of the two"),
    ("[networks]\n", "[[flow]]\nmark = 0x4f000001\n", "3:8: `mark` is 0x4f000001, and marks with 4e or 4f in front are slowhand's own; choose another one"),
    ("[networks]\n", "[[flow]]\nport = 1\n", "2:1: this flow has no `network`; add `network`: a link in quotes, such as \"phone\", \"active\", \"spread\", or shares from 0 to 100 with one above 0, such as { wlan0 = 9, phone = 1 }"),
    ("[networks]\n", "[[flow]]\nport = 1\nnetwork = \"spread\"\nelse = \"hold\"\n", "5:8: `else` is \"hold\", and `network` is spread, which is not one link; remove this line, or name one link in `network`"),
    ("[networks]\n", "[[flow]]\nto = \"2001:db8::/32\"\n", "3:6: `to` is 2001:db8::/32, and only flows over IPv4 have networks; give an IPv4 network in quotes, such as \"192.0.2.0/24\""),
    ("", "probe = true\nprobe = false\n", "2:1: duplicate key; remove one of the two, or write [[link]] with two brackets for one more link"),
];

/// Text after [`LINK`] or by itself, with a value of a wrong type for each key of the example. The last part
/// is how the message calls that value.
#[rustfmt::skip]
const WRONG_TYPES: [(&str, &str, &keys::Key, &str); 55] = [
    ("", "policy = 7\n", &keys::POLICY, "7"),
    ("", "mode = true\n", &keys::MODE, "true"),
    ("", "peer_subflows = \"two\"\n", &keys::PEER_SUBFLOWS, "\"two\""),
    ("", "cc = [\"cubic\"]\n", &keys::CC, "a list"),
    ("", "report_key_file = 1\n", &keys::REPORT_KEY_FILE, "1"),
    ("", "report_port = \"7391\"\n", &keys::REPORT_PORT, "\"7391\""),
    ("", "fallback_window_bytes = \"256 KiB\"\n", &keys::FALLBACK_WINDOW, "\"256 KiB\""),
    ("", "probe = \"no\"\n", &keys::PROBE, "\"no\""),
    ("", "monitor = 1\n", &keys::MONITOR, "1"),
    ("", "portal_url = 5\n", &keys::PORTAL_URL, "5"),
    ("", "portal_response = 204\n", &keys::PORTAL_RESPONSE, "204"),
    ("", "relay = \"relay.example:4433\"\n", &keys::RELAY, "\"relay.example:4433\""),
    ("", "[relay]\naddress = 4433\n", &keys::ADDRESS, "4433"),
    ("", "[relay]\nkey_file = 1\n", &keys::KEY_FILE, "1"),
    ("", "[relay]\nway = 1\n", &keys::WAY, "1"),
    ("", "[relay]\nearly_data = true\n", &keys::EARLY_DATA, "true"),
    ("", "[relay]\naddress = \"r:1\"\nkey_file = \"/k\"\nsocks = 1080\n", &keys::SOCKS, "1080"),
    ("", "[relay]\naddress = \"r:1\"\nkey_file = \"/k\"\nbypass = \"uid:0\"\n", &keys::BYPASS, "\"uid:0\""),
    ("", "[relay]\naddress = \"r:1\"\nkey_file = \"/k\"\nbypass = [\"uid:0\", \"10.0.0.0/33\"]\n", &keys::BYPASS, "\"10.0.0.0/33\""),
    ("", "wifi = \"home\"\n", &keys::WIFI, "\"home\""),
    ("", "[wifi]\nradio = 0\n", &keys::RADIO, "0"),
    ("", "[wifi]\nmac = 1\n", &keys::MAC, "1"),
    ("", "[wifi]\ntake_over = \"yes\"\n", &keys::TAKE_OVER, "\"yes\""),
    ("", "[wifi]\nnetwork = \"home\"\n", &keys::NETWORK, "\"home\""),
    ("", "[[wifi.network]]\nssid = 1\n", &keys::SSID, "1"),
    ("", "[[wifi.network]]\nssid = \"home\"\npsk_file = 1\n", &keys::PSK_FILE, "1"),
    ("", "[[wifi.network]]\nssid = \"home\"\nsecurity = 3\n", &keys::SECURITY, "3"),
    ("", "[[wifi.network]]\nssid = \"home\"\nopen = 1\n", &keys::OPEN, "1"),
    ("", "[[wifi.network]]\nssid = \"home\"\nopen = true\nhidden = 1\n", &keys::HIDDEN, "1"),
    ("", "[[wifi.network]]\nssid = \"home\"\nlogin_file = 1\n", &keys::LOGIN_FILE, "1"),
    ("", "networks = true\n", &keys::NETWORKS, "true"),
    ("", "[networks]\ninterface = \"sixteen-letters-\"\n", &keys::STEADY_INTERFACE, "\"sixteen-letters-\""),
    ("", "[networks]\naddress = \"fd00::1\"\n", &keys::STEADY_ADDRESS, "\"fd00::1\""),
    ("", "[networks]\ndns = 53\n", &keys::STEADY_DNS, "53"),
    ("", "flow = 1\n", &keys::FLOW, "1"),
    ("[networks]\n", "[[flow]]\nuser = \"me\"\n", &keys::USER, "\"me\""),
    ("[networks]\n", "[[flow]]\nto = \"everywhere\"\n", &keys::TO, "\"everywhere\""),
    ("[networks]\n", "[[flow]]\nport = 0\n", &keys::PORT, "0"),
    ("[networks]\n", "[[flow]]\nmark = 0\n", &keys::MARK, "0"),
    ("[networks]\n", "[[flow]]\ncgroup = \"../a\"\n", &keys::CGROUP, "\"../a\""),
    ("[networks]\n", "[[flow]]\nport = 1\nnetwork = 5\n", &keys::FLOW_NETWORK, "5"),
    ("[networks]\n", "[[flow]]\nport = 1\nnetwork = \"a=1,b=2\"\n", &keys::FLOW_NETWORK, "\"a=1,b=2\""),
    ("[networks]\n", "[[flow]]\nport = 1\nnetwork = { a = 0 }\n", &keys::FLOW_NETWORK, "a table"),
    ("[networks]\n", "[[flow]]\nport = 1\nnetwork = { a = 101 }\n", &keys::FLOW_NETWORK, "a table"),
    ("[networks]\n", "[[flow]]\nport = 1\nnetwork = \"a\"\nelse = 5\n", &keys::FLOW_ELSE, "5"),
    ("", "link = \"eth0\"\n", &keys::LINK, "\"eth0\""),
    ("", "[link]\ninterface = \"eth0\"\n", &keys::LINK, "a table"),
    ("", "link = [1]\n", &keys::LINK, "1"),
    ("", "[[link]]\ninterface = 0\n", &keys::INTERFACE, "0"),
    (LINK, "name = 1.5\n", &keys::NAME, "1.5"),
    ("", "[[link]]\ninterface = \"a\"\nkind = 3\n", &keys::KIND, "3"),
    (LINK, "role = 2020-01-01\n", &keys::ROLE, "a date"),
    (LINK, "metered = \"yes\"\n", &keys::METERED, "\"yes\""),
    (LINK, "gateway = 10.5\n", &keys::GATEWAY, "10.5"),
    ("", "[[link]]\ninterface = \"a\"\nkind = \"wifi\"\nchannel = \"6\"\n", &keys::CHANNEL, "\"6\""),
];

#[test]
fn a_wrong_type_is_reported_with_a_valid_value() {
    for (number, (before, text, key, found)) in WRONG_TYPES.into_iter().enumerate() {
        let said = said(&format!("type-{number}"), &format!("{before}{text}"));
        let right = format!(" `{}` is {found}; give {}", key.name, key.right);
        assert!(said.ends_with(&right), "{text}: {said}");
    }
    let has = |key: &keys::Key| WRONG_TYPES.iter().any(|(_, _, other, _)| other.name == key.name);
    let of_tables = [
        &keys::OF_RELAY[..],
        &keys::OF_WIFI,
        &keys::OF_NETWORK,
        &keys::OF_NETWORKS,
        &keys::OF_FLOW,
    ];
    let of_tables = of_tables.into_iter().flatten();
    for key in keys::OF_FILE.iter().chain(&keys::OF_LINK).chain(of_tables) {
        assert!(has(key), "{} has no wrong type here", key.name);
    }
}

#[test]
fn every_error_has_its_place_and_a_remedy() {
    for (number, (before, text, message)) in WRONG.into_iter().enumerate() {
        let said = said(&format!("wrong-{number}"), &format!("{before}{text}"));
        assert_eq!(said, message, "{text}");
    }
}

#[test]
fn exactly_the_policies_that_a_daemon_can_run_are_suggested() {
    for name in PolicyName::VALID.map(|name| name.replace("<link>", "lan0").replace("<form>", "cap")) {
        let name = name.replace("<variant>", "damped");
        let file = Files::new(
            "policies",
            &[("slowhand.toml", &format!("policy = \"{name}\"\n"))],
        );
        let is_suggested = POLICIES.contains(&name.replace("lan0", "<link>").as_str());
        assert_eq!(file.read().is_ok(), is_suggested, "{name}");
    }
}

#[test]
fn an_error_looks_like_one_in_a_scenario() {
    assert_eq!(
        error("look", "# home\npolicy = \"slowhamd\" # ours\n"),
        "slowhand.toml:2:10: `policy` is \"slowhamd\"\n\
         \u{20} |\n\
         2 | policy = \"slowhamd\" # ours\n\
         \u{20} |          ^^^^^^^^^^\n\
         \u{20} |\n\
         \u{20} = help: did you mean \"slowhand\"?"
    );
}

#[test]
fn what_is_not_toml_is_reported_where_it_ends() {
    let said = said("syntax", "policy = \n");
    assert!(said.starts_with("1:10: "), "{said}");
    assert!(
        said.ends_with("; correct it to valid TOML (https://toml.io shows the forms)"),
        "{said}"
    );
}

#[test]
fn a_problem_in_an_addition_names_that_file() {
    let files = Files::new("addition", &[("conf.d/50.toml", "polcy = \"mptcp\"\n")]);
    let error = files.read().unwrap_err().to_string();
    assert!(
        error.contains("conf.d/50.toml:1:1: unknown key `polcy`"),
        "{error}"
    );
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let files = Files::new("named", &[]);
    assert_eq!(files.error(Asked::ByName), "slowhand.toml: there is no such file");
    assert!(files.read().is_ok());
}

#[test]
fn what_others_could_change_is_not_read() {
    let files = Files::new("open", &[("slowhand.toml", ""), ("conf.d/10.toml", "")]);
    assert!(files.read().is_ok());
    #[rustfmt::skip]
    let table = [
        ("slowhand.toml", 0o666, 0o644, "slowhand.toml: mode 0666, writable by others; run chmod go-w slowhand.toml"),
        ("conf.d/10.toml", 0o664, 0o644, "conf.d/10.toml: mode 0664, writable by others; run chmod go-w conf.d/10.toml"),
        ("conf.d", 0o757, 0o755, "conf.d: mode 0757, writable by others; run chmod go-w conf.d"),
    ];
    for (name, open, closed, said) in table {
        files.allow(name, open);
        assert_eq!(files.error(Asked::ByDefault), said);
        files.allow(name, closed);
    }
    assert!(files.read().is_ok());
}

#[test]
fn a_portal_url_that_cannot_be_checked_is_refused() {
    assert_eq!(
        said("portal-tls", "portal_url = \"https://check.example/\"\n"),
        "1:14: `portal_url` cannot be used: only http:// can be checked: a captive portal cannot answer in place of a TLS host; give a URL in quotes, such as \"http://check.example/online\""
    );
    assert_eq!(
        said("portal-response", "portal_response = \"yes\"\n"),
        "1:19: `portal_response` needs `portal_url`; add `portal_url`, or remove this line"
    );
}

#[test]
fn a_link_may_be_named_by_another_name_of_its_interface() {
    let text = "[[link]]\ninterface = \"the-uplink-of-the-house\"\nkind = \"cable\"\n";
    let config = Files::new("altname", &[("slowhand.toml", text)]).read().unwrap();
    assert_eq!(config.links[0].interface, "the-uplink-of-the-house");
}

#[test]
fn a_relay_has_an_address_with_a_port_and_a_key() {
    let key = "key_file = \"/k\"\n";
    for (number, (text, message)) in [
        (
            "[relay]\nway = \"auto\"\n".to_owned(),
            "1:1: this relay has no `address`; add `address`: an address or name with a port in quotes, such as \"relay.example:4433\"",
        ),
        (
            "[relay]\naddress = \"r:1\"\n".to_owned(),
            "1:1: this relay has no `key_file`; add `key_file`: a path in quotes, such as \"/etc/slowhand/relay.key\"",
        ),
        (
            format!("[relay]\naddress = \"relay.example\"\n{key}"),
            "2:11: `address` is \"relay.example\", without a port; give an address or name with a port in quotes, such as \"relay.example:4433\"",
        ),
        (
            format!("[relay]\naddress = \"r:1\"\n{key}way = \"direct\"\n"),
            "2:11: `way` is \"direct\", so no relay is used; remove this line, or use \"auto\"",
        ),
        (
            "[relay]\nway = \"direct\"\nearly_data = \"tls\"\n".to_owned(),
            "3:14: `way` is \"direct\", so no relay is used; remove this line, or use \"auto\"",
        ),
        (
            "[relay]\nway = \"direct\"\nsocks = \"192.0.2.1:1080\"\n".to_owned(),
            "3:9: `socks` is \"192.0.2.1:1080\", which is not a port of this host alone; give a loopback address with a port in quotes, such as \"127.0.0.1:1080\"",
        ),
        (
            "[relay]\nway = \"direkt\"\n".to_owned(),
            "2:7: `way` is \"direkt\"; did you mean \"direct\"?",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(said(&format!("relay-{number}"), &text), message, "{text}");
    }
    let direct =
        "[relay]\nway = \"direct\"\nbypass = [\"uid:7\", \"port:22\", \"fd00::/8\", \"192.0.2.1\"]\n";
    let config = Files::new("relay-direct", &[("slowhand.toml", direct)])
        .read()
        .unwrap();
    let relay = config.relay.unwrap();
    assert_eq!((relay.way, relay.server), (WayChoice::Direct, None));
    let bypass = [
        Bypass::User(7),
        Bypass::Port(22),
        Bypass::Network("fd00::".parse().unwrap(), 8),
        Bypass::Network("192.0.2.1".parse().unwrap(), 32),
    ];
    assert_eq!(relay.bypass, bypass);
}

#[test]
fn the_documents_show_valid_configurations() {
    let documents = [
        ("calls", include_str!("../../../../docs/calls.md")),
        ("first-laptop", include_str!("../../../../docs/first-laptop.md")),
        ("joining", include_str!("../../../../docs/joining.md")),
        ("networks", include_str!("../../../../docs/networks.md")),
        ("relay", include_str!("../../../../docs/relay.md")),
    ];
    for (name, document) in documents {
        let blocks = document.split("```toml\n").skip(1);
        let blocks = blocks.filter_map(|rest| rest.split("```").next());
        // The relay's own configuration has other keys.
        let mut shown = blocks.filter(|block| !block.starts_with("listen")).peekable();
        assert!(shown.peek().is_some(), "{name}.md shows a configuration");
        for block in shown {
            let read = Files::new(name, &[("slowhand.toml", block)]).read();
            assert!(read.is_ok(), "{name}.md: {}\n{block}", read.unwrap_err());
        }
    }
}

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

fn error(test: &str, text: &str) -> String {
    let files = Files::new(test, &[("slowhand.toml", text)]);
    let error = files.read().unwrap_err().to_string();
    error
        .strip_prefix(&files.0.display().to_string())
        .unwrap()
        .to_owned()
}

#[test]
fn without_a_file_every_adapter_is_used_by_its_kind() {
    let config = Files::new("none", &[]).read().unwrap();
    assert_eq!(
        (config.policy, config.mode, config.peer_subflows),
        (PolicyName::Slowhand, Mode::Aggregate, 2)
    );
    assert_eq!(config.fallback_window, None);
    assert_eq!((config.probe, config.portal), (true, None));
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
            portal.url.to_string().as_str(),
            portal.response.as_str()
        ),
        (false, "http://check.example:8080/online", "yes")
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
    let [phone, wifi] = &config.links[..] else {
        panic!("{config:?}")
    };
    assert_eq!((phone.role, phone.metered), (Role::Backup, true));
    assert_eq!((wifi.name.as_str(), wifi.channel), ("wl*", Some(6)));
    for (test, unknown) in [
        ("key", "speed = 1\n".to_owned()),
        ("link-key", format!("{LINK}speed = 1\n")),
    ] {
        let refused = error(test, &unknown);
        let (_, keys) = refused.split_once("expected one of ").unwrap();
        let mut keys = keys.split('`').skip(1).step_by(2).peekable();
        assert!(keys.peek().is_some(), "{refused}");
        let is_shown = |key: &str| text.lines().any(|line| line.trim_start().starts_with(key));
        assert!(
            keys.clone().all(|key| key == "link" || is_shown(key)),
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

/// Text after [`LINK`] or by itself, the place of the error, and a part of the message.
#[rustfmt::skip]
const WRONG: [(&str, &str, &str, &str); 18] = [
    ("", "policy = \"fastest\"\n", "1:10: ", "unknown policy `fastest`; valid: "),
    ("", "\nspeed = 1\n", "2:1: ", "unknown field `speed`, expected one of `policy`"),
    ("", "peer_subflows = 9\n", "1:17: ", "must be a whole number from 1 to 8; a stock"),
    ("", "cc = \"two words\"\n", "1:6: ", "lia, olia, balia, cla"),
    ("", "mode = \"redundant\"\n", "1:8: ", "stock kernels"),
    ("", "fallback_window_bytes = 1000\n", "1:25: ", "must be a whole number from 16384 to 1073741824, such as 262144; take this line out"),
    ("", "\nfallback_window_bytes = 2147483648\n", "2:25: ", "must be a whole number from 16384"),
    ("", "fallback_window_bytes = -65536\n", "1:25: ", "must be a whole number from 16384"),
    (LINK, "role = \"spare\"\n", "4:8: ", "unknown link role `spare`; valid: primary, "),
    (LINK, "metered = true\nrole = \"primary\"\n", "5:8: ", "metered link cannot be primary"),
    (LINK, "channel = 6\n", "4:11: ", "only a link of kind \"wifi\""),
    (LINK, "gateway = \"here\"\n", "4:11: ", "gateway must be an IP address in quotes, such as \"192.168.1.1\""),
    ("", "[[link]]\ninterface = \"a b\"\nkind = \"wifi\"\n", "2:13: ", "cannot name an interface"),
    ("", "[[link]]\ninterface = \"\"\nkind = \"wifi\"\n", "2:13: ", "cannot name an interface"),
    ("", "[[link]]\ninterface = \"a\"\n", "1:1: ", "this link has no kind; add kind, which is \"wifi\", \"cell\" or \"cable\""),
    ("", "[[link]]\nkind = \"wifi\"\n", "1:1: ", "this link has no interface; add interface, which is a name in quotes"),
    ("", "report_port = 70000\n", "1:15: ", "report_port must be a whole number from 1 to 65535, such as 7391"),
    ("", "policy = \n", "1:10: ", ""),
];

/// Text after [`LINK`] or by itself, with a value of a wrong type for each key of the example, and the whole
/// message.
#[rustfmt::skip]
const WRONG_TYPES: [(&str, &str, &str); 20] = [
    ("", "policy = 7\n", "policy must be a name in quotes, such as \"slowhand\""),
    ("", "mode = true\n", "mode must be \"aggregate\" or \"handover\""),
    ("", "peer_subflows = \"two\"\n", "peer_subflows must be a whole number from 1 to 8; a stock Linux server takes 2"),
    ("", "cc = [\"cubic\"]\n", "cc must be the name of a congestion controller: lia, olia, balia, cla, or one of net.ipv4.tcp_available_congestion_control"),
    ("", "report_key_file = 1\n", "report_key_file must be a path in quotes, such as \"/etc/slowhand/report.key\""),
    ("", "report_port = \"7391\"\n", "report_port must be a whole number from 1 to 65535, such as 7391"),
    ("", "fallback_window_bytes = \"256 KiB\"\n", "fallback_window_bytes must be a whole number from 16384 to 1073741824, such as 262144; take this line out to leave connections over plain TCP alone"),
    ("", "probe = \"no\"\n", "probe must be true or false, without quotes"),
    ("", "portal_url = 5\n", "portal_url must be a URL in quotes, such as \"http://check.example/online\""),
    ("", "portal_response = 204\n", "portal_response must be the beginning of the reply to portal_url in quotes, such as \"online\""),
    ("", "link = \"eth0\"\n", "invalid type: string \"eth0\", expected [[link]] with two brackets, once for each link"),
    ("", "[link]\ninterface = \"eth0\"\n", "invalid type: map, expected [[link]] with two brackets, once for each link"),
    ("", "link = [1]\n", "invalid type: integer `1`, expected a table that begins with [[link]]"),
    ("", "[[link]]\ninterface = 0\n", "interface must be a name in quotes as in `ip link`, or a pattern such as \"wl*\""),
    (LINK, "name = 1.5\n", "name must be a name for people in quotes, such as \"phone\""),
    ("", "[[link]]\ninterface = \"a\"\nkind = 3\n", "kind must be \"wifi\", \"cell\" or \"cable\""),
    (LINK, "role = 2020-01-01\n", "role must be \"primary\", \"secondary\", \"backup\" or \"never\""),
    (LINK, "metered = \"yes\"\n", "metered must be true or false, without quotes"),
    (LINK, "gateway = 10.5\n", "gateway must be an IP address in quotes, such as \"192.168.1.1\""),
    ("", "[[link]]\ninterface = \"a\"\nkind = \"wifi\"\nchannel = \"6\"\n", "channel must be the number of a WiFi channel, such as 6"),
];

#[test]
fn a_wrong_type_is_told_with_what_would_be_right() {
    for (number, (before, text, what)) in WRONG_TYPES.into_iter().enumerate() {
        let error = error(&format!("type-{number}"), &format!("{before}{text}"));
        let said = error
            .lines()
            .next()
            .unwrap()
            .splitn(4, ':')
            .last()
            .unwrap()
            .trim();
        assert_eq!(said, what, "{text}");
    }
    let keys = include_str!("example.toml")
        .lines()
        .filter_map(|line| line.split_once('='));
    for (key, _) in keys.filter(|(key, _)| !key.contains(['#', '['])) {
        let has = |text: &str| text.lines().any(|line| line.starts_with(key.trim()));
        assert!(
            WRONG_TYPES.iter().any(|(_, text, _)| has(text)),
            "{key} has no wrong type here"
        );
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (number, (before, text, place, what)) in WRONG.into_iter().enumerate() {
        let error = error(&format!("wrong-{number}"), &format!("{before}{text}"));
        assert!(
            error.starts_with(&format!("/slowhand.toml:{place}")),
            "{text}: {error}"
        );
        assert!(error.contains(what), "{text}: {error}");
    }
}

#[test]
fn a_problem_in_an_addition_names_that_file() {
    let files = Files::new("addition", &[("conf.d/50.toml", "polcy = \"mptcp\"\n")]);
    let error = files.read().unwrap_err().to_string();
    assert!(
        error.contains("conf.d/50.toml:1:1: unknown field `polcy`"),
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
fn a_portal_url_that_cannot_be_checked_is_refused_with_what_would_be_right() {
    let first_line = |test: &str, text: &str| error(test, text).lines().next().map(str::to_owned);
    assert_eq!(
        first_line("portal-tls", "portal_url = \"https://check.example/\"\n").unwrap(),
        "/slowhand.toml:1:14: portal_url: only http:// can be checked: a captive portal cannot answer in place of a TLS host"
    );
    assert_eq!(
        first_line("portal-response", "portal_response = \"yes\"\n").unwrap(),
        "/slowhand.toml:1:19: portal_response says how the reply to portal_url begins; add portal_url, or take this line out"
    );
}

#[test]
fn a_link_may_be_named_by_another_name_of_its_interface() {
    let text = "[[link]]\ninterface = \"the-uplink-of-the-house\"\nkind = \"cable\"\n";
    let config = Files::new("altname", &[("slowhand.toml", text)]).read().unwrap();
    assert_eq!(config.links[0].interface, "the-uplink-of-the-house");
}

use super::*;

/// A directory of its own, gone at the end.
struct Files(PathBuf);

impl Files {
    fn new(test: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("slowhand-config-{}-{test}", std::process::id()));
        std::fs::create_dir_all(root.join("conf.d")).unwrap();
        for (name, text) in files {
            std::fs::write(root.join(name), text).unwrap();
        }
        Self(root)
    }

    fn read(&self) -> Result<Config, ConfigError> {
        Config::read(&self.0.join("slowhand.toml"))
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

/// What `slowhand up --help` shows has every key, and means what it says.
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

/// What stands behind [`LINK`] or by itself, where the problem is, and a part of what is said of it.
#[rustfmt::skip]
const WRONG: [(&str, &str, &str, &str); 17] = [
    ("", "policy = \"fastest\"\n", "1:10: ", "unknown policy `fastest`; valid: "),
    ("", "\nspeed = 1\n", "2:1: ", "unknown field `speed`, expected one of `policy`"),
    ("", "peer_subflows = \"two\"\n", "1:17: ", "invalid type"),
    ("", "peer_subflows = 9\n", "1:17: ", "must be 1 to 8"),
    ("", "cc = \"two words\"\n", "1:6: ", "lia, olia, balia, cla"),
    ("", "mode = \"redundant\"\n", "1:8: ", "stock kernels"),
    ("", "fallback_window_bytes = 1000\n", "1:25: ", "must be a whole number from 16384 to 1073741824, such as 262144; take this line out"),
    ("", "\nfallback_window_bytes = 2147483648\n", "2:25: ", "must be a whole number from 16384"),
    ("", "fallback_window_bytes = -65536\n", "1:25: ", "must be a whole number from 16384"),
    ("", "fallback_window_bytes = \"256 KiB\"\n", "1:25: ", "must be a whole number from 16384"),
    (LINK, "role = \"spare\"\n", "4:8: ", "unknown link role `spare`; valid: primary, "),
    (LINK, "metered = true\nrole = \"primary\"\n", "5:8: ", "metered link cannot be primary"),
    (LINK, "channel = 6\n", "4:11: ", "only a link of kind \"wifi\""),
    (LINK, "gateway = \"here\"\n", "4:11: ", "invalid IP address"),
    ("", "[[link]]\ninterface = \"a b\"\nkind = \"wifi\"\n", "2:13: ", "cannot name an interface"),
    ("", "[[link]]\ninterface = \"a\"\n", "1:1: ", "missing field `kind`"),
    ("", "policy = \n", "1:10: ", ""),
];

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
fn a_portal_url_that_cannot_be_checked_is_refused_with_what_would_be_right() {
    let first_line = |test: &str, text: &str| error(test, text).lines().next().map(str::to_owned);
    assert_eq!(
        first_line("portal-tls", "portal_url = \"https://check.example/\"\n").unwrap(),
        "/slowhand.toml:1:14: portal_url: only http:// can be checked: a captive portal cannot answer in place of a host that is asked over TLS"
    );
    assert_eq!(
        first_line("portal-response", "portal_response = \"yes\"\n").unwrap(),
        "/slowhand.toml:1:19: portal_response says how the reply to portal_url begins; add portal_url, or take this line out"
    );
    assert!(error("portal-kind", "portal_url = 5\n").contains("string"));
}

//! The guide of docs/relay.md: its commands, one after another, on a host of their own.

use crate::rig::program;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADING: &str = "## A relay on a small server in five minutes";

/// The host around the commands: new files in /run and /var/lib, a network and processes of its own.
/// `slowhand relay` is this program, and `systemctl` starts what the unit starts.
const HOST: &str = r#"set -e
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /run
mkdir /run/slowhand-relay
slowhand() { [ "$1" = relay ] && shift && "$RELAY" "$@"; }
systemctl() {
    [ "$1 $2 $3" = "enable --now slowhand-relay" ]
    set -- $(sed -n 's/^ExecStart=[^ ]* *//p' "$DIST/$3.service")
    "$RELAY" "$@" >/run/listens &
    for _ in $(seq 400); do ! grep -q '^listening' /run/listens || return 0; sleep 0.05; done
    return 1
}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands of the guide.
fn commands() -> String {
    let page = fs::read_to_string(root().join("docs/relay.md")).unwrap();
    let (_, guide) = page.split_once(HEADING).expect("the guide is there");
    let (_, block) = guide.split_once("```sh\n").expect("its commands follow");
    block.split_once("```").expect("the block ends").0.to_owned()
}

#[test]
fn its_commands_make_a_relay_with_a_key() {
    if !nix::unistd::geteuid().is_root() {
        return println!("skipped: needs root (CAP_SYS_ADMIN) to make a host for the commands");
    }
    let commands = commands();
    assert!(commands.lines().count() >= 4, "{commands}");
    let script = std::env::temp_dir().join(format!("slowhand-relay-guide-{}.sh", std::process::id()));
    fs::write(&script, format!("{HOST}{commands}")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let mut host = Command::new("unshare");
    host.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "sh"]);
    host.arg(&script).env("RELAY", program().get_program());
    let ran = host.env("DIST", root().join("dist")).output().unwrap();
    fs::remove_file(&script).unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{commands}\n{ran:?}");
    assert!(
        out.starts_with("/var/lib/slowhand-relay/keys/laptop.key\n"),
        "{out}"
    );
    let table = out.rsplit_once("\nKEY ").expect("a table of keys").1;
    assert!(table.contains("\nlaptop "), "{out}");
}

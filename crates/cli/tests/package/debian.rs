//! A Debian system of its own: the clean root of `scripts/setup.sh test`, with a layer on top that takes what
//! is written, in the network of a host.

use crate::common::{daemon, root};
use crate::patience::Patience;
use crate::rig::{Host, PATIENCE, until};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Two packages of the same programs.
pub(crate) struct Packages {
    pub(crate) old: PathBuf,
    pub(crate) new: PathBuf,
}

/// Packs what has been built for the tests, once a process.
pub(crate) fn packages() -> &'static Packages {
    static PACKED: OnceLock<Packages> = OnceLock::new();
    PACKED.get_or_init(|| Packages {
        old: packed("0.1.0-1"),
        new: packed("0.1.0-2"),
    })
}

fn packed(version: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(version);
    std::fs::create_dir_all(&out).unwrap();
    let ran = Command::new(root().join("scripts/deb.sh"))
        .arg("--fast")
        .env("BUILT", daemon().parent().unwrap())
        .env("VERSION", version)
        .env("OUT", &out)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", text(&ran));
    let files = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files.into_iter().next().expect("scripts/deb.sh writes a package")
}

/// What a program printed.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// The running system. It ends with its first process, with all mounts and processes in it.
pub(crate) struct Debian {
    unshare: Child,
    first: String,
    lower: PathBuf,
    upper: PathBuf,
    cgroup: Cgroup,
}

/// What a system starts first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// A process that does nothing: a system without a service manager.
    Sleep,
    /// The real service manager. It starts none of Debian's own units, because some change the whole machine.
    Systemd,
}

/// Mounts the root `$1` with the layer in `$2`, changes to it, says so, and becomes what the other words
/// name.
const BOOT: &str = "set -e
system=$2/system
mkdir $2/upper $2/work $system $2/nothing
mount -t overlay overlay -o lowerdir=$1,upperdir=$2/upper,workdir=$2/work $system
mount -t proc proc $system/proc
mount -t sysfs -o ro sysfs $system/sys
mount -t cgroup2 cgroup2 $system/sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs $system/dev
for device in null zero full random urandom tty; do
    touch $system/dev/$device
    mount --bind /dev/$device $system/dev/$device
done
ln -s pts/ptmx $system/dev/ptmx
for target in sysinit sockets local-fs; do
    mount --bind $2/nothing $system/usr/lib/systemd/system/$target.target.wants
done
shift 2
exec chroot $system env -i container=test sh -c 'echo ready; exec \"$@\" >/dev/null 2>&1' sh \"$@\"";

impl Debian {
    /// Starts a system in the client's network. `None` if the clean root is missing.
    pub(crate) fn start(host: &Host, first: First) -> Option<Self> {
        let Ok(lower) = root().join("target/debian").canonicalize() else {
            println!("skipped: needs target/debian, which `scripts/setup.sh test` makes as root on Debian");
            return None;
        };
        let cgroup = Cgroup::new(&host.root);
        let mut command = cgroup.command();
        // The system ends with the test, however that ends.
        command.args(["setpriv", "--pdeathsig", "KILL"]);
        command.args(["unshare", "--mount", "--propagation", "private"]);
        command.args(["--pid", "--fork", "--kill-child", "--cgroup", "--uts", "--ipc"]);
        command.args(["sh", "-c", BOOT, "sh"]).arg(&lower).arg(&host.root);
        command.args(match first {
            First::Sleep => &["sleep", "infinity"][..],
            First::Systemd => &["/lib/systemd/systemd", "--unit=basic.target"],
        });
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut unshare = host.client.prepare(&mut command).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(unshare.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n", "the root is mounted");
        let children = format!("/proc/{0}/task/{0}/children", unshare.id());
        let first_process = std::fs::read_to_string(children).unwrap().trim().to_owned();
        let debian = Self {
            unshare,
            first: first_process,
            lower,
            upper: host.root.join("upper"),
            cgroup,
        };
        if first == First::Systemd {
            let asked = ["systemctl", "is-active", "basic.target"];
            until("systemd has started", || {
                debian.command(&asked).output().unwrap().status.success()
            });
        }
        Some(debian)
    }

    /// A command that runs a program in this system.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args([
            "--target",
            &self.first,
            "--all",
            "--root",
            "--wd",
            "--",
            "env",
            "-i",
        ]);
        command.args([
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "DEBIAN_FRONTEND=noninteractive",
        ]);
        command.args(words).stdin(Stdio::null());
        command
    }

    /// Runs a program, which must succeed, and returns what it printed.
    pub(crate) fn run(&self, words: &[&str]) -> String {
        let ran = self.command(words).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {}", text(&ran));
        text(&ran)
    }

    /// Installs a package, or upgrades to it.
    pub(crate) fn install(&self, package: &Path) -> String {
        let copy = self.path("/var/cache/slowhand.deb");
        std::fs::copy(package, &copy).unwrap();
        let told = self.run(&["dpkg", "--install", "/var/cache/slowhand.deb"]);
        std::fs::remove_file(copy).unwrap();
        told
    }

    /// Path of this system as seen from outside.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.first))
    }

    /// Whether this system has the file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Every path that is not as it was in the clean root, without dpkg's own database and log.
    pub(crate) fn changes(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.compare(&self.upper, "", &mut found);
        found
    }

    fn compare(&self, layer: &Path, below: &str, found: &mut BTreeSet<String>) {
        const OF_DPKG: [&str; 2] = ["/var/lib/dpkg", "/var/log/dpkg.log"];
        for entry in std::fs::read_dir(layer).unwrap().map(Result::unwrap) {
            let path = format!("{below}/{}", entry.file_name().to_str().unwrap());
            if OF_DPKG.contains(&path.as_str()) {
                continue;
            }
            if !same(&entry.path(), &self.lower.join(&path[1..])) {
                found.insert(path.clone());
            }
            if entry.file_type().unwrap().is_dir() {
                self.compare(&entry.path(), &path, found);
            }
        }
    }
}

impl Drop for Debian {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        self.cgroup.remove();
    }
}

/// A control group of its own, since a service manager makes others below it.
struct Cgroup {
    mount: PathBuf,
    name: String,
}

impl Cgroup {
    fn new(scratch: &Path) -> Self {
        let mount = scratch.join("cgroup");
        std::fs::create_dir(&mount).unwrap();
        let name = scratch.file_name().unwrap().to_str().unwrap().to_owned();
        Self { mount, name }
    }

    /// A command that runs in this control group.
    fn command(&self) -> Command {
        self.shell("mkdir $1/$2 && echo $$ >$1/$2/cgroup.procs && shift 2 && exec \"$@\"")
    }

    /// Removes the control group, once its last process has ended.
    fn remove(&self) {
        let removed = || {
            let mut command = self.shell("[ ! -d $1/$2 ] || find $1/$2 -depth -type d -exec rmdir {} +");
            command.output().is_ok_and(|ran| ran.status.success())
        };
        let mut until = Patience::of(PATIENCE);
        while !removed() && until.lasts() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A shell that sees the control groups at `$1`; `$2` is the name of ours.
    fn shell(&self, script: &str) -> Command {
        let script = format!("mount -t cgroup2 cgroup2 $1 && {script}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
        command.arg(&self.mount).arg(&self.name);
        command
    }
}

/// Whether a path of the layer equals the one below it in kind, owner, mode and content. A removed file is a
/// device in the layer.
fn same(above: &Path, below: &Path) -> bool {
    let (Ok(new), Ok(old)) = (above.symlink_metadata(), below.symlink_metadata()) else {
        return false;
    };
    let known = |found: &std::fs::Metadata| (found.mode(), found.uid(), found.gid());
    let content = || {
        if new.is_file() {
            std::fs::read(above).unwrap() == std::fs::read(below).unwrap()
        } else {
            !new.is_symlink() || std::fs::read_link(above).unwrap() == std::fs::read_link(below).unwrap()
        }
    };
    !new.file_type().is_char_device() && known(&new) == known(&old) && content()
}

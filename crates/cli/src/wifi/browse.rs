//! Runs a browser that reaches one link alone.
//!
//! The pages of a captive portal are reachable over its own link only, and often only the link's DNS servers
//! know their names. So the sockets of the browser are bound to the link, and it asks those servers.
//!
//! # Sources
//! - RFC 8952 §2.4: a client shows the portal over the interface that is captive.
//! - sudo(8): `SUDO_UID`. system(3): who waits for a program ignores its interrupts.
//!
//! # Checked by
//! `tests/host/portal.rs`.

use crate::live::supervised::change_sockets;
use linux::portal::Over;
use linux::resolvers::use_alone;
use linux::seccomp::Sockets;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Uid, User, chown, initgroups, setgid, setuid};
use show::exit::{Refused, print_text};
use std::ffi::{CString, OsString};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::{env, io};
use trace::Shown;

/// Browsers, with the arguments by which each uses a profile in a folder (`{}`). It then starts even if it is
/// already running with the user's own profile.
const BROWSERS: [(&str, &[&str]); 4] = [
    ("firefox", &["--no-remote", "--profile", "{}"]),
    ("chromium", &["--no-first-run", "--user-data-dir={}"]),
    ("google-chrome", &["--no-first-run", "--user-data-dir={}"]),
    ("epiphany", &["--profile={}"]),
];

/// Prints the URL, and runs this command or a browser with it. Returns its exit code.
pub(super) fn browse(url: &str, over: &Over, command: &[OsString]) -> anyhow::Result<ExitCode> {
    print_text(&format!("{}\n", Shown(url)))?;
    let user = invoking()?;
    let folder = Folder::of(user.as_ref())?;
    let words = match command {
        [] => browser(user.as_ref(), &folder.0),
        _ => Some(command.to_vec()),
    };
    let Some([program, arguments @ ..]) = words.as_deref() else {
        return Ok(ExitCode::SUCCESS);
    };
    change_sockets(Sockets::Bound(over.link))?;
    use_alone(&over.resolvers, &folder.0).map_err(Refused::because)?;
    let mut command = Command::new(program);
    command.args(arguments).arg(url);
    if let Some(user) = &user {
        become_user(user, &mut command)?;
    }
    let ended = wait_for(&mut command).map_err(|error| {
        let program = program.display();
        Refused::because(format!("{program}: cannot be run ({error})"))
    })?;
    Ok(code(ended))
}

/// The user who has called sudo, if this is root.
fn invoking() -> anyhow::Result<Option<User>> {
    let number = env::var("SUDO_UID").ok().filter(|_| Uid::effective().is_root());
    let number: Option<u32> = number.and_then(|number| number.parse().ok());
    number
        .map(|number| {
            let user = User::from_uid(Uid::from_raw(number))?;
            user.ok_or_else(|| Refused::because(format!("SUDO_UID: no user has the number {number}")))
        })
        .transpose()
}

/// A browser of this host. `None` without one, without a display, and for root: no browser runs as root.
fn browser(user: Option<&User>, profile: &Path) -> Option<Vec<OsString>> {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .into_iter()
        .any(|name| env::var_os(name).is_some());
    let is_root = user.map_or(Uid::effective(), |user| user.uid).is_root();
    let path = env::var_os("PATH").filter(|_| has_display && !is_root)?;
    let is_here = |name: &str| env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let (name, arguments) = BROWSERS.into_iter().find(|(name, _)| is_here(name))?;
    let profile = profile.display().to_string();
    let arguments = arguments.iter().map(|argument| argument.replace("{}", &profile));
    Some(
        [name.to_owned()]
            .into_iter()
            .chain(arguments)
            .map(OsString::from)
            .collect(),
    )
}

/// A folder of the user, for the profile and for the files that name the resolvers. It is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn of(user: Option<&User>) -> anyhow::Result<Self> {
        let path = env::temp_dir().join(format!("slowhand-portal-{}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| Refused::because(format!("{}: cannot be made ({error})", path.display())))?;
        let folder = Self(path);
        if let Some(user) = user {
            chown(&folder.0, Some(user.uid), Some(user.gid))?;
        }
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A browser that still writes there leaves it to whatever clears temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Turns this process into one of this user, and gives the command the user's surroundings.
fn become_user(user: &User, command: &mut Command) -> anyhow::Result<()> {
    initgroups(&CString::new(user.name.as_str())?, user.gid)?;
    setgid(user.gid)?;
    setuid(user.uid)?;
    command
        .env("HOME", &user.dir)
        .env("USER", &user.name)
        .env("LOGNAME", &user.name);
    let runtime = Path::new("/run/user").join(user.uid.to_string());
    if runtime.is_dir() {
        command.env("XDG_RUNTIME_DIR", runtime);
    }
    Ok(())
}

/// Waits for the command. What interrupts it does not interrupt this process, which still has to clean up.
fn wait_for(command: &mut Command) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    for interrupt in [Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: no handler is installed.
        unsafe { signal(interrupt, SigHandler::SigIgn) }?;
    }
    child.wait()
}

/// As shells tell it.
fn code(ended: ExitStatus) -> ExitCode {
    let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

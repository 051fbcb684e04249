//! Runs `wpa_supplicant`, and talks to it over its global control interface.
//!
//! Two sockets: one for requests and replies, one for events. Both are in a directory that only root may
//! enter.
//!
//! # Where we differ, and why
//! 1. Its configuration file has no network. It only turns off Wi-Fi Direct, which would create interfaces
//!    that count against the limits of the driver.
//! 2. The kernel ends it when this thread dies, so that it does not outlive a daemon that was killed.
//!
//! # Checked by
//! `tests`, with a stand-in for its control interface; the trials of `guest`, with the real one.

use super::requests::{self, LONGEST, Requests};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;

const NAME: &str = "wpa_supplicant";
const CONFIG: &str = "p2p_disabled=1\nupdate_config=0\n";
/// Time in which it must open its socket.
const STARTS: Duration = Duration::from_secs(5);
/// Time in which it must reply.
const REPLIES: Duration = Duration::from_secs(2);
/// Time in which it must end.
const ENDS: Duration = Duration::from_secs(2);
/// Pause between two looks at it.
const STEP: Duration = Duration::from_millis(10);

/// Why `wpa_supplicant` cannot be used.
#[derive(Debug, Error)]
pub(super) enum SupplicantError {
    #[error("`{NAME}` cannot be started ({0}); install the package wpasupplicant")]
    Start(#[source] io::Error),
    #[error("{path}: cannot be used ({source}); free it or choose another --runtime-dir")]
    Directory { path: PathBuf, source: io::Error },
    #[error("`{NAME}` ended or did not open its control interface; run it by hand to see why")]
    Silent,
    #[error("`{NAME}` does not answer ({0}); it is started again")]
    Talk(#[source] io::Error),
    #[error("`{NAME}` refuses `{0}`")]
    Refused(String),
}

/// A running `wpa_supplicant`. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Supplicant {
    child: Option<Child>,
    directory: PathBuf,
    requests: Requests,
    events: UnixDatagram,
}

/// Whether `wpa_supplicant` is installed, for `slowhand doctor`.
///
/// # Errors
/// That it is missing, and how to get it.
pub fn found() -> Result<String, String> {
    let asked = Command::new(NAME)
        .arg("-v")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match asked {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            Ok(text.lines().next().unwrap_or(NAME).to_owned())
        }
        Err(error) => Err(format!(
            "`{NAME}` cannot be started ({error}); install the package wpasupplicant to let slowhand join access points ([wifi])"
        )),
    }
}

impl Supplicant {
    /// Starts it, with its sockets in `directory`, which is made anew.
    pub(super) fn start(directory: &Path) -> Result<Self, SupplicantError> {
        let config = prepare(directory).map_err(|source| SupplicantError::Directory {
            path: directory.to_owned(),
            source,
        })?;
        drop(config);
        let mut command = Command::new(NAME);
        command.arg("-g").arg(control(directory));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null()).process_group(0);
        // SAFETY: between fork and exec the hook makes system calls only, and allocates nothing.
        unsafe { command.pre_exec(end_with_parent) };
        let child = command.spawn().map_err(SupplicantError::Start)?;
        Self::talk_to(directory, Some(child))
    }

    /// Connects to its control interface, once there is one.
    fn talk_to(directory: &Path, mut child: Option<Child>) -> Result<Self, SupplicantError> {
        let control = control(directory);
        let until = Instant::now() + STARTS;
        let requests = loop {
            if let Ok(requests) = Requests::connect(directory, &control, REPLIES) {
                break requests;
            }
            let ended = child
                .as_mut()
                .is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || Instant::now() >= until {
                end(child.take());
                return Err(SupplicantError::Silent);
            }
            std::thread::sleep(STEP);
        };
        let events = match requests::socket(&directory.join("events"), &control, REPLIES) {
            Ok(events) => events,
            Err(error) => {
                end(child.take());
                return Err(SupplicantError::Talk(error));
            }
        };
        let started = Self {
            child,
            directory: directory.to_owned(),
            requests,
            events,
        };
        let reply = requests::exchange(&started.events, "ATTACH").map_err(SupplicantError::Talk)?;
        accepted("ATTACH", &reply)?;
        let nonblocking = started.events.set_nonblocking(true);
        nonblocking.map_err(SupplicantError::Talk)?;
        Ok(started)
    }

    /// Whether it runs and replies.
    pub(super) fn lives(&mut self) -> bool {
        self.requests.check();
        let child = self.child.as_mut();
        !self.requests.hangs() && child.is_none_or(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// When [`Supplicant::lives`] next has work.
    pub(super) fn check_at(&self) -> Instant {
        self.requests.check_at()
    }

    /// Sends a request and returns the reply.
    pub(super) fn ask(&self, request: &str) -> Result<String, SupplicantError> {
        self.requests.ask(request).map_err(SupplicantError::Talk)
    }

    /// Sends a request that must be accepted.
    pub(super) fn demand(&self, request: &str) -> Result<(), SupplicantError> {
        // No message repeats a secret: of a variable it has only the name.
        let is_variable = request.contains(" SET_NETWORK ");
        let words = request.split(' ').take(if is_variable { 4 } else { usize::MAX });
        accepted(&Vec::from_iter(words).join(" "), &self.ask(request)?)
    }

    /// Takes charge of an interface. It sets it up.
    pub(super) fn add_interface(&self, name: &str) -> Result<(), SupplicantError> {
        let config = self.directory.join("config");
        self.demand(&format!("INTERFACE_ADD {name}\t{}\tnl80211", config.display()))
    }

    /// Lets go of an interface: leaves its access point first.
    pub(super) fn remove_interface(&self, name: &str) -> Result<(), SupplicantError> {
        self.demand(&format!("INTERFACE_REMOVE {name}"))
    }

    /// Joins a network over an interface: one access point on one channel. Variables and values are those of
    /// a network block. Returns the number of the block.
    pub(super) fn join(
        &self,
        name: &str,
        mhz: u32,
        settings: &[(&'static str, String)],
    ) -> Result<u32, SupplicantError> {
        let number = self.ask(&format!("IFNAME={name} ADD_NETWORK"))?;
        let number = number.trim().parse();
        let number = number.map_err(|_| SupplicantError::Refused("ADD_NETWORK".to_owned()))?;
        for (variable, value) in settings {
            self.set(name, number, (variable, value))?;
        }
        self.stay_on(name, number, mhz)?;
        self.demand(&format!("IFNAME={name} ENABLE_NETWORK {number}"))?;
        Ok(number)
    }

    /// The key management of the association of this interface, such as `SAE`.
    pub(super) fn management(&self, name: &str) -> Result<Option<String>, SupplicantError> {
        self.status(name, "key_mgmt=")
    }

    /// Whether this interface is associated, or about to be.
    pub(super) fn is_at_it(&self, name: &str) -> Result<bool, SupplicantError> {
        let state = self.status(name, "wpa_state=")?;
        let idle = ["DISCONNECTED", "INACTIVE", "SCANNING", "INTERFACE_DISABLED"];
        Ok(state.is_some_and(|state| !idle.contains(&state.as_str())))
    }

    /// A value of the status of this interface.
    fn status(&self, name: &str, key: &str) -> Result<Option<String>, SupplicantError> {
        let status = self.ask(&format!("IFNAME={name} STATUS"))?;
        let mut values = status.lines().filter_map(|line| line.strip_prefix(key));
        Ok(values.next().map(str::to_owned))
    }

    /// Sets a variable of a network block.
    pub(super) fn set(
        &self,
        name: &str,
        number: u32,
        (variable, value): (&str, &str),
    ) -> Result<(), SupplicantError> {
        self.demand(&format!("IFNAME={name} SET_NETWORK {number} {variable} {value}"))
    }

    /// Seeks a network on this channel only. A scan of another one would stop the traffic of all interfaces.
    pub(super) fn stay_on(&self, name: &str, number: u32, mhz: u32) -> Result<(), SupplicantError> {
        let mhz = mhz.to_string();
        for variable in ["scan_freq", "freq_list"] {
            self.set(name, number, (variable, &mhz))?;
        }
        Ok(())
    }

    /// The next event, without waiting.
    pub(super) fn event(&self) -> Option<String> {
        let mut buffer = [0; LONGEST];
        let length = self.events.recv(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }
}

impl AsRawFd for Supplicant {
    /// Readable when an event is pending.
    fn as_raw_fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }
}

impl Drop for Supplicant {
    fn drop(&mut self) {
        // It ends on the request, on the signal otherwise.
        match (self.requests.hangs(), &mut self.child) {
            (true, Some(child)) => drop(child.kill()),
            _ => drop(self.ask("TERMINATE")),
        }
        end(self.child.take());
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Its socket. One that ends late removes its own, and not that of its successor.
fn control(directory: &Path) -> PathBuf {
    directory.join(format!("supplicant-{}", std::process::id()))
}

/// Waits for its end, and forces it after a while.
fn end(child: Option<Child>) {
    let Some(mut child) = child else { return };
    let until = Instant::now() + ENDS;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
        std::thread::sleep(STEP);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Gets SIGTERM when the thread dies that started it. The daemon blocks that signal, and its children inherit
/// that.
fn end_with_parent() -> io::Result<()> {
    // SAFETY: a `sigset_t` of zeros is an empty set.
    let nothing: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is valid for the call, and the old one is not asked for.
    let unblocked = unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const nothing, std::ptr::null_mut()) };
    // SAFETY: takes no pointers.
    let bound = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
    if unblocked == 0 && bound == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Makes the directory anew, with the configuration in it.
fn prepare(directory: &Path) -> io::Result<fs::File> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::DirBuilder::new().mode(0o700).create(directory)?;
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(directory.join("config"))?;
    io::Write::write_all(&mut file, CONFIG.as_bytes())?;
    Ok(file)
}

fn accepted(request: &str, reply: &str) -> Result<(), SupplicantError> {
    match reply.trim() {
        "OK" => Ok(()),
        _ => Err(SupplicantError::Refused(request.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with a stand-in that gives these replies, and what it was asked.
    fn with_stand_in(
        name: &str,
        replies: &'static [&'static str],
        work: impl FnOnce(Result<Supplicant, SupplicantError>),
    ) -> Vec<String> {
        let directory = std::env::temp_dir().join(format!("slowhand-wpa-{}-{name}", std::process::id()));
        drop(prepare(&directory).unwrap());
        let socket = UnixDatagram::bind(control(&directory)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let stand_in = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for reply in replies {
                let mut buffer = [0; LONGEST];
                let (length, from) = socket.recv_from(&mut buffer).unwrap();
                asked.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
                socket
                    .send_to(reply.as_bytes(), from.as_pathname().unwrap())
                    .unwrap();
            }
            asked
        });
        work(Supplicant::talk_to(&directory, None));
        stand_in.join().unwrap()
    }

    #[test]
    fn a_network_is_set_and_moved_to_another_channel_with_its_own_number() {
        let replies = &[
            "OK\n", "3\n", "OK\n", "OK\n", "OK\n", "OK\n", "OK\n", "OK\n", "OK\n", "OK\n",
        ];
        let asked = with_stand_in("join", replies, |supplicant| {
            let settings = [
                ("ssid", "6669727374".to_owned()),
                ("psk", "\"key key key\"".to_owned()),
            ];
            let supplicant = supplicant.unwrap();
            let number = supplicant.join("slow-w1", 2_437, &settings).unwrap();
            supplicant.stay_on("slow-w1", number, 2_462).unwrap();
        });
        assert_eq!(
            asked,
            [
                "ATTACH",
                "IFNAME=slow-w1 ADD_NETWORK",
                "IFNAME=slow-w1 SET_NETWORK 3 ssid 6669727374",
                "IFNAME=slow-w1 SET_NETWORK 3 psk \"key key key\"",
                "IFNAME=slow-w1 SET_NETWORK 3 scan_freq 2437",
                "IFNAME=slow-w1 SET_NETWORK 3 freq_list 2437",
                "IFNAME=slow-w1 ENABLE_NETWORK 3",
                "IFNAME=slow-w1 SET_NETWORK 3 scan_freq 2462",
                "IFNAME=slow-w1 SET_NETWORK 3 freq_list 2462",
                "TERMINATE",
            ]
        );
    }

    #[test]
    fn the_key_management_and_the_state_are_read_from_the_status() {
        let replies = &[
            "OK\n",
            "bssid=02:00:00:00:00:01\nkey_mgmt=SAE\nwpa_state=COMPLETED\n",
            "FAIL\n",
            "wpa_state=SCANNING\n",
            "wpa_state=4WAY_HANDSHAKE\n",
            "OK\n",
        ];
        let asked = with_stand_in("status", replies, |supplicant| {
            let supplicant = supplicant.unwrap();
            let management = || supplicant.management("slow-w1").unwrap();
            assert_eq!((management(), management()), (Some("SAE".to_owned()), None));
            let is_at_it = || supplicant.is_at_it("slow-w1").unwrap();
            assert_eq!((is_at_it(), is_at_it()), (false, true));
        });
        assert_eq!(asked[1], "IFNAME=slow-w1 STATUS");
    }

    #[test]
    fn a_refusal_names_the_request_without_the_secret() {
        let replies = &["OK\n", "0\n", "FAIL\n", "OK\n"];
        with_stand_in("refusal", replies, |supplicant| {
            let error = supplicant
                .unwrap()
                .join("slow-w1", 2_437, &[("psk", "\"key key key\"".to_owned())])
                .unwrap_err();
            let said = error.to_string();
            assert_eq!(
                said,
                "`wpa_supplicant` refuses `IFNAME=slow-w1 SET_NETWORK 0 psk`"
            );
        });
    }
}

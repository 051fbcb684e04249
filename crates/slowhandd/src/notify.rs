//! Reports the daemon's state to a service manager.
//!
//! # Sources
//! - `sd_notify(3)`, `systemd.service(5)` (`Type=notify`, `WatchdogSec=`).

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Longest wait for the service manager: if it does not read, it must keep a daemon neither from its work nor
/// from ending.
const PATIENCE: Duration = Duration::from_secs(1);

/// The service manager's socket, if there is one.
#[derive(Debug, Clone)]
pub struct Notify {
    socket: Option<OsString>,
}

impl Notify {
    /// Reads `NOTIFY_SOCKET`.
    pub fn from_environment() -> Self {
        Self {
            socket: std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()),
        }
    }

    /// Sends one or more lines such as `READY=1`. A failure has nobody to be reported to.
    pub fn say(&self, words: &str) {
        let _ = self.socket.as_ref().map(|socket| send(socket, words));
    }
}

fn send(socket: &OsString, words: &str) -> std::io::Result<usize> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(PATIENCE))?;
    loop {
        match socket.send_to_addr(words.as_bytes(), &address) {
            // With a deadline set, stopping and continuing the machine interrupts the wait (signal(7)).
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            sent => return sent,
        }
    }
}

/// Interval at which the service manager wants keep-alives, if it does: half of what it allows.
pub fn watchdog_period() -> Option<Duration> {
    let usec: u64 = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    let pid = std::env::var("WATCHDOG_PID").ok();
    let for_us = pid.is_none_or(|pid| pid == std::process::id().to_string());
    (for_us && usec > 0).then(|| Duration::from_micros(usec / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_at_a_path_and_at_an_abstract_name() {
        let path = std::env::temp_dir().join(format!("slowhand-notify-{}", std::process::id()));
        let ear = UnixDatagram::bind(&path).unwrap();
        Notify {
            socket: Some(path.clone().into()),
        }
        .say("READY=1");
        let mut words = [0; 32];
        let length = ear.recv(&mut words).unwrap();
        assert_eq!(&words[..length], b"READY=1");
        std::fs::remove_file(path).unwrap();

        let name = format!("slowhand-notify-{}", std::process::id());
        let ear = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        Notify {
            socket: Some(format!("@{name}").into()),
        }
        .say("STOPPING=1");
        let length = ear.recv(&mut words).unwrap();
        assert_eq!(&words[..length], b"STOPPING=1");
    }

    #[test]
    fn a_service_manager_that_does_not_listen_holds_nobody_up() {
        let name = format!("slowhand-deaf-{}", std::process::id());
        let _deaf = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let notify = Notify {
            socket: Some(format!("@{name}").into()),
        };
        let kept = std::fs::read_to_string("/proc/sys/net/unix/max_dgram_qlen").unwrap();
        let kept: u32 = kept.trim().parse().unwrap();
        // One more than the backlog fits, the next one does not.
        (0..kept + 2).for_each(|_| notify.say("WATCHDOG=1"));
    }

    #[test]
    fn without_a_service_manager_nothing_is_said() {
        Notify { socket: None }.say("READY=1");
    }
}

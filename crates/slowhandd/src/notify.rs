//! Reports the daemon's state to a service manager, if there is one.
//!
//! # Sources
//! - `sd_notify(3)`, `systemd.service(5)` (`Type=notify`, `WatchdogSec=`).

use sd_notify::NotifyState;
use std::sync::mpsc;
use std::time::Duration;

/// Longest wait for the service manager at the end. If it does not read, it must not keep the daemon from
/// ending.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reports that the daemon works. Waits while the service manager does not read.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Reports that the daemon is alive. Waits while the service manager does not read.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// Reports that the daemon takes over its configuration and will be ready again. Waits while the service
/// manager does not read.
pub fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// Reports that the daemon ends. Waits for [`PATIENCE`] at most.
pub fn stopping() {
    let (done, told) = mpsc::channel();
    let tell = move || {
        tell(&[NotifyState::Stopping]);
        // Nobody waits any more after `PATIENCE`.
        let _ = done.send(());
    };
    let teller = std::thread::Builder::new().name("stopping".to_owned());
    if teller.spawn(tell).is_ok() {
        // The daemon ends in any case.
        let _ = told.recv_timeout(PATIENCE);
    }
}

/// Interval at which the service manager wants keep-alives, if it does: half of what it allows.
pub fn watchdog_period() -> Option<Duration> {
    let allowed = sd_notify::watchdog_enabled()?;
    (!allowed.is_zero()).then(|| allowed / 2)
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        let shown = states.first().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(why = %error, "NOTIFY_SOCKET: the service manager was not told {shown}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;
    use std::process::{Child, Command};

    /// Names the part of a child that runs a test of this module again.
    const CHILD: &str = "SLOWHAND_TEST_CHILD";

    /// `sd_notify` reads the environment, which a test must not change: starts this test in a process of its
    /// own. `None`: this is that process.
    fn child(test: &str, environment: &[(&str, &str)]) -> Option<Child> {
        if std::env::var_os(CHILD).is_some() {
            return None;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("notify::tests::{test}")]);
        command.env_remove("NOTIFY_SOCKET").env(CHILD, "1");
        command.envs(environment.iter().copied());
        Some(command.spawn().unwrap())
    }

    /// A service manager's socket, removed at the end.
    struct Manager {
        path: String,
        socket: UnixDatagram,
    }

    impl Manager {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("slowhand-{test}-{}", std::process::id()));
            let path = path.to_str().unwrap().to_owned();
            let socket = UnixDatagram::bind(&path).unwrap();
            let patience = Some(Duration::from_secs(30));
            socket.set_read_timeout(patience).unwrap();
            Self { path, socket }
        }

        fn hears(&self) -> String {
            let mut words = [0; 64];
            let length = self.socket.recv(&mut words).unwrap();
            String::from_utf8_lossy(&words[..length]).into_owned()
        }
    }

    impl Drop for Manager {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    #[test]
    fn the_service_manager_receives_every_state() {
        let manager = Manager::new("states");
        let environment = [("NOTIFY_SOCKET", manager.path.as_str())];
        let Some(mut child) = child("the_service_manager_receives_every_state", &environment) else {
            ready();
            alive();
            return stopping();
        };
        let heard = [manager.hears(), manager.hears(), manager.hears()];
        assert_eq!(heard, ["READY=1\n", "WATCHDOG=1\n", "STOPPING=1\n"]);
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_service_manager_that_does_not_read_does_not_delay_the_end() {
        let manager = Manager::new("deaf");
        let environment = [("NOTIFY_SOCKET", manager.path.as_str())];
        let test = "a_service_manager_that_does_not_read_does_not_delay_the_end";
        if let Some(mut child) = child(test, &environment) {
            assert!(child.wait().unwrap().success());
            // The backlog is full, so the last report was really held up.
            let first = manager.hears();
            assert_eq!(first, "WATCHDOG=1\n");
            return;
        }
        std::thread::spawn(|| {
            loop {
                alive();
            }
        });
        let socket = std::env::var_os("NOTIFY_SOCKET").unwrap();
        let probe = UnixDatagram::unbound().unwrap();
        probe.connect(socket).unwrap();
        probe.set_nonblocking(true).unwrap();
        while probe.send(b"WATCHDOG=1\n").is_ok() {
            std::thread::yield_now();
        }
        stopping();
    }

    #[test]
    fn the_watchdog_is_fed_twice_as_often_as_it_asks() {
        let environment = [("WATCHDOG_USEC", "10000000"), ("WATCHDOG_PID", "")];
        match child("the_watchdog_is_fed_twice_as_often_as_it_asks", &environment) {
            Some(mut child) => assert!(child.wait().unwrap().success()),
            None => assert_eq!(watchdog_period(), Some(Duration::from_secs(5))),
        }
    }

    #[test]
    fn without_a_service_manager_nothing_is_reported() {
        if let Some(mut child) = child("without_a_service_manager_nothing_is_reported", &[]) {
            assert!(child.wait().unwrap().success());
            return;
        }
        assert_eq!(sd_notify::notify(&[NotifyState::Ready]).ok(), Some(()));
        stopping();
    }
}

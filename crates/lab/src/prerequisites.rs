//! Checks what the lab needs of this machine before anything is created, not in the middle of a run.
//!
//! # Checked by
//! `tests`; `tests/play.rs` of the program: without rights, without /dev/net/tun, without MPTCP.

use linux::doctor::{self, Check, Need};
use linux::netns::Netns;
use thiserror::Error;

/// What is missing, one line each, and how to get it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the lab cannot run here:\n  {}", .0.join("\n  "))]
pub struct MissingError(Vec<String>);

impl MissingError {
    /// The first thing that is missing, and how to get it.
    pub fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

/// Checks whether a lab can run here. Every run itself reports what only makes it worse (no real-time
/// scheduling).
pub fn check() -> Result<(), MissingError> {
    let missing = missing();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(MissingError(missing))
    }
}

fn missing() -> Vec<String> {
    let needed = |check: &Check| check.need == Need::Must || check.name == "tun";
    let (checks, namespaces) = checks();
    let failed = checks.into_iter().filter(needed);
    let failed = failed.filter_map(|check| Some(format!("{}: {}", check.name, check.result.err()?)));
    failed
        .chain(namespaces.map(|why| format!("namespaces: {why}")))
        .collect()
}

/// Runs the checks in a new namespace, so that a stricter setting of the host does not count. If no namespace
/// can be created, runs them here and says why.
fn checks() -> (Vec<Check>, Option<String>) {
    match Netns::new() {
        Ok(netns) => match netns.run(doctor::checks) {
            Ok(checks) => (checks, None),
            Err(error) => (doctor::checks(), Some(error.to_string())),
        },
        Err(error) => (doctor::checks(), Some(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::sysctl;

    #[test]
    fn no_prerequisite_is_missing_where_lab_tests_run() {
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn sysctls_of_the_host_are_not_prerequisites() {
        let strict = Netns::new().expect("this test needs root");
        let checked = strict.run(|| {
            sysctl::write(&sysctl::mptcp_enabled(), "0").unwrap();
            check()
        });
        assert_eq!(checked.unwrap(), Ok(()));
    }

    #[test]
    fn only_root_can_run_a_lab() {
        let nobody = std::thread::spawn(|| {
            // SAFETY: no pointers; the bare system call changes the calling thread only, which ends here.
            let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
            assert_eq!(changed, 0);
            check()
        });
        let told = nobody.join().unwrap().unwrap_err().to_string();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "the lab cannot run here:");
        for what in ["  privileges: CAP_NET_ADMIN", "  namespaces: "] {
            let line = lines.iter().find(|line| line.starts_with(what));
            assert!(line.is_some_and(|line| line.contains("run as root")), "{told}");
        }
    }
}

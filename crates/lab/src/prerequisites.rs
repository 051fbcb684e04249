//! What the lab needs of this machine, looked at before anything is changed.

use linux::doctor::{self, Need};
use linux::netns::{CreateError, Netns};
use thiserror::Error;

/// What is missing, and how to get it.
#[derive(Debug, Error)]
pub enum MissingError {
    /// Not allowed to make namespaces.
    #[error("the lab makes network namespaces; run it as root")]
    NotRoot,
    /// No namespace for another reason.
    #[error(transparent)]
    Namespace(CreateError),
    /// Things that the lab cannot do without.
    #[error("the lab needs {}", .0.join("; and "))]
    Missing(Vec<String>),
}

/// Looks whether a lab can be run here. What only makes it worse (no real-time scheduling) is told by every run itself.
pub fn check() -> Result<(), MissingError> {
    let netns = Netns::new().map_err(|error| match error {
        CreateError::NotPermitted => MissingError::NotRoot,
        other => MissingError::Namespace(other),
    })?;
    // In a namespace of its own, so that a stricter setting of the host does not count.
    let checks = netns.run(doctor::checks).map_err(|_| MissingError::NotRoot)?;
    let needed = |check: &doctor::Check| check.need == Need::Must || check.name == "tun";
    let missing: Vec<String> = checks
        .into_iter()
        .filter(needed)
        .filter_map(|check| check.result.err().map(|what| format!("{}: {what}", check.name)))
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(MissingError::Missing(missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_missing_where_the_other_tests_run() {
        check().unwrap();
    }

    #[test]
    fn nobody_but_root_can_run_a_lab() {
        let nobody = std::thread::spawn(|| {
            // SAFETY: no pointers; the bare system call changes the calling thread only, which ends here.
            let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
            assert_eq!(changed, 0);
            check()
        });
        assert!(matches!(nobody.join().unwrap(), Err(MissingError::NotRoot)));
    }

    #[test]
    fn what_is_missing_is_told_with_its_remedy() {
        let error = MissingError::Missing(vec![
            "tun: no /dev/net/tun; `modprobe tun`".into(),
            "mptcp: none".into(),
        ]);
        assert_eq!(
            error.to_string(),
            "the lab needs tun: no /dev/net/tun; `modprobe tun`; and mptcp: none"
        );
        assert!(MissingError::NotRoot.to_string().contains("run it as root"));
    }
}

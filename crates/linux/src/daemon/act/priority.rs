//! Demoting and promoting subflows.

use crate::daemon::act::conns::Conns;
use crate::daemon::act::error::ActError;
use crate::daemon::flows::book::Subflow;
use crate::daemon::flows::names::{pair, token_of};
use crate::daemon::host::Host;
use crate::mptcp_pm;
use policy::{Action, LinkId, SubflowId};
use units::Instant;

impl Conns {
    pub(crate) fn set_backup(
        &mut self,
        now: Instant,
        id: SubflowId,
        backup: bool,
        host: &mut Host,
    ) -> Result<(), ActError> {
        self.priorities.forget(id);
        match self.try_set_backup(id, backup, host) {
            Err(ActError::SetBackup(mptcp_pm::SetBackupError::NotReady { .. })) => {
                self.priorities.later(now, id, backup);
                Ok(())
            }
            result => result,
        }
    }

    fn try_set_backup(&mut self, id: SubflowId, backup: bool, host: &mut Host) -> Result<(), ActError> {
        let living = |subflow: &&mut Subflow| subflow.living();
        let subflow = self
            .flows
            .subflow_mut(id)
            .filter(living)
            .ok_or(ActError::NoSubflow)?;
        host.commands
            .set_backup(token_of(subflow.conn), &pair(&subflow.ends), backup)?;
        subflow.backup = backup;
        Ok(())
    }

    /// Retries changes of priority that the kernel has refused.
    pub(crate) fn set_priorities(&mut self, now: Instant, doubted: &[LinkId], host: &mut Host) {
        while let Some(wanted) = self.priorities.due(now) {
            let subflow = self.flows.subflow(wanted.subflow);
            if subflow.is_some_and(|subflow| subflow.living() && doubted.contains(&subflow.link)) {
                self.priorities.put_off(now, wanted);
                continue;
            }
            let result = self.try_set_backup(wanted.subflow, wanted.backup, host);
            if let Err(error) = result
                && !(is_not_ready(&error) && self.priorities.again(now, wanted))
            {
                let action = Action::SetBackup {
                    subflow: wanted.subflow,
                    backup: wanted.backup,
                };
                host.outlet.failed(&action, &error);
            }
        }
    }
}

const fn is_not_ready(error: &ActError) -> bool {
    matches!(
        error,
        ActError::SetBackup(mptcp_pm::SetBackupError::NotReady { .. })
    )
}

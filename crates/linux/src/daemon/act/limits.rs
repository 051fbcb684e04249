//! Limits on the queues of one connection.

use crate::bpf::PacedSubflow;
use crate::daemon::act::conns::Conns;
use crate::daemon::act::error::ActError;
use crate::daemon::flows::book::Phase;
use crate::daemon::host::Host;
use crate::daemon::links::book::Links;
use crate::daemon::queues::caps::Cap;
use crate::daemon::queues::levers::LeverError;
use policy::{Ahead, ConnId, SubflowId};
use units::{Bitrate, Bytes, Instant};

impl Conns {
    /// Limits how far ahead the peer may send. If that fails, limits how far ahead the peers of later
    /// connections may send.
    pub(crate) fn bound_window(
        &mut self,
        conn: ConnId,
        ahead: Option<Ahead>,
        host: &mut Host,
        links: &Links,
    ) -> Result<(), ActError> {
        self.still_open(conn)?;
        let bounded = self.bounds.levers.window(conn, ahead, &mut host.settings.journal);
        self.bounds.mind_unattached(&self.flows, links, host);
        match (bounded, ahead) {
            (Err(LeverError::NotLoaded { .. }), Some(ahead)) => {
                Ok(host.settings.bound_new_connections(conn, ahead.usual())?)
            }
            (result, _) => Ok(result?),
        }
    }

    /// Limits the unsent bytes on each subflow.
    pub(crate) fn bound_unsent(
        &mut self,
        conn: ConnId,
        unsent: Option<Bytes>,
        host: &mut Host,
    ) -> Result<(), ActError> {
        self.still_open(conn)?;
        let journal = &mut host.settings.journal;
        Ok(self.bounds.levers.unsent(conn, unsent, journal)?)
    }

    /// Fails unless the connection is open. Limits of a closed or left-alone connection are released at once,
    /// but the engine may decide on it before it is told.
    fn still_open(&self, conn: ConnId) -> Result<(), ActError> {
        let open = self.flows.conn(conn).filter(|conn| conn.phase == Phase::Open);
        open.map(drop).ok_or(ActError::NoConnection)
    }

    pub(crate) fn cap_pacing(
        &mut self,
        id: SubflowId,
        rate: Bitrate,
        until: Instant,
        host: &mut Host,
    ) -> Result<(), ActError> {
        let subflow = self.flows.subflow(id).filter(|subflow| subflow.living());
        let (conn, local) = subflow
            .map(|subflow| (subflow.conn, subflow.ends.local))
            .ok_or(ActError::NoSubflow)?;
        self.still_open(conn)?;
        let subflow = PacedSubflow {
            conn,
            local_port: local.port(),
        };
        let cap = Cap { subflow, rate, until };
        Ok(self.bounds.levers.cap_pacing(cap, &mut host.settings.journal)?)
    }
}

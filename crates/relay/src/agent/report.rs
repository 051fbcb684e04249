//! What an agent reports to the daemon.

use super::{Agent, Shared};
use crate::control::Socket;
use crate::delays::{Counted, Delays, FirstByte};
use crate::pump::Tally;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trace::agent::{ASK, Application, Totals};

/// All ways, and what a connection has before it has one.
const WAYS: [&str; 4] = ["opening", "relay", "direct", "plain"];

/// The way that a connection takes.
#[derive(Debug, Clone)]
pub struct Taken {
    way: &'static str,
    why: String,
}

impl Taken {
    /// A way with its reason.
    pub const fn new(way: &'static str, why: String) -> Self {
        Self { way, why }
    }

    /// Whether it is the relay's.
    pub fn is_relay(&self) -> bool {
        self.way == "relay"
    }
}

/// Connections that are open.
#[derive(Default)]
pub struct Live {
    table: Mutex<Table>,
    /// From an application's connection to the first byte of its server.
    first_byte: Arc<Delays>,
}

#[derive(Default)]
struct Table {
    next: u64,
    open: BTreeMap<u64, Row>,
    totals: Totals,
}

struct Row {
    client: SocketAddr,
    server: SocketAddr,
    socks: Option<SocketAddr>,
    taken: Taken,
    carried_from: Option<SocketAddr>,
    tally: Shared,
}

impl Live {
    /// Lists a connection until the result is dropped. `socks` is our address if the client asked there.
    pub fn enter(&self, client: SocketAddr, server: SocketAddr, socks: Option<SocketAddr>) -> Entry<'_> {
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        let first_byte = FirstByte::from_now(&self.first_byte);
        let tally = Shared::new(Tally::measuring(first_byte));
        let row = Row {
            client,
            server,
            socks,
            taken: Taken::new("opening", "the way is being opened".into()),
            carried_from: None,
            tally: tally.clone(),
        };
        table.open.insert(id, row);
        Entry {
            live: self,
            id,
            server,
            tally,
        }
    }

    fn connections(&self) -> Vec<Application> {
        let table = self.table();
        let row = |row: &Row| Application {
            client: row.client,
            server: row.server,
            socks: row.socks,
            way: row.taken.way.to_owned(),
            why: row.taken.why.clone(),
            carried_from: row.carried_from,
            up_bytes: row.tally.up(),
            down_bytes: row.tally.down(),
            uid: None,
            unit: None,
            inode: None,
        };
        table.open.values().map(row).collect()
    }

    /// Whether a connection over the relay that is open has brought a byte of this server.
    pub fn replied(&self, server: SocketAddr) -> bool {
        let replied = |row: &Row| row.server == server && row.taken.is_relay() && row.tally.down() > 0;
        self.table().open.values().any(replied)
    }

    /// Times from an application's connection to the first byte of its server.
    pub fn first_byte(&self) -> Counted {
        self.first_byte.counted()
    }

    /// How many connections are open, by way.
    pub fn open(&self) -> BTreeMap<&'static str, u64> {
        let mut open = BTreeMap::from(WAYS.map(|way| (way, 0)));
        for row in self.table().open.values() {
            *open.entry(row.taken.way).or_default() += 1;
        }
        open
    }

    /// Counters since the agent started.
    pub fn totals(&self) -> Totals {
        let table = self.table();
        let mut totals = table.totals;
        for row in table.open.values() {
            totals.up_bytes += row.tally.up();
            totals.down_bytes += row.tally.down();
        }
        totals
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listed connection.
pub struct Entry<'l> {
    live: &'l Live,
    id: u64,
    server: SocketAddr,
    tally: Shared,
}

impl Entry<'_> {
    /// Sets the way that it takes, and our address on the connection there.
    pub fn takes(&self, taken: Taken, carried_from: Option<SocketAddr>) {
        let mut table = self.live.table();
        let totals = &mut table.totals;
        match taken.way {
            "relay" => totals.relay += 1,
            "direct" => totals.direct += 1,
            _ => totals.plain += 1,
        }
        if let Some(row) = table.open.get_mut(&self.id) {
            row.taken = taken;
            row.carried_from = carried_from;
        }
    }

    /// Counts that no way reaches its server.
    pub fn fails(&self) {
        self.live.table().totals.failed += 1;
    }

    /// The server that its application wants.
    pub const fn server(&self) -> SocketAddr {
        self.server
    }

    /// Its counters.
    pub fn tally(&self) -> &Shared {
        &self.tally
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut table = self.live.table();
        table.open.remove(&self.id);
        table.totals.up_bytes += self.tally.up();
        table.totals.down_bytes += self.tally.down();
    }
}

/// Prints a line. A daemon that has gone does not read it.
pub fn print(line: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(line) {
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// Answers questions in a thread. Ends the process, and removes its socket, when there can be no more.
pub fn answer_questions(agent: Arc<Agent>, socket: Option<Socket>) -> io::Result<()> {
    let answer = move || {
        let asked = io::stdin().lock().lines().map_while(Result::ok);
        asked
            .filter(|line| line == ASK)
            .for_each(|_| print(&agent.state()));
        drop(socket);
        std::process::exit(0);
    };
    std::thread::Builder::new()
        .name("questions".into())
        .spawn(answer)
        .map(drop)
}

impl Agent {
    fn state(&self) -> trace::agent::Agent {
        let relay = self.relay.as_ref();
        trace::agent::Agent {
            relay: relay.map(|relay| relay.name().to_owned()),
            relay_trouble: relay
                .and_then(|relay| relay.trouble())
                .map(|error| error.to_string()),
            totals: self.live.totals(),
            blackhole: None,
            connections: self.live.connections(),
        }
    }
}

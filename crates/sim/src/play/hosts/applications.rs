//! When applications connect, give up connections, request and read.
//!
//! # Checked by
//! `tests/host_plays.rs`.

use super::flows::Opening;
use super::others::Openers;
use super::relay;
use super::world::World;
use crate::hosts::{App, Host};
use links::Direction;
use units::Bytes;

impl World<'_> {
    /// Opens and leaves connections, and takes what applications have read.
    pub(super) fn run_applications(&mut self) {
        self.progress();
        while let Some((link, direction, packet)) = self.datagrams.due(self.now) {
            self.accounts.sent(packet.conn);
            match direction {
                Direction::Up => self.carrier.send(self.now, link, direction, &packet),
                Direction::Down => self.send_from_server(link, packet),
            }
        }
        while let Some((host, conn)) = self.leave() {
            let now = self.now;
            self.opener(host)
                .act(now, conn, |connection, out| connection.abort(now, out));
        }
        self.ask_for_links();
        self.request_blocks();
        self.connect();
        self.dispatch();
    }

    /// Sends the requests for blocks that are due.
    fn request_blocks(&mut self) {
        while let Some((host, conn, bytes)) = self.next_request() {
            self.serves(conn, |app| app.expect_request(bytes.get()));
            let now = self.now;
            self.opener(host).tell(now, conn, App::request_range);
        }
    }

    fn next_request(&mut self) -> Option<(usize, u32, Bytes)> {
        let openers = Openers::new(&self.client, &self.plugs, self.first_route(), &self.others);
        self.flows.request(self.now, openers)
    }

    /// Opens the connections that flows want.
    fn connect(&mut self) {
        while let Some((owner, link)) = self.flows.wanting(self.now, self.openers()) {
            let flow = owner.flow;
            let (host, bound) = (self.flows.all[flow].host, !self.flows.all[flow].is_mptcp);
            let Opening { conn, configs, apps } = self.flows.begin(self.now, owner);
            let [client, server] = configs;
            let asks = self.expect(conn, flow, server, apps);
            let (now, path) = (self.now, self.opening(link, bound));
            let opener = self.opener(host);
            opener.configure(client);
            opener.open(now, conn, path, asks);
            match host.checked_sub(1) {
                None => self.begins(conn),
                Some(other) => self.others.all[other].begins(now, conn),
            }
        }
    }

    fn leave(&mut self) -> Option<(usize, u32)> {
        let openers = Openers::new(&self.client, &self.plugs, self.first_route(), &self.others);
        self.flows.left(self.now, openers)
    }

    pub(super) fn openers(&self) -> Openers<'_> {
        Openers::new(&self.client, &self.plugs, self.first_route(), &self.others)
    }

    /// The host with this number: 0 is the client.
    pub(super) fn opener(&mut self, number: usize) -> &mut Host {
        match number.checked_sub(1) {
            None => &mut self.client,
            Some(other) => &mut self.others.all[other].host,
        }
    }

    fn progress(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(self.flows.asking());
        // In the order of the plan, each once.
        touched.sort_unstable();
        touched.dedup();
        for flow in touched.drain(..) {
            let stalls = self.progress_of(flow);
            stalls.into_iter().for_each(|stall| self.stalled(flow, stall));
        }
        self.touched = touched;
    }

    /// Takes what the applications of one flow have read. Returns the stalls that this ended.
    fn progress_of(&mut self, index: usize) -> Vec<trace::Stall> {
        let openers = Openers::new(&self.client, &self.plugs, self.first_route(), &self.others);
        let flow = &mut self.flows.all[index];
        let opener = openers.host(flow.host);
        let serving = relay::serving(&self.behind, &self.server);
        let reader = if flow.goes_up() { serving } else { opener };
        // Its application has a clock.
        let timed = if flow.is_paced_by_server() {
            serving
        } else {
            opener
        };
        let mut stalls = Vec::new();
        for lane in 0..flow.lanes.len() {
            if let Some(conn) = flow.lanes[lane].conn() {
                let read = reader.connection(conn).map_or(0, |connection| connection.read());
                stalls.extend(flow.progress(self.now, lane, read, timed.app(conn)));
            }
        }
        stalls
    }
}

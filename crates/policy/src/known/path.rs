//! Everything known about one link; the only home of path state.

use crate::estimate::beacons::Beacons;
use crate::estimate::energy;
use crate::estimate::gap::Gap;
use crate::estimate::mobility::Mobility;
use crate::estimate::phy::Phy;
use crate::estimate::signal::{self, Signal};
use crate::io::{ConnId, Family, LinkKind, LinkSpec, Note, Role, Uplink};
use crate::known::air::Air;
use crate::known::cost::Cost;
use crate::known::doubt::Doubt;
use crate::known::portals::Held;
use alloc::boxed::Box;
use units::{Bitrate, Bytes, Dbm, Duration, Instant, Ratio};

/// A link and what is known of it.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) spec: LinkSpec,
    pub(crate) carrier: bool,
    /// Since when it has an address; `None` without one.
    pub(crate) usable_since: Option<Instant>,
    /// How the user's routes rank it, in IPv4 and IPv6.
    pub(crate) uplinks: [Uplink; 2],
    /// When this engine last asked for the association; `None` if it does not want one.
    pub(crate) asked: Option<Instant>,
    pub(crate) beacons: Beacons,
    pub(crate) signal: Signal,
    /// From the first beacon on.
    pub(crate) mobility: Option<Box<Mobility>>,
    /// How its access point sends, if the world has said so.
    pub(crate) phy: Option<Phy>,
    /// From the first frame or survey on.
    pub(crate) air: Option<Box<Air>>,
    pub(crate) cost: Cost,
    /// What its radio draws, if the world has said so.
    pub(crate) draws: Option<energy::Radio>,
    /// What it would carry in ten seconds, in a world that knows.
    pub(crate) foreseen: Option<Bytes>,
    pub(crate) health: Health,
    /// Why nothing new is to use it, although it is alive.
    pub(crate) held: Option<Held>,
    pub(crate) gap: Gap,
    /// The least round-trip time ever seen.
    pub(crate) base_rtt: Option<Duration>,
    /// The queue that has stood before it lately, on average.
    pub(crate) queue: Duration,
    /// The last time that anything arrived over it.
    pub(crate) heard: Option<Instant>,
    /// The interface's own count of received packets.
    pub(crate) received: u64,
    /// The best goodput that it has shown lately, over whichever connection showed most.
    pub(crate) shown: Bitrate,
    /// The most that it is known to carry: it comes down only when the others are full and it brings less.
    pub(crate) worth: Bitrate,
    /// How its subflows stood when they were last looked at together.
    pub(crate) tally: Tally,
    /// Which share of what goes over it is to be marked, by who asks for that.
    pub(crate) marks: Marks,
    /// What was last decided about it.
    pub(crate) note: Option<Note>,
    /// What was since then decided about it for one connection only, while that lasts.
    pub(crate) aside: Option<Note>,
}

/// What a link's subflows are together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    /// Whether there are any.
    pub(crate) joined: bool,
    /// Whether one of them has had the time to find what the link carries.
    pub(crate) grown: bool,
    /// The best goodput that one of them has shown lately.
    pub(crate) best: Bitrate,
    /// What those in use bring now.
    pub(crate) rate: Bitrate,
}

/// Shares that are to be marked: of what arrives the larger one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    /// Because other access points of its channel are better.
    pub(crate) steering: Ratio,
    /// Because a queue stands before it, on its way here.
    pub(crate) queue: Ratio,
    /// Of what is sent, because a queue stands before it on its way from here.
    pub(crate) sent: Ratio,
}

impl Marks {
    pub(crate) fn arriving(self) -> Ratio {
        self.steering.max(self.queue)
    }
}

/// Whether a link still carries anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// Nothing speaks against it.
    Alive,
    /// It fell silent; probes are out.
    Doubted(Doubt),
    /// It is given up until a probe is answered.
    Dead {
        /// When to probe again.
        next_try: Instant,
        /// How many probes were in vain.
        tries: u32,
    },
}

impl Path {
    pub(crate) fn new(spec: LinkSpec) -> Self {
        Self {
            spec,
            carrier: false,
            usable_since: None,
            uplinks: [Uplink::default(); 2],
            asked: None,
            beacons: Beacons::default(),
            signal: Signal::default(),
            mobility: None,
            phy: None,
            air: None,
            cost: Cost::default(),
            draws: None,
            foreseen: None,
            health: Health::Alive,
            held: None,
            gap: Gap::default(),
            base_rtt: None,
            queue: Duration::ZERO,
            heard: None,
            received: 0,
            shown: Bitrate::ZERO,
            worth: Bitrate::ZERO,
            tally: Tally::default(),
            marks: Marks::default(),
            note: None,
            aside: None,
        }
    }

    /// What was decided last, of the link or of it for one connection.
    pub(crate) fn decided(&self) -> Option<&Note> {
        self.aside.as_ref().or(self.note.as_ref())
    }

    pub(crate) fn decide(&mut self, note: Note) {
        if note.conn.is_some() {
            self.aside = Some(note);
        } else {
            (self.note, self.aside) = (Some(note), None);
        }
    }

    /// What was decided for that connection is no longer so.
    pub(crate) fn forget_aside(&mut self, conn: ConnId) {
        self.aside.take_if(|note| note.conn == Some(conn));
    }

    /// Has a carrier and an address.
    pub(crate) const fn is_usable(&self) -> bool {
        self.carrier && self.usable_since.is_some()
    }

    /// Neither role, trust nor cost speak against it.
    pub(crate) fn is_allowed(&self) -> bool {
        self.spec.role != Role::Never && self.cost.refused.is_none()
    }

    /// Usable, allowed, and not given up.
    pub(crate) fn is_sound(&self) -> bool {
        self.is_usable() && self.is_allowed() && !matches!(self.health, Health::Dead { .. })
    }

    /// Sound, and not held out: something new may use it.
    pub(crate) fn is_candidate(&self) -> bool {
        self.is_sound() && self.held.is_none()
    }

    /// The estimators of a WiFi link's air, made when they are first needed.
    pub(crate) fn air(&mut self) -> Option<&mut Air> {
        let phy = self.phy.unwrap_or(Phy::of_channel(self.spec.channel));
        let is_wifi = self.is_wifi();
        let air = self.air.as_mut();
        match air {
            None if is_wifi => Some(self.air.insert(Box::new(Air::new(phy)))),
            _ => self.air.as_deref_mut(),
        }
    }

    /// A beacon was heard.
    pub(crate) fn beacon(&mut self, now: Instant, signal: Dbm) {
        self.beacons.hear(now);
        self.signal.hear(now, signal);
        self.mobility
            .get_or_insert_default()
            .hear(now, signal::snr(signal));
    }

    /// Nothing speaks against it at all.
    pub(crate) fn is_alive(&self) -> bool {
        self.is_usable() && self.health == Health::Alive
    }

    /// The open question, if there is one.
    pub(crate) const fn doubt(&self) -> Option<Doubt> {
        match self.health {
            Health::Doubted(doubt) => Some(doubt),
            Health::Alive | Health::Dead { .. } => None,
        }
    }

    /// How the user's routes of one family rank it.
    pub(crate) const fn uplink(&self, family: Family) -> Uplink {
        self.uplinks[family as usize]
    }

    pub(crate) fn is_wifi(&self) -> bool {
        self.spec.kind == LinkKind::Wifi
    }

    /// WiFi whose signal is known: its beacons have been heard.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_wifi() && self.signal.mean().is_some()
    }

    /// A round-trip time was measured over it.
    pub(crate) fn measured(&mut self, rtt: Duration) {
        if rtt > Duration::ZERO {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// The least round-trip time seen, or a guess by kind before the first.
    pub(crate) fn rtt(&self) -> Duration {
        self.base_rtt.unwrap_or(match self.spec.kind {
            LinkKind::Cable | LinkKind::Wifi => Duration::from_millis(50),
            LinkKind::Cellular => Duration::from_millis(100),
        })
    }

    /// The round trip that a packet has to expect now.
    pub(crate) fn delay(&self) -> Duration {
        self.rtt() + self.queue
    }

    /// The goodput to expect if it were used now: by signal for WiFi, by what it has shown for the others.
    pub(crate) fn expected(&self) -> Bitrate {
        match self.signal.mean() {
            Some(mean) if self.is_wifi() => signal::expected_goodput(mean),
            _ => self.shown,
        }
    }

    /// The signal that a WiFi link will have after `ahead`; `None` for other links.
    pub(crate) fn signal_ahead(&self, ahead: Duration) -> Option<Dbm> {
        self.signal.ahead(ahead).filter(|_| self.is_wifi())
    }
}

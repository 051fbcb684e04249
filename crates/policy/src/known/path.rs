//! State of one link, held nowhere else.

use crate::estimate::beacons::Beacons;
use crate::estimate::energy;
use crate::estimate::gap::Gap;
use crate::estimate::mobility::Mobility;
use crate::estimate::phy::Phy;
use crate::estimate::signal::{self, Signal};
use crate::io::reason::Held;
use crate::io::{ConnId, Family, LinkKind, LinkSpec, Note, Role, Uplink};
use crate::known::air::Air;
use crate::known::cost::Cost;
use crate::known::doubt::Doubt;
use alloc::boxed::Box;
use units::{Bitrate, Bytes, Dbm, Duration, Instant, Ratio};

/// A link and its state.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) spec: LinkSpec,
    pub(crate) carrier: bool,
    /// Since when it has an address; `None` without one.
    pub(crate) usable_since: Option<Instant>,
    /// Whether it has an address in IPv4, and in IPv6. Both are `false` if the world has reported none.
    pub(crate) families: [bool; 2],
    /// How the user's routes rank it, in IPv4 and IPv6.
    pub(crate) uplinks: [Uplink; 2],
    /// When the engine last requested the association. `None` if it does not want one.
    pub(crate) asked: Option<Instant>,
    pub(crate) beacons: Beacons,
    pub(crate) signal: Signal,
    /// Present from the first beacon on.
    pub(crate) mobility: Option<Box<Mobility>>,
    /// The PHY of its access point, if the world has reported it.
    pub(crate) phy: Option<Phy>,
    /// Present from the first frame or survey on.
    pub(crate) air: Option<Box<Air>>,
    pub(crate) cost: Cost,
    /// What its radio draws, if the world has reported it.
    pub(crate) draws: Option<energy::Radio>,
    /// What it would carry in ten seconds, in a world that knows.
    pub(crate) foreseen: Option<Bytes>,
    pub(crate) health: Health,
    /// The cycle of the radio that it shares with other networks. Zero: it has a radio to itself.
    pub(crate) cycle: Duration,
    /// Why nothing new may use it, although it is alive.
    pub(crate) held: Option<Held>,
    pub(crate) gap: Gap,
    /// The minimum round-trip time ever measured.
    pub(crate) base_rtt: Option<Duration>,
    /// The recent queueing delay on it, smoothed.
    pub(crate) queue: Duration,
    /// When anything last arrived over it.
    pub(crate) heard: Option<Instant>,
    /// The interface's counter of received packets.
    pub(crate) received: u64,
    /// The best recent goodput, over any one connection.
    pub(crate) shown: Bitrate,
    /// The most that it is known to carry. It falls only when the others are full and it carries less.
    pub(crate) worth: Bitrate,
    /// Its subflows together, as of the last tick.
    pub(crate) tally: Tally,
    /// The share of its packets to mark, by the part that requests it.
    pub(crate) marks: Marks,
    /// The last decision about it.
    pub(crate) note: Option<Note>,
    /// A later decision about it for one connection only, while that holds.
    pub(crate) aside: Option<Note>,
}

/// The subflows of a link together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    /// Whether there are any.
    pub(crate) joined: bool,
    /// Whether one of them is old enough to have found the link's rate.
    pub(crate) grown: bool,
    /// The best recent goodput of any one of them.
    pub(crate) best: Bitrate,
    /// The present rate of those in use.
    pub(crate) rate: Bitrate,
}

/// Shares of packets to mark. For arriving packets, the larger one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    /// Because other access points of its channel are better.
    pub(crate) steering: Ratio,
    /// Because of a queue on the way here.
    pub(crate) queue: Ratio,
    /// Of sent packets, because of a queue on the way from here.
    pub(crate) sent: Ratio,
}

impl Marks {
    pub(crate) fn arriving(self) -> Ratio {
        self.steering.max(self.queue)
    }
}

/// Whether a link still carries data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// No doubt is open.
    Alive,
    /// It is silent, and probes are out.
    Doubted(Doubt),
    /// It is dead until a probe is answered.
    Dead {
        /// When to probe again.
        next_try: Instant,
        /// Probes sent without a reply.
        tries: u32,
    },
}

impl Path {
    pub(crate) fn new(spec: LinkSpec) -> Self {
        Self {
            spec,
            carrier: false,
            usable_since: None,
            families: [false; 2],
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
            cycle: Duration::ZERO,
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

    /// The last decision about the link, or about it for one connection.
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

    /// Drops what was decided about it for this connection.
    pub(crate) fn forget_aside(&mut self, conn: ConnId) {
        self.aside.take_if(|note| note.conn == Some(conn));
    }

    /// Whether it has a carrier and an address.
    pub(crate) const fn is_usable(&self) -> bool {
        self.carrier && self.usable_since.is_some()
    }

    /// Whether role, trust and cost all permit its use.
    pub(crate) fn is_allowed(&self) -> bool {
        self.spec.role != Role::Never && self.cost.refused.is_none()
    }

    /// Whether it is usable, allowed, and not dead.
    pub(crate) fn is_sound(&self) -> bool {
        self.is_usable() && self.is_allowed() && !self.is_dead()
    }

    /// Whether it has an address, and is proven dead.
    pub(crate) fn is_dead(&self) -> bool {
        self.is_usable() && matches!(self.health, Health::Dead { .. })
    }

    /// Whether something new may use it: it is sound and not held out.
    pub(crate) fn is_candidate(&self) -> bool {
        self.is_sound() && self.held.is_none()
    }

    /// The estimators of a WiFi link's air, created when first needed.
    pub(crate) fn air(&mut self) -> Option<&mut Air> {
        let phy = self.phy.unwrap_or(Phy::of_channel(self.spec.channel));
        let is_wifi = self.is_wifi();
        let air = self.air.as_mut();
        match air {
            None if is_wifi => Some(self.air.insert(Box::new(Air::new(phy)))),
            _ => self.air.as_deref_mut(),
        }
    }

    /// Records a beacon.
    pub(crate) fn beacon(&mut self, now: Instant, signal: Dbm) {
        self.beacons.hear(now);
        self.signal.hear(now, signal);
        self.mobility
            .get_or_insert_default()
            .hear(now, signal::snr(signal));
    }

    /// Drops what was measured over another access point. Its beacons age by themselves.
    pub(crate) fn roamed(&mut self) {
        self.signal.restart();
        (self.mobility, self.air, self.base_rtt) = (None, None, None);
        (self.queue, self.gap) = (Duration::ZERO, Gap::default());
        (self.shown, self.worth) = (Bitrate::ZERO, Bitrate::ZERO);
        self.health = match self.health {
            // Whether the other access point leads anywhere is found by a probe, at once.
            Health::Dead { .. } => Health::Dead {
                next_try: Instant::ZERO,
                tries: 0,
            },
            Health::Alive | Health::Doubted(_) => Health::Alive,
        };
    }

    /// Whether it is usable and no doubt is open.
    pub(crate) fn is_alive(&self) -> bool {
        self.is_usable() && self.health == Health::Alive
    }

    /// Records that the link has an address from now on, or none.
    pub(crate) fn set_usable(&mut self, now: Instant, usable: bool) {
        if self.usable_since.is_some() != usable {
            self.usable_since = usable.then_some(now);
            self.health = Health::Alive;
        }
        if !usable {
            self.families = [false; 2];
        }
    }

    /// The open doubt, if any.
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

    /// Whether it is WiFi with a known signal: its beacons were heard.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_wifi() && self.signal.mean().is_some()
    }

    /// Records a round-trip time.
    pub(crate) fn measured(&mut self, rtt: Duration) {
        if rtt > Duration::ZERO {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// The minimum round-trip time, or a default by kind before the first sample.
    pub(crate) fn rtt(&self) -> Duration {
        self.base_rtt.unwrap_or(match self.spec.kind {
            LinkKind::Cable | LinkKind::Wifi => Duration::from_millis(50),
            LinkKind::Cellular => Duration::from_millis(100),
        })
    }

    /// The round-trip time that a packet should expect now.
    pub(crate) fn delay(&self) -> Duration {
        self.rtt() + self.queue
    }

    /// The goodput to expect if it were used now: from the signal for WiFi, from recent goodput for others.
    pub(crate) fn expected(&self) -> Bitrate {
        match self.signal.mean() {
            Some(mean) if self.is_wifi() => signal::expected_goodput(mean),
            _ => self.shown,
        }
    }

    /// The signal of a WiFi link after `ahead`. `None` for other links.
    pub(crate) fn signal_ahead(&self, ahead: Duration) -> Option<Dbm> {
        self.signal.ahead(ahead).filter(|_| self.is_wifi())
    }
}

//! Groups: access points and walkers of one table, and flows over the nearest access point of a group.

use super::{LinkKind, Plan, Point, Transport, Waypoint};
use std::ops::Range;
use units::{Duration, Rng};

/// Positions that the seed chooses, uniformly in a rectangle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scatter {
    /// The group, which names its random stream: `walkers.NAME`.
    pub name: String,
    /// Who is scattered.
    pub members: Members,
    /// One corner.
    pub from: Point,
    /// The opposite corner.
    pub to: Point,
}

/// Members of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// Indices in [`Plan::links`], all of access points.
    AccessPoints(Range<usize>),
    /// Indices in [`Plan::walkers`].
    Walkers(Range<usize>),
}

/// A flow over the access point of a group that is nearest to its walker when the run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Index in [`Plan::flows`].
    pub flow: usize,
    /// Indices in [`Plan::links`].
    pub among: Range<usize>,
}

impl Plan {
    /// The plan of a run with this seed: it places scattered members and what they carry, and then chooses
    /// the nearest access points.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        for scatter in self.scatters.clone() {
            let mut rng = Rng::named(seed, &scatter.name);
            let mut place = || scatter.place(&mut rng);
            match scatter.members.clone() {
                Members::AccessPoints(range) => range.for_each(|link| self.move_access_point(link, place())),
                Members::Walkers(range) => range.for_each(|walker| {
                    self.walkers[walker].way = vec![Waypoint {
                        at: Duration::ZERO,
                        point: place(),
                    }];
                }),
            }
        }
        self.give_to_carriers();
        for place in 0..self.nearest.len() {
            self.choose_nearest(place);
        }
        self
    }

    fn move_access_point(&mut self, link: usize, to: Point) {
        if let LinkKind::Wifi(ap) = &mut self.links[link].kind {
            ap.at = to;
        }
    }

    /// Access points that walkers carry begin where these are.
    fn give_to_carriers(&mut self) {
        for link in 0..self.links.len() {
            if let LinkKind::Wifi(ap) = &self.links[link].kind
                && let Some(by) = ap.carried_by
            {
                let begins = self.walkers[by].position(Duration::ZERO);
                self.move_access_point(link, begins);
            }
        }
    }

    fn choose_nearest(&mut self, place: usize) {
        let Nearest { flow, among } = self.nearest[place].clone();
        let here = self.walkers[self.flows[flow].by].position(Duration::ZERO);
        let distance = |link: &usize| match &self.links[*link].kind {
            LinkKind::Wifi(ap) => ap.at.distance_mm(here),
            LinkKind::Cell(_) | LinkKind::Cable(_) => u64::MAX,
        };
        let Some(nearest) = among.min_by_key(distance) else {
            return;
        };
        match &mut self.flows[flow].transport {
            Transport::Udp { over } | Transport::Tcp { over } => *over = nearest,
            Transport::Mptcp | Transport::EachLink | Transport::EachPeer { .. } => {}
        }
    }
}

impl Scatter {
    fn place(&self, rng: &mut Rng) -> Point {
        let mut between = |from: i64, to: i64| from.min(to) + rng.below(from.abs_diff(to) + 1) as i64;
        Point {
            x_mm: between(self.from.x_mm, self.to.x_mm),
            y_mm: between(self.from.y_mm, self.to.y_mm),
        }
    }
}

//! Where new connections start.

use super::State;
use crate::io::{Action, Family, LinkId, Uplink};
use crate::known::path::Path;

impl State {
    /// Makes new connections of this family start on this link. `None`: where the user's routes lead.
    pub(crate) fn default_route(&mut self, family: Family, link: Option<LinkId>) {
        let chosen = &mut self.chosen[family as usize];
        if core::mem::replace(chosen, link) != link {
            self.actions.push_back(Action::DefaultRoute(family, link));
        }
    }

    /// Starts new connections of both families on this link, for strategies that use one link at a time.
    pub(crate) fn default_routes(&mut self, link: LinkId) {
        for family in Family::ALL {
            self.default_route(family, Some(link));
        }
    }

    /// The link chosen for new connections of this family.
    pub(crate) fn chosen(&self, family: Family) -> Option<LinkId> {
        self.chosen[family as usize]
    }

    /// A usable link on which new connections start: the chosen one, or by the user's routes.
    pub(crate) fn route(&self) -> Option<LinkId> {
        let is_candidate = |link: &LinkId| self.paths.get(link).is_some_and(Path::is_candidate);
        let routes = Family::ALL.map(|family| self.leads_to(family));
        routes.into_iter().flatten().find(is_candidate)
    }

    /// Whether new connections of a family start on this link, usable or not.
    pub(crate) fn is_route(&self, link: LinkId) -> bool {
        Family::ALL
            .iter()
            .any(|&family| self.leads_to(family) == Some(link))
    }

    /// Where new connections of this family start: on the chosen link, or by the user's routes.
    fn leads_to(&self, family: Family) -> Option<LinkId> {
        let by_routes = || {
            let ranked = self
                .paths
                .iter()
                .filter_map(|(&link, path)| match path.uplink(family) {
                    Uplink::Metric(metric) => Some((metric, link)),
                    Uplink::Declared | Uplink::None => None,
                });
            ranked.min().map(|(_, link)| link)
        };
        self.chosen(family).or_else(by_routes)
    }
}

//! The cgroups that rules name.
//!
//! A rule of nftables names a cgroup by its inode, which a service gets anew whenever it starts. So the paths
//! are looked up again every second, and the rules follow.
//!
//! # Sources
//! - nft(8), `socket cgroupv2`: the path is that below `/sys/fs/cgroup`. The level counts from the root of
//!   cgroup v2.
//!
//! # Checked by
//! `tests`; `crates/cli/tests/host/wishes.rs`.

use super::Networks;
use crate::daemon::api::networks::FlowRule;
use crate::daemon::api::observe::Observation;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Instant;

/// Where nftables looks for cgroups.
const ROOT: &str = "/sys/fs/cgroup";
/// Interval between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// The cgroups of rules, by the numbers of the rules.
pub(super) type Cgroups = BTreeMap<u8, Option<Cgroup>>;

/// A cgroup that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cgroup {
    /// Its path below `/sys/fs/cgroup`.
    path: String,
    /// How far below the root of cgroup v2 it is.
    level: usize,
    inode: u64,
}

impl Cgroup {
    /// Finds it by its path from the root of cgroup v2. `None` if it does not exist.
    pub(super) fn find(path: &str) -> Option<Self> {
        Self::below(&root(&fs::read_to_string("/proc/self/mountinfo").ok()?)?, path)
    }

    fn below(root: &Path, path: &str) -> Option<Self> {
        let folder = root.join(path);
        let inode = fs::metadata(folder.join("cgroup.procs")).and_then(|_| fs::metadata(&folder));
        Some(Self {
            path: folder.strip_prefix(ROOT).ok()?.to_str()?.to_owned(),
            level: path.split('/').count(),
            inode: inode.ok()?.ino(),
        })
    }

    /// The selector of nftables.
    pub(super) fn selector(&self) -> String {
        format!("socket cgroupv2 level {} \"{}\"", self.level, self.path)
    }

    #[cfg(test)]
    pub(super) fn of_test(path: &str, level: usize) -> Self {
        Self {
            path: path.to_owned(),
            level,
            inode: 1,
        }
    }
}

/// Where cgroup v2 is mounted, according to `/proc/self/mountinfo`.
fn root(mounts: &str) -> Option<PathBuf> {
    let of_v2 = |line: &&str| line.contains(" - cgroup2 ");
    let mut places = mounts
        .lines()
        .filter(of_v2)
        .filter_map(|line| line.split(' ').nth(4));
    places.find(|place| place.starts_with(ROOT)).map(PathBuf::from)
}

impl Networks {
    /// Looks for the cgroups of rules, if it is time. Says which of them have gone.
    pub(crate) fn look_for_cgroups(&mut self, now: Instant, links: &Links, outlet: &mut Outlet) {
        if self.cgroups_at().is_none_or(|at| at > now) {
            return;
        }
        self.cgroups_looked_at = Some(now);
        let found = cgroups(&self.rules);
        for (number, cgroup) in &found {
            let before = self.cgroups.get(number);
            let name = self.rules.iter().find(|(other, _)| other == number);
            let name = name
                .and_then(|(_, rule)| rule.cgroup.as_deref())
                .unwrap_or_default();
            if cgroup.is_none() && before != Some(&None) {
                let why = format!("there is no cgroup `{name}` now; rule {number} applies once it exists");
                outlet.observe(Observation::Trouble {
                    what: "networks of flows",
                    why: &why,
                });
            }
        }
        if found != self.cgroups {
            self.cgroups = found;
            self.basis = None;
            self.settle(links, outlet);
        }
    }

    /// When the next look is due. `None`: no rule names a cgroup.
    pub(super) fn cgroups_at(&self) -> Option<Instant> {
        let any = self.rules.iter().any(|(_, rule)| rule.cgroup.is_some());
        any.then(|| self.cgroups_looked_at.map_or(Instant::ZERO, |at| at + LOOK))
    }
}

/// The cgroups that these rules name.
pub(super) fn cgroups(rules: &[(u8, FlowRule)]) -> Cgroups {
    let of_rule = |(number, rule): &(u8, FlowRule)| Some((*number, Cgroup::find(rule.cgroup.as_deref()?)));
    rules.iter().filter_map(of_rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroup_v2_is_found_where_it_is_mounted() {
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        assert_eq!(root(hybrid), Some("/sys/fs/cgroup/unified".into()));
        let usual = "28 22 0:25 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
        assert_eq!(root(usual), Some("/sys/fs/cgroup".into()));
        assert_eq!(root("28 22 0:25 / /srv/cgroup rw - cgroup2 cgroup2 rw\n"), None);
        assert_eq!(Cgroup::find("no/such.slice"), None);
        let cgroup = Cgroup::of_test("unified/a.slice/b.service", 2);
        assert_eq!(
            cgroup.selector(),
            "socket cgroupv2 level 2 \"unified/a.slice/b.service\""
        );
    }
}

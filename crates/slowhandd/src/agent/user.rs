//! Finds who is behind each connection of the agent: the user, and the service or other unit.

use linux::diag::{Diag, Ends};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use trace::agent::Agent;

/// Folder of all cgroups.
const CGROUPS: &str = "/sys/fs/cgroup";
/// Greatest depth of the cgroups that are searched.
const DEEPEST: usize = 12;

/// Sets user, unit and inode of each connection whose socket is on this host.
pub fn name(agent: &mut Agent) {
    let Ok(mut diag) = Diag::open() else { return };
    let mut cgroups = BTreeMap::new();
    for (at, connection) in agent.connections.iter_mut().enumerate() {
        let ends = Ends {
            local: connection.client,
            remote: connection.socks.unwrap_or(connection.server),
            ifindex: None,
        };
        if let Ok(Some(socket)) = diag.tcp(&ends) {
            connection.uid = Some(socket.uid);
            connection.inode = Some(socket.inode);
            cgroups.insert(at, socket.cgroup);
        }
    }
    let wanted = Vec::from_iter(cgroups.values().copied().flatten());
    let units = units(Path::new(CGROUPS), &wanted, 0);
    for (at, cgroup) in cgroups {
        agent.connections[at].unit = cgroup.and_then(|id| units.get(&id).cloned());
    }
}

/// The units among these cgroups, by the inodes of their folders below `folder`.
fn units(folder: &Path, wanted: &[u64], depth: usize) -> BTreeMap<u64, String> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() || depth > DEEPEST {
        return found;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    for entry in entries.filter(is_folder) {
        let path = entry.path();
        if let Ok(seen) = entry.metadata()
            && wanted.contains(&seen.ino())
            && let Some(unit) = unit(&path)
        {
            found.insert(seen.ino(), unit);
        }
        found.extend(units(&path, wanted, depth + 1));
    }
    found
}

/// The unit to which a cgroup belongs: the innermost part of its path that is a service or scope.
fn unit(path: &Path) -> Option<String> {
    let parts = path.iter().rev().filter_map(|part| part.to_str());
    let is_unit = |part: &&str| part.ends_with(".service") || part.ends_with(".scope");
    parts.into_iter().find(is_unit).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_found_by_the_inode_of_its_cgroup() {
        let root = std::env::temp_dir().join(format!("slowhand-cgroups-{}", std::process::id()));
        let service = root.join("system.slice/ssh.service");
        let inner = root.join("user.slice/app-browser.scope/inner");
        let slice = root.join("user.slice");
        for folder in [&service, &inner] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let id = |path: &Path| std::fs::metadata(path).unwrap().ino();
        let wanted = [id(&service), id(&inner), id(&slice)];
        let found = units(&root, &wanted, 0);
        let expected = [(wanted[0], "ssh.service"), (wanted[1], "app-browser.scope")];
        assert_eq!(found, expected.map(|(id, unit)| (id, unit.to_owned())).into());
        std::fs::remove_dir_all(&root).unwrap();
    }
}

//! The programs and maps of this process's controllers in the kernel.
//!
//! A controller keeps descriptors of only one of its programs, of its link and of its maps. The other
//! programs and maps come from the same object file, so they refer to the same BTF. Ids of all three are
//! reused only after two billion.

use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use std::collections::BTreeSet;
use std::fs;

/// Objects seen so far.
#[derive(Debug, Default)]
pub struct Objects {
    /// BTF ids of the object files.
    descriptions: BTreeSet<u32>,
    /// Map ids. A controller's structure is described by the kernel's own BTF, so only its id identifies it.
    maps: BTreeSet<u32>,
}

impl Objects {
    /// Notes the objects that this process now holds.
    pub fn note_held(&mut self) {
        let programs = held("prog_id:");
        let ours = ProgInfoIter::default().filter(|program| programs.contains(&program.id));
        // 0 would match every program without BTF.
        let described = ours.map(|program| program.btf_id).filter(|&id| id != 0);
        self.descriptions.extend(described);
        self.maps.extend(held("map_id:"));
    }

    /// Number of object files seen.
    pub fn files(&self) -> usize {
        self.descriptions.len()
    }

    /// Noted objects that still exist in the kernel.
    pub fn left(&self) -> Vec<String> {
        let programs = ProgInfoIter::default()
            .filter(|program| self.descriptions.contains(&program.btf_id))
            .map(|program| format!("program {} {:?}", program.id, program.name));
        let maps = MapInfoIter::default()
            .filter(|map| self.maps.contains(&map.id) || self.descriptions.contains(&map.btf_id))
            .map(|map| format!("map {} {:?}", map.id, map.name));
        programs.chain(maps).collect()
    }
}

/// Ids from this process's descriptors. Descriptors that other threads open and close meanwhile are not BPF.
fn held(field: &str) -> BTreeSet<u32> {
    let descriptors = fs::read_dir("/proc/self/fdinfo").expect("list the descriptors");
    let mut numbers = BTreeSet::new();
    for descriptor in descriptors.flatten() {
        let text = fs::read_to_string(descriptor.path()).unwrap_or_default();
        let values = text.lines().filter_map(|line| line.strip_prefix(field));
        numbers.extend(values.filter_map(|value| value.trim().parse::<u32>().ok()));
    }
    numbers
}

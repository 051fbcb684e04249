//! What the kernel holds of the controllers that this process has loaded: programs and maps.
//!
//! A controller keeps descriptors of one of its programs, of its link and of its maps only. The other programs and maps came from the same
//! object file, so they name the same description of types (BTF). Numbers of all three are given anew only after two thousand millions.

use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use std::collections::BTreeSet;
use std::fs;

/// What was seen so far.
#[derive(Debug, Default)]
pub struct Objects {
    /// Of the object files.
    descriptions: BTreeSet<u32>,
    /// A controller's structure is described by the kernel's own BTF: it is known by its number only.
    maps: BTreeSet<u32>,
}

impl Objects {
    /// Notes what this process holds now.
    pub fn note_held(&mut self) {
        let programs = held("prog_id:");
        let ours = ProgInfoIter::default().filter(|program| programs.contains(&program.id));
        // 0 would be every program that has none.
        let described = ours.map(|program| program.btf_id).filter(|&id| id != 0);
        self.descriptions.extend(described);
        self.maps.extend(held("map_id:"));
    }

    /// How many object files were seen.
    pub fn files(&self) -> usize {
        self.descriptions.len()
    }

    /// What of it the kernel still has.
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

/// Numbers that the kernel tells of this process's descriptors. What other threads open and close meanwhile is none of BPF's.
fn held(field: &str) -> BTreeSet<u32> {
    let descriptors = fs::read_dir("/proc/self/fdinfo").expect("what descriptors there are");
    let mut numbers = BTreeSet::new();
    for descriptor in descriptors.flatten() {
        let text = fs::read_to_string(descriptor.path()).unwrap_or_default();
        let values = text.lines().filter_map(|line| line.strip_prefix(field));
        numbers.extend(values.filter_map(|value| value.trim().parse::<u32>().ok()));
    }
    numbers
}

//! The seeds of a fuzz target, whole and damaged.

use std::path::Path;
use units::Rng;

/// Damaged forms of each seed.
const FORMS: usize = 300;

/// Calls `read` with each seed of a target, with its beginnings, and with some bytes changed.
pub fn each(target: &str, read: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut paths = Vec::from_iter(entries.map(|entry| entry.unwrap().path()));
    paths.sort();
    assert!(!paths.is_empty(), "{}", folder.display());
    let mut rng = Rng::named(1, target);
    let mut below = |most: usize| (rng.next_u64() % most.max(1) as u64) as usize;
    for path in paths {
        let seed = std::fs::read(&path).unwrap();
        read(&seed);
        for _ in 0..FORMS {
            let mut form = seed[..below(seed.len() + 1)].to_vec();
            read(&form);
            form.extend_from_slice(&seed[form.len()..]);
            for _ in 0..=below(4) {
                let place = below(form.len());
                if let Some(byte) = form.get_mut(place) {
                    *byte = below(256) as u8;
                }
            }
            read(&form);
        }
    }
}

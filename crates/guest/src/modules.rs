//! Which modules the guest needs: those that are named, and those that they depend on.
//!
//! # Sources
//! - `modules.dep(5)`: one line a module, "path: paths of those that it needs".
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` loads them.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

/// The modules that the guest loads, by name.
pub const WANTED: [&str; 34] = [
    // The path by which results leave the guest.
    "virtio_pci",
    "9pnet_virtio",
    "9p",
    // Radios, and the ciphers that mac80211 asks for by name.
    "mac80211_hwsim",
    "ccm",
    "gcm",
    "cmac",
    "ctr",
    "aes_generic",
    "cryptd",
    "aesni_intel",
    // The kernel's ciphers for programs: iwd has none of its own.
    "algif_hash",
    "algif_skcipher",
    "des_generic",
    // Sockets: the programs ask for them by number, and the guest loads no module by itself.
    "af_packet",
    "netlink_diag",
    "tcp_diag",
    "inet_diag",
    "mptcp_diag",
    // Networks behind the access points.
    "veth",
    "dummy",
    "tun",
    "sch_netem",
    "sch_fq_codel",
    "cls_bpf",
    "sch_ingress",
    "nf_tables",
    // The checksum that nf_tables asks for by name.
    "crc32c_generic",
    // Networks of flows: marks and addresses of packets.
    "nf_conntrack_netlink",
    "nft_chain_nat",
    "nft_ct",
    "nft_masq",
    "nft_nat",
    "nft_reject_inet",
];

/// A module that the package of the kernel does not have.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("the kernel's package has no module {0}; correct the list in crates/guest/src/modules.rs")]
pub struct MissingModule(String);

/// The paths of these modules and of all that they need. `dependencies` is a `modules.dep`, `builtin` a
/// `modules.builtin`: what is built into the kernel needs no file.
pub fn closure(
    wanted: &[&str],
    dependencies: &str,
    builtin: &str,
) -> Result<BTreeSet<String>, MissingModule> {
    let lines: BTreeMap<String, (&str, &str)> = dependencies
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(path, needs)| (name(path), (path, needs)))
        .collect();
    let builtin: BTreeSet<String> = builtin.lines().map(name).collect();
    let mut paths = BTreeSet::new();
    for module in wanted {
        let module = name(module);
        match lines.get(&module) {
            Some((path, needs)) => {
                paths.insert((*path).to_owned());
                // depmod lists what is needed indirectly, too.
                paths.extend(needs.split_whitespace().map(str::to_owned));
            }
            None if builtin.contains(&module) => {}
            None => return Err(MissingModule(module)),
        }
    }
    Ok(paths)
}

/// The name of a module: its file's, without what follows the first dot. The kernel treats '-' as '_'.
fn name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split('.').next().unwrap_or(file).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPENDENCIES: &str = "\
kernel/net/mac80211/mac80211.ko: kernel/net/wireless/cfg80211.ko kernel/lib/crc.ko
kernel/drivers/mac80211-hwsim.ko.xz: kernel/net/mac80211/mac80211.ko kernel/net/wireless/cfg80211.ko
kernel/lib/crc.ko:
";

    #[test]
    fn takes_what_is_needed_and_leaves_what_is_built_in() {
        let found = closure(
            &["mac80211_hwsim", "nf_tables"],
            DEPENDENCIES,
            "kernel/net/netfilter/nf-tables.ko\n",
        );
        let found: Vec<String> = found.unwrap().into_iter().collect();
        assert_eq!(
            found,
            [
                "kernel/drivers/mac80211-hwsim.ko.xz",
                "kernel/net/mac80211/mac80211.ko",
                "kernel/net/wireless/cfg80211.ko",
            ]
        );
    }

    #[test]
    fn a_module_that_does_not_exist_is_named() {
        let found = closure(&["crc", "cfg80212"], DEPENDENCIES, "");
        assert_eq!(found, Err(MissingModule("cfg80212".into())));
    }
}

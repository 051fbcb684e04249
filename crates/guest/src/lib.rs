//! A virtual machine in which real 802.11 and MPTCP stacks run without a radio: Linux with `mac80211_hwsim`,
//! hostapd, `wpa_supplicant` and dnsmasq, all from Debian's packages.
//!
//! 1. [`packages`] resolves and downloads the packages in a private apt root.
//! 2. [`image`] turns them into a kernel and an initramfs, and keeps both in a cache.
//! 3. [`machine`] boots them under QEMU with a script and programs.
//! 4. [`trials`] lists the scripts of this project.
//!
//! Two programs run in the guest. `wifi-meter` measures transfers. `wifi-medium` is the air between radios.
//!
//! Time in the guest is virtual: QEMU counts instructions (`-icount`). A loaded host makes a trial slower but
//! does not change its figures beyond the spread that host I/O causes.
//!
//! # Checked by
//! `tests` of each module; `tests/wifi.rs` boots the machine.

pub mod cpio;
pub mod image;
pub mod kernel;
pub mod machine;
pub mod modules;
pub mod packages;
pub mod programs;
pub mod tool;
pub mod trials;

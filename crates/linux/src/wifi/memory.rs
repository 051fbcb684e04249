//! What is known of earlier visits, in a file: addresses, of which the next visit asks for the same one
//! first, and the best security of each network.
//!
//! A line of an address has the hardware address of an interface, its address, and the end of its validity in
//! seconds since 1970. The hardware address stands for the network and the access point: see `station`. The
//! line of a network begins with `security`. It has the bytes of the name in hexadecimal, and `owe` or
//! `wpa3`.
//!
//! # Checked by
//! `tests`.

use super::network::Best;
use super::worker::hex;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use units::MacAddr;

/// Most addresses in the file. Those that are valid longest stay.
const MOST: usize = 256;

/// The addresses, and their file.
#[derive(Debug)]
pub(super) struct Memory {
    path: PathBuf,
    known: BTreeMap<MacAddr, Remembered>,
    /// The best security with which a network was joined, by its name.
    best: BTreeMap<String, Best>,
}

/// The first word of a line about the security of a network.
const SECURITY: &str = "security";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Remembered {
    address: Ipv4Addr,
    /// Seconds since 1970.
    until: u64,
}

impl Memory {
    /// Reads the file. One that is missing or unreadable has no address.
    pub(super) fn open(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        Self {
            path: path.to_owned(),
            known: text.lines().filter_map(line).collect(),
            best: text.lines().filter_map(security).collect(),
        }
    }

    /// The address of an interface, if it is valid at `now`, in seconds since 1970.
    pub(super) fn address(&self, mac: MacAddr, now: u64) -> Option<Ipv4Addr> {
        let known = self.known.get(&mac).filter(|known| now < known.until);
        known.map(|known| known.address)
    }

    /// The best security with which a network was joined.
    pub(super) fn best(&self, ssid: &str) -> Option<Best> {
        self.best.get(ssid).copied()
    }

    /// Remembers that a network was joined with this security.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn reached(&mut self, ssid: &str, best: Best) -> io::Result<()> {
        match self.best.insert(ssid.to_owned(), best) {
            Some(before) if before == best => Ok(()),
            _ => self.write(),
        }
    }

    /// Remembers an address until then.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn keep(&mut self, mac: MacAddr, address: Ipv4Addr, until: u64) -> io::Result<()> {
        self.known.insert(mac, Remembered { address, until });
        if self.known.len() > MOST {
            let soonest = self.known.iter().min_by_key(|(_, known)| known.until);
            if let Some((&mac, _)) = soonest {
                self.known.remove(&mac);
            }
        }
        self.write()
    }

    /// Forgets an address.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn forget(&mut self, mac: MacAddr) -> io::Result<()> {
        match self.known.remove(&mac) {
            Some(_) => self.write(),
            None => Ok(()),
        }
    }

    /// Writes a new file and puts it in the place of the old one, so that a crash leaves one of the two.
    fn write(&self) -> io::Result<()> {
        let mut text = String::new();
        for (mac, known) in &self.known {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{mac} {} {}", known.address, known.until);
        }
        for (ssid, best) in &self.best {
            let ssid = hex(ssid.as_bytes());
            let _ = writeln!(text, "{SECURITY} {ssid} {}", best.word());
        }
        let new = self.path.with_extension("new");
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&new, &self.path)
    }
}

fn line(line: &str) -> Option<(MacAddr, Remembered)> {
    let mut words = line.split(' ');
    let mac = super::bss::mac(words.next()?)?;
    let address = words.next()?.parse().ok()?;
    let until = words.next()?.parse().ok()?;
    Some((mac, Remembered { address, until }))
}

fn security(line: &str) -> Option<(String, Best)> {
    let mut words = line.split(' ');
    let digits = words.next().filter(|word| *word == SECURITY).and(words.next())?;
    let pairs = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok());
    let bytes: Option<Vec<u8>> = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect();
    Some((String::from_utf8(bytes?).ok()?, Best::of_word(words.next()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 42);

    fn with_file(name: &str, work: impl FnOnce(&Path)) {
        let path = std::env::temp_dir().join(format!("slowhand-leases-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        work(&path);
        let _ = fs::remove_file(&path);
    }

    #[test]
    fn an_address_is_known_to_the_next_daemon_until_it_expires() {
        with_file("next", |path| {
            let mac = MacAddr::local(7);
            let mut memory = Memory::open(path);
            assert_eq!(memory.address(mac, 0), None);
            memory.keep(mac, ADDRESS, 1_000).unwrap();
            let mut next = Memory::open(path);
            assert_eq!(next.address(mac, 999), Some(ADDRESS));
            assert_eq!(next.address(mac, 1_000), None, "expired");
            assert_eq!(next.address(MacAddr::local(8), 0), None);
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            next.forget(mac).unwrap();
            assert_eq!(Memory::open(path).address(mac, 0), None);
        });
    }

    #[test]
    fn the_best_security_of_a_network_is_known_to_the_next_daemon() {
        with_file("security", |path| {
            let mac = MacAddr::local(7);
            fs::write(path, "02:00:00:00:00:07 10.0.1.42 1000\n").unwrap();
            let mut memory = Memory::open(path);
            assert_eq!(memory.best("café 7"), None, "the file of an older version");
            memory.reached("café 7", Best::Wpa3).unwrap();
            memory.reached("guests", Best::Owe).unwrap();
            let mut next = Memory::open(path);
            assert_eq!(
                [next.best("café 7"), next.best("guests")],
                [Some(Best::Wpa3), Some(Best::Owe)]
            );
            assert_eq!(next.best("home"), None);
            next.forget(MacAddr::new([2, 0, 0, 0, 0, 7])).unwrap();
            let last = Memory::open(path);
            assert_eq!(last.best("café 7"), Some(Best::Wpa3));
            assert_eq!(last.address(mac, 0), None);
            fs::remove_file(path).unwrap();
            assert_eq!(
                Memory::open(path).best("guests"),
                None,
                "forgotten with the addresses"
            );
        });
    }

    #[test]
    fn a_damaged_file_costs_only_its_damaged_lines() {
        with_file("damaged", |path| {
            fs::write(
                path,
                "nonsense\nsecurity 6x owe\nsecurity 66\nsecurity ff wpa3\nsecurity 66 wpa9\n02:00:00:00:00:07 10.0.1.42 1000\n02:00 10.0.1.1 9\n\n",
            )
            .unwrap();
            let memory = Memory::open(path);
            assert_eq!((memory.known.len(), memory.best.len()), (1, 0));
            assert_eq!(memory.address(MacAddr::new([2, 0, 0, 0, 0, 7]), 0), Some(ADDRESS));
        });
    }

    #[test]
    fn the_file_stays_short() {
        with_file("short", |path| {
            let mut memory = Memory::open(path);
            for number in 0..300_u32 {
                memory
                    .keep(MacAddr::local(number), ADDRESS, u64::from(number) + 10)
                    .unwrap();
            }
            let read = Memory::open(path);
            assert_eq!(read.known.len(), MOST);
            assert_eq!(read.address(MacAddr::local(299), 0), Some(ADDRESS));
            assert_eq!(read.address(MacAddr::local(0), 0), None, "the first to expire");
        });
    }
}

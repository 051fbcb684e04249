//! `slowhand wifi import`: adds networks that other programs have saved to the configuration.

use super::plan::Plan;
use super::saved::{Protection, SavedError};
use super::{iwd, keyfile};
use host::config::DEFAULT;
use host::trusted::{self, Keeping};
use show::exit::{Refused, print_text};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where NetworkManager and iwd save networks. The second folder has those that netplan gives NetworkManager.
const SAVED: [&str; 3] = [
    "/etc/NetworkManager/system-connections",
    "/run/NetworkManager/system-connections",
    "/var/lib/iwd",
];

/// Add the WiFi networks that NetworkManager or iwd has saved to the configuration of slowhand.
///
/// Each secret goes into a file of its own beside the configuration, which only its owner can read. Networks
/// of the configuration stay as they are. Nothing of the other program is changed.
///
/// Anybody can offer a network without a key under any name. So those are added only with `--open`, whether
/// they encrypt (Enhanced Open) or not.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sudo slowhand wifi import --dry-run
  sudo slowhand wifi import
  sudo slowhand wifi import --from /var/lib/iwd")]
pub struct Args {
    /// Print what would be added, without secrets, and change nothing.
    #[arg(long)]
    dry_run: bool,

    /// Add networks without a key, too.
    #[arg(long)]
    open: bool,

    /// Directory with saved networks. May be repeated. If left out, those of NetworkManager and iwd.
    #[arg(long, value_name = "DIR")]
    from: Vec<PathBuf>,

    /// Configuration file to extend.
    #[arg(long, value_name = "FILE", default_value = DEFAULT)]
    config: PathBuf,
}

/// Imports what is saved. The exit code is 1 if nothing is found.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut plan = Plan::beside(&args.config).map_err(Refused::because)?;
    let usual = || SAVED.map(PathBuf::from).to_vec();
    let (folders, is_usual) = match &args.from[..] {
        [] => (usual(), true),
        named => (named.to_vec(), false),
    };
    let directory = args.config.parent().unwrap_or(Path::new(".")).to_owned();
    for folder in &folders {
        match files(folder) {
            Ok(files) => files
                .iter()
                .for_each(|file| take(&mut plan, file, args.open, &directory)),
            Err(error) if is_usual && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let folder = folder.display();
                let why =
                    format!("{folder}: cannot be read ({error}); run as root, or name another with --from");
                return Err(Refused::because(why));
            }
        }
    }
    let words = plan.words();
    if words.is_empty() {
        let folders = Vec::from_iter(folders.iter().map(|folder| folder.display().to_string()));
        print_text(&format!("no saved WiFi network in {}\n", folders.join(" and ")))?;
        return Ok(ExitCode::FAILURE);
    }
    if args.dry_run {
        let config = args.config.display();
        print_text(&format!(
            "{words}\nThis would be added to {config}:\n\n{}",
            plan.tables()
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !plan.is_empty() {
        std::fs::create_dir_all(&directory).map_err(Refused::because)?;
        plan.write(&args.config)?;
    }
    print_text(&words)?;
    Ok(ExitCode::SUCCESS)
}

/// The files of a folder, by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        files.extend(path.is_file().then_some(path));
    }
    files.sort();
    Ok(files)
}

fn take(plan: &mut Plan, file: &Path, open: bool, directory: &Path) {
    let read = trusted::read(file, Keeping::Secret).map_err(|error| error.to_string());
    let saved = read.and_then(|text| parse(file, &text).map_err(|error| error.to_string()));
    match saved {
        Ok(Some(saved)) if saved.protection == Protection::Open && !open => {
            plan.leave_out(file.to_owned(), SavedError::Open.to_string());
        }
        Ok(Some(saved)) if saved.protection == Protection::Owe && !open => {
            plan.leave_out(file.to_owned(), SavedError::Owe.to_string());
        }
        Ok(Some(saved)) => plan.add(saved, directory, file),
        Ok(None) => {}
        Err(why) => plan.leave_out(file.to_owned(), why),
    }
}

/// Reads a file of iwd by its ending, and any other as one of NetworkManager.
fn parse(file: &Path, text: &str) -> Result<Option<super::saved::Saved>, SavedError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match name.rsplit_once('.') {
        Some((_, "psk" | "open" | "8021x")) => iwd::read(&name, text),
        _ => keyfile::read(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::config::{Asked, Config, Protection as Trusted};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("slowhand-import-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("saved")).unwrap();
            Self(path)
        }

        fn save(&self, name: &str, text: &str, mode: u32) {
            let path = self.0.join("saved").join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }

        fn config(&self) -> PathBuf {
            self.0.join("slowhand.toml")
        }

        fn import(&self, dry_run: bool) -> anyhow::Result<Plan> {
            self.import_with(dry_run, false)
        }

        fn import_with(&self, dry_run: bool, open: bool) -> anyhow::Result<Plan> {
            let args = Args {
                dry_run,
                open,
                from: vec![self.0.join("saved")],
                config: self.config(),
            };
            let mut plan = Plan::beside(&args.config).unwrap();
            for file in files(&args.from[0]).unwrap() {
                take(&mut plan, &file, open, &self.0);
            }
            run(&args).map(|_| plan)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn keyfile(ssid: &str, psk: &str) -> String {
        format!(
            "[connection]\ntype=wifi\n[wifi]\nssid={ssid}\n[wifi-security]\nkey-mgmt=wpa-psk\npsk={psk}\n"
        )
    }

    #[test]
    fn networks_are_appended_with_their_secrets_and_a_second_import_changes_nothing() {
        let folder = Folder::new("twice");
        let own = "# mine\npolicy = \"mptcp\"\n\n[wifi]\nradio = \"phy0\"\n\n[[wifi.network]]\nssid = \"own\"\nopen = true";
        fs::write(folder.config(), own).unwrap();
        folder.save(
            "home.nmconnection",
            &keyfile("home \"1\"", "correct horse"),
            0o600,
        );
        folder.save("own.nmconnection", &keyfile("own", "correct horse"), 0o600);
        folder.save("eth.nmconnection", "[connection]\ntype=ethernet\n", 0o600);
        folder.save("cafe.open", "", 0o600);
        let owe = "[connection]\ntype=wifi\n[wifi]\nssid=station\n[wifi-security]\nkey-mgmt=owe\n";
        folder.save("station.nmconnection", owe, 0o600);
        folder.save("open.nmconnection", &keyfile("readable", "correct horse"), 0o644);
        let plan = folder.import(true).unwrap();
        let words = plan.words();
        assert_eq!(fs::read_to_string(folder.config()).unwrap(), own, "a dry run");
        assert!(!plan.tables().contains("correct horse") && !words.contains("correct horse"));
        let secret = folder.0.join("home--1-.psk");
        assert!(
            words.contains(&format!(
                "added home \"1\": WPA2 or WPA3, secret in {}\n",
                secret.display()
            )),
            "{words}"
        );
        assert!(
            words.contains("cafe.open: it has no encryption, and anybody can offer"),
            "{words}"
        );
        assert!(
            words.contains("station.nmconnection: it encrypts without a key (Enhanced Open), and anybody"),
            "{words}"
        );
        assert!(
            words.contains("kept own: it is in the configuration\n"),
            "{words}"
        );
        assert!(
            words.contains("open.nmconnection: mode 0644, readable by others"),
            "{words}"
        );
        assert!(!words.contains("eth.nmconnection"), "{words}");
        folder.import(false).unwrap();
        let written = fs::read_to_string(folder.config()).unwrap();
        assert!(written.starts_with(own), "{written}");
        let config = Config::read(&folder.config(), Asked::ByName).unwrap();
        let networks = config.wifi.unwrap().networks;
        let names = Vec::from_iter(networks.iter().map(|network| network.ssid.as_str()));
        assert_eq!(names, ["own", "home \"1\""]);
        let Trusted::Key { file, wpa3: false } = &networks[1].protection else {
            panic!("{networks:?}")
        };
        assert_eq!(file, &secret);
        assert_eq!(fs::read_to_string(&secret).unwrap(), "correct horse\n");
        assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
        folder.import(false).unwrap();
        assert_eq!(fs::read_to_string(folder.config()).unwrap(), written);
        let words = folder.import_with(false, true).unwrap().words();
        assert!(words.contains("added cafe: without encryption\n"), "{words}");
        assert!(
            words.contains("added station: Enhanced Open, without a key\n"),
            "{words}"
        );
        let written = fs::read_to_string(folder.config()).unwrap();
        let cafe = "ssid = \"cafe\"\nopen = true\n\n";
        let station = "[[wifi.network]]\nssid = \"station\"\nopen = true\nsecurity = \"owe\"\n\n";
        assert!(written.ends_with(&format!("{cafe}{station}")), "{written}");
    }

    #[test]
    fn a_secret_of_another_network_is_not_overwritten() {
        let folder = Folder::new("names");
        fs::write(folder.0.join("a-b.psk"), "other secret\n").unwrap();
        folder.save("1.nmconnection", &keyfile("a b", "correct horse"), 0o600);
        folder.save("2.nmconnection", &keyfile("a.b", "battery staple"), 0o600);
        folder.save("3.nmconnection", &keyfile("a b", "correct horse"), 0o600);
        let words = folder.import(false).unwrap().words();
        let read = |name: &str| fs::read_to_string(folder.0.join(name)).unwrap();
        assert_eq!(read("a-b.psk"), "other secret\n");
        assert_eq!(read("a-b-2.psk"), "correct horse\n");
        assert_eq!(read("a-b-3.psk"), "battery staple\n");
        assert!(
            words.contains("3.nmconnection: another file has a network of this name"),
            "{words}"
        );
    }

    #[test]
    fn a_configuration_that_cannot_be_extended_stays_as_it_is() {
        let folder = Folder::new("inline");
        let own = "wifi = { network = [{ ssid = \"own\", open = true }] }\n";
        fs::write(folder.config(), own).unwrap();
        folder.save("home.nmconnection", &keyfile("home", "correct horse"), 0o600);
        let error = folder.import(false).unwrap_err();
        assert!(
            format!("{error:#}").contains("slowhand.toml stays as it is"),
            "{error:#}"
        );
        assert_eq!(fs::read_to_string(folder.config()).unwrap(), own);
        assert!(!folder.0.join("slowhand.new").exists() && !folder.0.join("home.psk").exists());
    }

    #[test]
    fn networks_that_a_later_file_hides_are_not_written() {
        let folder = Folder::new("hidden");
        fs::write(folder.config(), "").unwrap();
        fs::create_dir(folder.0.join("conf.d")).unwrap();
        let later = "[[wifi.network]]\nssid = \"own\"\nopen = true\n";
        fs::write(folder.0.join("conf.d/50.toml"), later).unwrap();
        folder.save("home.nmconnection", &keyfile("home", "correct horse"), 0o600);
        let error = folder.import(false).unwrap_err();
        assert!(
            format!("{error:#}").contains("a file in conf.d has [wifi], too"),
            "{error:#}"
        );
        assert_eq!(fs::read_to_string(folder.config()).unwrap(), "");
    }
}

//! `slowhand doctor`: which of slowhand's requirements this host meets, and how to get the missing ones.

use ::relay::agent;
use host::config::{Asked, Config, RelayConfig};
use host::doctor::{document, text};
use linux::doctor::{Check, Need, checks};
use show::exit::{print_document, print_text};
use show::terminal;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Show which requirements of slowhand this host does not meet, and how to meet them. Changes nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document (schema slowhand.doctor/1).
    #[arg(long)]
    json: bool,

    /// Configuration file from which to read `probe`, `portal_url`, `[networks]` and `[relay]`.
    #[arg(long, value_name = "FILE", default_value = "/etc/slowhand/slowhand.toml")]
    config: PathBuf,
}

/// Runs every check. The exit code is 1 if slowhand cannot work here.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut checks = checks();
    let config = Config::read(&args.config, Asked::ByDefault).ok();
    checks.extend(probing(Path::new("/"), config.as_ref()));
    if config.as_ref().is_some_and(|config| config.networks.is_some()) {
        checks.extend(flows());
    }
    checks.extend(config.and_then(|config| config.relay).iter().flat_map(relay));
    let document = document(&checks);
    if args.json {
        print_document(&document)?;
    } else {
        print_text(&text(&document, terminal::columns()))?;
    }
    Ok(if document.works {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What links are probed with while nothing shows that they are alive. `up` reports an unreadable
/// configuration; here it counts as none.
fn probing(root: &Path, config: Option<&Config>) -> [Check; 2] {
    let is_on = config.is_none_or(|config| config.probe);
    let check = |name, result| Check {
        name,
        need: Need::Should,
        result,
    };
    let (idle, portal) = if is_on {
        (
            idle(root),
            portal(root, config.and_then(|config| config.portal.clone())),
        )
    } else {
        let off = "off (probe = false): captive portals are not detected, nor are links that die while no MPTCP connection is open";
        (Ok(off.to_owned()), Ok(off.to_owned()))
    };
    [check("idle-probe", idle), check("portal-check", portal)]
}

/// What networks for flows need.
fn flows() -> [Check; 2] {
    let check = |name, result| Check {
        name,
        need: Need::Should,
        result,
    };
    let devices = match File::options().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => Ok("/dev/net/tun".to_owned()),
        Err(error) => Err(format!(
            "/dev/net/tun cannot be opened ({error}): [networks] has no interface; run as root, and load the module `tun`"
        )),
    };
    let nft = nft().map_err(|error| {
        format!("`nft` cannot be started ({error}): [networks] cannot lead flows; install nftables")
    });
    [check("flow-interface", devices), check("flow-marks", nft)]
}

/// The version of nftables.
fn nft() -> std::io::Result<String> {
    let said = Command::new("nft").arg("--version").output()?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// What the agent needs. Asks the relay whether it would serve this host.
fn relay(config: &RelayConfig) -> Vec<Check> {
    let check = |name, result| Check {
        name,
        need: Need::Should,
        result,
    };
    let mut checks = vec![check("redirection", redirection())];
    if let Some(server) = &config.server {
        let asked = agent::check(&server.address, &server.key_file);
        let asked = asked.map_err(|error| format!("{}: {error}; programs connect directly", server.address));
        checks.push(check("relay", asked));
    }
    checks
}

fn redirection() -> Result<String, String> {
    nft().map_err(|error| {
        format!("`nft` cannot be started ({error}): no program is redirected to the agent; install nftables")
    })
}

fn idle(root: &Path) -> Result<String, String> {
    // No interface has this index: these are the resolvers of the whole host.
    let resolvers = linux::resolvers::of_link(root, 0);
    if resolvers.is_empty() {
        return Err(
            "/etc/resolv.conf and systemd-resolved name no resolver on another host; idle links are probed only through hosts with open connections".into(),
        );
    }
    let resolvers: Vec<String> = resolvers.iter().map(ToString::to_string).collect();
    Ok(format!(
        "hosts with open connections, and the resolvers {}",
        resolvers.join(", ")
    ))
}

fn portal(root: &Path, configured: Option<linux::portal::Check>) -> Result<String, String> {
    if let Some(check) = configured {
        return Ok(format!("{} (portal_url)", check.url));
    }
    match linux::portal::from_network_manager(root) {
        Ok(Some(check)) => Ok(format!("{} (NetworkManager's)", check.url)),
        Ok(None) => Err(
            "no URL to check, so captive portals are not detected, except those that announce an API to slowhand's own WiFi interfaces; set portal_url in /etc/slowhand/slowhand.toml, or uri in [connectivity] of NetworkManager.conf".into(),
        ),
        Err(error) => Err(format!(
            "captive portals are not detected, except those that announce an API to slowhand's own WiFi interfaces: NetworkManager's connectivity URL cannot be used ({error}); set portal_url in /etc/slowhand/slowhand.toml"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_shows_how_links_are_probed_and_what_is_missing() {
        let root = std::env::temp_dir().join(format!("slowhand-doctor-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let config = root.join("slowhand.toml");
        let told = || {
            let config = Config::read(&config, Asked::ByDefault).ok();
            probing(&root, config.as_ref()).map(|check| match check.result {
                Ok(found) => format!("ok {found}"),
                Err(missing) => format!("-- {missing}"),
            })
        };
        let [idle, portal] = told();
        assert_eq!(
            idle,
            "-- /etc/resolv.conf and systemd-resolved name no resolver on another host; idle links are probed only through hosts with open connections"
        );
        assert_eq!(
            portal,
            "-- no URL to check, so captive portals are not detected, except those that announce an API to slowhand's own WiFi interfaces; set portal_url in /etc/slowhand/slowhand.toml, or uri in [connectivity] of NetworkManager.conf"
        );
        write("etc/resolv.conf", "nameserver 192.0.2.53\n");
        write(
            "etc/NetworkManager/NetworkManager.conf",
            "[connectivity]\nuri=https://tls.example/\n",
        );
        let [idle, portal] = told();
        assert_eq!(
            idle,
            "ok hosts with open connections, and the resolvers 192.0.2.53"
        );
        assert_eq!(
            portal,
            "-- captive portals are not detected, except those that announce an API to slowhand's own WiFi interfaces: NetworkManager's connectivity URL cannot be used (only http:// can be checked: a captive portal cannot answer in \
             place of a TLS host); set portal_url in /etc/slowhand/slowhand.toml"
        );
        write(
            "etc/NetworkManager/NetworkManager.conf",
            "[connectivity]\nuri=http://nm.example/\n",
        );
        assert_eq!(told()[1], "ok http://nm.example/ (NetworkManager's)");
        write("slowhand.toml", "portal_url = \"http://own.example/\"\n");
        assert_eq!(told()[1], "ok http://own.example/ (portal_url)");
        write("slowhand.toml", "probe = false\n");
        let off = "ok off (probe = false): captive portals are not detected, nor are links that die while no MPTCP connection is open";
        assert_eq!(told(), [off, off]);
        std::fs::remove_dir_all(&root).unwrap();
    }
}

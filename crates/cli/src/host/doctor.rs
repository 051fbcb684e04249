//! `slowhand doctor`: what this host has of what slowhand uses, what is missing, and how to get it.

use super::config::{Asked, Config};
use crate::exit::{print_document, print_text};
use crate::table::Table;
use crate::terminal;
use linux::doctor::{Check, Need, checks, needs};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say what this host lacks, and how to get it. Changes nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON document (schema slowhand.doctor/1).
    #[arg(long)]
    json: bool,

    /// Configuration file whose `probe` and `portal_url` are looked at.
    #[arg(long, value_name = "FILE", default_value = "/etc/slowhand/slowhand.toml")]
    config: PathBuf,
}

/// What `slowhand doctor --json` says.
#[derive(Debug, Serialize)]
struct Document {
    /// Name and version of this format.
    schema: &'static str,
    /// Whether slowhand can work here.
    works: bool,
    /// What was looked at, most important first.
    checks: Vec<Looked>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Looked {
    /// A stable identifier.
    name: &'static str,
    /// `must`: nothing works without it; `should`: it works worse; `lab`: only the lab needs it.
    need: &'static str,
    /// Whether it is there.
    ok: bool,
    /// What was found, or what is missing and how to get it.
    finding: String,
}

/// Looks at everything; 1 when slowhand cannot work here.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut checks = checks();
    checks.extend(probing(Path::new("/"), &args.config));
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

/// Why a daemon cannot work in the calling thread's namespace, in the words of `slowhand doctor`; `None`: it can.
pub fn refusal() -> Option<String> {
    refusal_of(needs())
}

fn refusal_of(mut checks: Vec<Check>) -> Option<String> {
    checks.retain(|check| check.need == Need::Must && !check.is_ok());
    let missing = !checks.is_empty();
    missing.then(|| text(&document(&checks), usize::MAX).trim_end().to_owned())
}

/// What links are asked while nothing shows that they live. A configuration that cannot be read is told by `up`, and counts as none here.
fn probing(root: &Path, config: &Path) -> [Check; 2] {
    let config = Config::read(config, Asked::ByDefault).ok();
    let is_on = config.as_ref().is_none_or(|config| config.probe);
    let check = |name, result| Check {
        name,
        need: Need::Should,
        result,
    };
    let (idle, portal) = if is_on {
        (idle(root), portal(root, config.and_then(|config| config.portal)))
    } else {
        let off = "off (probe = false): a link that dies while no MPTCP connection is open, or leads to a captive portal, is not found";
        (Ok(off.to_owned()), Ok(off.to_owned()))
    };
    [check("idle-probe", idle), check("portal-check", portal)]
}

fn idle(root: &Path) -> Result<String, String> {
    // No interface has this index: these are the resolvers of the whole host.
    let resolvers = linux::resolvers::of_link(root, 0);
    if resolvers.is_empty() {
        return Err(
            "no resolver beyond this host is in /etc/resolv.conf or known to systemd-resolved; idle links are asked through hosts in use only".into(),
        );
    }
    let resolvers: Vec<String> = resolvers.iter().map(ToString::to_string).collect();
    Ok(format!(
        "hosts in use, and the resolvers {}",
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
            "no URL to check: captive portals are not found; set portal_url in /etc/slowhand/slowhand.toml, or uri in [connectivity] of NetworkManager.conf".into(),
        ),
        Err(error) => Err(format!(
            "captive portals are not found: NetworkManager's connectivity URL cannot be used ({error}); set portal_url in /etc/slowhand/slowhand.toml"
        )),
    }
}

fn document(checks: &[Check]) -> Document {
    let works = checks
        .iter()
        .all(|check| check.is_ok() || check.need != Need::Must);
    Document {
        schema: "slowhand.doctor/1",
        works,
        checks: checks.iter().map(looked).collect(),
    }
}

fn looked(check: &Check) -> Looked {
    let finding = match &check.result {
        Ok(found) => found.clone(),
        Err(missing) => missing.clone(),
    };
    Looked {
        name: check.name,
        need: check.need.id(),
        ok: check.is_ok(),
        finding,
    }
}

fn text(document: &Document, width: usize) -> String {
    let mut table = Table::new(&[]);
    for check in &document.checks {
        let mark = if check.ok { "ok" } else { "--" };
        table.row([mark, check.name, check.need, &check.finding]);
    }
    let verdict = if document.works {
        "slowhand works here\n"
    } else {
        "slowhand cannot work here yet\n"
    };
    table.fitted(width) + verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(need: Need, ok: bool) -> Check {
        let result = if ok {
            Ok("there".to_owned())
        } else {
            Err("not there; get it".to_owned())
        };
        Check {
            name: "thing",
            need,
            result,
        }
    }

    #[test]
    fn only_what_nothing_works_without_decides() {
        assert!(
            document(&[
                check(Need::Must, true),
                check(Need::Should, false),
                check(Need::Lab, false)
            ])
            .works
        );
        assert!(!document(&[check(Need::Must, false), check(Need::Should, true)]).works);
    }

    #[test]
    fn a_daemon_is_refused_with_what_is_missing_and_nothing_else() {
        assert_eq!(
            refusal_of(vec![check(Need::Must, true), check(Need::Should, false)]),
            None
        );
        assert_eq!(
            refusal_of(vec![check(Need::Must, false), check(Need::Must, true)]).unwrap(),
            "--  thing  must  not there; get it\nslowhand cannot work here yet"
        );
    }

    #[test]
    fn what_is_asked_of_links_is_told_and_what_is_missing_for_it() {
        let root = std::env::temp_dir().join(format!("slowhand-doctor-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let config = root.join("slowhand.toml");
        let told = || {
            probing(&root, &config).map(|check| match check.result {
                Ok(found) => format!("ok {found}"),
                Err(missing) => format!("-- {missing}"),
            })
        };
        let [idle, portal] = told();
        assert_eq!(
            idle,
            "-- no resolver beyond this host is in /etc/resolv.conf or known to systemd-resolved; idle links are asked through hosts in use only"
        );
        assert_eq!(
            portal,
            "-- no URL to check: captive portals are not found; set portal_url in /etc/slowhand/slowhand.toml, or uri in [connectivity] of NetworkManager.conf"
        );
        write("etc/resolv.conf", "nameserver 192.0.2.53\n");
        write(
            "etc/NetworkManager/NetworkManager.conf",
            "[connectivity]\nuri=https://tls.example/\n",
        );
        let [idle, portal] = told();
        assert_eq!(idle, "ok hosts in use, and the resolvers 192.0.2.53");
        assert_eq!(
            portal,
            "-- captive portals are not found: NetworkManager's connectivity URL cannot be used (only http:// can be checked: a captive portal cannot answer in \
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
        let off = "ok off (probe = false): a link that dies while no MPTCP connection is open, or leads to a captive portal, is not found";
        assert_eq!(told(), [off, off]);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn what_is_missing_is_told_with_its_remedy() {
        let text = text(&document(&[check(Need::Must, false)]), usize::MAX);
        assert_eq!(
            text,
            "--  thing  must  not there; get it\nslowhand cannot work here yet\n"
        );
    }
}

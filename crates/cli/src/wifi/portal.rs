//! `slowhand wifi portal`: where a link's captive portal is, and a browser that reaches it.

use super::browse::browse;
use host::config::{Asked, Config, DEFAULT};
use host::control::{Question, ask};
use host::document::{AccessPoint, Link, Status};
use host::place::Place;
use linux::portal::{Api, Check, Over, from_network_manager};
use linux::rtnl::Rtnl;
use policy::Checked;
use show::exit::{Refused, print_text, sentence};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Open a link's captive portal: print its URL, and run a browser that reaches this link alone.
///
/// The page is the one that the network's API names (RFC 8908), if its DHCP server announces an API.
/// Otherwise a check over this link is repeated, and the place to which the portal redirects it is used. If
/// it does not redirect, the URL is that which the DHCP server gives. The exit code is 1 if there is no
/// portal.
///
/// The browser has a profile of its own, which is deleted afterwards. Its TCP and UDP sockets are bound to
/// the link, and it asks the link's DNS servers. Below sudo it runs as the user who has called sudo. Without
/// a display no browser is run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  slowhand wifi portal slow-w1
  slowhand wifi portal slow-w1 -- curl --location")]
pub struct Args {
    /// The link, as `slowhand status` names it.
    link: String,

    /// Configuration file from which to read `portal_url`.
    #[arg(long, value_name = "FILE", default_value = DEFAULT)]
    config: PathBuf,

    #[command(flatten)]
    place: Place,

    /// Run this in place of a browser. The URL is its last argument.
    #[arg(value_name = "CMD", last = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Finds the portal of a link of the running daemon, and opens it.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let status: Status = ask(&args.place, Question::Status)?;
    let link = status.links.iter().find(|link| link.name == args.link);
    let link = link.ok_or_else(|| {
        let known = Vec::from_iter(status.links.iter().map(|link| link.name.as_str()));
        Refused::because(format!(
            "no link `{}`; the links are: {}",
            args.link,
            known.join(", ")
        ))
    })?;
    let point = point(&status, link);
    let over = over(link, point)?;
    let given = point.and_then(|point| point.portal.as_deref());
    match found(&args.config, &args.link, &over, given)? {
        Ok(url) => browse(&url, &over, &args.command),
        Err(why) => {
            print_text(&format!("{why}\n"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The URL of the portal behind this link, or why there is none. `given`: the one that the network's DHCP
/// server gives.
fn found(
    config: &Path,
    link: &str,
    over: &Over,
    given: Option<&str>,
) -> anyhow::Result<Result<String, String>> {
    let api = given.and_then(Api::new).map(|api| api.find(over));
    let check = match (check(config), given) {
        (Err(error), None) => return Err(error),
        (check, _) => check.ok(),
    };
    let checked = check.as_ref().map(|check| check.find(over));
    let says = match api {
        Some(Ok(state)) if state.is_closed => Says::Closed(state.page),
        Some(Ok(_)) => Says::Open,
        Some(Err(error)) => {
            show::tell!("{link}: {}", sentence(&error.into()));
            Says::Nothing
        }
        None => Says::Nothing,
    };
    let url = check.map(|check| check.url.to_string());
    let place = place(says, checked, (given, url.as_deref()));
    Ok(place.map_err(|why| format!("{link}: {why}")))
}

/// What the network's API says of its portal.
enum Says {
    Nothing,
    Open,
    Closed(Option<String>),
}

/// The URL of the portal. As in the daemon, a check decides whether there is one, and the API only without a
/// check. `given`, `url`: that of the DHCP server, and that of the check.
fn place(
    says: Says,
    checked: Option<(Checked, Option<String>)>,
    (given, url): (Option<&str>, Option<&str>),
) -> Result<String, String> {
    let open = Err("no captive portal: it leads to the Internet".to_owned());
    // An API is no page, but better than none.
    let is_page = |url: &&str| Api::new(url).is_none();
    let given_page = given.filter(is_page);
    let given_api = given.filter(|_| !matches!(says, Says::Open));
    let page = match (says, &checked) {
        (_, Some((Checked::Passed, _))) | (Says::Open, None) => return open,
        (Says::Closed(page), _) => page,
        (Says::Open | Says::Nothing, _) => None,
    };
    let (redirect, is_portal) = match checked {
        Some((checked, redirect)) => (redirect, checked == Checked::Portal),
        None => (None, false),
    };
    // Without a redirect, the portal answers in place of the host that was asked.
    let in_place = url.filter(|_| is_portal).map(str::to_owned);
    let known = page.or(redirect).or_else(|| given_page.map(str::to_owned));
    let known = known.or(in_place).or_else(|| given_api.map(str::to_owned));
    known.ok_or_else(|| {
        let url = url.unwrap_or_default();
        format!("no reply to {url}; check again when the link is alive")
    })
}

/// The access point to which the link's interface is joined.
fn point<'s>(status: &'s Status, link: &Link) -> Option<&'s AccessPoint> {
    let mut points = status.wifi.iter().flat_map(|wifi| &wifi.access_points);
    points.find(|point| point.interface.is_some() && point.interface == link.interface)
}

fn check(config: &Path) -> anyhow::Result<Check> {
    let own = Config::read(config, Asked::ByDefault)
        .ok()
        .and_then(|config| config.portal);
    let check = own.or_else(|| from_network_manager(Path::new("/")).ok().flatten());
    check.ok_or_else(|| {
        Refused::because("no URL to check; set portal_url in the configuration, as `slowhand doctor` says")
    })
}

fn over(link: &Link, point: Option<&AccessPoint>) -> anyhow::Result<Over> {
    let name = link.interface.as_deref().filter(|_| !link.addresses.is_empty());
    let name = name.ok_or_else(|| Refused::because(format!("{} has no address", link.name)))?;
    let name = name.parse().map_err(Refused::because)?;
    let index = Rtnl::open()?.link_named(name)?.map(|link| link.ifindex);
    let of_lease = point.map(|point| Vec::from_iter(point.resolvers.iter().copied().map(IpAddr::V4)));
    let of_files = || linux::resolvers::of_link(Path::new("/"), index.unwrap_or_default());
    let resolvers = of_lease.filter(|all| !all.is_empty()).unwrap_or_else(of_files);
    Ok(Over {
        link: name,
        from: link.addresses.clone(),
        resolvers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_decides_and_the_api_names_the_page() {
        let (api, url) = ("https://portal.example/api", "http://check.example/");
        let page = || Some("https://login.example/".to_owned());
        let redirect = || Some("http://redirect.example/".to_owned());
        let passed = || Some((Checked::Passed, None));
        let portal = |to| Some((Checked::Portal, to));
        let failed = || Some((Checked::Failed, None));
        let open = "no captive portal: it leads to the Internet";
        let silent = "no reply to http://check.example/; check again when the link is alive";
        for (says, checked, given, found) in [
            (
                Says::Closed(page()),
                None,
                Some(api),
                Ok("https://login.example/"),
            ),
            (
                Says::Closed(page()),
                portal(redirect()),
                Some(api),
                Ok("https://login.example/"),
            ),
            (
                Says::Closed(None),
                portal(redirect()),
                Some(api),
                Ok("http://redirect.example/"),
            ),
            (Says::Closed(None), None, Some(api), Ok(api)),
            (Says::Closed(page()), passed(), Some(api), Err(open)),
            (Says::Open, None, Some(api), Err(open)),
            (Says::Open, portal(None), Some(api), Ok(url)),
            (Says::Open, failed(), Some(api), Err(silent)),
            (
                Says::Nothing,
                portal(None),
                Some("http://page/"),
                Ok("http://page/"),
            ),
            (Says::Nothing, None, Some(api), Ok(api)),
            (Says::Nothing, passed(), None, Err(open)),
            (Says::Nothing, portal(None), None, Ok(url)),
            (Says::Nothing, failed(), None, Err(silent)),
        ] {
            let of_check = checked.is_some().then_some(url);
            let place = place(says, checked, (given, of_check));
            assert_eq!(place.as_deref().map_err(String::as_str), found);
        }
    }

    #[test]
    fn a_link_has_the_url_and_the_name_servers_of_its_own_access_point() {
        let status = |portal: &str| {
            let text = format!(
                r#"{{"schema":"slowhand.status/1","pid":1,"policy":"slowhand","uptime_s":1,"cpu_s":1,"cc":"cubic",
                "window_lever":null,"window_lever_why":null,"unsent_lever":false,"links":[
                {{"name":"slow-w1","interface":"slow-w1","kind":"wifi","role":"primary","carrier":true,"addresses":[],
                "gateways":[],"default_route":true,"state":"use"}}],"connections":[],"wifi":{{"access_points":[
                {{"ssid":"a","state":"absent"}},
                {{"ssid":"b","interface":"slow-w1","state":"joined"{portal}}}]}}}}"#
            );
            serde_json::from_str::<Status>(&text).unwrap()
        };
        let with = status(r#","portal":"https://portal.example/","resolvers":["10.0.1.1"]"#);
        let found = point(&with, &with.links[0]).unwrap();
        assert_eq!(found.portal.as_deref(), Some("https://portal.example/"));
        assert_eq!(found.resolvers, [std::net::Ipv4Addr::new(10, 0, 1, 1)]);
        let without = status("");
        assert_eq!(point(&without, &without.links[0]).unwrap().portal, None);
        let mut gone = with.links[0].clone();
        gone.interface = None;
        assert!(point(&with, &gone).is_none(), "a network that is not joined");
    }
}

//! `[[losses]]`: frames that get lost between an access point and a walker.

use super::names;
use crate::plan::{Link, LinkKind, Loss, Medium, Walker, Way};
use crate::quantity::Quantity;
use crate::section::Section;
use units::Ratio;

pub(super) fn all(root: &Section<'_>, links: &[Link], walkers: &[Walker], medium: Medium) -> Vec<Loss> {
    let mut losses: Vec<Loss> = Vec::new();
    for section in root.tables("losses", "loss") {
        let loss = one(&section, links, walkers, medium);
        if let Some(loss) = loss {
            let pair = |loss: &Loss| (loss.link, loss.walker, loss.way);
            if losses.iter().any(|known| pair(known) == pair(&loss)) {
                let what = "there is another loss from it to the same receiver";
                section.note("from", what, "keep one of them");
            }
            losses.push(loss);
        }
        section.finish();
    }
    losses
}

fn one(section: &Section<'_>, links: &[Link], walkers: &[Walker], medium: Medium) -> Option<Loss> {
    if medium == Medium::Wfq {
        section.log.note(
            section.at,
            "[[losses]] has no effect with `medium = \"wfq\"`, which has no frames",
            "remove it, or `medium = \"wfq\"`",
        );
    }
    for (key, what) in [
        ("from", "`from = \"NAME\"`: an access point or a walker"),
        ("to", "`to = \"NAME\"`: a walker or an access point"),
        ("percent", "`percent`: the share of frames that get lost"),
    ] {
        if !section.has(key) {
            section.missing(key, what);
        }
    }
    let ppm = section.amount("percent", &Quantity::PERCENT);
    let [from, to] = ["from", "to"].map(|key| section.text(key));
    let (from, to) = (from?, to?);
    let ap = |name: &str| {
        let is_it = |link: &Link| link.name == name && matches!(link.kind, LinkKind::Wifi(_));
        links.iter().position(is_it)
    };
    let (link, walker, key, way) = match (ap(from), ap(to)) {
        (Some(link), None) => (link, to, "to", Way::Down),
        (None, Some(link)) => (link, from, "from", Way::Up),
        _ => {
            let what = format!("\"{from}\" and \"{to}\" are not an access point and a walker");
            section.note(
                "from",
                what,
                "give the name of one access point and of one walker",
            );
            return None;
        }
    };
    let names = walkers.iter().map(|walker| walker.name.as_str());
    let walker = names::resolve(section, section.place_of(key), "walker", walker, names)?;
    Some(Loss {
        link,
        walker,
        way,
        share: Ratio::from_ppm(ppm? as u32),
    })
}

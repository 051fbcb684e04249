//! Marks of flows: which link carries a flow, and which rule of the user it follows.
//!
//! ```text
//! bits 31–24   0x4e        all of ours
//! bits 23–16   rule        0: none of the user's rules
//! bits 15–0    link + 1    0: held, no link carries it
//! ```

use crate::rtnl::Mark;
use policy::LinkId;

const BASE: u32 = 0x4e00_0000;
const OURS: u32 = 0xff00_0000;
const LINK: u32 = 0xffff;

/// All of our marks.
pub(crate) const ALL: Mark = Mark {
    value: BASE,
    mask: OURS,
};

/// The mark of the flows that a link carries, whatever rule they follow. `None` for a link whose number has
/// no place in a mark.
pub(crate) fn of_link(link: LinkId) -> Option<Mark> {
    let link = u32::from(link.0) + 1;
    (link <= LINK).then_some(Mark {
        value: BASE | link,
        mask: OURS | LINK,
    })
}

/// The mark of flows of this rule on this link. `None`: they are held.
pub(crate) fn of_flow(rule: u8, link: Option<LinkId>) -> u32 {
    let link = link.and_then(of_link).map_or(BASE, |mark| mark.value);
    link | u32::from(rule) << 16
}

/// The link that carries the flow with this mark.
pub(crate) fn link_of(mark: u32) -> Option<LinkId> {
    let link = (mark & LINK).checked_sub(1)?;
    u16::try_from(link).ok().map(LinkId)
}

/// The rule that the flow with this mark follows.
pub(crate) const fn rule_of(mark: u32) -> u8 {
    mark.to_be_bytes()[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_link_and_rule() {
        for (rule, link) in [
            (0, None),
            (0, Some(0)),
            (7, Some(3)),
            (255, Some(0x4001)),
            (9, None),
        ] {
            let link = link.map(LinkId);
            let mark = of_flow(rule, link);
            assert_eq!((rule_of(mark), link_of(mark)), (rule, link), "{mark:#x}");
            assert_eq!(mark & ALL.mask, ALL.value);
            let by_link = link.and_then(of_link);
            assert!(by_link.is_none_or(|by| mark & by.mask == by.value), "{mark:#x}");
        }
        assert_eq!(of_link(LinkId(u16::MAX)), None);
    }
}

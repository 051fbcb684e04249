//! Marks of flows: which link carries a flow, and which rule of the user it follows.
//!
//! ```text
//! bits 31–24   0x4e        all of ours
//! bits 23–16   rule        0: none of the user's rules
//! bits 15–0    link + 1    0: held, no link carries it
//! ```
//!
//! Sockets with a wish have a mark of their own, [`wish`], which no rule reads as that of a link. Otherwise
//! their first packet would leave past the interface on which flows begin, and would never be marked.

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

/// All packets that nobody has marked.
pub(crate) const NONE: Mark = Mark { value: 0, mask: !0 };

const WISH: u32 = 0x4f00_0000;

/// The marks of all sockets with a wish.
pub(crate) const WISHES: Mark = Mark {
    value: WISH,
    mask: OURS,
};

/// The flows that no link carries, whatever rule they follow.
pub(crate) const HELD: Mark = Mark {
    value: BASE,
    mask: OURS | LINK,
};

/// The mark of sockets whose flows use this network while it is there. It follows from the name alone, so
/// that it still holds after the daemon has started again.
#[must_use]
pub fn wish(network: &str) -> u32 {
    // FNV-1a.
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = network.bytes().fold(0x811c_9dc5, mix);
    WISH | (hash ^ hash >> 24) & !OURS
}

/// Whether a mark has a meaning of its own here, so that no program may use it for another purpose.
#[must_use]
pub const fn is_ours(mark: u32) -> bool {
    mark & OURS == BASE || mark & OURS == WISH
}

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

    #[test]
    fn the_mark_of_a_wish_is_that_of_no_link() {
        let marks = ["phone", "wlan0", "w1", ""].map(wish);
        for mark in marks {
            assert_eq!(mark & WISHES.mask, WISHES.value, "{mark:#x}");
            assert!(mark & ALL.mask != ALL.value && is_ours(mark), "{mark:#x}");
        }
        assert!(marks[0] != marks[1] && marks[1] != marks[2]);
        assert!(is_ours(of_flow(0, None)) && !is_ours(7));
    }
}

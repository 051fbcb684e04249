//! Looks up generic-netlink families by name.

use super::error::{RequestError, ResolveError};
use super::message::Message;
use super::{Builder, Socket};

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_VERSION: u16 = 3;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;
const GENL_HEADER_LEN: usize = 4;

/// A generic-netlink family with the numbers that the running kernel assigned to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Message type of its commands and events.
    pub id: u16,
    /// Its version.
    pub version: u32,
    /// Its multicast groups: name and group number.
    pub groups: Vec<(String, u32)>,
}

impl Family {
    /// Asks the kernel for the family called `name`.
    pub fn resolve(socket: &mut Socket, name: &'static str) -> Result<Self, ResolveError> {
        let mut request = Builder::new();
        request
            .start(GENL_ID_CTRL, 0)
            .header(&[CTRL_CMD_GETFAMILY, 2, 0, 0])
            .str0(CTRL_ATTR_FAMILY_NAME, name);
        let mut family = None;
        let asked = socket.ask(&mut request, |message| {
            family = Self::parse(&message);
            Ok(())
        });
        match asked {
            Ok(()) => {}
            Err(error) if error.errno() == Some(libc::ENOENT) => {
                return Err(ResolveError::Missing { family: name });
            }
            Err(source) => return Err(ResolveError::Request { family: name, source }),
        }
        let malformed = RequestError::Malformed {
            what: "generic-netlink family",
        };
        family.ok_or(ResolveError::Request {
            family: name,
            source: malformed,
        })
    }

    /// Number of the multicast group called `name`.
    pub fn group(&self, name: &str) -> Option<u32> {
        self.groups
            .iter()
            .find(|(group, _)| group == name)
            .map(|&(_, id)| id)
    }

    fn parse(message: &Message<'_>) -> Option<Self> {
        let attrs = message.attrs(GENL_HEADER_LEN);
        let groups = attrs.clone().find(CTRL_ATTR_MCAST_GROUPS);
        let named = |group: super::Attr<'_>| {
            let name = group.attrs().find(CTRL_ATTR_MCAST_GRP_NAME)?.str()?.to_owned();
            Some((name, group.attrs().find(CTRL_ATTR_MCAST_GRP_ID)?.u32()?))
        };
        Some(Self {
            id: attrs.clone().find(CTRL_ATTR_FAMILY_ID)?.u16()?,
            version: attrs.find(CTRL_ATTR_VERSION)?.u32()?,
            groups: groups
                .map(|list| list.attrs().filter_map(named).collect())
                .unwrap_or_default(),
        })
    }
}

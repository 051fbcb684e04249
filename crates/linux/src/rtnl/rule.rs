//! Policy routing rules: which table the kernel looks up for which packet.

use super::error::{AddRuleError, DelRuleError, ListError};
use super::prefix::Prefix;
use super::route::{Protocol, Table};
use super::{IfName, NLM_F_CREATE, NLM_F_EXCL, Rtnl};
use crate::netlink::{Attr, Builder, Message};
use libc::{RTM_DELRULE, RTM_GETRULE, RTM_NEWRULE};
use std::fmt;

pub(super) const HEADER_LEN: usize = 12;
const FR_ACT_TO_TBL: u8 = 1;
const FRA_DST: u16 = 1;
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_PRIORITY: u16 = 6;
const FRA_FWMARK: u16 = 10;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_FWMASK: u16 = 16;
const FRA_OIFNAME: u16 = 17;
const FRA_PROTOCOL: u16 = 21;
const FRA_IP_PROTO: u16 = 22;
const FIB_RULE_INVERT: u32 = 2;
/// `FRA_SUPPRESS_PREFIXLEN` of a rule that suppresses nothing.
const SUPPRESS_NOTHING: u32 = u32::MAX;

/// A firewall mark with its mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// Value of the mark.
    pub value: u32,
    /// Mask of the bits that count.
    pub mask: u32,
}

/// What the kernel does with a matching packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleAction {
    /// Looks up a table. If it has no route, the next rule is tried.
    Lookup,
    /// Any other `FR_ACT_*`: the packet is dropped or rejected, or rules are skipped.
    Other(u8),
}

/// A policy routing rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// Rules with lower numbers are tried first. 0 is the kernel's rule for `local`, 32766 the one for
    /// `main`.
    pub priority: u32,
    /// What the rule does.
    pub action: RuleAction,
    /// The table to look up.
    pub table: Table,
    /// IPv6 instead of IPv4.
    pub v6: bool,
    /// Only packets from this prefix.
    pub from: Option<Prefix>,
    /// Only packets to this prefix.
    pub to: Option<Prefix>,
    /// Only packets received on this link.
    pub iif: Option<IfName>,
    /// Only packets of sockets bound to this link.
    pub oif: Option<IfName>,
    /// Only packets with this mark.
    pub mark: Option<Mark>,
    /// Only packets of this protocol above IP, such as 17 for UDP (`ipproto`).
    pub ip_protocol: Option<u8>,
    /// Match all packets except those that the selectors describe (`not`).
    pub inverted: bool,
    /// Ignore routes of the table whose prefix length is at most this (`suppress_prefixlength`).
    pub suppress: Option<u32>,
    /// Originator.
    pub protocol: Protocol,
}

impl Rule {
    /// A rule by slowhand that matches every packet of one family.
    pub const fn all(v6: bool, priority: u32, table: Table) -> Self {
        Self {
            priority,
            action: RuleAction::Lookup,
            table,
            v6,
            from: None,
            to: None,
            iif: None,
            oif: None,
            mark: None,
            ip_protocol: None,
            inverted: false,
            suppress: None,
            protocol: Protocol::SLOWHAND,
        }
    }

    /// `from PREFIX lookup TABLE`.
    pub const fn from(prefix: Prefix, priority: u32, table: Table) -> Self {
        Self {
            from: Some(prefix),
            ..Self::all(prefix.addr().is_ipv6(), priority, table)
        }
    }

    /// `oif LINK lookup TABLE`.
    pub const fn oif(v6: bool, name: IfName, priority: u32, table: Table) -> Self {
        Self {
            oif: Some(name),
            ..Self::all(v6, priority, table)
        }
    }

    /// Whether every packet looks up all of `table`, as with the kernel's rule for `main`.
    pub fn is_for_all_of(&self, table: Table) -> bool {
        let plain = Self {
            protocol: self.protocol,
            ..Self::all(self.v6, self.priority, table)
        };
        *self == plain
    }

    /// Parses `RTM_NEWRULE`.
    pub(super) fn parse(message: &Message<'_>) -> Option<Self> {
        let header = message.payload.get(..HEADER_LEN)?;
        let family = i32::from(header[0]);
        if !matches!(family, libc::AF_INET | libc::AF_INET6) {
            return None;
        }
        let mut rule = Self::all(family == libc::AF_INET6, 0, Table(u32::from(header[4])));
        rule.protocol = Protocol(0);
        rule.inverted = u32::from_ne_bytes(*header[8..].first_chunk()?) & FIB_RULE_INVERT != 0;
        if header[7] != FR_ACT_TO_TBL {
            rule.action = RuleAction::Other(header[7]);
        }
        for attr in message.attrs(HEADER_LEN) {
            rule.read(&attr, header)?;
        }
        Some(rule)
    }

    fn read(&mut self, attr: &Attr<'_>, header: &[u8]) -> Option<()> {
        match attr.kind {
            FRA_DST => self.to = Some(Prefix::new(attr.ip()?, header[1]).ok()?),
            FRA_SRC => self.from = Some(Prefix::new(attr.ip()?, header[2]).ok()?),
            FRA_IIFNAME => self.iif = attr.str()?.parse().ok(),
            FRA_OIFNAME => self.oif = attr.str()?.parse().ok(),
            FRA_PRIORITY => self.priority = attr.u32()?,
            FRA_TABLE => self.table = Table(attr.u32()?),
            FRA_FWMARK => self.read_mark(|mark| &mut mark.value, attr),
            FRA_FWMASK => self.read_mark(|mark| &mut mark.mask, attr),
            FRA_SUPPRESS_PREFIXLEN => self.suppress = attr.u32().filter(|&length| length != SUPPRESS_NOTHING),
            FRA_IP_PROTO => self.ip_protocol = Some(attr.u8()?),
            FRA_PROTOCOL => self.protocol = Protocol(attr.u8()?),
            _ => {}
        }
        Some(())
    }

    fn read_mark(&mut self, part: impl Fn(&mut Mark) -> &mut u32, attr: &Attr<'_>) {
        let mark = self.mark.get_or_insert(Mark {
            value: 0,
            mask: u32::MAX,
        });
        *part(mark) = attr.u32().unwrap_or(0);
    }

    /// Encodes `RTM_NEWRULE` or `RTM_DELRULE`.
    pub(super) fn write(&self, request: &mut Builder, kind: u16, nl_flags: u16) {
        request.start(kind, nl_flags).header(&self.header());
        if let Some(to) = self.to {
            request.ip(FRA_DST, to.network().addr());
        }
        if let Some(from) = self.from {
            request.ip(FRA_SRC, from.network().addr());
        }
        if let Some(iif) = &self.iif {
            request.str0(FRA_IIFNAME, iif.as_str());
        }
        if let Some(oif) = &self.oif {
            request.str0(FRA_OIFNAME, oif.as_str());
        }
        if let Some(mark) = self.mark {
            request.u32(FRA_FWMARK, mark.value).u32(FRA_FWMASK, mark.mask);
        }
        if let Some(protocol) = self.ip_protocol {
            request.u8(FRA_IP_PROTO, protocol);
        }
        if let Some(length) = self.suppress {
            request.u32(FRA_SUPPRESS_PREFIXLEN, length);
        }
        request
            .u32(FRA_PRIORITY, self.priority)
            .u32(FRA_TABLE, self.table.0)
            .u8(FRA_PROTOCOL, self.protocol.0);
    }

    fn header(&self) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        header[0] = (if self.v6 { libc::AF_INET6 } else { libc::AF_INET }) as u8;
        header[1] = self.to.map_or(0, Prefix::len);
        header[2] = self.from.map_or(0, Prefix::len);
        header[4] = u8::try_from(self.table.0).unwrap_or(libc::RT_TABLE_UNSPEC);
        header[7] = match self.action {
            RuleAction::Lookup => FR_ACT_TO_TBL,
            RuleAction::Other(action) => action,
        };
        if self.inverted {
            header[8..].copy_from_slice(&FIB_RULE_INVERT.to_ne_bytes());
        }
        header
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}from ",
            self.priority,
            if self.inverted { "not " } else { "" }
        )?;
        match self.from {
            Some(from) => write!(f, "{from}")?,
            None => f.write_str("all")?,
        }
        if let Some(to) = self.to {
            write!(f, " to {to}")?;
        }
        if let Some(iif) = self.iif {
            write!(f, " iif {iif}")?;
        }
        if let Some(oif) = self.oif {
            write!(f, " oif {oif}")?;
        }
        if let Some(mark) = self.mark {
            write!(f, " fwmark {:#x}/{:#x}", mark.value, mark.mask)?;
        }
        if let Some(protocol) = self.ip_protocol {
            write!(f, " ipproto {protocol}")?;
        }
        match self.action {
            RuleAction::Lookup => write!(f, " lookup {}", self.table)?,
            RuleAction::Other(action) => write!(f, " action {action}")?,
        }
        match self.suppress {
            Some(length) => write!(f, " suppress_prefixlength {length}"),
            None => Ok(()),
        }
    }
}

impl Rtnl {
    /// Lists all rules of both families in the order in which the kernel tries them.
    pub fn rules(&mut self) -> Result<Vec<Rule>, ListError> {
        self.request.start(RTM_GETRULE, 0).header(&[0; HEADER_LEN]);
        self.socket
            .dump_whole(&mut self.request, |m| Rule::parse(&m))
            .map_err(ListError)
    }

    /// Adds a rule. Fails if an identical rule exists.
    pub fn add_rule(&mut self, rule: &Rule) -> Result<(), AddRuleError> {
        rule.write(&mut self.request, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL);
        self.socket
            .request(&mut self.request)
            .map_err(|error| AddRuleError::new(rule, error))
    }

    /// Adds a rule after those of the same priority, even if an identical rule exists.
    pub fn append_rule(&mut self, rule: &Rule) -> Result<(), AddRuleError> {
        rule.write(&mut self.request, RTM_NEWRULE, NLM_F_CREATE);
        self.socket
            .request(&mut self.request)
            .map_err(|error| AddRuleError::new(rule, error))
    }

    /// Removes a rule, or the first of several identical ones.
    pub fn del_rule(&mut self, rule: &Rule) -> Result<(), DelRuleError> {
        rule.write(&mut self.request, RTM_DELRULE, 0);
        self.socket
            .request(&mut self.request)
            .map_err(|error| DelRuleError::new(rule, error))
    }
}

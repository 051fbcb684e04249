//! Which versions of IP a host has addresses of.

/// The versions of IP in which a link gives the client an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Families {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
    /// Both.
    Both,
}

impl Families {
    /// Whether it has an IPv4 address.
    pub const fn has_v4(self) -> bool {
        matches!(self, Self::V4 | Self::Both)
    }

    /// Whether it has an IPv6 address.
    pub const fn has_v6(self) -> bool {
        matches!(self, Self::V6 | Self::Both)
    }
}

/// The versions of IP in which clients reach the server. Connections begin at one address, and the server
/// announces the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerFamilies {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
    /// Connections begin over IPv4. The IPv6 address is announced.
    V4First,
    /// Connections begin over IPv6. The IPv4 address is announced.
    V6First,
}

impl ServerFamilies {
    /// The families of its addresses.
    pub const fn all(self) -> Families {
        match self {
            Self::V4 => Families::V4,
            Self::V6 => Families::V6,
            Self::V4First | Self::V6First => Families::Both,
        }
    }

    /// Whether connections begin over IPv6.
    pub const fn begins_in_v6(self) -> bool {
        matches!(self, Self::V6 | Self::V6First)
    }

    /// Whether connections over a link with these addresses begin over IPv6. `None`: they have no family in
    /// common.
    pub const fn over(self, link: Families) -> Option<bool> {
        let all = self.all();
        let (v4, v6) = (link.has_v4() && all.has_v4(), link.has_v6() && all.has_v6());
        match (v4, v6) {
            (true, true) => Some(self.begins_in_v6()),
            (true, false) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_tcp_takes_the_family_that_a_link_has() {
        use Families as L;
        use ServerFamilies as S;
        assert_eq!(S::V4First.over(L::V4), Some(false));
        assert_eq!(S::V4First.over(L::V6), Some(true));
        assert_eq!(S::V4First.over(L::Both), Some(false));
        assert_eq!(S::V6First.over(L::Both), Some(true));
        assert_eq!(S::V4.over(L::V6), None);
        assert_eq!(S::V6.over(L::V4), None);
    }
}

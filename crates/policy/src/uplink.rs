//! How the user's own routes rank links. What [`crate::choose::routes`] decides by.

/// A version of IP. Routes, and so the link on which new connections begin, may differ between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];
}

/// How the user's own default routes rank a link in one family. The least is the one that the kernel takes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Uplink {
    /// A default route of this metric leads over it.
    Metric(u32),
    /// None does, but its gateway is known from elsewhere, as from slowhand's configuration.
    #[default]
    Declared,
    /// Nothing leads out over it: new connections must not begin there.
    None,
}

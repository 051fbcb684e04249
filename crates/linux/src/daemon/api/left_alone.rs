//! Why a connection is left alone.

/// Why a connection is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftAlone {
    /// It fell back to plain TCP, so no subflow can be added.
    FellBack,
    /// It began under the kernel's own path manager, and stays there.
    KernelManaged,
    /// It did not begin on one of our links.
    OtherLink,
    /// The user's routes lead to its server over a network of its own.
    Elsewhere,
    /// One of its ends has closed its direction of the data stream.
    Closing,
}

impl LeftAlone {
    /// The reason, as a sentence for users.
    pub const fn why(self) -> &'static str {
        match self {
            Self::FellBack => "it fell back to plain TCP: the server or a middlebox does not support MPTCP",
            Self::KernelManaged => "it began before slowhand and belongs to the kernel's own path manager",
            Self::OtherLink => "it does not use any link that slowhand manages",
            Self::Elsewhere => {
                "this host's routes reach its server through another network, such as a tunnel or an internal network"
            }
            Self::Closing => "one end has closed its side; the kernel finishes it over the paths it has",
        }
    }
}

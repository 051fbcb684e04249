//! Names that users type and all crates agree on.

use crate::words::words;

words! {
    /// What a link is for.
    Role is "link role" {
        /// Joined and used.
        Primary = "primary",
        /// Joined as backup; carries data when the primaries are full.
        Secondary = "secondary",
        /// Joined as backup; used only when no primary or secondary delivers.
        Backup = "backup",
        /// No address, no subflow.
        Never = "never",
    }
}

words! {
    /// What the host wants from its links together.
    Mode is "mode" {
        /// One path, the next one warm.
        Handover = "handover",
        /// The path with the least delay, the others backup.
        Interactive = "interactive",
        /// The links together.
        Aggregate = "aggregate",
        /// Every byte on two paths (simulator and relay only: stock kernels cannot).
        Redundant = "redundant",
    }
}

words! {
    /// Where a run took place.
    World is "world" {
        /// Network namespaces, real kernel, modelled links.
        Lab = "lab",
        /// Virtual time.
        Sim = "sim",
        /// A host's own links.
        Linux = "linux",
        /// Virtual time and the lab, one scenario in each.
        Both = "both",
    }
}

//! Links: which interface each declared link is, and how packets leave over it.
//!
//! In: rtnetlink events ([`book::Links::apply`]). Out: steps for the daemon, facts for the engine and the
//! plan of routes. Bookkeeping only: nothing here talks to the kernel. [`interfaces`] has what the kernel
//! reports, [`managed`] one link, [`ways`] its source addresses and next hops. [`restore`] says when to check
//! for routes that another program removed.

pub(crate) mod book;
pub(crate) mod interfaces;
pub(crate) mod managed;
pub(crate) mod marks;
pub(crate) mod pattern;
pub(crate) mod restore;
pub(crate) mod ways;

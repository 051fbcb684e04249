//! What slowhand leaves alone: hosts as people have them, with everything that happens to them.
//!
//! A *shape* (`shapes`) builds a host with its providers and neighbours. Each is built twice, and the twins live through the same events, one of
//! them with slowhand (`twins`): whatever the other reaches, it must reach, in the same way.

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod daemon;
mod held;
mod matrix;
mod moved;
mod reach;
mod serve;
mod shapes;
mod site;
mod snapshot;
mod swept;
mod tunnel;
mod twins;
mod uplink;
mod wait;

/// Whether this user may make namespaces; says so where not.
fn may_run() -> bool {
    match linux::netns::Netns::new() {
        Err(linux::netns::CreateError::NotPermitted) => {
            println!("skipped: needs root (CAP_SYS_ADMIN) to make a network namespace");
            false
        }
        made => made.is_ok(),
    }
}

//! What slowhand leaves alone: hosts as people have them, with everything that happens to them.
//!
//! | module | what it is |
//! |---|---|
//! | `shapes` | hosts: a function builds each, with its providers and neighbours |
//! | `twins` | the judge: of two equal hosts, the one with slowhand must reach what the other does |
//! | `matrix` | every shape through every event |
//! | `cases` | more shapes, with one event each; its table lists the kinds of faults |
//! | `moved` | a link that died in silence, so that new connections leave by another one |
//! | `swept` | what others remove is restored |
//! | `site`, `uplink`, `tunnel` | nameless namespaces, cables, providers that drop foreign sources (BCP 38) |
//! | `counted` | what the kernels counted while probes were sent |
//! | `reach`, `held`, `serve` | new connections for each choice of source, lasting ones, and their servers |
//! | `snapshot` | rules, routes, addresses and settings as text; it and `inside` are the bench's, too |
//! | `daemon` | the program as its user runs it |
//!
//! A new shape is a function and a line in `shapes::ALL`.

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod counted;
mod daemon;
mod held;
#[path = "../../../bench/src/host/up_down/inside.rs"]
mod inside;
mod matrix;
mod moved;
mod reach;
mod serve;
mod shapes;
mod site;
#[path = "../../../bench/src/host/up_down/snapshot.rs"]
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

//! Scenarios with TCP and MPTCP flows, with faults, or with a client of one radio: hosts in virtual time, the
//! links between them, and the engine that acts on the client.
//!
//! The links are [`links::Network`], as in the lab, with every 802.11 frame. The client and the server are
//! hosts, and so is each other walker with TCP or MPTCP (`others`). The engine gets what a daemon of a live
//! host would report, and its actions are carried out at once.
//!
//! | what | where |
//! |---|---|
//! | what a plan asks for, and what is refused | `stage` |
//! | segments on links | `carrier` |
//! | links as the client's kernel shows them, their addresses | `plugs`, `addresses` |
//! | applications and their connections | `flows`, `lane` |
//! | when applications connect, read and request | `applications` |
//! | connections whose link the engine assigns | `assign` |
//! | hosts of other walkers | `others` |
//! | a relay, and the server behind it | `relay` |
//! | datagrams beside TCP, and what becomes of them | `datagrams`, `accounts` |
//! | connections and subflows as the engine knows them | `book` |
//! | events and counters as facts for the engine | `hear`, `sampler` |
//! | actions of the engine | `act` |
//! | the turns of a single radio | `radio` |
//! | the path manager of a stock kernel | `endpoints` |
//! | faults and walks | `script` |
//! | what links will carry | `forecast` |
//! | what each link carried of each flow | `paths` |
//! | the end of the warm-up | `warmup` |
//! | the loop | `world` |
//! | the result | `summary` |
//!
//! # Where we differ, and why
//! 1. Samples cost nothing here, so they are never stretched as a daemon's are (`linux`'s
//!    `daemon::hear::pace`).
//! 2. The kernel's events reach the engine at once, and its actions act at once.
//! 3. Only IPv4. The server has one address.
//! 4. The engine is not told about hosts that programs reach, and nothing checks for captive portals: there
//!    are no programs but the flows.
//! 5. A withdrawal follows the last one at once: the peer here loses none of them.
//! 6. Digests are not computed: data has no content. A flow is intact if all of it arrived once and in order.

mod accounts;
mod act;
mod addresses;
mod applications;
mod assign;
mod book;
mod carrier;
mod datagrams;
mod endpoints;
mod families;
mod flows;
mod forecast;
mod hear;
mod lane;
mod others;
mod paths;
mod plugs;
mod radio;
mod relay;
mod round_trips;
mod sampler;
mod script;
mod stage;
mod summary;
mod warmup;
mod world;

pub(super) use stage::{check, has};
pub(super) use world::play;

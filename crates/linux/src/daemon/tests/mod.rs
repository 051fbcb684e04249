//! The daemon against the real kernel: client and server namespaces, and connections whose bytes are checked.

mod acts;
mod closing;
mod controllers;
mod cost;
mod fallback;
mod families;
mod felt;
mod flow;
mod idle;
mod levers;
mod life;
mod marks;
mod net;
mod objects;
mod passage;
mod portal;
mod rig;
mod sampling;
mod undone;
mod upkeep;
mod without_beacons;

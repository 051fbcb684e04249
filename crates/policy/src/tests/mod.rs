//! The engine driven by scripted inputs, as a world would drive it.

mod baselines;
mod bounds;
mod families;
mod flows;
mod links;
mod liveness;
mod looks;
mod loss;
mod pacing;
mod peer;
mod portal;
mod queues;
mod renewal;
mod reserves;
mod routes;
mod slots;
mod slow;
mod world;

use world::{World, spec};

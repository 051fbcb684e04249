//! Benchmarks of the speed of code that needs no kernel: the engine, the delivery estimator, and the models
//! of links.

pub mod engine;
pub mod estimator;
pub mod links;

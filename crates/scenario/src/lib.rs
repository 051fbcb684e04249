//! (scenario)

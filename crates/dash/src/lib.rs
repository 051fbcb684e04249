//! (dash)

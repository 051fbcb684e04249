//! (units)

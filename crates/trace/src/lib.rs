//! (trace)

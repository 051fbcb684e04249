//! (linux)

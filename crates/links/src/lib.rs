//! (links)

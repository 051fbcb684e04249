//! (lab)

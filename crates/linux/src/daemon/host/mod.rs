pub(crate) mod controllers;
pub(crate) mod counters;
pub(crate) mod outlet;
pub(crate) mod settings;

pub(crate) mod controllers;
pub(crate) mod counters;
pub(crate) mod settings;

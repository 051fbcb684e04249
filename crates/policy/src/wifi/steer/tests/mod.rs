//! Golden vectors and properties of the parts; both scenarios of nsdi15 §6.2.1 in a fluid model.

mod fluid;
mod golden;
mod parts;
mod scenarios;

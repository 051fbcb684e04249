//! Presents runs: a page for the browser, a picture for the README, and lines and tables for the terminal.
//!
//! Every function is pure: it turns `trace` data into text, for a recorded run or one in progress. All output
//! formats take their sentences from `words` and their figures from `figures`, so that they agree.

mod distribution;
mod figures;
mod measure;
mod page;
mod papers;
mod study;
mod svg;
pub mod terminal;
mod words;

pub use page::{Plots, page, plots as plots_page, study as study_page};
pub use papers::papers;
pub use study::study_svg;
pub use svg::{plot, svg};
pub use words::headline;

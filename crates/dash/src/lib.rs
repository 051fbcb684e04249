//! Faces of a run: a page for the browser, a picture for the README, lines and tables for the terminal.
//!
//! Everything is a pure function from what `trace` holds to text, for a recorded run as well as for one that goes on. What the
//! faces say in words and figures comes from one place each (`words`, `figures`), so that they agree.

mod figures;
mod page;
mod papers;
mod svg;
pub mod terminal;
mod words;

pub use page::page;
pub use papers::papers;
pub use svg::{plot, svg};
pub use words::headline;

//! Terminal output: a table of the result, and progress lines while runs are in progress.
//!
//! The functions are pure and return text. The caller decides about colour and width.

mod live;
mod study;
mod table;

pub use live::{Live, progress};
pub use show::paint::Paint;
pub use study::study;
pub use table::{fitted, table};

/// Bar of `cells` character cells, with a resolution of an eighth of a cell.
fn bar(share: f64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * cells as f64).round() as usize;
    let drawn = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    format!("{drawn:<cells$}")
}

#[cfg(test)]
mod tests;

//! The picture for the README.
use trace::{PlayDocument, RunRecord};
/// One static picture of a comparison.
pub fn svg(records: &[RunRecord], document: &PlayDocument) -> String {
    let _ = records;
    document.scenario.clone()
}

//! Writes the shipped synthetic LTE trace to standard output.

use scenario::Synthetic;
use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for ms in Synthetic::LTE_GAPS.times_ms() {
        writeln!(out, "{ms}")?;
    }
    out.flush()
}

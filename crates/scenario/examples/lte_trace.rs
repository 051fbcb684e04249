//! Writes a synthetic trace to standard output: the shipped `lte-gaps`, or the one that is named.

use scenario::Synthetic;
use std::io::Write;
use std::process::ExitCode;

fn main() -> std::io::Result<ExitCode> {
    let name = std::env::args().nth(1);
    let synthetic = match name.as_deref() {
        None | Some("lte-gaps") => Synthetic::LTE_GAPS,
        Some("lte") => Synthetic::LTE,
        Some("umts") => Synthetic::UMTS,
        Some(other) => {
            eprintln!("there is no synthetic trace `{other}`; there are lte-gaps, lte and umts");
            return Ok(ExitCode::from(2));
        }
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for ms in synthetic.times_ms() {
        writeln!(out, "{ms}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

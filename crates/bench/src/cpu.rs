//! Processor time.

use anyhow::Context as _;

/// Processor time that a process has used, in seconds.
pub fn seconds(id: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = Vec::from_iter(after_name.split_whitespace());
    // Fields 14 and 15 of proc_pid_stat(5); the first one here is the third.
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    let (user, system) = ticks(11).zip(ticks(12)).context("/proc/PID/stat is too short")?;
    // SAFETY: no pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Ok((user + system) / per_second as f64)
}

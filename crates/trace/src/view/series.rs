//! From samples at any moment to one figure per step.

/// Turns samples of cumulative bytes into bytes per step, with straight lines between samples. The last step
/// may be shorter than the others.
///
/// Samples are in order of time. A counter that falls (a new subflow on the same link) restarts from the
/// lower value.
pub(super) fn per_step(samples: &[(u64, u64)], step_ns: u64, steps: usize) -> Vec<u64> {
    let mut out = vec![0.0f64; steps];
    let mut previous = (0, 0);
    for &(t_ns, bytes) in samples {
        let gained = bytes.saturating_sub(previous.1);
        spread(&mut out, step_ns, (previous.0, t_ns), gained);
        previous = (t_ns, bytes);
    }
    out.into_iter().map(|bytes| bytes.round() as u64).collect()
}

/// Adds `bytes` evenly to the steps between two moments.
fn spread(out: &mut [f64], step_ns: u64, (from, to): (u64, u64), bytes: u64) {
    let Some(last) = out.len().checked_sub(1) else {
        return;
    };
    if bytes == 0 {
        return;
    }
    if to <= from {
        out[((from / step_ns) as usize).min(last)] += bytes as f64;
        return;
    }
    for step in from / step_ns..=((to - 1) / step_ns) {
        let begin = (step * step_ns).max(from);
        let end = ((step + 1) * step_ns).min(to);
        out[(step as usize).min(last)] += bytes as f64 * (end - begin) as f64 / (to - from) as f64;
    }
}

/// The latest known level at the end of each step, in kilobytes; unknown before the first sample. Empty if
/// never known.
pub(super) fn levels(samples: &[(u64, Option<u64>)], step_ns: u64, steps: usize) -> Vec<Option<u64>> {
    if samples.iter().all(|(_, level)| level.is_none()) {
        return Vec::new();
    }
    let mut pending = samples.iter().peekable();
    let mut now = None;
    (0..steps as u64)
        .map(|step| {
            while let Some((_, level)) = pending.next_if(|(t_ns, _)| *t_ns < (step + 1) * step_ns) {
                now = *level;
            }
            now.map(|bytes| bytes.div_ceil(1_000))
        })
        .collect()
}

/// Kilobits per second from bytes per step.
pub(super) fn kbps(bytes: &[u64], step_ms: u64) -> Vec<u64> {
    bytes.iter().map(|bytes| bytes * 8 / step_ms).collect()
}

/// Adds neighbours until there are `steps` of them.
pub(super) fn merged(bins: &[u64], width: usize, steps: usize) -> Vec<u64> {
    let mut out: Vec<u64> = bins.chunks(width).map(|chunk| chunk.iter().sum()).collect();
    out.resize(steps, 0);
    out
}

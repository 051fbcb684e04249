//! Runs many jobs on many cores. Results come back in the order of the jobs, whichever finishes first.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs each job on one of `cores` threads.
pub fn sweep<J: Sync, R: Send>(jobs: &[J], cores: usize, run: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    let work = || {
        while let Some((place, job)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(place).map(|job| (place, job))
        } {
            let result = run(job);
            done.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push((place, result));
        }
    };
    std::thread::scope(|scope| {
        (1..cores.max(1)).for_each(|_| {
            scope.spawn(work);
        });
        work();
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs `work` on each worker, on `cores` threads.
pub fn sweep_mut<W: Send>(workers: &mut [W], cores: NonZeroUsize, work: impl Fn(&mut W) + Sync) {
    let jobs: Vec<Mutex<&mut W>> = workers.iter_mut().map(Mutex::new).collect();
    sweep(&jobs, cores.get().min(jobs.len()), |job| {
        work(&mut job.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        for cores in [0, 1, 2, 7] {
            let squares = sweep(&jobs, cores, |job| job * job);
            assert_eq!(squares, jobs.iter().map(|job| job * job).collect::<Vec<_>>());
        }
    }
}

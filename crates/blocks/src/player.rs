//! A player of the blocks that a flow fetches: when it plays, and when it waits.
//!
//! # Sources
//! - juggler §6.2.2: what playback does is computed from the times at which the blocks are complete. Playback
//!   begins with a full buffer. At a block that is not there it stops, until the buffer is full again.
//!
//! # Where we differ, and why
//! 1. The time until playback begins is no gap. It is reported by itself.
//! 2. A gap that reaches into the warm-up counts from the end of that.
//!
//! # Checked by
//! `tests` below; `tests/blocks.rs` of `sim` and of the lab.

use scenario::Video;
use trace::Playback;
use units::{Bitrate, Bytes, Duration, Instant};

/// What a player needs to know of a video.
#[derive(Debug, Clone)]
pub(super) struct Player {
    /// How long each block plays.
    lengths: Vec<Duration>,
    buffer: Duration,
}

/// A part of a run.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// When the flow starts.
    pub from: Instant,
    /// From when on gaps count.
    pub counts: Instant,
    /// When the run ends.
    pub until: Instant,
}

impl Player {
    /// A player of blocks with these bytes.
    pub(super) fn new(video: Video, blocks: &[u64]) -> Self {
        let Video { rate, buffer } = video;
        let length = |&bytes: &u64| plays(rate, Bytes::new(bytes));
        Self {
            lengths: blocks.iter().map(length).collect(),
            buffer,
        }
    }

    /// What it does if the blocks are complete at these times. `None`: never.
    pub(super) fn play(&self, complete: &[Option<Instant>], time: Time) -> Playback {
        let mut playback = Playback::default();
        let (mut clock, mut played) = (time.from, Duration::ZERO);
        for at in 0..self.lengths.len() {
            if at == 0 || complete[at].is_none_or(|there| there > clock) {
                let ready = self.full(at, complete).map(|full| full.max(clock));
                let ready = ready.filter(|ready| *ready <= time.until);
                if at > 0 {
                    let to = ready.unwrap_or(time.until);
                    note(&mut playback, to.since(clock.max(time.counts)));
                } else {
                    playback.startup_ms = ready.map(|ready| millis(ready.since(time.from)));
                }
                let Some(ready) = ready else {
                    break;
                };
                clock = ready;
            }
            let length = self.lengths[at].min(time.until.since(clock));
            played += length;
            clock += length;
            if clock >= time.until {
                break;
            }
        }
        playback.played_ms = millis(played);
        playback
    }

    /// When the buffer is full from this block on, or has the rest of the video.
    fn full(&self, at: usize, complete: &[Option<Instant>]) -> Option<Instant> {
        let mut needed = self.buffer;
        let mut full = complete[at]?;
        for (length, there) in self.lengths[at..].iter().zip(&complete[at..]) {
            if needed.is_zero() {
                break;
            }
            full = full.max((*there)?);
            needed = needed.saturating_sub(*length);
        }
        Some(full)
    }
}

/// How long these bytes play.
fn plays(rate: Bitrate, bytes: Bytes) -> Duration {
    rate.time_for(bytes).unwrap_or(Duration::ZERO)
}

/// Records a gap.
fn note(playback: &mut Playback, gap: Duration) {
    if !gap.is_zero() {
        playback.gaps += 1;
        playback.gap_total_ms += millis(gap);
        playback.longest_gap_ms = playback.longest_gap_ms.max(millis(gap));
    }
}

fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of a second each, two of which are buffered.
    fn play(complete_s: &[u64], counts_s: u64, until_s: u64) -> Playback {
        let video = Video {
            rate: Bitrate::from_mbps(8),
            buffer: Duration::from_millis(1_500),
        };
        let blocks = vec![1_000_000; complete_s.len()];
        let complete: Vec<_> = complete_s
            .iter()
            .map(|&at| (at < 99).then(|| Instant::from_secs(at)))
            .collect();
        let time = Time {
            from: Instant::from_secs(1),
            counts: Instant::from_secs(counts_s),
            until: Instant::from_secs(until_s),
        };
        Player::new(video, &blocks).play(&complete, time)
    }

    fn expect(startup_s: Option<u64>, gaps_s: &[u64], played_s: u64) -> Playback {
        let ms = |s: u64| s as f64 * 1e3;
        Playback {
            startup_ms: startup_s.map(ms),
            gaps: gaps_s.len() as u64,
            gap_total_ms: ms(gaps_s.iter().sum()),
            longest_gap_ms: ms(gaps_s.iter().copied().max().unwrap_or(0)),
            played_ms: ms(played_s),
        }
    }

    #[test]
    fn blocks_in_time_leave_no_gap() {
        assert_eq!(play(&[2, 3, 4, 5], 0, 50), expect(Some(2), &[], 4));
        // Each is there at the moment at which it is due.
        assert_eq!(play(&[1, 2, 4, 5, 6], 0, 50), expect(Some(1), &[], 5));
    }

    #[test]
    fn a_gap_lasts_until_the_buffer_is_full_again() {
        // It begins at 3 s, and the third block is missing at 5 s. The fourth is there at 9 s.
        assert_eq!(play(&[2, 3, 7, 9, 9], 0, 50), expect(Some(2), &[4], 5));
        // The last block has none behind it.
        assert_eq!(play(&[2, 3, 7], 0, 50), expect(Some(2), &[2], 3));
    }

    #[test]
    fn a_gap_counts_from_the_end_of_the_warm_up_to_the_end_of_the_run() {
        assert_eq!(play(&[2, 3, 7, 9, 9], 6, 50), expect(Some(2), &[3], 5));
        assert_eq!(play(&[2, 3, 7, 9, 9], 10, 50), expect(Some(2), &[], 5));
        assert_eq!(play(&[2, 3, 7, 99, 99], 0, 12), expect(Some(2), &[7], 2));
    }

    #[test]
    fn what_never_arrives_is_never_played() {
        assert_eq!(play(&[2, 99], 0, 50), expect(None, &[], 0));
        assert_eq!(play(&[2, 3, 4, 5], 0, 4), expect(Some(2), &[], 1));
        assert_eq!(play(&[5, 6], 0, 4), expect(None, &[], 0));
    }
}

//! Remembers cookies that were used, so that a copied one opens nothing.
//!
//! A cookie is valid for two windows: its time may be one window behind or ahead of ours. Nonces are kept in
//! two generations of that length, so that each one is kept until its cookie has expired. When a generation
//! is full, new cookies are refused: forgetting a nonce would allow its cookie again. Only holders of a key
//! can fill it.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use wire::cookie::WINDOW_S;

/// Nonces in one generation: 8,700 connections a second.
const MOST: usize = 1 << 20;

/// Why a cookie is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It was used already.
    Replayed,
    /// Too many cookies were used within a minute.
    Full,
}

/// Used cookies of a relay.
#[derive(Debug)]
pub struct Used {
    most: usize,
    inner: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    /// When `young` began, in seconds since 1970.
    began_s: u64,
    young: HashSet<u64>,
    old: HashSet<u64>,
}

impl Default for Used {
    fn default() -> Self {
        Self::holding(MOST)
    }
}

impl Used {
    fn holding(most: usize) -> Self {
        Self {
            most,
            inner: Mutex::default(),
        }
    }

    /// Marks this nonce as used. The caller has checked the cookie and its time.
    pub fn take(&self, now_s: u64, nonce: u64) -> Result<(), Refused> {
        let mut held = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let age = now_s.saturating_sub(held.began_s);
        if age > 2 * WINDOW_S {
            let young = std::mem::take(&mut held.young);
            held.old = if age > 4 * WINDOW_S + 1 {
                HashSet::new()
            } else {
                young
            };
            held.began_s = now_s;
        }
        if held.young.contains(&nonce) || held.old.contains(&nonce) {
            return Err(Refused::Replayed);
        }
        if held.young.len() >= self.most {
            return Err(Refused::Full);
        }
        held.young.insert(nonce);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_refused_for_as_long_as_its_cookie_could_be_valid() {
        for start in 1_000..1_200 {
            let used = Used::default();
            // Sets the beginning of the generation.
            used.take(1_000, 1).unwrap();
            assert_eq!(used.take(start, 7), Ok(()));
            for later in start..=start + 2 * WINDOW_S {
                assert_eq!(used.take(later, 7), Err(Refused::Replayed), "{start} {later}");
            }
        }
    }

    #[test]
    fn a_full_cache_refuses_rather_than_forgets() {
        let used = Used::holding(2);
        assert_eq!(
            [1, 2, 3].map(|nonce| used.take(9, nonce)),
            [Ok(()), Ok(()), Err(Refused::Full)]
        );
        assert_eq!(used.take(9, 1), Err(Refused::Replayed));
        assert_eq!(used.take(9 + 2 * WINDOW_S + 1, 3), Ok(()));
    }
}

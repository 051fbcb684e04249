//! Seeds on the command line, up to the largest `i64`: scenario files and tables can have no larger ones.

use std::ops::Range;

use clap::builder::RangedU64ValueParser;

/// Largest seed.
const LAST: u64 = i64::MAX as u64;

/// Most runs of a range: more than anybody waits for.
pub const MOST_RUNS: u64 = 1_000_000;

/// Parses one seed.
pub fn parser() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(0..=LAST)
}

/// Parses a first seed, from which at most `count` seeds are derived.
pub fn parser_of_first(count: u64) -> RangedU64ValueParser {
    clap::value_parser!(u64).range(0..=LAST / count)
}

/// Parses `A..B`: the seeds from A to the one before B.
pub fn range(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("`{text}` is not a range of seeds; write A..B, such as 0..100 for a hundred");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let number = |digits: &str| -> Result<u64, String> {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) if number <= LAST + 1 && is_number => Ok(number),
            _ if is_number => Err(format!("`{text}` goes beyond the last seed, which is {LAST}")),
            _ => Err(wrong()),
        }
    };
    let (from, to) = (number(from)?, number(to)?);
    if from >= to {
        return Err(wrong());
    }
    if to - from > MOST_RUNS {
        return Err(format!(
            "`{text}` are {} seeds; give at most {MOST_RUNS} at a time",
            to - from
        ));
    }
    Ok(from..to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_seeds_ends_before_its_end() {
        assert_eq!(range("0..100"), Ok(0..100));
        for wrong in ["5", "5..5", "7..5", "a..b", "..", "+1..3", "-1..3"] {
            let error = range(wrong).unwrap_err();
            assert!(error.contains("write A..B"), "{error}");
        }
        assert_eq!(
            range("1..1000002").unwrap_err(),
            "`1..1000002` are 1000001 seeds; give at most 1000000 at a time"
        );
    }

    #[test]
    fn the_last_seed_is_the_largest_that_files_have() {
        assert_eq!(
            range("9223372036854775806..9223372036854775808"),
            Ok(LAST - 1..LAST + 1)
        );
        for beyond in [
            "9223372036854775807..9223372036854775809",
            "0..18446744073709551615",
            "99999999999999999999..1",
        ] {
            assert_eq!(
                range(beyond).unwrap_err(),
                format!("`{beyond}` goes beyond the last seed, which is 9223372036854775807")
            );
        }
    }
}

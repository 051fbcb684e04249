//! "Did you mean": the nearest of a few known words.

/// The known word that `word` most likely stands for: the same word with its unit left off, or one within a third of its
/// length in edits (insert, delete, replace, swap neighbours).
pub(crate) fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let allowed = 1 + word.chars().count() / 4;
    let cost = |candidate: &str| match candidate.strip_prefix(word) {
        Some(rest) if rest.starts_with('_') && !word.is_empty() => 1,
        _ => edits(word, candidate),
    };
    known
        .into_iter()
        .map(|candidate| (cost(candidate), candidate))
        .filter(|&(cost, candidate)| cost <= allowed && cost < candidate.chars().count())
        .min_by_key(|&(cost, _)| cost)
        .map(|(_, candidate)| candidate)
}

/// A list for people: `"a", "b" or "c"`.
pub(crate) fn one_of<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// Optimal string alignment distance. Words longer than any key of ours are as far as they are long.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_typo_and_the_missing_unit() {
        let known = ["rate_mbps", "rtt_ms", "queue_packets", "channel"];
        assert_eq!(nearest("chanel", known), Some("channel"));
        assert_eq!(nearest("rate", known), Some("rate_mbps"));
        assert_eq!(nearest("rtt_sm", known), Some("rtt_ms"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn counts_edits() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("ab", "ba"), 1);
        assert_eq!(edits("", "abc"), 3);
    }

    #[test]
    fn lists_words() {
        assert_eq!(one_of(["a", "b", "c"]), "\"a\", \"b\" or \"c\"");
        assert_eq!(one_of(["a"]), "\"a\"");
    }
}

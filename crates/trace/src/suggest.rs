//! "Did you mean": the nearest of a few known words.

/// The known word that `word` most likely stands for. Either the same word without its unit, or one within
/// one edit and a quarter of its length (insert, delete, replace, swap neighbours).
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let allowed = 1 + word.chars().count() / 4;
    let cost = |candidate: &str| match candidate.strip_prefix(word) {
        Some(rest) if rest.starts_with('_') && !word.is_empty() => 1,
        _ => strsim::osa_distance(head(word), candidate),
    };
    known
        .into_iter()
        .map(|candidate| (cost(candidate), candidate))
        .filter(|&(cost, candidate)| cost <= allowed && cost < candidate.chars().count())
        .min_by_key(|&(cost, _)| cost)
        .map(|(_, candidate)| candidate)
}

/// A list for people: `"a", "b" or "c"`.
pub fn one_of<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// Longest part of a word that is compared, in characters. It is longer than any key, and limits the cost of
/// a file with one huge name.
const COMPARED: usize = 64;

/// The first [`COMPARED`] characters.
fn head(word: &str) -> &str {
    word.char_indices()
        .nth(COMPARED)
        .map_or(word, |(end, _)| &word[..end])
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
    fn swapped_neighbours_are_one_edit() {
        assert_eq!(nearest("ab", ["xyz", "ba"]), Some("ba"));
        assert_eq!(nearest("seenarios", ["scenarios"]), Some("scenarios"));
        assert_eq!(nearest("kitten", ["sitting"]), None, "three edits in six letters");
    }

    #[test]
    fn a_huge_word_is_compared_by_its_beginning() {
        let huge = "é".repeat(1 << 20);
        assert_eq!(head(&huge).chars().count(), COMPARED);
        assert_eq!(nearest(&huge, ["channel"]), None);
    }

    #[test]
    fn lists_words() {
        assert_eq!(one_of(["a", "b", "c"]), "\"a\", \"b\" or \"c\"");
        assert_eq!(one_of(["a"]), "\"a\"");
    }
}

//! Places on a figure's axis: what settings have there.

use std::collections::BTreeMap;

use anyhow::ensure;

/// One place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Place {
    /// Names in braces, and the numbers that stand for them here.
    numbers: Vec<(String, f64)>,
    /// Settings of this place alone.
    set: Vec<String>,
}

impl Place {
    /// A setting with this place's numbers in it.
    pub(super) fn filled(&self, setting: &str) -> String {
        let numbers = self.numbers.iter();
        numbers.fold(setting.to_owned(), |text, (name, number)| {
            text.replace(&format!("{{{name}}}"), &number.to_string())
        })
    }

    /// Settings of this place alone.
    pub(super) fn settings(&self) -> &[String] {
        &self.set
    }
}

/// A place for each number, called `x`, with its own settings. One place without a number if there are none.
pub(super) fn sweep(at: &[f64], at_set: &[Vec<String>]) -> anyhow::Result<Vec<Place>> {
    ensure!(
        at_set.is_empty() || at_set.len() == at.len(),
        "`at_set` has {} lists for the {} numbers of `at`; write one for each",
        at_set.len(),
        at.len()
    );
    if at.is_empty() {
        return Ok(vec![Place::default()]);
    }
    let place = |(index, number): (usize, &f64)| Place {
        numbers: vec![("x".to_owned(), *number)],
        set: at_set.get(index).cloned().unwrap_or_default(),
    };
    Ok(at.iter().enumerate().map(place).collect())
}

/// A place for each combination of the names' numbers. The last name in alphabetical order changes first.
pub(super) fn combinations(names: &BTreeMap<String, Vec<f64>>) -> anyhow::Result<Vec<Place>> {
    let mut places = vec![Place::default()];
    for (name, numbers) in names {
        ensure!(!numbers.is_empty(), "`combine`: `{name}` has no numbers");
        let with = |place: &Place, number: f64| {
            let mut place = place.clone();
            place.numbers.push((name.clone(), number));
            place
        };
        let all = places.iter();
        places = all
            .flat_map(|place| numbers.iter().map(move |number| with(place, *number)))
            .collect();
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_all_of_them() {
        let names = [("a", vec![1.0, 2.0]), ("b", vec![0.5, 4.0, 8.0])];
        let names = names.map(|(name, numbers)| (name.to_owned(), numbers));
        let places = combinations(&names.into()).unwrap();
        let filled: Vec<String> = places.iter().map(|place| place.filled("{a}:{b}")).collect();
        assert_eq!(filled, ["1:0.5", "1:4", "1:8", "2:0.5", "2:4", "2:8"]);
        let none = [("a".to_owned(), Vec::new())];
        assert!(combinations(&none.into()).is_err());
    }

    #[test]
    fn a_place_of_a_sweep_has_its_own_settings() {
        let lists = [vec!["a=1".to_owned()], Vec::new()];
        let places = sweep(&[5.0, 7.5], &lists).unwrap();
        assert_eq!(places[1].filled("b={x}"), "b=7.5");
        assert_eq!(places[0].settings(), ["a=1"]);
        assert!(places[1].settings().is_empty());
        assert!(sweep(&[5.0], &lists).is_err());
        assert_eq!(sweep(&[], &[]).unwrap(), [Place::default()]);
    }
}

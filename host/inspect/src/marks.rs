//! The steps that change the view of the violated property, and the responsible fields.
//!
//! A view is bytes that only the plugin understands. The responsible change is the one that coincides with it: of a field that
//! changes in the steps that change the view, and in no others.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;

use crate::diff::Change;
use crate::explain;
use crate::recording::Recording;
use crate::words;

/// The steps that change the view of the violated property, and the responsible fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// For each step, the change in words, if it changed the violated property's view of its node.
    pub steps: Vec<Option<String>>,
    /// The fields of these changes by node: names separated by points, `#` for any element of a list.
    pub fields: BTreeMap<NodeId, BTreeSet<String>>,
}

/// The marks of a recording; none if no property is violated.
pub fn marks(recording: &Recording) -> Marks {
    let mut marks = Marks { steps: vec![None; recording.steps.len()], fields: BTreeMap::new() };
    let views = recording.views();
    let read: BTreeSet<u32> = views.iter().map(|(node, _)| *node).collect();
    let changes: Vec<Vec<Change>> = (1..)
        .zip(&recording.trace.steps)
        .map(|(number, step)| match read.contains(&step.node) {
            true => explain::field_changes(recording, number).unwrap_or_default(),
            false => Vec::new(),
        })
        .collect();
    let changed: BTreeMap<usize, String> = (views.iter().flat_map(|(_, history)| history))
        .filter(|(since, _)| *since > 0)
        .map(|(since, view)| (*since, view.map_or("nothing".to_owned(), words::payload)))
        .collect();
    let fits = fits(&changes, &changed.keys().copied().collect());
    for (since, view) in changed {
        let of_step = &changes[since - 1];
        let fit = |change: &Change| fits.get(&field(change)).copied().unwrap_or_default();
        let best = of_step.iter().map(fit).max().unwrap_or_default();
        let fitting: Vec<&Change> = of_step.iter().filter(|it| fit(it) == best).collect();
        let fields = marks.fields.entry(recording.trace.steps[since - 1].node).or_default();
        fields.extend(fitting.iter().map(|change| field(change)));
        let said: Vec<String> = fitting.into_iter().map(Change::to_string).collect();
        let said = match said.is_empty() {
            true => explain::changes(recording, since).pop().unwrap_or(view),
            false => words::shortened(said.join(", ")),
        };
        marks.steps[since - 1] = Some(said);
    }
    marks
}

/// The fit of a field's changes to those of the view, in millionths: twice the number of steps that change both, divided by the
/// sum of the steps that change each (Dice's coefficient).
fn fits(changes: &[Vec<Change>], changed: &BTreeSet<usize>) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (number, of_step) in (1..).zip(changes) {
        let fields: BTreeSet<String> = of_step.iter().map(field).collect();
        for field in fields {
            let (both, all) = counts.entry(field).or_default();
            *both += usize::from(changed.contains(&number));
            *all += 1;
        }
    }
    let fit = |(both, all): (usize, usize)| 2_000_000 * both / (all + changed.len());
    counts.into_iter().map(|(field, counts)| (field, fit(counts))).collect()
}

/// The field of a change, with `#` for any element of a list.
fn field(change: &Change) -> String {
    let is_place = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    change.path.split('.').map(|name| if is_place(&name) { "#" } else { name }).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str) -> Change {
        Change { path: path.to_owned(), what: "0 -> 1".to_owned() }
    }

    #[test]
    fn the_field_that_changes_with_the_view_fits_best() {
        // The view changes in steps 2 and 4; `votes` changes in all, `chosen` in these, `late` in one of them.
        let changes = [
            vec![change("votes")],
            vec![change("votes"), change("chosen.0")],
            vec![change("votes")],
            vec![change("chosen.1"), change("votes"), change("late")],
        ];
        let fits = fits(&changes, &BTreeSet::from([2, 4]));
        assert_eq!(fits["chosen.#"], 1_000_000);
        // 2 * 2 / (4 + 2), and 2 * 1 / (1 + 2).
        assert_eq!((fits["votes"], fits["late"]), (666_666, 666_666));
    }
}

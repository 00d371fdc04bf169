//! The steps that change what the violated property reads, and which of their changes that is.
//!
//! A view is bytes that only the plugin understands. The change that belongs to it is the one that comes along with it: of a field
//! that changes in steps that change the view, and in no others.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;

use crate::diff::Change;
use crate::explain;
use crate::recording::Recording;
use crate::words;

/// The steps that change what the violated property reads, and the fields that this is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// For each step whether it changed what the violated property reads of its node, and the change in words.
    pub steps: Vec<Option<String>>,
    /// The fields of these changes by node: names with points between them, `#` for any element of a list.
    pub fields: BTreeMap<NodeId, BTreeSet<String>>,
}

/// The marks of a recording; none where no property is violated.
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

/// How well the changes of a field fit those of the view, in parts of a million: twice the steps that change both, of the steps
/// that change the one and those that change the other (Dice's coefficient).
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

/// The field of a change, whichever element of a list it is in.
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

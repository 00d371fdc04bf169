//! A moment as a fragment of an address: which plugin, which cluster, and what was chosen at each step.

use std::collections::BTreeMap;

use host_inspect::debug::Place;
use host_inspect::page::shapes::Moved;
use host_model::trace::Trace;
use serde_json::json;

use super::Engine;
use super::taking::OUTCOMES_MAX;
use crate::refused::{Answer, Refused};

/// The version of fragments.
const VERSION: &str = "1";

/// Digits of a digest.
const DIGITS: usize = 16;

/// The number of an action at a place, and of its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    action: usize,
    outcome: usize,
}

/// The choices that led to places. Each is sought once: the link of a next step costs one of them, however long the line is.
#[derive(Default)]
pub(super) struct Choices(BTreeMap<Place, Choice>);

impl Choices {
    /// The choices along a line. `seek` finds the one that leads from a place to another.
    fn along<E>(
        &mut self,
        line: &[Place],
        mut seek: impl FnMut(Place, Place) -> Result<Choice, E>,
    ) -> Result<Vec<Choice>, E> {
        let mut all = Vec::with_capacity(line.len());
        for pair in line.windows(2) {
            let choice = match self.0.get(&pair[1]) {
                Some(known) => *known,
                None => seek(pair[0], pair[1])?,
            };
            self.0.insert(pair[1], choice);
            all.push(choice);
        }
        Ok(all)
    }
}

impl Engine<'_> {
    /// The first digits of the digests of the plugin and of its cluster.
    fn digests(&self) -> [String; 2] {
        let of = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..DIGITS].to_owned();
        let Trace { scenario, placements, limits, init_choices, beginning, specs, .. } = &self.explored.trace;
        let cluster = json!([scenario, placements, limits, init_choices, beginning, specs]);
        [of(&format!("{:?}", self.explored.cluster.plugin.reference.digest)), of(&cluster.to_string())]
    }

    /// The fragment for a place.
    pub fn link(&mut self, place: Place) -> Answer {
        let line = self.moments.line_to(self.place(place)?);
        let mut choices = std::mem::take(&mut self.choices);
        let taken = choices.along(&line, |from, to| self.choice(from, to));
        self.choices = choices;
        let text = |Choice { action, outcome }| match outcome {
            0 => action.to_string(),
            outcome => format!("{action}-{outcome}"),
        };
        let choices: Vec<String> = taken?.into_iter().map(text).collect();
        let [plugin, cluster] = self.digests();
        let fragment = format!("{VERSION}:{plugin}:{cluster}:{}", choices.join("."));
        Ok(json!({ "fragment": fragment }).to_string())
    }

    /// The choice that leads from a place to the next one.
    fn choice(&mut self, from: Place, to: Place) -> Result<Choice, Refused> {
        let node = self.moments.step_at(to).map(|step| step.node);
        for (number, action) in self.actions(from)?.iter().enumerate() {
            if Some(action.node) != node {
                continue;
            }
            for outcome in 0..self.moments.outcomes(from, action)?.min(OUTCOMES_MAX) {
                let taken = self.moments.with_outcome(from, action, outcome)?;
                if self.known(from, &taken) == Some(to) {
                    return Ok(Choice { action: number, outcome });
                }
            }
        }
        let step = self.moments.depth_of(to);
        Err(Refused::conflict(format_args!("step {step} is one of too many outcomes for a link")))
    }

    /// Goes where a fragment leads.
    pub fn replay(&mut self, fragment: &str) -> Answer {
        let fragment = fragment.trim_start_matches('#');
        let parts: Vec<&str> = fragment.split(':').collect();
        let [VERSION, plugin, cluster, choices] = parts[..] else {
            return Err(Refused::wrong("this is no link to a moment that this version understands"));
        };
        let ours = self.digests();
        if plugin != ours[0] {
            let refused = Refused::conflict("the link is of another plugin, or of another build of it");
            return Err(refused.help("save the moment as a trace: another build follows its events"));
        }
        if cluster != ours[1] {
            let refused = Refused::conflict("the link is of another cluster of this plugin");
            return Err(
                refused.help("start `host explore` with the nodes, parameters, network and faults of that session")
            );
        }
        let mut place = 0;
        for (step, choice) in (1..).zip(choices.split('.').filter(|choice| !choice.is_empty())) {
            let (action, outcome) = choice.split_once('-').unwrap_or((choice, "0"));
            let number = |text: &str| {
                let no_number = |_| Refused::wrong(format_args!("step {step} of the link has no number"));
                text.parse::<usize>().map_err(no_number)
            };
            let (action, outcome) = (number(action)?, number(outcome)?);
            let chosen = self.chosen(place, action, outcome)?;
            let next = self.moments.take(place, &chosen, outcome)?;
            place = next.ok_or_else(|| Refused::conflict(format_args!("step {step} of the link changes nothing")))?;
        }
        super::json(&Moved { place, line: self.line_through(place) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_of_a_next_step_or_another_branch_seeks_what_is_new() {
        let (mut choices, mut sought) = (Choices::default(), Vec::new());
        let mut along = |line: &[Place]| {
            sought.clear();
            let all = choices.along(line, |from, to| {
                sought.push((from, to));
                Ok::<_, ()>(Choice { action: to, outcome: from })
            });
            (
                all.map(|all| all.into_iter().map(|choice| (choice.outcome, choice.action)).collect::<Vec<_>>()),
                sought.clone(),
            )
        };
        let line: Vec<Place> = (0..=100_000).collect();
        let pairs = |line: &[Place]| line.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>();
        assert_eq!(along(&line), (Ok(pairs(&line)), pairs(&line)));
        let next: Vec<Place> = (0..=100_001).collect();
        assert_eq!(along(&next), (Ok(pairs(&next)), vec![(100_000, 100_001)]));
        let branch = [0, 1, 2, 100_002];
        assert_eq!(along(&branch), (Ok(pairs(&branch)), vec![(2, 100_002)]));
    }
}

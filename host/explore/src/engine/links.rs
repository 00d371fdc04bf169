//! A moment as a fragment of an address: which plugin, which cluster, and what was chosen at each step.

use host_inspect::debug::Place;
use host_inspect::page::shapes::Moved;
use host_model::trace::Trace;
use serde_json::json;

use super::Engine;
use crate::refused::{Answer, Refused};

/// The version of fragments.
const VERSION: &str = "1";

/// Digits of a digest.
const DIGITS: usize = 16;

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
        let mut choices = Vec::new();
        for pair in line.windows(2) {
            let enabled = self.enabled(pair[0])?;
            let mut all = enabled.iter().flat_map(|enabled| enabled.outcomes.iter().map(move |it| (enabled, it)));
            let taken = all.find(|(_, outcome)| outcome.child == Some(pair[1]));
            let Some((enabled, outcome)) = taken else {
                let step = self.moments.depth_of(pair[1]);
                return Err(Refused::conflict(format_args!("step {step} is one of too many outcomes for a link")));
            };
            choices.push(match outcome.outcome {
                0 => enabled.action.to_string(),
                outcome => format!("{}-{outcome}", enabled.action),
            });
        }
        let [plugin, cluster] = self.digests();
        let fragment = format!("{VERSION}:{plugin}:{cluster}:{}", choices.join("."));
        Ok(json!({ "fragment": fragment }).to_string())
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

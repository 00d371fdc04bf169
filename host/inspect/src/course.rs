//! The courses of the properties: the steps of a trace in which each of them holds, is violated or is owed.

use std::fmt::Write;

use host_model::contract::{MachineError, NodeId, Property, PropertyScope};
use host_model::scenario::{NodeNames, Scenario};
use host_model::trace::Standing;
use host_model::trace::replay::Replay;

use crate::words;

/// The maximum length in letters of an explanation for a change of a course.
const LETTERS_MAX: usize = 240;

/// A property over time, at one node if it is of node scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// Its place among the properties of the protocol.
    pub property: usize,
    /// The node, of a property of node scope.
    pub node: Option<NodeId>,
    /// Each standing with the step since which it holds, counted from 1, 0 for the start.
    pub standings: Vec<(usize, Standing)>,
}

impl Course {
    /// The standing after a step.
    pub fn after(&self, step: usize) -> &Standing {
        let later = self.standings.partition_point(|(since, _)| *since <= step);
        &self.standings[later.max(1) - 1].1
    }

    fn push(&mut self, replay: &mut Replay, step: usize) -> Result<(), MachineError> {
        let property = u32::try_from(self.property).expect("a limit keeps properties below 2^32");
        let standing = shortened(replay.standing(property, self.node)?);
        if self.standings.last().is_none_or(|(_, last)| *last != standing) {
            self.standings.push((step, standing));
        }
        Ok(())
    }
}

/// The courses in the state in which a cluster starts: one per property, and per node that is not absent for node scope.
pub(crate) fn begin(
    replay: &mut Replay,
    properties: &[Property],
    scenario: &Scenario,
) -> Result<Vec<Course>, MachineError> {
    let mut courses = Vec::new();
    for (index, property) in properties.iter().enumerate() {
        let nodes: Vec<Option<NodeId>> = match property.scope {
            PropertyScope::System => vec![None],
            PropertyScope::Node => {
                (0..scenario.nodes).filter(|node| !scenario.absent.contains(node)).map(Some).collect()
            }
        };
        for node in nodes {
            let mut course = Course { property: index, node, standings: Vec::new() };
            course.push(replay, 0)?;
            courses.push(course);
        }
    }
    Ok(courses)
}

/// Extends the courses by a step that may have changed some of them.
pub(crate) fn follow(
    courses: &mut [Course],
    replay: &mut Replay,
    step: usize,
    is_changed: impl Fn(&Course) -> bool,
) -> Result<(), MachineError> {
    let mut changed = courses.iter_mut().filter(|course| is_changed(course));
    changed.try_for_each(|course| course.push(replay, step))
}

/// The explanation of a standing on one line; empty if it has none.
pub fn why(standing: &Standing) -> &str {
    match standing {
        Standing::Violated(why) | Standing::Owed(why) | Standing::Unknown(why) => why,
        Standing::Holds | Standing::Reached | Standing::NotReached => "",
    }
}

/// A standing in a word or two.
pub fn word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Holds => "holds",
        Standing::Violated(_) => "violated",
        Standing::Reached => "reached",
        Standing::NotReached => "not reached",
        Standing::Owed(_) => "owed",
        Standing::Unknown(_) => "not known",
    }
}

/// The courses of one property, grouped by nodes with equal ones, such as `served at nodes 1, 2`.
pub fn grouped<'c>(courses: &'c [Course], properties: &[Property], names: &NodeNames) -> Vec<(String, &'c Course)> {
    let mut groups: Vec<(Vec<NodeId>, &Course)> = Vec::new();
    for course in courses {
        let is_same = |other: &Course| other.property == course.property && other.standings == course.standings;
        match groups.iter_mut().find(|(_, other)| is_same(other)) {
            Some((nodes, _)) => nodes.extend(course.node),
            None => groups.push((course.node.into_iter().collect(), course)),
        }
    }
    let all = |property: usize| courses.iter().filter(|course| course.property == property).count();
    let named = |(nodes, course): (Vec<NodeId>, &'c Course)| {
        let mut name = words::shortened(words::on_one_line(&properties[course.property].name));
        if !nodes.is_empty() && nodes.len() < all(course.property) {
            let _ = write!(name, " at {}", names.list(&nodes));
        }
        (name, course)
    };
    groups.into_iter().map(named).collect()
}

fn shortened(standing: Standing) -> Standing {
    let short = |why: String| words::clipped(&words::on_one_line(&words::shortened(why)), LETTERS_MAX);
    match standing {
        Standing::Violated(why) => Standing::Violated(short(why)),
        Standing::Owed(why) => Standing::Owed(short(why)),
        Standing::Unknown(why) => Standing::Unknown(short(why)),
        other => other,
    }
}

//! Properties of every kind and scope, told apart from each other.

use host_agreement::reference::System;
use host_agreement::toys;
use host_model::contract::{PropertyKind, PropertyScope};
use host_model::toys::{Toy, ToyProperty};
use host_model::trace::Finding;
use host_search::kernel::SearchBounds;
use host_search::strategy::STRATEGIES;

/// In the start state one property is violated and the evaluation of another one traps. Each is confirmed by a replay: that one
/// cannot be evaluated says nothing about the other.
#[test]
fn a_violation_is_confirmed_beside_a_property_that_cannot_be_evaluated() {
    let property = |name: &str, tuples: &[Vec<Option<u8>>], traps: &[Vec<Option<u8>>]| ToyProperty {
        name: name.to_owned(),
        kind: PropertyKind::Always,
        scope: PropertyScope::Node,
        tuples: tuples.to_vec(),
        traps: traps.to_vec(),
        sees_all: false,
    };
    let states = [vec![Some(0)]];
    let toy =
        Toy { properties: vec![property("trapping", &[], &states), property("violated", &states, &[])], ..Toy::new(1) };
    for row in STRATEGIES {
        let ran = toys::run(&System::new(toy.clone()), SearchBounds::default(), row.run, false);
        let confirmed = ran.confirmed.expect("the start state is bad");
        let is_trap = |finding: &Finding| matches!(finding, Finding::Broken { property, .. } if property == "trapping");
        let is_violated = |finding: &Finding| matches!(finding, Finding::Property { name, .. } if name == "violated");
        assert!(confirmed.iter().any(is_trap) && confirmed.iter().any(is_violated), "{}: {confirmed:?}", row.name);
    }
}

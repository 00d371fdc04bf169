//! Specifications from outside, asked about states that a test writes down.

use crate::specification::{Outside, read};
use crate::{PropertyScope, Specification, property};

/// Whether a property of a specification holds for these shown states, one per node; if not, why. A property of node scope is checked
/// for each node in order.
///
/// # Errors
///
/// The property is violated.
///
/// # Panics
///
/// There is no property of this name, or a state does not fit the specification.
pub fn judge<S: Specification>(name: &str, shown: &[&str]) -> Result<(), String> {
    let properties = property::list::<Outside<S>>();
    let index = properties.iter().position(|property| property.name == name);
    let index = index.unwrap_or_else(|| panic!("there is no property {name}"));
    let view = |state: &&str| property::view(&Outside::<S>::default(), &read::<S>(state), index as u32);
    let views: Vec<Option<Vec<u8>>> = shown.iter().map(view).collect();
    match properties[index].scope {
        PropertyScope::System => property::check::<Outside<S>>(index as u32, &views),
        PropertyScope::Node => {
            let mut nodes = views.chunks(1);
            nodes.try_for_each(|view| property::check::<Outside<S>>(index as u32, view))
        }
    }
}

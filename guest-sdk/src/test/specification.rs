//! Specifications from outside, asked about states that a test writes down.

use crate::specification::{Outside, read};
use crate::{PropertyScope, Specification, property};

/// Whether a property of a specification holds where the nodes show these states, one per node; if not, why. One of node scope is asked
/// about the nodes one after the other.
///
/// # Errors
///
/// It does not hold.
///
/// # Panics
///
/// There is no property of this name, or a state is none that the specification knows.
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

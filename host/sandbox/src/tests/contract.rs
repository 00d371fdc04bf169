//! The table of the contract equals the document, and its optional interfaces are the aspects of machines.

use std::collections::BTreeMap;

use host_model::contract::AspectName;

use crate::check::{INTERFACES, Of};
use crate::contract::table::{IMPORTS, name_in_interface};

type Functions<'t> = BTreeMap<&'t str, Vec<&'t str>>;

/// The interfaces of the document, with their functions.
fn documented() -> Functions<'static> {
    let document = include_str!("../../../../wit/protocol.wit");
    let mut interfaces = Functions::new();
    let mut interface = "";
    for line in document.lines() {
        if let Some(name) = line.strip_prefix("interface ") {
            interface = name.trim_end_matches(" {");
            interfaces.insert(interface, Vec::new());
        } else if let Some((name, _)) = line.trim_start().split_once(": func(") {
            interfaces.get_mut(interface).expect("functions are in interfaces").push(name);
        }
    }
    interfaces
}

#[test]
fn the_table_has_the_functions_of_the_document_in_their_order() {
    let exported = INTERFACES.iter().map(|interface| {
        (interface.name, interface.functions.iter().map(|function| name_in_interface(function)).collect())
    });
    let imported = IMPORTS.iter().map(|(name, functions)| (*name, functions.to_vec()));
    assert_eq!(exported.chain(imported).collect::<Functions<'_>>(), documented());
}

/// `defaults` is read when a plugin is loaded, and `transport` is an input of its handlers.
#[test]
fn each_optional_interface_is_an_aspect() {
    let optional = INTERFACES.iter().filter(|interface| interface.of == Of::optional).map(|interface| interface.name);
    let expected: Vec<&str> = optional.filter(|name| !["defaults", "transport"].contains(name)).collect();
    let aspects: Vec<&str> = AspectName::INTERFACES.iter().map(|(name, _)| *name).collect();
    assert_eq!(aspects, expected);
}

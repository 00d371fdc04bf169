//! The properties that a run judges: all of the plugin, or those that are asked for.

use host_model::contract::Property;

use crate::base::Failure;
use crate::spec::ClusterSpec;

/// The indices of the judged properties in the plugin's order; none if all are judged.
///
/// # Errors
///
/// A name that no property has, or one that is both asked for and ignored.
pub fn judged(asked: &ClusterSpec, plugin: &str, properties: &[Property]) -> Result<Option<Vec<u32>>, Failure> {
    let ClusterSpec { property: wanted, ignore: ignored, .. } = asked;
    let has = |name: &&String| properties.iter().any(|property| property.name == **name);
    for (option, names) in [("property", wanted), ("ignore", ignored)] {
        if let Some(unknown) = names.iter().find(|name| !has(name)) {
            let failure = Failure::configuration(format_args!("`--{option}`: {plugin} has no property {unknown:?}"));
            let known: Vec<&str> = properties.iter().map(|property| property.name.as_str()).collect();
            return Err(match known.is_empty() {
                true => failure.help("it has no properties at all"),
                false => failure.help(format_args!("it has: {}", known.join(", "))),
            }
            .about(option));
        }
    }
    if let Some(both) = wanted.iter().find(|name| ignored.contains(name)) {
        let what = format_args!("`--ignore {both}` contradicts `--property {both}`");
        return Err(Failure::configuration(what).help("leave one of the two out").about("ignore"));
    }
    if wanted.is_empty() && ignored.is_empty() {
        return Ok(None);
    }
    let is_judged = |name: &String| (wanted.is_empty() || wanted.contains(name)) && !ignored.contains(name);
    let named = (0..).zip(properties).filter(|(_, property)| is_judged(&property.name));
    Ok(Some(named.map(|(index, _)| index).collect()))
}

/// Why a property is not judged; a phrase.
pub fn not_judged(asked: &ClusterSpec, name: &str) -> &'static str {
    match asked.ignore.iter().any(|ignored| ignored == name) {
        true => "--ignore leaves it out",
        false => "--property names others",
    }
}

#[cfg(test)]
mod tests {
    use host_model::contract::{PropertyKind, PropertyScope};

    use super::*;

    #[test]
    fn names_select_properties_and_wrong_ones_are_refused() {
        let property =
            |name: &str| Property { name: name.to_owned(), kind: PropertyKind::Always, scope: PropertyScope::System };
        let properties = ["a", "b", "c"].map(property);
        let ask = |wanted: &[&str], ignored: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let asked = ClusterSpec { property: owned(wanted), ignore: owned(ignored), ..ClusterSpec::default() };
            judged(&asked, "p", &properties).map_err(|failure| (failure.message, failure.help.unwrap_or_default()))
        };
        assert_eq!(ask(&[], &[]), Ok(None));
        assert_eq!(ask(&["c", "a", "c"], &[]), Ok(Some(vec![0, 2])), "in the plugin's order, each once");
        assert_eq!(ask(&[], &["b"]), Ok(Some(vec![0, 2])));
        assert_eq!(ask(&["a", "b"], &["c"]), Ok(Some(vec![0, 1])), "the two together");
        assert_eq!(ask(&[], &["a", "b", "c"]), Ok(Some(vec![])), "faults are still found");
        let unknown = |option: &str| (format!("`--{option}`: p has no property \"d\""), "it has: a, b, c".to_owned());
        assert_eq!(ask(&["a", "d"], &[]), Err(unknown("property")));
        assert_eq!(ask(&[], &["d"]), Err(unknown("ignore")));
        let both = ask(&["a"], &["a"]).expect_err("a contradiction");
        assert_eq!(both.0, "`--ignore a` contradicts `--property a`");
    }
}

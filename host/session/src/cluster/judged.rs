//! The properties that a run judges: all of the plugin, or the requested ones.

use host_model::contract::{Property, PropertyKind};

use crate::base::Failure;
use crate::spec::expectation::Expectation;
use crate::spec::{ClusterSpec, RunSpec};

/// The indices of the judged properties in the plugin's order; none if all are judged.
///
/// # Errors
///
/// A name that no property has, or one that is both requested and ignored; only `eventually` properties are requested, and
/// `--safety-only` leaves them out.
pub fn judged(asked: &RunSpec, plugin: &str, properties: &[Property]) -> Result<Option<Vec<u32>>, Failure> {
    let ClusterSpec { property: wanted, ignore: ignored, .. } = &asked.cluster;
    let has = |name: &&String| properties.iter().any(|property| property.name == **name);
    for (option, names) in [("property", wanted), ("ignore", ignored)] {
        if let Some(unknown) = names.iter().find(|name| !has(name)) {
            return Err(no_property(&format!("`--{option}`"), plugin, unknown, properties).about(option));
        }
    }
    if let Some(both) = wanted.iter().find(|name| ignored.contains(name)) {
        let what = format_args!("`--ignore {both}` contradicts `--property {both}`");
        return Err(Failure::configuration(what).help("leave one of the two out").about("ignore"));
    }
    let is_promise = |name: &String| {
        properties.iter().any(|property| property.name == *name && property.kind == PropertyKind::Eventually)
    };
    if let Some(first) = wanted.first().filter(|_| asked.search.safety_only && wanted.iter().all(is_promise)) {
        let what = format_args!("`--safety-only` leaves out what `--property {first}` asks for");
        return Err(Failure::configuration(what).help("leave one of the two out").about("safety-only"));
    }
    if wanted.is_empty() && ignored.is_empty() {
        return Ok(None);
    }
    let is_judged = |name: &String| (wanted.is_empty() || wanted.contains(name)) && !ignored.contains(name);
    let named = (0..).zip(properties).filter(|(_, property)| is_judged(&property.name));
    Ok(Some(named.map(|(index, _)| index).collect()))
}

/// Says that there is no such property, and lists the properties.
fn no_property(asks: &str, plugin: &str, unknown: &str, properties: &[Property]) -> Failure {
    let failure = Failure::configuration(format_args!("{asks}: {plugin} has no property {unknown:?}"));
    let known: Vec<&str> = properties.iter().map(|property| property.name.as_str()).collect();
    match known.is_empty() {
        true => failure.help("it has no properties at all"),
        false => failure.help(format_args!("it has: {}", known.join(", "))),
    }
}

/// Checks that the properties in the expectation of a scenario exist.
///
/// # Errors
///
/// A name that no property has.
pub fn check_expected(expect: &Expectation, plugin: &str, properties: &[Property]) -> Result<(), Failure> {
    let has = |name: &str| properties.iter().any(|property| property.name == name);
    let named = expect.property.iter().map(|name| ("property".to_owned(), name));
    let stated = expect.properties.keys().map(|name| (format!("properties {name}"), name));
    match named.chain(stated).find(|(_, name)| !has(name)) {
        None => Ok(()),
        Some((key, unknown)) => {
            Err(no_property("`[expect]`", plugin, unknown, properties).about(format_args!("expect {key}")))
        }
    }
}

/// The reason why a property is not judged; a phrase.
pub fn not_judged(asked: &ClusterSpec, name: &str) -> &'static str {
    match asked.ignore.iter().any(|ignored| ignored == name) {
        true => "--ignore leaves it out",
        false => "--property names others",
    }
}

#[cfg(test)]
mod tests {
    use host_model::contract::PropertyScope;

    use super::*;
    use crate::spec::SearchSpec;

    #[test]
    fn names_select_properties_and_wrong_ones_are_refused() {
        let property = |name: &str, kind| Property { name: name.to_owned(), kind, scope: PropertyScope::System };
        let always = PropertyKind::Always;
        let properties = [("a", always), ("b", always), ("c", PropertyKind::Eventually)];
        let properties = properties.map(|(name, kind)| property(name, kind));
        let ask_for = |safety_only, wanted: &[&str], ignored: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let cluster = ClusterSpec { property: owned(wanted), ignore: owned(ignored), ..ClusterSpec::default() };
            let search = SearchSpec { safety_only, ..SearchSpec::default() };
            let asked = RunSpec { cluster, search, ..RunSpec::default() };
            judged(&asked, "p", &properties).map_err(|failure| (failure.message, failure.help.unwrap_or_default()))
        };
        let ask = |wanted: &[&str], ignored: &[&str]| ask_for(false, wanted, ignored);
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
        assert_eq!(ask_for(true, &["a", "c"], &[]), Ok(Some(vec![0, 2])), "one of them is decided");
        let nothing = ask_for(true, &["c"], &[]).expect_err("nothing is decided");
        assert_eq!(nothing.0, "`--safety-only` leaves out what `--property c` asks for");
    }
}

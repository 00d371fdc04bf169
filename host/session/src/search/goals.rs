//! The properties that `--goal` and `--avoid` name.

use host_model::contract::{Property, PropertyKind};
use host_search::kernel::SearchBounds;
use host_search::kernel::goals::Goals;

use crate::base::Failure;
use crate::spec::RunSpec;

/// The bounds with the properties that guide walks, among those that are judged.
///
/// # Errors
///
/// A name does not belong to a `sometimes` property, is both a goal and to be avoided, or there are too many of them.
pub fn named(spec: &RunSpec, properties: &[Property], limits: SearchBounds) -> Result<SearchBounds, Failure> {
    let (goal, avoid) = (&spec.search.goal, &spec.search.avoid);
    if let Some(both) = goal.iter().find(|name| avoid.contains(name)) {
        let what = format_args!("`--avoid {both}` contradicts `--goal {both}`");
        return Err(Failure::configuration(what).help("leave one of the two out").about("avoid"));
    }
    let (goals, avoided) = (indices("goal", goal, properties)?, indices("avoid", avoid, properties)?);
    Ok(SearchBounds { goals, avoided, ..limits })
}

fn indices(option: &str, names: &[String], properties: &[Property]) -> Result<Goals, Failure> {
    let index = |name: &String| {
        let of_it = |(_, property): &(u32, &Property)| property.name == *name;
        match (0..).zip(properties).find(of_it) {
            Some((index, property)) if property.kind == PropertyKind::Sometimes => Ok(index),
            other => Err(no_goal(option, name, other.map(|(_, property)| property), properties)),
        }
    };
    let indices: Vec<u32> = names.iter().map(index).collect::<Result<_, _>>()?;
    Goals::new(&indices).ok_or_else(|| {
        let what =
            format_args!("`--{option}` is given {} times, and {} are enough for any search", names.len(), Goals::MAX);
        Failure::configuration(what).help("leave some of them out").about(option)
    })
}

/// The reason why a name is no goal, and the possible names.
fn no_goal(option: &str, name: &str, named: Option<&Property>, properties: &[Property]) -> Failure {
    let why = match named {
        Some(property) => {
            let kind = match property.kind {
                PropertyKind::Always => "always",
                PropertyKind::Sometimes => "sometimes",
                PropertyKind::Eventually => "eventually",
            };
            format!("it is of kind `{kind}`, and walks are guided by `sometimes` properties")
        }
        None => "no judged property has this name".to_owned(),
    };
    let all = properties.iter().filter(|property| property.kind == PropertyKind::Sometimes);
    let all: Vec<&str> = all.map(|property| property.name.as_str()).collect();
    let failure = Failure::configuration(format_args!("`--{option} {name}`: {why}")).about(option);
    match all.is_empty() {
        true => failure.help("state one with --sometimes NAME=EXPR"),
        false => {
            failure.help(format_args!("name one of these, or state one with --sometimes NAME=EXPR: {}", all.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use host_model::contract::PropertyScope;

    use super::*;
    use crate::spec::SearchSpec;

    #[test]
    fn names_become_properties_and_wrong_ones_are_refused() {
        let property = |name: &str, kind| Property { name: name.to_owned(), kind, scope: PropertyScope::System };
        let kinds = [PropertyKind::Always, PropertyKind::Sometimes, PropertyKind::Sometimes];
        let properties: Vec<Property> =
            ["a", "b", "c"].into_iter().zip(kinds).map(|(name, kind)| property(name, kind)).collect();
        let ask = |goal: &[&str], avoid: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let search = SearchSpec { goal: owned(goal), avoid: owned(avoid), ..SearchSpec::default() };
            let spec = RunSpec { search, ..RunSpec::default() };
            let limits = named(&spec, &properties, SearchBounds::default());
            limits.map(|limits| (limits.goals, limits.avoided)).map_err(|failure| failure.message)
        };
        let goals = |indices: &[u32]| Goals::new(indices).expect("few");
        assert_eq!(ask(&["c", "b", "c"], &[]), Ok((goals(&[2, 1, 2]), goals(&[]))));
        assert_eq!(ask(&["c"], &["b"]), Ok((goals(&[2]), goals(&[1]))));
        assert_eq!(ask(&["c"], &["c"]).expect_err("both"), "`--avoid c` contradicts `--goal c`");
        assert!(ask(&["a"], &[]).expect_err("a kind").starts_with("`--goal a`: it is of kind `always`"));
        assert_eq!(ask(&[], &["d"]).expect_err("a name"), "`--avoid d`: no judged property has this name");
        assert!(ask(&["b"; 9], &[]).expect_err("many").starts_with("`--goal` is given 9 times"));
    }
}

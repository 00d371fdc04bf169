//! Properties from outside: read before anything is built, and checked against the cluster.

use host_model::contract::Property;
use host_model::trace::{Expressed, Placement};

use crate::base::Failure;
use crate::cluster::Cluster;
use crate::cluster::spec_source::LoadedSpec;
use crate::expression::{Judge, LETTERS_MAX};

/// Bytes of the name of a property.
const NAME_MAX: usize = 100;

/// Reads expressions.
///
/// # Errors
///
/// The first invalid expression, with the character at which it goes wrong.
pub fn read(expressed: Vec<Expressed>) -> Result<(Vec<Expressed>, Judge), Failure> {
    for (place, one) in expressed.iter().enumerate() {
        if one.name.is_empty() || one.name.len() > NAME_MAX || one.name.chars().any(char::is_control) {
            let what = format_args!("{}: a name has between 1 and {NAME_MAX} letters on one line", option(one));
            return Err(about(one, Failure::configuration(what)));
        }
        if expressed[..place].iter().any(|other| other.name == one.name) {
            return Err(about(one, Failure::configuration(format_args!("{}: the name is given twice", option(one)))));
        }
    }
    let judge = Judge::new(&expressed).map_err(|(one, misfit)| {
        let failure = Failure::configuration(format_args!("{}: {misfit}", option(one)));
        let pointed = pointed(&one.expression, misfit.at);
        about(one, failure.help(format_args!("{pointed}; `host run --help` has the language")))
    })?;
    Ok((expressed, judge))
}

/// Checks expressions against the components that they are about.
///
/// # Errors
///
/// A property has this name already, the component does not describe its states, or the component has no such node.
pub fn check(expressed: &[Expressed], cluster: &Cluster) -> Result<(), Failure> {
    let name = &cluster.plugin.reference.name;
    for one in expressed {
        if cluster.properties.iter().any(|property| property.name == one.name) {
            let failure = Failure::configuration(format_args!("{}: {name} has a property of this name", option(one)));
            return Err(about(one, failure.help("take another name")));
        }
    }
    let Some(one) = expressed.first() else { return Ok(()) };
    check_described(&option(one), cluster).map_err(|failure| about(one, failure))
}

/// Checks a specification from outside against the components that it is about.
///
/// # Errors
///
/// As for [`check`]. Names of other properties from outside are taken, too.
pub fn check_spec(spec: &LoadedSpec, stated: &[Property], cluster: &Cluster) -> Result<(), Failure> {
    let option = format!("`--spec {}`", spec.given.display());
    if let Some(taken) = stated.iter().find(|one| cluster.properties.iter().any(|other| other.name == one.name)) {
        let name = &taken.name;
        let what = format_args!("{option}: there is another property of the name {name:?}");
        return Err(Failure::configuration(what)
            .help("specs are distinguished by the names of their properties")
            .about(ABOUT));
    }
    check_described(&option, cluster).map_err(|failure| failure.about(ABOUT))
}

/// The subject of a failure about a specification, as a scenario notes it.
const ABOUT: &str = "spec";

/// Refuses properties from outside where states are not described.
fn check_described(option: &str, cluster: &Cluster) -> Result<(), Failure> {
    let name = &cluster.plugin.reference.name;
    let differs = |node: &Placement| node.adversary || node.twin_of.is_some() || node.plugin.is_some();
    if cluster.placements().iter().any(differs) {
        let what = format_args!("{option}: not with adversaries, twins and nodes of another component");
        let failure = Failure::configuration(what);
        return Err(failure.help("state the property in the plugin, by `specification` of the contract"));
    }
    if cluster.plugin.plugin.describes() {
        return Ok(());
    }
    let failure = Failure::configuration(format_args!("{option}: {name} does not describe its states"));
    Err(failure.help("its component must export the interface `describe`, which gives them as JSON"))
}

fn option(one: &Expressed) -> String {
    format!("`--{} {}`", kind(one), one.name)
}

fn kind(one: &Expressed) -> String {
    host_inspect::words::name(one.kind)
}

/// Adds the subject of a failure, as a scenario notes it.
fn about(one: &Expressed, failure: Failure) -> Failure {
    failure.about(format_args!("{} {}", kind(one), one.name))
}

/// The expression with a mark before the character.
fn pointed(expression: &str, at: usize) -> String {
    const AROUND: usize = 30;
    let letters: Vec<char> = expression.chars().take(LETTERS_MAX).collect();
    let place = at.saturating_sub(1).min(letters.len());
    let (from, to) = (place.saturating_sub(AROUND), (place + AROUND).min(letters.len()));
    let text = |letters: &[char]| {
        letters.iter().map(|letter| if letter.is_control() { ' ' } else { *letter }).collect::<String>()
    };
    format!("here: {}▸{}", text(&letters[from..place]), text(&letters[place..to]))
}

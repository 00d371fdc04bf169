//! Mistakes on purpose: each has a name, and a parameter switches them on in any combination.

use std::fmt::{Debug, Display, Formatter};
use std::marker::PhantomData;
use std::str::FromStr;

use crate::{ParameterError, Parameters};

/// A mistake that a protocol can make on purpose, such as the variants of an enum.
pub trait Mistake: Copy + Debug + Eq + 'static {
    /// The name of each mistake, at most 64 of them. A mistake can have several names; the first is shown.
    const NAMES: &'static [(&'static str, Self)];
}

/// A set of mistakes, written as names with commas between them, or `none`.
///
/// ```
/// # use guest_sdk::{Mistake, Mistakes, ParameterError, Parameters};
/// #[derive(Clone, Copy, Debug, PartialEq, Eq)]
/// enum Bug {
///     /// A vote is counted again when it comes twice.
///     CountsCopies,
///     /// Half of the votes are enough.
///     TakesHalf,
/// }
///
/// impl Mistake for Bug {
///     const NAMES: &'static [(&'static str, Self)] =
///         &[("counts-copies", Self::CountsCopies), ("takes-half", Self::TakesHalf)];
/// }
///
/// fn configure(parameters: &mut Parameters) -> Result<Mistakes<Bug>, ParameterError> {
///     Mistakes::configure(parameters)
/// }
///
/// let both: Mistakes<Bug> = "counts-copies,takes-half".parse()?;
/// assert!(both.has(Bug::TakesHalf));
/// assert_eq!("half".parse::<Mistakes<Bug>>(), Err(r#"there is no "half"; it is none, or some of counts-copies, takes-half"#.to_owned()));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mistakes<M> {
    /// A bit per mistake, at the place of its first name.
    set: u64,
    of: PhantomData<M>,
}

impl<M> Default for Mistakes<M> {
    fn default() -> Self {
        Self { set: 0, of: PhantomData }
    }
}

impl<M: Mistake> Mistakes<M> {
    /// Reads the set from the parameter `bug`.
    ///
    /// # Errors
    ///
    /// A name that no mistake has.
    pub fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let meaning = format!("what is wrong on purpose: names with commas between them (some of {})", names::<M>());
        parameters.get("bug", Self::default(), &meaning)
    }

    /// Whether the set has the mistake.
    pub fn has(self, mistake: M) -> bool {
        self.set & bit(mistake) != 0
    }

    /// Whether the set has any of these mistakes.
    pub fn any(self, mistakes: &[M]) -> bool {
        mistakes.iter().any(|mistake| self.has(*mistake))
    }
}

impl<M: Mistake> FromStr for Mistakes<M> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut mistakes = Self::default();
        if text == "none" {
            return Ok(mistakes);
        }
        for word in text.split(',') {
            match M::NAMES.iter().find(|(name, _)| *name == word) {
                Some((_, mistake)) => mistakes.set |= bit(*mistake),
                None => return Err(format!("there is no {word:?}; it is none, or some of {}", names::<M>())),
            }
        }
        Ok(mistakes)
    }
}

impl<M: Mistake> Display for Mistakes<M> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let made = (0..).zip(M::NAMES).filter(|(place, _)| self.set & (1 << *place) != 0);
        match made.map(|(_, (name, _))| *name).collect::<Vec<_>>() {
            names if names.is_empty() => f.write_str("none"),
            names => f.write_str(&names.join(",")),
        }
    }
}

fn bit<M: Mistake>(mistake: M) -> u64 {
    const { assert!(M::NAMES.len() <= u64::BITS as usize, "there are at most 64 names of mistakes") };
    let place = M::NAMES.iter().position(|(_, named)| *named == mistake);
    1 << place.unwrap_or_else(|| panic!("{mistake:?} has no name"))
}

fn names<M: Mistake>() -> String {
    M::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Bug {
        First,
        Second,
        Nameless,
    }

    impl Mistake for Bug {
        const NAMES: &'static [(&'static str, Self)] =
            &[("B1", Self::First), ("B2", Self::Second), ("B2-again", Self::Second)];
    }

    fn made(text: &str) -> (bool, bool, String) {
        let set: Mistakes<Bug> = text.parse().expect("the names are known");
        (set.has(Bug::First), set.has(Bug::Second), set.to_string())
    }

    #[test]
    fn mistakes_are_made_in_any_combination() {
        assert_eq!(made("none"), (false, false, "none".to_owned()));
        assert_eq!(made("B1"), (true, false, "B1".to_owned()));
        assert_eq!(made("B2-again"), (false, true, "B2".to_owned()));
        assert_eq!(made("B2,B1,B1"), (true, true, "B1,B2".to_owned()));
        let second: Mistakes<Bug> = "B2".parse().expect("the name is known");
        assert!(second.any(&[Bug::First, Bug::Second]) && !second.any(&[Bug::First]) && !second.any(&[]));
    }

    #[test]
    fn what_has_no_name_is_refused() {
        for text in ["", "B3", "B1,", "none,B1", "B1, B2"] {
            let error = text.parse::<Mistakes<Bug>>().expect_err("a name is unknown");
            assert!(error.ends_with("it is none, or some of B1, B2, B2-again"), "{error}");
        }
    }

    #[test]
    #[should_panic(expected = "Nameless has no name")]
    fn a_mistake_without_a_name_cannot_be_asked_for() {
        Mistakes::default().has(Bug::Nameless);
    }
}

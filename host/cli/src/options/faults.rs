//! Options for what can go wrong: one per row of the table of faults.

use std::collections::BTreeMap;

use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use host_model::scenario::Faults;
use host_model::scenario::faults::budgets;
use host_session::spec::values;

/// The budgets that are given, by name.
#[derive(Clone, Debug, Default)]
pub struct FaultArguments(pub BTreeMap<String, u32>);

impl Args for FaultArguments {
    fn augment_args(command: Command) -> Command {
        let numbers = || value_parser!(u32).range(..=i64::from(Faults::MAX));
        command.args(budgets().map(|(name, budget)| {
            let option = Arg::new(name).long(name).value_name("N");
            let option = match budget.may_be_unlimited {
                true => option.value_parser(move |text: &str| values::budget(name, text)),
                false => option.value_parser(numbers()),
            };
            option.help(budget.help).help_heading("Faults")
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FaultArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = budgets().filter_map(|(name, _)| Some((name.to_owned(), *matches.get_one(name)?)));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

//! Values of options, and the options that several commands have.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use host_model::audit::Mode;
use host_model::scenario::{Network, OutageWrites};
use host_search::kernel::rules::{Fairness, Recovery, Timers};
use host_search::strategy::{STRATEGIES, Strategy};
use host_session::cluster::exporters::{EXPORTERS, Exporter};
use host_session::spec::{Algo, Source, limits, values};

/// How a plugin is found and loaded.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct SourceArguments {
    /// Install no toolchain when a folder has to be built; say what is missing instead
    #[arg(long)]
    pub no_install: bool,
    /// Keep standard error for errors: neither steps of the build nor progress
    #[arg(long, short)]
    pub quiet: bool,
}

impl From<SourceArguments> for Source {
    fn from(arguments: SourceArguments) -> Self {
        Self { no_install: arguments.no_install, quiet: arguments.quiet, ..Self::default() }
    }
}

/// The limits of the plugin.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArguments {
    /// What the plugin may use up, such as fuel=1000000 or memory=64MiB; can be repeated. `--help` lists them
    #[arg(long, value_name = "NAME=VALUE", value_parser = limits::parse, help_heading = "Limits")]
    pub limit: Vec<(&'static str, u64)>,
}

impl LimitArguments {
    /// The limits by name; the last one counts.
    pub fn given(&self) -> limits::Given {
        self.limit.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }
}

/// Names of strategies.
pub fn strategies() -> impl TypedValueParser<Value = Algo> {
    let value = |strategy: &Strategy| {
        let value = PossibleValue::new(strategy.name).aliases(strategy.aliases.iter().copied());
        value.help(strategy.summary).hide(strategy.only_reproduces())
    };
    PossibleValuesParser::new(STRATEGIES.iter().map(value)).try_map(|name| values::strategy(&name).map(Algo))
}

/// Formats in which traces are exported.
pub fn exporters() -> impl TypedValueParser<Value = &'static Exporter> {
    let value = |exporter: &Exporter| PossibleValue::new(exporter.name).help(exporter.summary);
    PossibleValuesParser::new(EXPORTERS.iter().map(value))
        .try_map(|name| EXPORTERS.iter().find(|exporter| exporter.name == name).ok_or("no such format"))
}

/// Modes of the audit.
pub fn audits() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(values::AUDITS.map(|(name, _)| name)).try_map(|name| values::audit(&name))
}

/// Kinds of fairness.
pub fn fairness() -> impl TypedValueParser<Value = Fairness> {
    PossibleValuesParser::new(Fairness::ALL.map(Fairness::name)).try_map(|name| values::fairness(&name))
}

/// Modes of timers.
pub fn timers() -> impl TypedValueParser<Value = Timers> {
    PossibleValuesParser::new(Timers::ALL.map(Timers::name)).try_map(|name| values::timers(&name))
}

/// Events that count as a way back to a kept promise.
pub fn recovery() -> impl TypedValueParser<Value = Recovery> {
    PossibleValuesParser::new(Recovery::ALL.map(Recovery::name)).try_map(|name| values::recovery(&name))
}

/// The unsynced writes that an outage can lose.
pub fn outage_writes() -> impl TypedValueParser<Value = OutageWrites> {
    let help = |writes: OutageWrites| match writes {
        OutageWrites::Prefix => "those of the latest handlers, as the data file of a node does",
        OutageWrites::Any => "any entries, each by itself, as files do that are written one by one",
    };
    let names = OutageWrites::ALL.map(|writes| PossibleValue::new(writes.name()).help(help(writes)));
    PossibleValuesParser::new(names).try_map(|name| values::outage_writes(&name))
}

/// Names of networks.
pub fn networks() -> impl TypedValueParser<Value = Network> {
    let help = |network: Network| match network {
        Network::Unordered => "any message in flight can come next, or never",
        Network::UnorderedDuplicating => "as unordered, and a message can be delivered more than once",
        Network::Ordered => "first in, first out for each sender and destination; connections can break",
    };
    let names = Network::ALL.map(|network| PossibleValue::new(network.name()).help(help(network)));
    PossibleValuesParser::new(names).try_map(|name| values::network(&name))
}

//! The options of commands about histories.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use host_linearizable::{Accepted, MODELS, Model, Order};
use host_session::base::units;

/// `host linearizable`.
#[derive(Debug, Args)]
pub struct LinearizableArguments {
    /// Histories, each judged by itself; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The object that the clients call
    #[arg(long, short, value_parser = models())]
    pub model: &'static Model,
    /// The format of the histories
    #[arg(long, value_enum, default_value_t)]
    pub format: FormatName,
    /// The order of the events [default: that of the file; in JSON lines, a time that goes back is an error]
    #[arg(long, value_enum)]
    pub order: Option<OrderName>,
    /// The value at the start, as JSON [default: null; for a counter 0, for a queue or set [], for a mutex false]
    #[arg(long, value_name = "JSON", value_parser = json)]
    pub initial: Option<serde_json::Value>,
    /// Each `value` is a pair [key, value], and each key an object of its own, as with jepsen.independent
    #[arg(long)]
    pub independent: bool,
    /// The most memory for a history and its search; beyond it the history is undecided
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = units::size, help_heading = "Bounds")]
    pub memory: u64,
    /// The most time for each history; beyond it the history is undecided
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration, help_heading = "Bounds")]
    pub time: Duration,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// The formats of histories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// Decided by the first bytes
    #[default]
    Auto,
    /// Jepsen's history.edn, history.txt or log
    Jepsen,
    /// A JSON object per line
    Ndjson,
}

/// The orders of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    /// That of the file, whatever the times
    File,
    /// That of the times; the file can have the events of its clients one after the other
    Time,
}

impl LinearizableArguments {
    /// The formats that are accepted.
    pub fn accepted(&self) -> Accepted {
        match self.format {
            FormatName::Auto => Accepted::Any,
            FormatName::Jepsen => Accepted::Jepsen,
            FormatName::Ndjson => Accepted::Lines,
        }
    }

    /// The order of events.
    pub fn order(&self) -> Order {
        match self.order {
            None => Order::Checked,
            Some(OrderName::File) => Order::File,
            Some(OrderName::Time) => Order::Time,
        }
    }
}

fn models() -> impl TypedValueParser<Value = &'static Model> {
    let value = |model: &Model| PossibleValue::new(model.name).help(model.summary);
    PossibleValuesParser::new(MODELS.iter().map(value)).try_map(|name| Model::of_name(&name).ok_or("no such model"))
}

fn json(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|_| "expected JSON, such as 0, '\"\"' or '[1, 2]'".to_owned())
}

//! The options of `host refine`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use host_refine::Field;
use host_session::base::units;
use host_session::spec::values::assignment;

use crate::options::values::SourceArguments;

/// `host refine`.
#[derive(Debug, Args)]
pub struct RefineArguments {
    /// The new component, or the folder of its plugin, which is built first; or a scenario (.toml)
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// The old component, or the folder of its plugin
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// Compare these fields of the descriptions, such as Running.chosen,Running.ballot [default: all of each description]
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', value_parser = Field::parse)]
    pub fields: Vec<Field>,
    /// Set a parameter of the new component alone; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    pub set_new: Vec<(String, String)>,
    /// Set a parameter of the old component alone; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    pub set_old: Vec<(String, String)>,
    /// Maximum number of events of the new component; if there are more and no difference, the comparison is undecided
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub events: Option<u32>,
    /// Maximum time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration, help_heading = "Bounds")]
    pub time: Duration,
    /// Maximum memory for the search [default: half of the memory available]
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "Bounds")]
    pub memory: Option<u64>,
    /// Write the execution of the new component as a trace, if the old one cannot show it
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Options that load the components.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Options of `host run` that define both clusters, such as --nodes 3 --resets 1 --set proposers=2
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

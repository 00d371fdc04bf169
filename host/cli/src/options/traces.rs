//! The options of commands about traces.

use std::path::PathBuf;

use clap::Args;
use host_inspect::draw::Form;
use host_inspect::minimize::WORK_MAX;
use host_model::contract::NodeId;
use host_session::cluster::TraceSpec;
use host_session::cluster::exporters::Exporter;
use host_session::spec::placement::node_path;

use crate::options::values::{LimitArguments, SourceArguments, exporters};

/// A trace, and the plugin to execute it with.
#[derive(Clone, Debug, Args)]
pub struct TraceArguments {
    /// A trace that `host run` wrote
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The component or plugin folder to run it with [default: the trace's plugin in plugins/NAME, around the trace or here, as it was
    /// built]
    #[arg(long, value_name = "PLUGIN")]
    pub plugin: Option<PathBuf>,
    /// The component or plugin folder of a node that ran another one; can be repeated [default: plugins/NAME as it was built]
    #[arg(long, value_name = "N=PLUGIN", value_parser = node_path)]
    pub node: Vec<(NodeId, PathBuf)>,
    /// A specification from outside that it was recorded with, a component or a folder; can be repeated, in the order of the run
    /// [default: plugins/NAME as it was built]
    #[arg(long, value_name = "SPEC")]
    pub spec: Vec<PathBuf>,
    /// Use another plugin than the recorded one; other builds of the same plugin are accepted anyway
    #[arg(long)]
    pub any_plugin: bool,
    /// What the plugin may use up.
    #[command(flatten)]
    pub limits: LimitArguments,
    /// The way to load the plugin.
    #[command(flatten)]
    pub source: SourceArguments,
}

impl TraceArguments {
    /// The same as data.
    pub fn spec(&self) -> TraceSpec {
        TraceSpec {
            trace: self.trace.clone(),
            plugin: self.plugin.clone(),
            node: self.node.clone(),
            specs: self.spec.clone(),
            any_plugin: self.any_plugin,
            any_build: true,
            limits: self.limits.given(),
            source: self.source.into(),
        }
    }
}

/// `host replay`.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// What to replay.
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `host minimize`.
#[derive(Debug, Args)]
pub struct MinimizeArguments {
    /// What to make shorter.
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Keep the first N events unchanged, a live state for example
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub keep: usize,
    /// Maximum number of events executed; more make a very long trace shorter
    #[arg(long, value_name = "N", default_value_t = WORK_MAX)]
    pub work: u64,
    /// File for the short trace [default: minimized.json next to the trace]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `host draw`.
#[derive(Debug, Args)]
pub struct DrawArguments {
    /// What to draw.
    #[command(flatten)]
    pub trace: TraceArguments,
    /// The format: svg, a picture; html, a page that a browser shows step by step, without a network; mermaid or dot
    /// [default: by the ending of --out, or svg]
    #[arg(long, value_name = "FORMAT", value_parser = Form::ALL.map(Form::name))]
    pub format: Option<String>,
    /// File for the drawing; without --format its ending selects the format: .svg, .html, .mmd (Mermaid) or .dot
    /// (Graphviz); can be repeated [default: the trace's name with such an ending]
    #[arg(long, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    /// Mark the first N steps off from the rest, a live state for example
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub prefix: usize,
}

/// `host export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// What to export.
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Format of the file
    #[arg(long, value_name = "FORMAT", value_parser = exporters())]
    pub format: &'static Exporter,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `host debug`.
#[derive(Debug, Args)]
pub struct DebugArguments {
    /// A trace; or the component or folder of a plugin, to begin with a new cluster
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Without a trace: options of `host run` that define the cluster, such as --set bug=last-response --nodes 4
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

/// `host explore`.
#[derive(Debug, Args)]
pub struct ExploreArguments {
    /// A trace; or the component or folder of a plugin, or a scenario, to begin with a new cluster
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Port of 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Without a trace: options of `host run` that define the cluster, such as --set bug=last-response --nodes 4
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<String>,
}

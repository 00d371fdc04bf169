//! `host schema`.

use host_session::base::{Exit, Failure};

use crate::environment::Environment;
use crate::options::plugins::SchemaOf;

/// Prints a JSON Schema.
pub fn run(of: SchemaOf, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let schema = match of {
        SchemaOf::Scenario => include_str!("../../../../docs/scenario.schema.json"),
        SchemaOf::Cluster => include_str!("../../../../docs/cluster.schema.json"),
        SchemaOf::Result => include_str!("../../../../docs/result.schema.json"),
        SchemaOf::Trace => include_str!("../../../../docs/trace.schema.json"),
    };
    environment.print(schema)?;
    Ok(Exit::Ok)
}

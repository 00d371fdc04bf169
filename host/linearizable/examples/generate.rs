//! Prints the history of a simulated object as JSON lines, for measurements of `host linearizable`.
//!
//! `cargo run -p host-linearizable --example generate -- kv operations=5000 clients=50 values=10 open=20 seed=1 mistake=stale-read`

use std::io::{Error, Write};

use host_linearizable::MODELS;
use host_linearizable::generate::{Mistake, Plan, generate};

fn plan(words: &[String]) -> Option<Plan> {
    let model = MODELS.iter().find(|model| Some(model.name) == words.first().map(String::as_str))?.name;
    let mut plan = Plan { model, operations: 5_000, clients: 10, values: 5, open_per_mille: 0, seed: 1, mistake: None };
    for word in &words[1..] {
        let (name, value) = word.split_once('=')?;
        match name {
            "operations" => plan.operations = value.parse().ok()?,
            "clients" => plan.clients = value.parse().ok()?,
            "values" => plan.values = value.parse().ok()?,
            "open" => plan.open_per_mille = value.parse().ok()?,
            "seed" => plan.seed = value.parse().ok()?,
            "mistake" if value == "stale-read" => plan.mistake = Some(Mistake::StaleRead),
            "mistake" if value == "lost-write" => plan.mistake = Some(Mistake::LostWrite),
            _ => return None,
        }
    }
    Some(plan)
}

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: generate MODEL [operations=N] [clients=N] [values=N] [open=PER_MILLE] [seed=N] \
        [mistake=stale-read|lost-write]";
    let plan = plan(&words).ok_or_else(|| Error::other(usage))?;
    std::io::stdout().write_all(generate(&plan).text.as_bytes())
}

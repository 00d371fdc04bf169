//! `host list`.

use std::fs;
use std::path::Path;

use host_search::strategy::{STRATEGIES, Strategy};
use host_session::base::text::{json_text, on_one_line, table};
use host_session::base::{Exit, Failure, files};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::options::plugins::ListArguments;

/// The folder of bundled plugins, relative to the working directory.
const PLUGINS: &str = "plugins";

/// The maximum size in bytes of a README that is read.
const README_BYTES_MAX: u64 = 1 << 20;

/// A folder with a plugin.
struct Bundled {
    name: String,
    summary: String,
}

/// Lists the strategies, and the plugins in `./plugins`.
pub fn run(arguments: &ListArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let plugins = bundled(&environment.path(Path::new(PLUGINS)))?;
    environment.print(&if arguments.json { json(&plugins) } else { text(&plugins) })?;
    Ok(Exit::Ok)
}

fn text(plugins: &[Bundled]) -> String {
    let mut sections = vec!["strategies for --algo\n".to_owned()];
    sections.extend(STRATEGIES.iter().filter(|strategy| !strategy.only_reproduces()).map(strategy_text));
    let rows: Vec<_> = plugins.iter().map(|plugin| (format!("{PLUGINS}/{}", plugin.name), &plugin.summary)).collect();
    sections.push(match rows.is_empty() {
        true => format!("no plugins: there is no folder `{PLUGINS}` with plugins here\n"),
        false => table("plugins", &rows),
    });
    sections.join("\n")
}

fn strategy_text(strategy: &Strategy) -> String {
    let aliases: String = strategy.aliases.iter().map(|alias| format!(", also {alias}")).collect();
    let bounds: Vec<String> = strategy.honours.iter().map(|bound| format!("--{}", bound.option())).collect();
    let rows = [
        ("  sound", strategy.soundness.to_owned()),
        ("  complete", strategy.completeness.to_owned()),
        ("  bounds", format!("{}, --time, --memory", bounds.join(", "))),
    ];
    table(&format!("  {}{aliases}: {}", strategy.name, strategy.summary), &rows)
}

fn json(plugins: &[Bundled]) -> String {
    let strategy = |strategy: &Strategy| {
        json!({
            "name": strategy.name,
            "aliases": strategy.aliases,
            "summary": strategy.summary,
            "soundness": strategy.soundness,
            "completeness": strategy.completeness,
            "honours": strategy.honours.iter().map(|bound| bound.option()).collect::<Vec<_>>(),
        })
    };
    let plugin = |plugin: &Bundled| json!({ "name": plugin.name, "path": format!("{PLUGINS}/{}", plugin.name), "summary": plugin.summary });
    json_text(&json!({
        "strategies": STRATEGIES.iter().map(strategy).collect::<Vec<Value>>(),
        "plugins": plugins.iter().map(plugin).collect::<Vec<Value>>(),
    }))
}

/// The plugin folders in a folder, by name; none if there is no such folder.
fn bundled(folder: &Path) -> Result<Vec<Bundled>, Failure> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failure = |error: std::io::Error| Failure::system(format_args!("cannot read {PLUGINS}: {error}"));
    let mut plugins = Vec::new();
    for entry in fs::read_dir(folder).map_err(failure)? {
        let path = entry.map_err(failure)?.path();
        let Some(name) = path.file_name().filter(|_| path.join("README.md").is_file()) else { continue };
        let name = name.to_string_lossy().into_owned();
        let readme = files::read_text_bounded(&path.join("README.md"), README_BYTES_MAX).unwrap_or_default();
        plugins.push(Bundled { name: on_one_line(&name), summary: on_one_line(&first_sentence(&readme)) });
    }
    plugins.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(plugins)
}

/// The first sentence of the first paragraph that is no heading.
fn first_sentence(readme: &str) -> String {
    let lines = readme.lines().map(str::trim);
    let lines = lines.skip_while(|line| line.is_empty() || line.starts_with('#'));
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    match paragraph.find(". ") {
        Some(end) => paragraph[..=end].to_owned(),
        None => paragraph,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_is_summed_up_by_its_first_sentence() {
        let readme = "# query\n\nTwo nodes query\neach other. And so on.\n\nMore.\n";
        assert_eq!(first_sentence(readme), "Two nodes query each other.");
        assert_eq!(first_sentence("# empty\n"), "");
    }
}

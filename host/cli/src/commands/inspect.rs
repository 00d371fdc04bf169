//! `host inspect`.

use host_inspect::words::name;
use host_model::contract::Property;
use host_sandbox::{About, AboutNetwork, Inspection, ModuleInspection};
use host_session::base::text::{bytes, count, grouped, json_text, on_one_line, rounded, table};
use host_session::base::{Exit, Failure};
use host_session::cluster::plugin_source::{self, LoadedPlugin};
use host_session::report::result::PluginReport;
use host_session::spec::limits;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::options::plugins::InspectArguments;

/// Shows the parts of a plugin.
pub fn run(arguments: &InspectArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let limits = limits::effective(&arguments.limits.given());
    let loaded = plugin_source::load(&arguments.plugin, arguments.source.into(), limits, &mut environment.context())?;
    environment.print(&if arguments.json { json(&loaded) } else { text(&loaded) })?;
    Ok(Exit::Ok)
}

fn text(loaded: &LoadedPlugin) -> String {
    let inspection = loaded.plugin.inspect();
    let about = loaded.plugin.about();
    let mut sections = vec![heading(loaded)];
    sections.push(match about {
        Some(about) => table("parameters for --set", &parameters(about)),
        None => "parameters for --set\n  not told: the plugin has no interface `defaults`\n".to_owned(),
    });
    sections.push(table("properties", &loaded.properties.iter().map(property).collect::<Vec<_>>()));
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { on_one_line(&names.join(", ")) };
    let interfaces = [
        ("imports", list(&inspection.imports)),
        ("exports", list(&inspection.exports)),
        ("optional", list(&inspection.optional)),
    ];
    sections.push(table("interfaces", &interfaces));
    sections.extend(inspection.modules.iter().enumerate().map(|(index, module)| module_text(index, module)));
    sections.push(snapshot(inspection));
    let times = loaded.plugin.load_times();
    let compiled = if times.cached { "from the cache" } else { "compiled" };
    sections.push(format!("loaded in {:.3} s, machine code {compiled}\n", loaded.seconds));
    sections.join("\n")
}

fn heading(loaded: &LoadedPlugin) -> String {
    let about = loaded.plugin.about();
    let inspection = loaded.plugin.inspect();
    let reference = &loaded.reference;
    let version = reference.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let summary = about.map(|about| format!(": {}", about.summary)).unwrap_or_default();
    let mut rows = vec![
        ("digest", reference.digest.clone().unwrap_or_default()),
        ("component", format!("{}, {}", loaded.wasm.display(), bytes(inspection.component_bytes as u64))),
    ];
    if let Some(about) = about {
        rows.push(("nodes", format!("{} unless --nodes says otherwise", grouped(about.nodes.into()))));
        rows.push(("network", network(about.network).to_owned()));
    }
    table(&on_one_line(&format!("{}{version}{summary}", reference.name)), &rows)
}

fn parameters(about: &About) -> Vec<(String, String)> {
    if about.parameters.is_empty() {
        return vec![("none".to_owned(), String::new())];
    }
    let row = |parameter: &host_sandbox::AboutParameter| {
        let left = on_one_line(&format!("{}={}", parameter.name, parameter.default_value));
        (left, on_one_line(&parameter.meaning))
    };
    about.parameters.iter().map(row).collect()
}

fn property(property: &Property) -> (String, String) {
    (on_one_line(&property.name), format!("{}, {} scope", name(property.kind), name(property.scope)))
}

fn network(network: AboutNetwork) -> &'static str {
    match network {
        AboutNetwork::Unordered => "unordered",
        AboutNetwork::UnorderedDuplicating => "unordered-duplicating",
        AboutNetwork::Ordered => "ordered",
    }
}

fn module_text(index: usize, module: &ModuleInspection) -> String {
    let or_none = |parts: Vec<String>| if parts.is_empty() { "none".to_owned() } else { parts.join("; ") };
    let memories = module.memories.iter().map(|memory| {
        let max = memory.pages_max.map_or("the host's limit".to_owned(), |max| bytes(max * 65_536));
        let imported = if memory.imported { ", imported" } else { "" };
        format!("{} at the start, {max} at most{imported}", bytes(memory.pages_min * 65_536))
    });
    let globals = module.globals.iter().map(|global| {
        let captured = if global.captured { "part of snapshots" } else { "never written" };
        let exported = if global.exported { ", exported" } else { "" };
        format!("{} {captured}{exported}", global.ty)
    });
    let tables = module.tables.iter().map(|table| count(table.elements_min, "element"));
    let rows = [
        ("memories", or_none(memories.collect())),
        ("mutable globals", or_none(globals.collect())),
        ("tables", or_none(tables.collect())),
        ("guarded", or_none(module.guarded.iter().map(|name| (*name).to_owned()).collect())),
    ];
    table(&format!("core module {}", index + 1), &rows)
}

/// The contents of a snapshot, in words: the whole search depends on them.
fn snapshot(inspection: &Inspection) -> String {
    let globals = captured_globals(inspection);
    let rows = [
        ("content", "the memories that differ from the start, in lines of 32 bytes, and their sizes".to_owned()),
        ("globals", format!("{} captured, {} shared between modules", globals, inspection.shared_globals)),
        ("tables", "not captured: an instruction that changes one after the start is a fault".to_owned()),
        ("start image", format!("{}, kept once", bytes(inspection.pristine_bytes as u64))),
        ("rewritten", format!("{} with the tracking of writes", bytes(inspection.rewritten_bytes as u64))),
    ];
    table("snapshots", &rows)
}

fn captured_globals(inspection: &Inspection) -> usize {
    let globals = inspection.modules.iter().flat_map(|module| &module.globals);
    globals.filter(|global| global.captured).count()
}

fn json(loaded: &LoadedPlugin) -> String {
    let inspection = loaded.plugin.inspect();
    let times = loaded.plugin.load_times();
    json_text(&json!({
        "plugin": PluginReport::from(&loaded.reference),
        "about": loaded.plugin.about().map(about_json),
        "properties": loaded.properties.iter().map(property_json).collect::<Vec<_>>(),
        "imports": inspection.imports,
        "exports": inspection.exports,
        "optional": inspection.optional,
        "modules": inspection.modules.iter().map(module_json).collect::<Vec<_>>(),
        "snapshot": {
            "captured_globals": captured_globals(inspection),
            "shared_globals": inspection.shared_globals,
            "pristine_bytes": inspection.pristine_bytes,
        },
        "component_bytes": inspection.component_bytes,
        "rewritten_bytes": inspection.rewritten_bytes,
        "seconds": {
            "load": rounded(loaded.seconds),
            "rewrite": rounded(times.rewrite.as_secs_f64()),
            "compile": rounded(times.compile.as_secs_f64()),
            "start": rounded(times.start.as_secs_f64()),
        },
        "cached": times.cached,
    }))
}

fn about_json(about: &About) -> Value {
    let parameters = about.parameters.iter().map(
        |parameter| json!({ "name": parameter.name, "default": parameter.default_value, "meaning": parameter.meaning }),
    );
    json!({
        "summary": about.summary,
        "nodes": about.nodes,
        "network": network(about.network),
        "parameters": parameters.collect::<Vec<_>>(),
    })
}

fn property_json(property: &Property) -> Value {
    json!({ "name": property.name, "kind": property.kind, "scope": property.scope })
}

fn module_json(module: &ModuleInspection) -> Value {
    let memories = module.memories.iter().map(
        |memory| json!({ "imported": memory.imported, "pages_min": memory.pages_min, "pages_max": memory.pages_max }),
    );
    let globals = module.globals.iter().map(|global| {
        let (written, exported, captured) = (global.written, global.exported, global.captured);
        json!({ "type": global.ty, "written": written, "exported": exported, "captured": captured })
    });
    let tables = module
        .tables
        .iter()
        .map(|table| json!({ "elements_min": table.elements_min, "elements_max": table.elements_max }));
    json!({
        "memories": memories.collect::<Vec<_>>(),
        "mutable_globals": globals.collect::<Vec<_>>(),
        "tables": tables.collect::<Vec<_>>(),
        "guarded": module.guarded,
    })
}

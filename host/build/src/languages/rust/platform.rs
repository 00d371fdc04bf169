//! The platform of a Rust plugin: the target, the source of randomness, the plugin's own flags, and the assumptions for the report.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::flags::{TARGET, WASI};
use crate::manifest::{self, Build};
use crate::{BuildError, files};

/// The maximum size in bytes of a file with flags.
const BYTES_MAX: u64 = 1 << 20;

/// The target that a manifest selects.
pub(super) fn target(folder: &Path, asked: &Build) -> Result<&'static str, BuildError> {
    let Some(name) = asked.target.as_deref() else { return Ok(TARGET) };
    [TARGET, WASI].into_iter().find(|known| *known == name).ok_or_else(|| BuildError::BadManifest {
        path: folder.join(manifest::MANIFEST),
        what: format!("there is no target `{name}`; there are {TARGET}, and {WASI} for libraries that read a clock"),
    })
}

/// Flags that make the SDK the backend of getrandom 0.3 and later, unless the plugin sets another one.
pub(super) fn randomness(target: &str, own: &[String]) -> Vec<String> {
    let has_backend = own.iter().any(|flag| flag.contains("getrandom_backend"));
    let flags = ["--cfg", "getrandom_backend=\"custom\""];
    flags.into_iter().filter(|_| target == TARGET && !has_backend).map(str::to_owned).collect()
}

/// The flags that the plugin's own `.cargo/config.toml` gives the compiler: those for the
/// target, or else those for all. The nearest file with flags counts, from the folder up to its
/// workspace. Files further up belong to the machine, on which components should not depend.
pub(super) fn own_flags(
    folder: &Path,
    workspace: &Path,
    target: &str,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<String>, BuildError> {
    for folder in folder.ancestors().take_while(|it| it.starts_with(workspace)) {
        let found =
            ["config.toml", "config"].map(|name| folder.join(".cargo").join(name)).into_iter().find(|it| it.is_file());
        let Some(path) = found else { continue };
        let text = files::read_text_bounded(&path, BYTES_MAX).map_err(BuildError::io("read", &path))?;
        let wrong = |what: String| BuildError::BadManifest { path: path.clone(), what };
        let config: Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.to_string().trim_end().to_owned()))?;
        let targets = config.get("target").and_then(Value::as_table);
        for (name, _) in
            targets.into_iter().flatten().filter(|(name, of)| name.starts_with("cfg(") && of.get("rustflags").is_some())
        {
            say(&format!(
                "warning: flags for `{name}` in {} are left out; put them under [target.{target}]",
                path.display()
            ));
        }
        let flags = [targets.and_then(|targets| targets.get(target)), config.get("build")];
        if let Some(flags) = flags.into_iter().flatten().find_map(|section| section.get("rustflags")) {
            return words(flags).ok_or_else(|| wrong("`rustflags` is neither a text nor a list of texts".to_owned()));
        }
    }
    Ok(Vec::new())
}

/// Flags as a list, or as a text separated by blanks.
fn words(flags: &Value) -> Option<Vec<String>> {
    match flags {
        Value::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        Value::Array(list) => list.iter().map(|flag| Some(flag.as_str()?.to_owned())).collect(),
        _ => None,
    }
}

/// The assumptions for reports: one phrase each.
pub(super) fn assumed(target: &str, has_overflow_checks: bool, messages: &str) -> Vec<String> {
    let overflow = match has_overflow_checks {
        true => "arithmetic traps where it overflows",
        false => "arithmetic wraps where it overflows",
    };
    let versions: BTreeSet<String> = match target {
        TARGET => messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
            .filter_map(|artifact| getrandom(&artifact))
            .collect(),
        // The adapter's bytes, which the imports of the module show.
        _ => BTreeSet::new(),
    };
    let randomness = (!versions.is_empty()).then(|| {
        let versions: Vec<String> = versions.into_iter().collect();
        format!("randomness from getrandom {} is what the protocol's RANDOMNESS says", versions.join(", "))
    });
    std::iter::once(overflow.to_owned()).chain(randomness).collect()
}

/// The version of getrandom in an artifact, unless it was compiled for a build script.
fn getrandom(artifact: &Artifact) -> Option<String> {
    let is_for_guest = artifact.filenames.iter().any(|file| file.contains(TARGET));
    let id = &artifact.package_id;
    // A version in the folder of the plugin is named by its path.
    let (_, version) = id.rsplit_once("getrandom@").or_else(|| id.rsplit_once("/getrandom#"))?;
    is_for_guest.then(|| version.to_owned())
}

/// The fields of the message `compiler-artifact` that are used here.
#[derive(Deserialize)]
struct Artifact {
    package_id: String,
    filenames: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(config: &str, target: &str) -> Result<(Vec<String>, Vec<String>), String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("plugin/.cargo");
        std::fs::create_dir_all(&place).expect("a new folder");
        std::fs::write(place.join("config.toml"), config).expect("a new file");
        // A file above the workspace does not count.
        std::fs::create_dir(folder.path().join(".cargo")).expect("a new folder");
        std::fs::write(folder.path().join(".cargo/config.toml"), "[build]\nrustflags = \"-Cmachine\"\n")
            .expect("a new file");
        let (mut said, plugin) = (Vec::new(), folder.path().join("plugin"));
        let flags = own_flags(&plugin, &plugin, target, &mut |line| said.push(line.to_owned()));
        flags.map(|flags| (flags, said)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_flags_of_a_plugin_are_those_for_its_target_or_for_all() {
        let both = "[build]\nrustflags = [\"-Cb\"]\n[target.wasm32-unknown-unknown]\nrustflags = \"--cfg a\"\n";
        assert_eq!(flags_of(both, TARGET).map(|it| it.0), Ok(vec!["--cfg".to_owned(), "a".to_owned()]));
        assert_eq!(flags_of(both, WASI).map(|it| it.0), Ok(vec!["-Cb".to_owned()]));
        assert_eq!(flags_of("", TARGET), Ok((vec![], vec![])));
        let (flags, said) = flags_of("[target.'cfg(unix)']\nrustflags = []\n", TARGET).expect("flags");
        assert!(flags.is_empty() && said.len() == 1 && said[0].contains("`cfg(unix)`"), "{said:?}");
        assert!(flags_of("[build]\nrustflags = 3\n", TARGET).is_err_and(|error| error.contains("config.toml")));
    }

    #[test]
    fn a_plugin_can_say_whom_getrandom_asks() {
        let own = ["--cfg".to_owned(), "getrandom_backend=\"wasm_js\"".to_owned()];
        assert_eq!(randomness(TARGET, &own), [""; 0]);
        assert_eq!(randomness(TARGET, &[]), ["--cfg", "getrandom_backend=\"custom\""]);
        assert_eq!(randomness(WASI, &[]), [""; 0]);
    }

    #[test]
    fn only_the_randomness_of_the_guest_is_reported() {
        let artifact = |version: &str, folder: &str| {
            let id = format!("registry+https://index#getrandom@{version}");
            format!(
                "{{\"reason\":\"compiler-artifact\",\"package_id\":\"{id}\",\"filenames\":[\"/t/{folder}/libgetrandom.rlib\"]}}\n"
            )
        };
        let messages = artifact("0.3.4", TARGET) + &artifact("0.2.1", "release") + "{\"reason\":\"build-finished\"}\n";
        let said = assumed(TARGET, true, &messages);
        assert_eq!(said[0], "arithmetic traps where it overflows");
        assert_eq!(said[1..], ["randomness from getrandom 0.3.4 is what the protocol's RANDOMNESS says"]);
        assert_eq!(assumed(WASI, false, &messages), ["arithmetic wraps where it overflows"]);
        // A version in the folder of the plugin.
        let copied =
            artifact("0.4.3", TARGET).replace("registry+https://index#getrandom@", "path+file:///a/getrandom#");
        assert!(assumed(TARGET, true, &copied)[1].contains("getrandom 0.4.3"), "{copied}");
    }
}

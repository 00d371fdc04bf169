//! The metadata of a folder, from cargo.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::toolchain::Toolchain;
use crate::BuildError;
use crate::tool::finish;

/// A package that can become a plugin.
pub(crate) struct Package {
    pub name: String,
    pub folder: PathBuf,
    pub manifest: PathBuf,
    pub workspace_root: PathBuf,
    pub target_directory: PathBuf,
    /// The folder of cargo's intermediate files, which may be elsewhere.
    pub build_directory: PathBuf,
}

/// Asks cargo about the package in a folder, without resolving dependencies.
pub(crate) fn read(folder: &Path, toolchain: &Toolchain) -> Result<Package, BuildError> {
    let manifest = folder.join("Cargo.toml");
    let mut cargo = toolchain.cargo(folder);
    cargo.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]).arg(&manifest);
    let output = finish(cargo)?;
    if !output.success {
        return Err(BuildError::Manifest { folder: folder.to_owned(), output: output.stderr });
    }
    let metadata: Metadata =
        serde_json::from_str(&output.stdout).map_err(|error| BuildError::Protocol(error.to_string()))?;
    let Some(package) = metadata.packages.into_iter().find(|package| package.manifest_path == manifest) else {
        return Err(BuildError::NoPackage { folder: folder.to_owned() });
    };
    if !package.targets.iter().any(|target| target.crate_types.iter().any(|kind| kind.ends_with("lib"))) {
        return Err(BuildError::NoLibrary { name: package.name });
    }
    Ok(Package {
        name: package.name,
        folder: folder.to_owned(),
        manifest,
        workspace_root: metadata.workspace_root,
        build_directory: metadata.build_directory.unwrap_or_else(|| metadata.target_directory.clone()),
        target_directory: metadata.target_directory,
    })
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
    /// Older versions of cargo do not report it.
    build_directory: Option<PathBuf>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

/// A library or program of a package.
#[derive(Deserialize)]
pub(crate) struct Target {
    pub crate_types: Vec<String>,
}

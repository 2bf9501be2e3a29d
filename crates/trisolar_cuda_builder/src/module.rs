//! Kernels that are a module of the host's package.
//!
//! The nested cargo needs a package whose dependencies all compile for the GPU, which the host's do not. So a package is written to the
//! target directory that has links to the module's files, the host's dependency on `cuda_std` and those that the build script names.

use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::error::{CudaBuilderError, at};
use crate::link::symlink;
use crate::sysroot::key;
use crate::toolchain::Toolchain;

/// The names of the package whose library is `cuda_std`: ours, and rust-cuda's.
const CUDA_STD: [&str; 2] = ["trisolar-cuda-std", "cuda_std"];

/// Writes the package of the module at `file`, a path within `host`, and returns its folder.
pub fn package(
    toolchain: &Toolchain,
    host: &Path,
    file: &Path,
    dependencies: &[String],
    cache: &Path,
) -> Result<PathBuf, CudaBuilderError> {
    let bad = |why: String| CudaBuilderError::BadModule {
        path: file.to_owned(),
        why,
    };
    let names = module_path(file).map_err(bad)?;
    if !host.join(file).is_file() {
        return Err(bad(format!("there is no such file in {}", host.display())));
    }
    let metadata = toolchain.metadata(&host.join("Cargo.toml"))?;
    let manifest = manifest(&metadata, host, dependencies).map_err(bad)?;

    let folder = cache.join(format!(
        "module-{}",
        key(&[&host.to_string_lossy(), &file.to_string_lossy()])
    ));
    // The module keeps its place below the crate's root, so that its paths mean the same on both sides.
    let mut linked = folder.join("src");
    let mut source = host.join("src");
    let (name, parents) = names.split_last().expect("a module has a name");
    for parent in parents {
        linked.push(parent);
        source.push(parent);
    }
    fs::create_dir_all(&linked).map_err(at(&linked))?;
    for part in [format!("{name}.rs"), name.clone()] {
        if source.join(&part).exists() {
            link(&source.join(&part), &linked.join(&part))?;
        }
    }
    let module = format!("pub mod {name};");
    let module = (parents.iter().rev()).fold(module, |inner, parent| {
        format!("pub mod {parent} {{ {inner} }}")
    });
    // A module cannot enable what inline assembly for GPUs needs.
    let root = format!("#![feature(asm_experimental_arch)]\n{module}\n");
    write_if_changed(&folder.join("src/lib.rs"), &root)?;
    write_if_changed(&folder.join("Cargo.toml"), &manifest)?;
    lock(&metadata, &folder)?;
    Ok(folder)
}

/// The names of the modules from the crate's root to this file: `src/a/b.rs` or `src/a/b/mod.rs` is `a::b`.
fn module_path(file: &Path) -> Result<Vec<String>, String> {
    const ALLOWED: &str = "it must be a file below `src`, such as src/kernels.rs";
    let mut names: Vec<String> = Vec::new();
    for part in file.components() {
        match part {
            Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
            _ => return Err(ALLOWED.into()),
        }
    }
    let last = (names.last_mut())
        .and_then(|last| last.strip_suffix(".rs").map(str::to_owned))
        .ok_or(ALLOWED)?;
    names.pop();
    if last != "mod" {
        names.push(last);
    }
    if names.len() < 2 || names[0] != "src" || matches!(names[1].as_str(), "lib" | "main") {
        return Err(ALLOWED.into());
    }
    names.remove(0);
    Ok(names)
}

/// The manifest of the package.
fn manifest(metadata: &Value, host: &Path, wanted: &[String]) -> Result<String, String> {
    let path = host.join("Cargo.toml");
    let package = (metadata["packages"].as_array().into_iter().flatten())
        .find(|package| package["manifest_path"].as_str().map(Path::new) == Some(&path))
        .ok_or_else(|| format!("cargo finds no package in {}", host.display()))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut manifest = format!(
        "# Written by cuda_builder.\n[package]\nname = {:?}\nversion = {:?}\nedition = {:?}\n\n[workspace]\n",
        // The kernels are known by the package in which they are written.
        text(&package["name"]),
        text(&package["version"]),
        text(&package["edition"]),
    );
    let all: Vec<&Value> = (package["dependencies"].as_array().into_iter().flatten())
        .filter(|dependency| dependency["kind"].is_null())
        .collect();
    // A manifest calls a dependency by its other name, if it gives it one.
    let key = |dependency: &Value| match dependency["rename"].as_str() {
        Some(other) => other.to_owned(),
        None => text(&dependency["name"]),
    };
    let is_cuda_std = |dependency: &&&Value| {
        CUDA_STD.contains(&key(dependency).as_str()) || dependency["name"] == CUDA_STD[0]
    };
    let cuda_std = (all.iter().find(is_cuda_std)).ok_or_else(|| {
        format!(
            "{} has no dependency on cuda_std: cargo add {}",
            path.display(),
            CUDA_STD[0]
        )
    })?;
    let mut chosen = vec![*cuda_std];
    for name in wanted {
        let found = all.iter().find(|dependency| key(dependency) == *name);
        chosen.push(found.ok_or_else(|| format!("{} has no dependency {name}", path.display()))?);
    }
    for dependency in chosen {
        let _ = writeln!(manifest, "\n[dependencies.{:?}]", key(dependency));
        // Without this line the name of the package's library counts.
        if dependency["rename"].is_string() {
            let _ = writeln!(manifest, "package = {:?}", text(&dependency["name"]));
        }
        manifest += &source_of(dependency);
        let _ = writeln!(
            manifest,
            "default-features = {}\nfeatures = {}",
            dependency["uses_default_features"], dependency["features"]
        );
    }
    let root = Path::new(metadata["workspace_root"].as_str().unwrap_or_default());
    if let Ok(of_workspace) = fs::read_to_string(root.join("Cargo.toml")) {
        manifest += &patches(&of_workspace, root);
    }
    Ok(manifest)
}

/// Where a dependency comes from, as lines of a manifest.
fn source_of(dependency: &Value) -> String {
    let mut lines = String::new();
    if let Some(req) = dependency["req"].as_str().filter(|req| *req != "*") {
        let _ = writeln!(lines, "version = {req:?}");
    }
    if let Some(path) = dependency["path"].as_str() {
        let _ = writeln!(lines, "path = {path:?}");
    } else if let Some(index) = dependency["registry"].as_str() {
        let _ = writeln!(lines, "registry-index = {index:?}");
    } else if let Some(git) = (dependency["source"].as_str()).and_then(|s| s.strip_prefix("git+")) {
        let (address, reference) = git.split_once('?').unwrap_or((git, ""));
        let _ = writeln!(lines, "git = {address:?}");
        if let Some((kind, name)) = reference.split_once('=') {
            let _ = writeln!(lines, "{kind} = {name:?}");
        }
    }
    lines
}

/// The tables `[patch…]` of a manifest in the folder `root`, with absolute paths.
fn patches(manifest: &str, root: &Path) -> String {
    let mut copied = String::from("\n");
    let mut inside = false;
    for line in manifest.lines() {
        if line.trim_start().starts_with('[') {
            let table = line.trim_start().trim_start_matches('[').trim_start();
            inside = table.starts_with("patch");
        }
        if !inside {
            continue;
        }
        let value = line.match_indices("path").find_map(|(start, word)| {
            let rest = line[start + word.len()..].trim_start().strip_prefix('=')?;
            let value = rest.trim_start().strip_prefix('"')?;
            let from = line.len() - value.len();
            Some(from..from + value.find('"')?)
        });
        match value {
            Some(place) => {
                let path = root.join(&line[place.clone()]);
                let _ = writeln!(
                    copied,
                    "{}{}{}",
                    &line[..place.start],
                    path.display(),
                    &line[place.end..]
                );
            }
            None => {
                let _ = writeln!(copied, "{line}");
            }
        }
    }
    copied
}

/// Gives the package the versions of the host's lock file, whenever that changes.
fn lock(metadata: &Value, folder: &Path) -> Result<(), CudaBuilderError> {
    let root = Path::new(metadata["workspace_root"].as_str().unwrap_or_default());
    let Ok(text) = fs::read_to_string(root.join("Cargo.lock")) else {
        return Ok(());
    };
    let taken = folder.join("Cargo.lock.of-host");
    if fs::read_to_string(&taken).is_ok_and(|known| known == text) {
        return Ok(());
    }
    let lock = folder.join("Cargo.lock");
    fs::write(&lock, &text).map_err(at(&lock))?;
    fs::write(&taken, &text).map_err(at(&taken))
}

fn link(to: &Path, from: &Path) -> Result<(), CudaBuilderError> {
    match fs::read_link(from) {
        Ok(known) if known == to => return Ok(()),
        Ok(_) => fs::remove_file(from).map_err(at(from))?,
        Err(_) => {}
    }
    symlink(to, from).map_err(at(from))
}

fn write_if_changed(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    if fs::read_to_string(path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_below_src_is_a_module() {
        let names = |file: &str| module_path(Path::new(file)).ok();
        assert_eq!(names("src/kernels.rs"), Some(vec!["kernels".into()]));
        let nested = Some(vec!["gpu".into(), "kernels".into()]);
        assert_eq!(names("src/gpu/kernels.rs"), nested);
        assert_eq!(names("src/gpu/kernels/mod.rs"), nested);
        for bad in [
            "kernels",
            "src/main.rs",
            "src/mod.rs",
            "../src/k.rs",
            "k.rs",
            "/src/k.rs",
        ] {
            assert_eq!(names(bad), None, "{bad}");
        }
    }

    #[test]
    fn patches_keep_their_meaning_in_another_folder() {
        let manifest = "[package]\npath = \"no\"\n[patch.crates-io]\na = { path = \"../a\", version = \"1\" }\n\
                        b = { git = \"https://x/y\" }\n[patch.crates-io.c]\npath=\"/c\"\n[profile.dev]\nopt-level = 1\n";
        assert_eq!(
            patches(manifest, Path::new("/w")),
            "\n[patch.crates-io]\na = { path = \"/w/../a\", version = \"1\" }\nb = { git = \"https://x/y\" }\n\
             [patch.crates-io.c]\npath=\"/c\"\n"
        );
    }

    #[test]
    fn a_dependency_keeps_its_source() {
        let of = |json: &str| source_of(&serde_json::from_str(json).unwrap());
        assert_eq!(
            of(r#"{"req": "^0.1", "source": "registry+https://x"}"#),
            "version = \"^0.1\"\n"
        );
        assert_eq!(of(r#"{"req": "*", "path": "/p"}"#), "path = \"/p\"\n");
        assert_eq!(
            of(r#"{"req": "*", "source": "git+https://x/y?branch=z"}"#),
            "git = \"https://x/y\"\nbranch = \"z\"\n"
        );
    }
}

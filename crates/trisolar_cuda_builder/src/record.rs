//! A record of what a PTX file was made from, written at its head, so that the file can be used where it cannot be built.
//!
//! The record lists what took part in the build, each with a hash: the source files that the compiler read (with normalised
//! line endings), those parts of the manifests in this tree that concern dependencies, features and edition, the versions of
//! other crates, the code generation flags, and the compiler and this crate. The last two are compared only where a build would
//! be possible. Files that do not affect the PTX (tests, the host side of a crate) are not in the record, so changing them does
//! not make it stale. A new file cannot be missed, because a listed file must refer to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{CudaBuilderError, at};
use crate::toolchain::{Toolchain, isolate};

const TITLE: &str = "// Built by cuda_builder from what is listed here. Do not edit.";

/// What a PTX file was made from. Paths are relative to the kernel crate, with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Kind and name of each ingredient, with its hash, version or value.
    items: BTreeMap<(Kind, String), String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Builder,
    Compiler,
    Flags,
    Manifest,
    Package,
    Source,
}

impl Kind {
    const ALL: [Kind; 6] = [
        Kind::Builder,
        Kind::Compiler,
        Kind::Flags,
        Kind::Manifest,
        Kind::Package,
        Kind::Source,
    ];

    fn name(self) -> &'static str {
        match self {
            Kind::Builder => "builder",
            Kind::Compiler => "compiler",
            Kind::Flags => "flags",
            Kind::Manifest => "manifest",
            Kind::Package => "package",
            Kind::Source => "source",
        }
    }
}

/// The reason why a PTX file with a record cannot be used for the current sources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was not made from the current sources: {}", .differences.join("; "))]
pub struct Stale {
    /// The differences, as messages.
    pub differences: Vec<String>,
}

impl Record {
    /// Records what took part in a build.
    ///
    /// # Arguments
    /// - `sources`: all files that were read, absolute
    /// - `manifests`: those of the crates in this tree
    /// - `packages`: name and version of all other crates
    pub(crate) fn gather(
        toolchain: &Toolchain,
        krate: &Path,
        flags: &str,
        sources: &[PathBuf],
        manifests: &[PathBuf],
        packages: &[(String, String)],
    ) -> Result<Self, CudaBuilderError> {
        let mut items = BTreeMap::new();
        items.insert((Kind::Flags, String::new()), flags.to_owned());
        items.insert((Kind::Compiler, String::new()), compiler(toolchain));
        items.insert((Kind::Builder, String::new()), own_hash()?);
        for path in sources {
            items.insert((Kind::Source, relative(path, krate)), hash_of_text(path)?);
        }
        for path in manifests {
            items.insert(
                (Kind::Manifest, relative(path, krate)),
                hash_of_manifest(toolchain, path)?,
            );
        }
        for (name, version) in packages {
            items.insert((Kind::Package, format!("{name} {version}")), "-".into());
        }
        Ok(Self { items })
    }

    /// The record as comment lines of PTX.
    pub fn header(&self) -> String {
        let mut text = format!("{TITLE}\n");
        for ((kind, name), value) in &self.items {
            text += &match kind {
                Kind::Builder | Kind::Compiler | Kind::Flags => {
                    format!("// {}: {value}\n", kind.name())
                }
                Kind::Package => format!("// package: {name}\n"),
                Kind::Manifest | Kind::Source => format!("// {}: {name} {value}\n", kind.name()),
            };
        }
        text
    }

    /// Reads the record at the head of a PTX text; `None` if there is none.
    pub fn parse(ptx: &str) -> Option<Self> {
        let mut lines = ptx.lines();
        if lines.next()?.trim_end() != TITLE {
            return None;
        }
        let mut items = BTreeMap::new();
        for line in lines {
            let Some((kind, rest)) = line
                .strip_prefix("// ")
                .and_then(|l| l.trim_end().split_once(": "))
            else {
                break;
            };
            let kind = Kind::ALL.into_iter().find(|k| k.name() == kind)?;
            let (name, value) = match kind {
                Kind::Builder | Kind::Compiler | Kind::Flags => ("", rest),
                Kind::Package => (rest, "-"),
                Kind::Manifest | Kind::Source => rest.rsplit_once(' ')?,
            };
            items.insert((kind, name.to_owned()), value.to_owned());
        }
        Some(Self { items })
    }

    /// The files in the record.
    pub(crate) fn files(&self, krate: &Path) -> Vec<PathBuf> {
        let of_files = |kind: &Kind| matches!(kind, Kind::Source | Kind::Manifest);
        self.items
            .keys()
            .filter(|(kind, _)| of_files(kind))
            .map(|(_, name)| krate.join(name))
            .collect()
    }

    /// Compares the record with the current files and, if `with_tools`, also with the compiler and this crate.
    pub(crate) fn check(
        &self,
        toolchain: &Toolchain,
        krate: &Path,
        flags: &str,
        with_tools: bool,
    ) -> Result<Result<(), Stale>, CudaBuilderError> {
        let mut differences = Vec::new();
        let locked = locked_packages(krate)?;
        if !self.items.contains_key(&(Kind::Flags, String::new())) {
            differences.push("its record has no flags".to_owned());
        }
        if with_tools {
            let tools = [
                (Kind::Compiler, compiler(toolchain)),
                (Kind::Builder, own_hash()?),
            ];
            for (kind, now) in tools {
                if self.items.get(&(kind, String::new())) != Some(&now) {
                    differences.push(format!("the {} is a different one", kind.name()));
                }
            }
        }
        for ((kind, name), value) in &self.items {
            let path = krate.join(name);
            let same = match kind {
                Kind::Builder | Kind::Compiler => true,
                Kind::Flags => value == flags,
                Kind::Package => locked.contains(name),
                Kind::Source => path.is_file() && hash_of_text(&path)? == *value,
                Kind::Manifest => path.is_file() && hash_of_manifest(toolchain, &path)? == *value,
            };
            if !same {
                differences.push(match kind {
                    Kind::Flags => format!("the flags were `{value}` and are `{flags}`"),
                    Kind::Package => format!("{name} is not the version in Cargo.lock"),
                    _ => format!("{name} has changed"),
                });
            }
        }
        Ok(if differences.is_empty() {
            Ok(())
        } else {
            Err(Stale { differences })
        })
    }
}

/// The compiler's version.
fn compiler(toolchain: &Toolchain) -> String {
    let first = toolchain.identity.lines().next().unwrap_or_default();
    first.trim().to_owned()
}

/// SHA-256 of this crate's sources, which determine how the compiler's output becomes PTX.
fn own_hash() -> Result<String, CudaBuilderError> {
    let mut all = Sha256::new();
    for path in own_sources()? {
        all.update(hash_of_text(&path)?);
    }
    Ok(hex(&all.finalize()))
}

/// The files of this crate, in a fixed order.
fn own_sources() -> Result<Vec<PathBuf>, CudaBuilderError> {
    let (mut folders, mut files) = (
        vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")],
        Vec::new(),
    );
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// `path` relative to the folder `from`; both must be absolute.
fn relative(path: &Path, from: &Path) -> String {
    let (path, from) = (plain(path), plain(from));
    let common = path.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    up.chain(path[common..].iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join("/")
}

/// The components of a path, without `.` and `..`.
fn plain(path: &Path) -> Vec<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    parts
}

/// SHA-256 of a file, which does not depend on its line endings.
fn hash_of_text(path: &Path) -> Result<String, CudaBuilderError> {
    let bytes = fs::read(path).map_err(at(path))?;
    let text: Vec<u8> = match std::str::from_utf8(&bytes) {
        Ok(text) => text.replace("\r\n", "\n").into_bytes(),
        Err(_) => bytes,
    };
    Ok(hex(&Sha256::digest(&text)))
}

/// SHA-256 of those parts of a manifest that can change the compiled code, which excludes comments, dev-dependencies and
/// descriptions.
fn hash_of_manifest(toolchain: &Toolchain, manifest: &Path) -> Result<String, CudaBuilderError> {
    let metadata = metadata_of(toolchain, manifest)?;
    let package = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|p| {
            p["manifest_path"]
                .as_str()
                .is_some_and(|m| plain(Path::new(m)) == plain(manifest))
        })
        .unwrap_or(&Value::Null);
    let mut dependencies: Vec<String> = package["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|d| d["kind"] != "dev")
        .map(|d| {
            [
                "name",
                "rename",
                "req",
                "kind",
                "target",
                "optional",
                "uses_default_features",
                "features",
            ]
            .map(|field| format!("{field}={}", d[field]))
            .join(" ")
        })
        .collect();
    dependencies.sort();
    let said = format!(
        "{} {} {} {} {}\n{}",
        package["name"],
        package["version"],
        package["edition"],
        package["links"],
        package["features"],
        dependencies.join("\n")
    );
    Ok(hex(&Sha256::digest(said.as_bytes())))
}

/// cargo's metadata of a package without its dependencies, which needs no network.
fn metadata_of(toolchain: &Toolchain, manifest: &Path) -> Result<Value, CudaBuilderError> {
    let fail = |source| CudaBuilderError::Tool {
        what: format!("cargo metadata of {}", manifest.display()),
        source,
    };
    let mut command = Command::new(&toolchain.cargo);
    isolate(&mut command);
    let output = command
        .args([
            "metadata",
            "--no-deps",
            "--format-version=1",
            "--manifest-path",
        ])
        .arg(manifest)
        .output()
        .map_err(fail)?;
    if !output.status.success() {
        return Err(fail(std::io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| fail(e.into()))
}

/// `name version` of every package in the Cargo.lock that applies to the crate.
fn locked_packages(krate: &Path) -> Result<Vec<String>, CudaBuilderError> {
    let Some(path) = lock_file(krate) else {
        return Ok(Vec::new());
    };
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let mut packages = Vec::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(value) = line.strip_prefix("name = ") {
            name = value.trim_matches('"');
        } else if let Some(value) = line.strip_prefix("version = ") {
            packages.push(format!("{name} {}", value.trim_matches('"')));
        }
    }
    Ok(packages)
}

/// The Cargo.lock of the workspace that contains a crate.
pub(crate) fn lock_file(krate: &Path) -> Option<PathBuf> {
    krate
        .ancestors()
        .map(|d| d.join("Cargo.lock"))
        .find(|p| p.is_file())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_given_from_the_kernel_crate() {
        let from = Path::new("/tree/kernels");
        assert_eq!(
            relative(Path::new("/tree/kernels/src/lib.rs"), from),
            "src/lib.rs"
        );
        assert_eq!(
            relative(Path::new("/tree/kernels/../crates/a/b.rs"), from),
            "../crates/a/b.rs"
        );
    }

    #[test]
    fn a_record_survives_writing_and_reading() {
        let mut record = Record::default();
        for (kind, name, value) in [
            (Kind::Builder, "", "00aa"),
            (Kind::Compiler, "", "rustc 1.2.3 (abc 2020-01-01)"),
            (Kind::Flags, "", "-Ca=b -Cc"),
            (Kind::Source, "src/a file.rs", "00ff"),
            (Kind::Manifest, "../x/Cargo.toml", "ff00"),
            (Kind::Package, "libm 0.2.15", "-"),
        ] {
            record.items.insert((kind, name.into()), value.into());
        }
        let text = record.header() + "//\n// Generated by LLVM: yes\n.version 7.0\n";
        assert_eq!(Record::parse(&text), Some(record));
        assert_eq!(Record::parse(".version 7.0\n"), None);
    }

    #[test]
    fn line_ends_do_not_change_the_hash() {
        let dir = tempfile::tempdir().unwrap();
        let (unix, dos, other) = (
            dir.path().join("a"),
            dir.path().join("b"),
            dir.path().join("c"),
        );
        fs::write(&unix, "a\nb\n").unwrap();
        fs::write(&dos, "a\r\nb\r\n").unwrap();
        fs::write(&other, "a\nc\n").unwrap();
        assert_eq!(hash_of_text(&unix).unwrap(), hash_of_text(&dos).unwrap());
        assert_ne!(hash_of_text(&unix).unwrap(), hash_of_text(&other).unwrap());
    }
}

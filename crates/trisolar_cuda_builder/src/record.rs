//! A record of what a PTX file was made from, written at its head, so that the file can be used where it cannot be built.
//!
//! The record lists what took part in the build, each with a hash: the source files that the compiler read (with normalised
//! line endings), those parts of the manifests in this tree that concern dependencies, features and edition, the versions of
//! other crates, the code generation flags, and the compiler and this crate. The last two are compared only where a build would
//! be possible. Files that do not affect the PTX (tests, the host side of a crate) are not in the record, so changing them does
//! not make it stale. A new file cannot be missed, because a listed file must refer to it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::compile::Inputs;
use crate::error::{CudaBuilderError, at};
use crate::toolchain::Toolchain;

const TITLE: &str = "// Built by cuda_builder from what is listed here. Do not edit.";
const KINDS: [&str; 6] = [
    "builder", "compiler", "flags", "manifest", "package", "source",
];

/// What a PTX file was made from. Paths are relative to the kernel crate, with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Kind, name, and hash, version or value of each ingredient.
    items: Vec<(&'static str, String, String)>,
}

/// The reason why a PTX file with a record cannot be used for the current sources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was not made from the current sources: {}", .differences.join("; "))]
pub struct Stale {
    /// The differences, as messages.
    pub differences: Vec<String>,
}

/// What the ingredients of a build are at present.
pub(crate) struct Present<'a> {
    pub toolchain: &'a Toolchain,
    /// The kernel crate.
    pub krate: &'a Path,
    pub flags: &'a str,
}

impl Present<'_> {
    /// The value of an ingredient; `None` if there is no such file.
    fn value(&self, kind: &str, name: &str) -> Result<Option<String>, CudaBuilderError> {
        let path = self.krate.join(name);
        Ok(Some(match kind {
            "builder" => own_hash()?,
            "compiler" => {
                let version = self.toolchain.identity.lines().next();
                version.unwrap_or_default().trim().to_owned()
            }
            "flags" => self.flags.to_owned(),
            _ if !path.is_file() => return Ok(None),
            "source" => hash_of_text(&path)?,
            _ => hash_of_manifest(self.toolchain, &path)?,
        }))
    }

    /// Records what took part in a build.
    pub fn record(&self, inputs: &Inputs) -> Result<Record, CudaBuilderError> {
        let mut items = Vec::new();
        for kind in KINDS {
            let paths = match kind {
                "manifest" => &inputs.manifests[..],
                "source" => &inputs.sources,
                "package" => {
                    let packages = inputs.packages.iter();
                    items.extend(packages.map(|name| (kind, name.clone(), String::new())));
                    continue;
                }
                _ => &[PathBuf::new()],
            };
            for path in paths {
                // The others have no name.
                let name = match path.is_absolute() {
                    true => relative(path, self.krate),
                    false => String::new(),
                };
                let value = self.value(kind, &name)?.unwrap_or_default();
                items.push((kind, name, value));
            }
        }
        Ok(Record { items })
    }

    /// Compares a record with the current files and, if `with_tools`, also with the compiler and this crate.
    pub fn check(
        &self,
        record: &Record,
        with_tools: bool,
    ) -> Result<Result<(), Stale>, CudaBuilderError> {
        let mut differences = Vec::new();
        let locked = locked_packages(self.krate)?;
        if !record.items.iter().any(|(kind, ..)| *kind == "flags") {
            differences.push("its record has no flags".to_owned());
        }
        for (kind, name, value) in &record.items {
            let said = match *kind {
                "builder" | "compiler" if !with_tools => continue,
                "package" if locked.contains(name) => continue,
                "package" => format!("{name} is not the version in Cargo.lock"),
                kind if self.value(kind, name)?.as_ref() == Some(value) => continue,
                "flags" => format!("the flags were `{value}` and are `{}`", self.flags),
                "builder" | "compiler" => format!("the {kind} is a different one"),
                _ => format!("{name} has changed"),
            };
            differences.push(said);
        }
        Ok(match differences.is_empty() {
            true => Ok(()),
            false => Err(Stale { differences }),
        })
    }
}

impl Record {
    /// The record as comment lines of PTX.
    pub fn header(&self) -> String {
        let mut text = format!("{TITLE}\n");
        for (kind, name, value) in &self.items {
            let both = [name, value].into_iter().filter(|part| !part.is_empty());
            let both: Vec<&str> = both.map(String::as_str).collect();
            text += &format!("// {kind}: {}\n", both.join(" "));
        }
        text
    }

    /// Reads the record at the head of a PTX text; `None` if there is none.
    pub fn parse(ptx: &str) -> Option<Self> {
        let mut lines = ptx.lines();
        if lines.next()?.trim_end() != TITLE {
            return None;
        }
        let mut items = Vec::new();
        let lines = lines.map_while(|line| line.strip_prefix("// ")?.trim_end().split_once(": "));
        for (kind, rest) in lines {
            let kind = KINDS.into_iter().find(|known| *known == kind)?;
            let (name, value) = match kind {
                "package" => (rest, ""),
                "manifest" | "source" => rest.rsplit_once(' ')?,
                _ => ("", rest),
            };
            items.push((kind, name.to_owned(), value.to_owned()));
        }
        Some(Self { items })
    }

    /// The files in the record.
    pub(crate) fn files(&self, krate: &Path) -> Vec<PathBuf> {
        let of_files = self
            .items
            .iter()
            .filter(|(kind, ..)| matches!(*kind, "source" | "manifest"));
        of_files.map(|(_, name, _)| krate.join(name)).collect()
    }
}

/// SHA-256 of this crate's sources, which determine how the compiler's output becomes PTX.
fn own_hash() -> Result<String, CudaBuilderError> {
    let (mut folders, mut files) = (
        vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")],
        Vec::new(),
    );
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            let list = if path.is_dir() {
                &mut folders
            } else {
                &mut files
            };
            list.push(path);
        }
    }
    files.sort();
    let mut all = Sha256::new();
    for path in files {
        all.update(hash_of_text(&path)?);
    }
    Ok(hex(&all.finalize()))
}

/// `path` relative to the folder `from`; both must be absolute.
fn relative(path: &Path, from: &Path) -> String {
    let (path, from) = (plain(path), plain(from));
    let common = path.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    let down = path[common..].iter().map(String::as_str);
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// The components of a path, without `.` and `..`.
fn plain(path: &Path) -> Vec<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()),
            other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    parts
}

/// SHA-256 of a file, which does not depend on its line endings.
fn hash_of_text(path: &Path) -> Result<String, CudaBuilderError> {
    let bytes = fs::read(path).map_err(at(path))?;
    let text = std::str::from_utf8(&bytes).map(|text| text.replace("\r\n", "\n").into_bytes());
    Ok(hex(&Sha256::digest(text.unwrap_or(bytes))))
}

/// SHA-256 of those parts of a manifest that can change the compiled code, which excludes comments, dev-dependencies and
/// descriptions.
fn hash_of_manifest(toolchain: &Toolchain, manifest: &Path) -> Result<String, CudaBuilderError> {
    let metadata = toolchain.metadata(manifest)?;
    let is_it = |package: &&Value| {
        let path = package["manifest_path"].as_str().map(Path::new);
        path.is_some_and(|path| plain(path) == plain(manifest))
    };
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(is_it).unwrap_or(&Value::Null);
    let fields = |value: &Value, names: &[&str]| {
        let said = names.iter().map(|name| format!("{name}={}", value[name]));
        said.collect::<Vec<_>>().join(" ")
    };
    let of_dependency = [
        "name",
        "rename",
        "req",
        "kind",
        "target",
        "optional",
        "uses_default_features",
        "features",
    ];
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let mut said: Vec<String> = (dependencies.filter(|d| d["kind"] != "dev"))
        .map(|d| fields(d, &of_dependency))
        .collect();
    said.sort();
    said.push(fields(
        package,
        &["name", "version", "edition", "links", "features"],
    ));
    Ok(hex(&Sha256::digest(said.join("\n"))))
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
    let mut above = krate.ancestors().map(|folder| folder.join("Cargo.lock"));
    above.find(|path| path.is_file())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_given_from_the_kernel_crate() {
        for (path, expected) in [
            ("/tree/kernels/src/lib.rs", "src/lib.rs"),
            ("/tree/kernels/../crates/a/b.rs", "../crates/a/b.rs"),
        ] {
            assert_eq!(
                relative(Path::new(path), Path::new("/tree/kernels")),
                expected
            );
        }
    }

    #[test]
    fn a_record_survives_writing_and_reading() {
        let items = [
            ("builder", "", "00aa"),
            ("compiler", "", "rustc 1.2.3 (abc 2020-01-01)"),
            ("flags", "", "-Ca=b -Cc"),
            ("manifest", "../x/Cargo.toml", "ff00"),
            ("package", "libm 0.2.15", ""),
            ("source", "src/a file.rs", "00ff"),
        ];
        let items = items.map(|(kind, name, value)| (kind, name.to_owned(), value.to_owned()));
        let record = Record {
            items: items.into(),
        };
        let text = record.header() + "//\n// Generated by LLVM: yes\n.version 7.0\n";
        assert_eq!(Record::parse(&text), Some(record));
        assert_eq!(Record::parse(".version 7.0\n"), None);
    }
}

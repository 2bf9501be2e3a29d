//! Kernel crates from the time when rust-cuda needed `#![feature(register_attr)]`, which rustc no longer supports.
//!
//! Such a crate is compiled from a mirror of its source folder: links to all of its files, and a root file without that
//! attribute. A wrapper around rustc replaces the crate's root file by the mirror's, so that the manifest and the paths in it
//! stay as they are. The wrapper is a shell script, so this is not possible on Windows.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{CudaBuilderError, at};
use crate::link::{make_executable, symlink};

/// Runs rustc with the mirror of the root file instead of the root file.
const WRAPPER: &str = r#"#!/bin/sh
# Written by cuda_builder: compiles the mirror of a crate's root file.
rustc=$1
shift
for argument do
    shift
    if [ "$argument" -ef "$CUDA_BUILDER_ROOT" ]; then
        set -- "$@" "--remap-path-prefix=$CUDA_BUILDER_MIRROR=./src" "$CUDA_BUILDER_MIRROR/${CUDA_BUILDER_ROOT##*/}"
    else
        set -- "$@" "$argument"
    fi
done
exec "$rustc" "$@"
"#;

/// A crate whose root file has to be replaced.
#[derive(Debug)]
pub struct Mirror {
    /// The crate's root file.
    pub root: PathBuf,
    /// The folder that replaces the root file's folder.
    pub folder: PathBuf,
    /// The program that cargo has to run instead of rustc.
    pub wrapper: PathBuf,
}

impl Mirror {
    /// Creates or refreshes the mirror in `place` if the crate needs one.
    pub fn prepare(krate: &Path, place: &Path) -> Result<Option<Self>, CudaBuilderError> {
        let root = krate.join("src/lib.rs");
        let Ok(text) = fs::read_to_string(&root) else {
            return Ok(None);
        };
        if !text.contains("register_attr") {
            return Ok(None);
        }
        let folder = place.join("mirror");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(at(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let source = krate.join("src");
        for entry in fs::read_dir(&source).map_err(at(&source))? {
            let entry = entry.map_err(at(&source))?;
            if entry.path() != root {
                let link = folder.join(entry.file_name());
                symlink(entry.path(), &link).map_err(at(&link))?;
            }
        }
        let mirrored = folder.join("lib.rs");
        fs::write(&mirrored, without_register_attr(&text)).map_err(at(&mirrored))?;

        let wrapper = place.join("rustc-of-mirror");
        fs::write(&wrapper, WRAPPER).map_err(at(&wrapper))?;
        make_executable(&wrapper).map_err(at(&wrapper))?;
        Ok(Some(Self {
            root,
            folder,
            wrapper,
        }))
    }

    /// The original of a file in the mirror.
    pub fn original(&self, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix(&self.folder).ok()?;
        Some(self.root.with_file_name("").join(inside))
    }
}

/// Replaces `register_attr(..)` and its feature by a harmless attribute; line numbers do not change.
fn without_register_attr(text: &str) -> String {
    const HARMLESS: &str = "allow(unused)";
    let mut rest = text;
    let mut result = String::new();
    loop {
        let next = ["register_attr", "feature"]
            .into_iter()
            .filter_map(|word| rest.find(&format!("{word}(")).map(|at| (at, word)))
            .min();
        let Some((at, word)) = next else { break };
        let open = at + word.len();
        let Some(length) = rest[open..].find(')') else {
            break;
        };
        let list = &rest[open + 1..open + length];
        let kept: Vec<&str> = list
            .split(',')
            .map(str::trim)
            .filter(|f| *f != "register_attr")
            .collect();
        let kept: Vec<&str> = kept.into_iter().filter(|f| !f.is_empty()).collect();
        result += &rest[..at];
        if word == "register_attr" || kept.is_empty() {
            result += HARMLESS;
        } else {
            result += &format!("feature({})", kept.join(", "));
        }
        result.extend(list.chars().filter(|c| *c == '\n'));
        rest = &rest[open + length + 1..];
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::without_register_attr;

    #[test]
    fn only_register_attr_goes_and_lines_stay() {
        assert_eq!(
            without_register_attr(
                "#![cfg_attr(\n a,\n no_std,\n feature(register_attr),\n register_attr(nvvm_internal)\n)]\n"
            ),
            "#![cfg_attr(\n a,\n no_std,\n allow(unused),\n allow(unused)\n)]\n"
        );
        assert_eq!(
            without_register_attr("#![feature(asm,\n register_attr)]\nfn f() {}"),
            "#![feature(asm)\n]\nfn f() {}"
        );
        assert_eq!(
            without_register_attr("#[cfg(feature = \"x\")]"),
            "#[cfg(feature = \"x\")]"
        );
    }
}

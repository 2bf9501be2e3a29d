//! The compiler in use and the matching sources of `core`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::error::CudaBuilderError;

/// The variable that names a folder with the sources of the Rust library, for machines where they are in an unusual place.
pub const RUST_SRC_VARIABLE: &str = "CUDA_BUILDER_RUST_SRC";

/// The versions of Rust, 1.x, between whose first and last the kernels of the tests have been compiled.
const TESTED: std::ops::RangeInclusive<u32> = 95..=99;

/// A rustc and its cargo.
#[derive(Debug)]
pub struct Toolchain {
    pub rustc: OsString,
    pub cargo: OsString,
    /// The complete output of `rustc -vV`, which identifies the compiler.
    pub identity: String,
    /// The version, such as `1.95.0`.
    pub release: String,
    pub sysroot: PathBuf,
}

impl Toolchain {
    /// Finds the toolchain that runs the build script or, outside of a build script, the one on the search path.
    pub fn current() -> Result<Self, CudaBuilderError> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output_of = |arguments: &[&str]| output_of(Command::new(&rustc).args(arguments));
        let identity = output_of(&["-vV"])?;
        let release = field(&identity, "release:");
        let sysroot = output_of(&["--print", "sysroot"])?.trim().into();
        Ok(Self {
            rustc,
            cargo,
            identity,
            release,
            sysroot,
        })
    }

    /// The folder `library` of the Rust sources of exactly this version.
    pub fn library_source(&self) -> Result<PathBuf, CudaBuilderError> {
        let looked_in = match given(RUST_SRC_VARIABLE) {
            // If the user names a folder, no other is tried.
            Some(given) => vec![given.join("library"), given],
            None => vec![
                self.sysroot.join("lib/rustlib/src/rust/library"),
                format!("/usr/src/rustc-{}/library", self.release).into(),
            ],
        };
        let has_core = |path: &&PathBuf| path.join("core/src/lib.rs").is_file();
        let Some(found) = looked_in.iter().find(has_core).cloned() else {
            return Err(CudaBuilderError::Missing {
                what: format!(
                    "the sources of Rust's core library, version {}",
                    self.release
                ),
                how: format!(
                    "With rustup: rustup component add rust-src\n\
                     With Debian's rustc of the same version: apt install rust-src\n\
                     Otherwise: unpack them and set {RUST_SRC_VARIABLE} to the folder `library`."
                ),
                looked_in,
            });
        };
        match source_version(&found) {
            Some(version) if version != self.release => Err(CudaBuilderError::Mismatch {
                what: "the sources of Rust's core library",
                path: found,
                found: version,
                expected: self.release.clone(),
            }),
            _ => Ok(found),
        }
    }

    /// What to say of a compiler with which kernels have not been tested, which is later than those of [`TESTED`].
    pub fn untested(&self) -> Option<String> {
        let minor = self.release.split('.').nth(1)?.parse::<u32>().ok()?;
        (!TESTED.contains(&minor)).then(|| {
            format!(
                "kernels have been tested with Rust 1.{} to 1.{}, and this compiler is {}",
                TESTED.start(),
                TESTED.end(),
                self.release
            )
        })
    }

    /// cargo's metadata of a package without its dependencies, which needs no network.
    pub fn metadata(&self, manifest: &Path) -> Result<Value, CudaBuilderError> {
        let mut command = Command::new(&self.cargo);
        isolate(&mut command);
        let arguments = [
            "metadata",
            "--no-deps",
            "--format-version=1",
            "--manifest-path",
        ];
        let said = output_of(command.args(arguments).arg(manifest))?;
        serde_json::from_str(&said).map_err(|error| CudaBuilderError::Tool {
            what: format!("the metadata of {}", manifest.display()),
            source: error.into(),
        })
    }

    /// A file that changes when rustup adds or removes a component, if there is one.
    pub fn component_list(&self) -> Option<PathBuf> {
        Some(self.sysroot.join("lib/rustlib/components")).filter(|p| p.is_file())
    }
}

/// The value of a line of `rustc -vV`.
pub fn field(identity: &str, name: &str) -> String {
    let value = identity.lines().find_map(|line| line.strip_prefix(name));
    value.unwrap_or("unknown").trim().to_owned()
}

/// The folder that the user names by a variable.
pub fn given(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// The version of a source tree, from `src/version` of a complete tree or from the folder's name.
fn source_version(library: &Path) -> Option<String> {
    let top = library.parent()?;
    if let Ok(text) = std::fs::read_to_string(top.join("src/version")) {
        return Some(text.trim().to_owned());
    }
    top.file_name()?
        .to_str()?
        .strip_prefix("rustc-")
        .map(str::to_owned)
}

/// What a program writes to stdout.
///
/// # Errors
/// [`CudaBuilderError::Tool`] with what it writes to stderr, if it fails.
pub fn output_of(command: &mut Command) -> Result<String, CudaBuilderError> {
    let output = command.output();
    let failed = match output {
        Ok(output) if output.status.success() => {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(output) => io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => error,
    };
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    Err(CudaBuilderError::Tool {
        what: format!("cannot run {}", words.join(" ")),
        source: failed,
    })
}

/// Removes those environment variables by which an outer cargo or its user would change what is built, but keeps those for the
/// network, registries and the job server.
pub fn isolate(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(changes_the_build) {
            command.env_remove(&name);
        }
    }
}

fn changes_the_build(variable: &str) -> bool {
    const KEPT: &[&str] = &[
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_MAKEFLAGS",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    const REMOVED: &[&str] = &[
        "DEBUG",
        "HOST",
        "NUM_JOBS",
        "OPT_LEVEL",
        "OUT_DIR",
        "PROFILE",
        "RUSTC",
        "RUSTC_LINKER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "RUSTDOC",
        "RUSTDOCFLAGS",
        "RUSTFLAGS",
        "TARGET",
    ];
    let of_cargo = variable.starts_with("CARGO_") && !KEPT.iter().any(|k| variable.starts_with(k));
    of_cargo || REMOVED.contains(&variable)
}

#[cfg(test)]
mod tests {
    use super::{changes_the_build, source_version};
    use std::fs;

    #[test]
    fn an_outer_build_does_not_reach_the_inner_one() {
        for name in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "CARGO_TARGET_DIR",
            "CARGO_PROFILE_RELEASE_OPT_LEVEL",
            "CARGO_FEATURE_GPU",
            "RUSTC_WORKSPACE_WRAPPER",
        ] {
            assert!(changes_the_build(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_HTTP_CAINFO",
            "CARGO_MAKEFLAGS",
            "RUSTUP_HOME",
        ] {
            assert!(!changes_the_build(name), "{name}");
        }
    }

    #[test]
    fn version_of_sources_is_read_where_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("rustc-1.2.3/library");
        fs::create_dir_all(&library).unwrap();
        assert_eq!(source_version(&library).as_deref(), Some("1.2.3"));
        fs::create_dir_all(dir.path().join("rustc-1.2.3/src")).unwrap();
        fs::write(dir.path().join("rustc-1.2.3/src/version"), "1.2.4\n").unwrap();
        assert_eq!(source_version(&library).as_deref(), Some("1.2.4"));
        let unknown = dir.path().join("rust/library");
        fs::create_dir_all(&unknown).unwrap();
        assert_eq!(source_version(&unknown), None);
    }
}

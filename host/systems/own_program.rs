//! Programs for equations in Rust of a user's own: the files of which cargo makes one.

use std::path::{Path, PathBuf};

use trisolar_io::IoError;
use trisolar_io::read::{self, Limit};

/// The packages that a program needs, and their folders in the repository.
const PACKAGES: [(&str, &str); 4] = [
    ("trisolar-cuda-std", "crates/trisolar_cuda_std"),
    ("trisolar-equations", "crates/trisolar_equations"),
    ("trisolar-system", "host/system"),
    ("trisolar-cuda-builder", "crates/trisolar_cuda_builder"),
];

/// Packages of which a program needs little, and seldom.
const SELDOM: [&str; 6] = [
    "glam@0.30",
    "nvml-wrapper-sys",
    "rustix",
    "trisolar-ptx",
    "ttf-parser",
    "typed-path",
];

/// `build.rs`.
const BUILD: &str = r#"fn main() {
    cuda_builder::CudaBuilder::module("src/system.rs")
        .dependencies(&["trisolar-equations"])
        .embed();
}
"#;

/// The files of a program, with their paths in its folder, but for `src/system.rs`, which has the equations.
///
/// - `name` is that of the program, a name of a package;
/// - `equations` are the text of `src/system.rs`;
/// - `named` is the file that the compiler's messages name, if `src/system.rs` is a link to it;
/// - `checkout` is a clone of the repository, from which the packages come, with the versions of its `Cargo.lock`; cargo drops those that the
///   program does not need.
///
/// # Errors
/// The equations export no system, the folder is no clone, or its `Cargo.lock` cannot be read.
pub fn files(
    name: &str,
    equations: &str,
    named: Option<&Path>,
    checkout: Option<&Path>,
) -> Result<Vec<(&'static str, String)>, FilesError> {
    let system = exported(equations).ok_or(FilesError::NoSystem)?;
    let path = named.map(|path| format!("#[path = {path:?}]\n"));
    let program = format!(
        "{}mod system;\ntrisolar_system::include_kernels!();\n\nfn main() -> std::process::ExitCode {{\n    \
         trisolar_system::main::<system::{system}>()\n}}\n",
        path.unwrap_or_default()
    );
    let checkout = checkout.map(clone_at).transpose()?;
    let mut files = vec![
        ("Cargo.toml", manifest(name, checkout.as_deref())),
        ("build.rs", BUILD.to_owned()),
        ("src/main.rs", program),
    ];
    if let Some(clone) = checkout {
        let lock = read::text(&clone.join("Cargo.lock"), Limit::CONFIGURATION)?;
        files.push(("Cargo.lock", lock));
    }
    Ok(files)
}

/// Why there are no [`files`].
#[derive(Debug)]
pub enum FilesError {
    /// The equations have no line such as `export!(flow Lorenz);`.
    NoSystem,
    /// The folder is no clone of the repository, for this reason.
    NoClone(String),
    /// The clone's `Cargo.lock` cannot be read.
    Lock(IoError),
}

impl From<IoError> for FilesError {
    fn from(error: IoError) -> Self {
        Self::Lock(error)
    }
}

/// The name of the structure that equations export.
fn exported(equations: &str) -> Option<&str> {
    let mut lines = equations.lines().map(str::trim_start);
    let rest = lines.find_map(|line| match line.starts_with("//") {
        true => None,
        false => Some(line.split_once("export!")?.1),
    })?;
    let inside = rest.trim_start_matches(['(', '{', '[', ' ']);
    let name = inside.split_whitespace().nth(1)?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&name[..end.unwrap_or(name.len())]).filter(|name| !name.is_empty())
}

/// The folder of a clone of the repository.
fn clone_at(folder: &Path) -> Result<PathBuf, FilesError> {
    let folder = folder
        .canonicalize()
        .map_err(|e| FilesError::NoClone(e.to_string()))?;
    let manifests = PACKAGES.map(|(_, place)| folder.join(place).join("Cargo.toml"));
    let is_clone =
        (manifests.iter().chain(&[folder.join("Cargo.lock")])).all(|file| file.is_file());
    is_clone
        .then_some(folder)
        .ok_or_else(|| FilesError::NoClone("is not a clone of the repository".into()))
}

/// `Cargo.toml`.
fn manifest(name: &str, checkout: Option<&Path>) -> String {
    let dependency = |(package, place): (&str, &str)| match checkout {
        None => format!("{package} = \"{}\"\n", env!("CARGO_PKG_VERSION")),
        Some(folder) => {
            // Debug quotes as TOML does.
            format!("{package} = {{ path = {:?} }}\n", folder.join(place))
        }
    };
    let [cuda_std, equations, system, builder] = PACKAGES.map(dependency);
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{cuda_std}{equations}{system}\n\
         [build-dependencies]\n{builder}\n# A project of its own, wherever its folder is.\n[workspace]\n\n\
         # Your equations are compiled with the program; what is around them need not be fast.\n\
         [profile.release]\nopt-level = 1\n\n[profile.release.package]\n\
         {name:?} = {{ opt-level = 3 }}\n\"libm@0.2\" = {{ opt-level = 3 }}\n{}",
        SELDOM
            .map(|package| format!("{package:?} = {{ opt-level = 0 }}\n"))
            .concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exported_system_is_that_of_the_macro() {
        for (text, name) in [
            (
                "pub struct A;\npub struct B;\nexport!(flow B);\n",
                Some("B"),
            ),
            (
                "// export!(flow A);\n  trisolar_equations::export! { map B_2 }",
                Some("B_2"),
            ),
            ("export!(flow);", None),
            ("pub struct A;", None),
        ] {
            assert_eq!(exported(text), name, "{text}");
        }
    }
}

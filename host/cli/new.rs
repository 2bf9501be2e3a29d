//! `trisolar new`: the folder of a program for a user's own equations.

use std::fs;
use std::path::{Path, PathBuf};

use trisolar::io::IoError;
use trisolar::io::atomic::write_with;
use trisolar::io::read::{self, Limit};

use super::Failure;
use super::report;

macro_rules! templates {
    ($($name:literal: $file:literal,)*) => {
        /// The templates: their names, and `src/system.rs`.
        const TEMPLATES: &[(&str, &str)] = &[$(($name, include_str!(concat!("new/", $file)))),*];
        /// Their names, as `--template` takes them.
        const NAMES: &[&str] = &[$($name),*];
    };
}
templates! {
    "lorenz": "lorenz.rs",
    "henon-heiles": "henon_heiles.rs",
    "double-pendulum": "double_pendulum.rs",
    "restricted-three-body": "restricted_three_body.rs",
    "magnetic-pendulum": "magnetic_pendulum.rs",
    "newton": "newton.rs",
    "standard-map": "standard_map.rs",
    "three-bodies": "three_bodies.rs",
}

/// The packages that the program needs, and their folders in the repository.
const PACKAGES: [(&str, &str); 4] = [
    ("trisolar-cuda-std", "crates/trisolar_cuda_std"),
    ("trisolar-equations", "crates/trisolar_equations"),
    ("trisolar-system", "host/system"),
    ("trisolar-cuda-builder", "crates/trisolar_cuda_builder"),
];

/// Make the folder of a program for differential equations or an iterated map of your own
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder, which must not exist; its name is that of the program
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// The equations to begin with; without it those that have the folder's name, or lorenz
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(NAMES))]
    template: Option<String>,
    /// Take Trisolar's packages from this clone of its repository instead of the registry
    #[arg(long, value_name = "FOLDER")]
    checkout: Option<PathBuf>,
}

/// Makes the folder.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let shown = args.folder.display().to_string();
    let refuse = |reason: &str| Err(Failure::value(&shown, "NAME", reason));
    let Some(name) = args.folder.file_name().and_then(|name| name.to_str()) else {
        return refuse("must be the name of a folder");
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(allowed) {
        return refuse("must begin with a letter and consist of letters, digits, - and _");
    }
    if args.folder.symlink_metadata().is_ok() {
        return refuse("exists already");
    }
    let given = args.template.as_deref().unwrap_or(name);
    let template = TEMPLATES.iter().find(|(known, _)| *known == given);
    let (_, equations) = template.unwrap_or(&TEMPLATES[0]);
    let checkout = args.checkout.as_deref().map(clone).transpose()?;
    let manifest = manifest(name, checkout.as_deref());
    let files = [
        ("Cargo.toml", manifest),
        (".gitignore", "/target\n".to_owned()),
        ("build.rs", BUILD.to_owned()),
        ("src/system.rs", (*equations).to_owned()),
        ("src/main.rs", program(equations)),
    ];
    let source = args.folder.join("src");
    fs::create_dir_all(&source)
        .map_err(|e| Failure::Failed(format!("{}: {e}", source.display())))?;
    for (file, text) in files {
        let path = args.folder.join(file);
        write(&path, &text)?;
    }
    if let Some(clone) = checkout {
        let lock = clone.join("Cargo.lock");
        let text = read::text(&lock, Limit::CONFIGURATION)?;
        write(&args.folder.join("Cargo.lock"), &text)?;
    }
    report::to_stdout(&format!(
        "{shown}: write your equations in src/system.rs, then\n  cd {shown}\n  cargo run --release -- help\n"
    ))
}

fn write(path: &Path, text: &str) -> Result<(), IoError> {
    use std::io::Write as _;
    write_with(path, |file| {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })
}

/// `build.rs`.
const BUILD: &str = r#"fn main() {
    cuda_builder::CudaBuilder::module("src/system.rs")
        .dependencies(&["trisolar-equations"])
        .embed();
}
"#;

/// `src/main.rs` for equations.
fn program(equations: &str) -> String {
    let (_, rest) = equations
        .split_once("pub struct ")
        .expect("a system is a structure");
    let system = rest.split(';').next().unwrap_or_default();
    format!(
        "mod system;\ntrisolar_system::include_kernels!();\n\nfn main() -> std::process::ExitCode {{\n    \
         trisolar_system::main::<system::{system}>()\n}}\n"
    )
}

/// The folder of a clone of the repository. Its `Cargo.lock` names the versions with which Trisolar is tested; cargo drops those that the
/// program does not need.
fn clone(folder: &Path) -> Result<PathBuf, Failure> {
    let refuse = |reason: &str| Failure::value(&folder.display().to_string(), "--checkout", reason);
    let folder = folder.canonicalize().map_err(|e| refuse(&e.to_string()))?;
    let manifests = PACKAGES.map(|(_, place)| folder.join(place).join("Cargo.toml"));
    let is_clone =
        (manifests.iter().chain(&[folder.join("Cargo.lock")])).all(|file| file.is_file());
    is_clone
        .then_some(folder)
        .ok_or_else(|| refuse("is not a clone of the repository"))
}

/// Packages of which a program needs little, and seldom.
const SELDOM: [&str; 6] = [
    "glam@0.30",
    "nvml-wrapper-sys",
    "rustix",
    "trisolar-ptx",
    "ttf-parser",
    "typed-path",
];

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

//! `trisolar new`: the folder of a program for a user's own equations.

use std::fs;
use std::path::{Path, PathBuf};

use trisolar::io::IoError;
use trisolar::io::atomic::write_with;
use trisolar::own_program::{self, FilesError};

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
    let files = own_program::files(name, equations, None, args.checkout.as_deref());
    let mut files = files.map_err(|error| match (error, &args.checkout) {
        (FilesError::NoClone(reason), Some(folder)) => {
            Failure::value(&folder.display().to_string(), "--checkout", &reason)
        }
        (FilesError::Lock(error), _) => error.into(),
        (error, _) => unreachable!("templates export a system: {error:?}"),
    })?;
    files.push((".gitignore", "/target\n".to_owned()));
    files.push(("src/system.rs", (*equations).to_owned()));
    let source = args.folder.join("src");
    fs::create_dir_all(&source)
        .map_err(|e| Failure::Failed(format!("{}: {e}", source.display())))?;
    for (file, text) in files {
        let path = args.folder.join(file);
        write(&path, &text)?;
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

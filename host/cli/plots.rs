//! The folder of `--plots`, and what its pictures have in common.

use std::path::{Path, PathBuf};

use trisolar::io::PictureFormat;
use trisolar::run::Names;

/// The pictures that `--plots` of any command may draw into its folder.
const NAMES: [&str; 8] = [
    "energy", "orbits", "density", "radii", "steps", "e2", "v-inf", "lifetime",
];

/// The files in the folder that belong to a run.
pub(crate) const PLOTS: Names = Names {
    what: "plots",
    owns: |file| {
        let path = Path::new(file);
        let known = |stem| NAMES.iter().any(|name| stem == *name);
        let format = PictureFormat::of(path);
        // In lower case only, as they are written.
        format.is_some_and(|f| path.extension().is_some_and(|e| e == f.extension()))
            && path.file_stem().is_some_and(known)
    },
    parents: true,
    keeps_older: true,
};

/// The file of a picture.
pub(crate) fn path(folder: &Path, name: &str, format: PictureFormat) -> PathBuf {
    folder.join(format!("{name}.{format}"))
}

/// The beginning of the titles of `energy`.
pub(crate) const ENERGY_ERROR: &str = "Relative error of the total energy";

/// Largest number of bodies whose orbits are drawn.
pub(crate) const MAX_DRAWN_ORBITS: usize = 100;
/// Largest number of bodies whose names are written.
pub(crate) const MAX_NAMED: usize = 12;

/// The names of the drawn ones of `n` bodies: numbers if they have none, and nothing if they are many.
pub(crate) fn body_names(names: Option<&[String]>, n: usize) -> Vec<String> {
    let name = |i: usize| match names {
        _ if n > MAX_NAMED => String::new(),
        Some(names) => names[i].clone(),
        None => format!("body {i}"),
    };
    (0..n.min(MAX_DRAWN_ORBITS)).map(name).collect()
}

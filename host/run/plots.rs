//! The folder of `--plots` of any command.

use std::path::{Path, PathBuf};

use trisolar_io::PictureFormat;

use super::Names;

/// The pictures that `--plots` of any command may draw into its folder.
const NAMES: [&str; 12] = [
    "energy",
    "orbits",
    "density",
    "radii",
    "steps",
    "e2",
    "v-inf",
    "lifetime",
    "entropy",
    "uncertainty",
    "dimension",
    "wada",
];

/// The files in the folder that belong to a run.
pub const PLOTS: Names = Names {
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
pub fn path(folder: &Path, name: &str, format: PictureFormat) -> PathBuf {
    folder.join(format!("{name}.{format}"))
}

//! The folder of `--plots`.

use std::path::{Path, PathBuf};

use trisolar::run::Names;

/// The pictures that `--plots` of any command may draw into its folder.
const NAMES: [&str; 7] = [
    "energy", "orbits", "radii", "steps", "e2", "v-inf", "lifetime",
];

/// The files in the folder that belong to a run.
pub(crate) const PLOTS: Names = Names {
    what: "plots",
    owns: |file| {
        NAMES
            .iter()
            .any(|name| file == format!("{name}.png").as_str())
    },
    parents: true,
};

/// The file of a picture.
pub(crate) fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.png"))
}

//! The folder of `--plots`, and what its pictures have in common.

use std::path::{Path, PathBuf};

use trisolar::bodies::{Tracks, body_name};
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

/// Points of the paths of bodies, `parts` from one recorded state to the next, and what a title says of paths that cannot be drawn
/// because the bodies turned around between two records. `still` leaves out such paths; a film shows their positions.
pub(crate) fn points_of(
    tracks: &Tracks,
    parts: usize,
    names: &[String],
    still: bool,
) -> (Vec<Vec<[f64; 3]>>, String) {
    let unknown: Vec<usize> = (0..tracks.bodies())
        .filter(|i| !tracks.is_drawable(*i))
        .collect();
    let mut points: Vec<Vec<[f64; 3]>> = (0..tracks.bodies())
        .map(|i| tracks.points(i, parts))
        .collect();
    for body in unknown.iter().filter(|_| still) {
        if let [all @ .., _] = &mut points[*body][..] {
            all.fill([f64::NAN; 3]);
        }
    }
    let remark = match &unknown[..] {
        [] => String::new(),
        [body] if !names[*body].is_empty() => {
            format!(", {} moves faster than it was recorded", names[*body])
        }
        [_] => ", one moves faster than it was recorded".into(),
        all => format!(", {} move faster than they were recorded", all.len()),
    };
    (points, remark)
}

/// The names of the drawn ones of `n` bodies: numbers if they have none, and nothing if they are many.
pub(crate) fn body_names(names: Option<&[String]>, n: usize) -> Vec<String> {
    let name = |i: usize| match n > MAX_NAMED {
        true => String::new(),
        false => body_name(names, i),
    };
    (0..n.min(MAX_DRAWN_ORBITS)).map(name).collect()
}

//! All maps of a sequence as one Zarr store, for xarray.

use std::path::Path;

use super::folder::Folder;
use super::sequence::Frame;
use super::vary::Vary;
use trisolar_io::IoError;
use trisolar_map::dataset::{Dimension, Stack};
use trisolar_map::{Validated, ValueVec};

/// Writes the maps of a sweep, whose arrays are in the folder, along a dimension for each parameter that varies.
///
/// # Errors
/// An array is missing or damaged, or the file cannot be written; no part of it remains.
pub fn write_sweep(
    path: &Path,
    frames: &[Frame],
    vary: &[Vary],
    folder: &Folder,
) -> Result<(), IoError> {
    let mut stride = frames.len();
    let dimensions: Vec<Dimension> = (vary.iter().enumerate())
        .map(|(k, Vary { parameter, values })| {
            stride /= values.len();
            // As the maps have them: a number of steps has no fraction.
            let places = frames.iter().step_by(stride).take(values.len());
            Dimension {
                name: parameter.to_string().replace('-', "_"),
                places: ValueVec::F64(places.map(|frame| frame.set[k].value).collect()),
                unit: parameter.unit(),
            }
        })
        .collect();
    write(path, frames, &dimensions, false, folder)
}

/// Writes the maps of a zoom, whose arrays are in the folder, along the dimension `frame`.
///
/// # Errors
/// As [`write_sweep`].
pub fn write_zoom(path: &Path, frames: &[Frame], folder: &Folder) -> Result<(), IoError> {
    let frame = Dimension {
        name: "frame".into(),
        places: ValueVec::U32(frames.iter().map(|frame| frame.index).collect()),
        unit: "",
    };
    write(path, frames, &[frame], true, folder)
}

fn write(
    path: &Path,
    frames: &[Frame],
    dimensions: &[Dimension],
    with_specifications: bool,
    folder: &Folder,
) -> Result<(), IoError> {
    let maps: Vec<&Validated> = frames.iter().map(|f| &f.specification).collect();
    let stack = Stack {
        dimensions,
        maps: &maps,
        with_specifications,
    };
    stack.write(path, |map| {
        let array = folder.file(frames[map].index, "npy");
        Ok(maps[map].value_type().read_npy(&array)?.1)
    })
}

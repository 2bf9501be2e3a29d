//! A map as a Zarr store, in the layout of `to_xarray` in Python: the variable of the quantity's name over the start coordinates of the grid
//! body, or over the rows and columns of points.

use std::path::Path;

use crate::{Points, Specification, ValueSlice, config};
use trisolar_io::IoError;
use trisolar_io::zarr::{Variable, ZarrWriter};

/// Writes the map, whose array has this shape. The specification is the attribute `specification`, as TOML.
///
/// # Errors
/// The file cannot be written; no part of it remains.
pub(crate) fn write(
    path: &Path,
    specification: &Specification,
    points: Option<&Points>,
    values: ValueSlice<'_>,
    shape: &[usize],
) -> Result<(), IoError> {
    let mut file = ZarrWriter::create(path)?;
    let dimensions: Vec<String> = match (points, shape.len()) {
        (None, _) => {
            let axes = specification.plane.labels();
            [axes[1], axes[0]].map(str::to_owned).into()
        }
        (Some(_), 1) => vec!["point".into()],
        (Some(_), 2) => ["row", "column"].map(str::to_owned).into(),
        (Some(_), n) => (0..n).map(|k| format!("point{k}")).collect(),
    };
    if points.is_none() {
        let valid = specification.clone().validate();
        let valid = valid.map_err(|error| IoError::Data {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let axes = specification.plane.axes();
        let names = specification.plane.labels();
        for ((places, axis), name) in valid.edges().iter().zip(axes).zip(names) {
            let along: Vec<f64> = places.iter().map(|place| place[axis]).collect();
            let meaning = format!("start {name} of body {}", specification.body);
            file.array(&Variable {
                name,
                dimensions: &[name],
                shape: &[along.len()],
                values: &along,
                attributes: &[("units", "length"), ("long_name", &meaning)],
            })?;
        }
    }
    let quantity = specification.quantity;
    let name = quantity.name().replace('-', "_");
    let dimensions: Vec<&str> = dimensions.iter().map(String::as_str).collect();
    let about = Variable {
        name: &name,
        dimensions: &dimensions,
        shape,
        values: &[],
        attributes: &[("units", quantity.unit()), ("long_name", quantity.label())],
    };
    values.write_zarr(&mut file, about)?;
    let text = config::to_text_for(specification, points);
    file.finish(&[("specification", &text)])
}

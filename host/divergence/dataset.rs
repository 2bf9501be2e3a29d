//! Maps as a Zarr store, in the layout of `to_xarray` in Python: the variable of the quantity's name over the start coordinates of the grid
//! body, or over the rows and columns of points. Several maps are stacked along dimensions before these.

use std::path::Path;

use crate::value::ZarrArray;
use crate::{Points, Specification, Validated, ValueSlice, ValueVec, config};
use trisolar_io::IoError;
use trisolar_io::zarr::{Variable, ZarrWriter, place};

/// A dimension along which maps are stacked.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// The coordinates along it.
    pub places: ValueVec,
    /// Their unit; empty if they have none.
    pub unit: &'static str,
}

/// Maps of the same size and quantity, stacked along dimensions such as the parameters of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    /// The dimensions. The coordinate of the last one changes fastest from map to map.
    pub dimensions: &'a [Dimension],
    /// The maps, as many as the dimensions have places. The specification of the first one is an attribute of the dataset.
    pub maps: &'a [&'a Validated],
    /// Whether the specification of each map is a coordinate, too.
    pub with_specifications: bool,
}

/// Writes a map, whose array has this shape. The specification is the attribute `specification`, as TOML.
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
    let Some(points) = points.filter(|points| !points.are_made()) else {
        let valid = specification.clone().validate();
        let valid = valid.map_err(|error| IoError::Data {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let alone = Stack {
            dimensions: &[],
            maps: &[&valid],
            with_specifications: false,
        };
        return alone.write_by(path, |all| all.extend(values));
    };
    let mut file = ZarrWriter::create(path)?;
    let dimensions: Vec<String> = match shape.len() {
        1 => vec!["point".into()],
        2 => ["row", "column"].map(str::to_owned).into(),
        n => (0..n).map(|k| format!("point{k}")).collect(),
    };
    let dimensions: Vec<&str> = dimensions.iter().map(String::as_str).collect();
    variable(&mut file, specification, &dimensions, shape, "", |all| {
        all.extend(values)
    })?;
    let text = config::to_text_for(specification, Some(points));
    file.finish(&[("specification", &text)])
}

impl Stack<'_> {
    /// Writes the dataset. `values` is called for the values of each map in turn, so that only one map is in memory at a time.
    ///
    /// # Errors
    /// Those of `values`, or the file cannot be written; no part of it remains.
    ///
    /// # Panics
    /// If there are no maps, or not as many as the dimensions have places.
    pub fn write(
        &self,
        path: &Path,
        mut values: impl FnMut(usize) -> Result<ValueVec, IoError>,
    ) -> Result<(), IoError> {
        self.write_by(path, |all| {
            (0..self.maps.len()).try_for_each(|map| all.extend(values(map)?.as_slice()))
        })
    }

    fn write_by(
        &self,
        path: &Path,
        write_values: impl FnOnce(&mut ZarrArray<'_>) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        let lengths = self.lengths();
        let number: usize = lengths.iter().product();
        assert_eq!(self.maps.len(), number, "a map for each place");
        let mut file = ZarrWriter::create(path)?;
        for Dimension { name, places, unit } in self.dimensions {
            let attributes = [("units", *unit)];
            let about = Variable {
                name,
                dimensions: &[name],
                shape: &[places.len()],
                values: &[],
                attributes: if unit.is_empty() { &[] } else { &attributes },
            };
            let mut array = places
                .as_slice()
                .value_type()
                .begin_zarr(&mut file, &about)?;
            array.extend(places.as_slice())?;
            array.end()?;
        }
        let specification = self.maps[0].specification();
        let mut dimensions = self.names(&vec![true; lengths.len()]);
        let mut shape = lengths;
        // Coordinates that are not those along a dimension; xarray knows them by the attribute `coordinates`.
        let mut others = Vec::new();
        if self.with_specifications {
            let text = |map: &&Validated| config::to_text(map.specification());
            let texts: Vec<String> = self.maps.iter().map(text).collect();
            let about = Variable {
                name: "specification",
                dimensions: &dimensions,
                shape: &shape,
                values: &[],
                attributes: &[],
            };
            file.texts(&about, &texts)?;
            others.push("specification");
        }
        let stacked = dimensions.len();
        // Rows first, as in the array.
        for axis in [1, 0] {
            let length = specification.size[axis] as usize;
            let (name, label) = self.axis(&mut file, axis, stacked)?;
            others.extend(label.filter(|label| *label != name));
            dimensions.push(name);
            shape.push(length);
        }
        let others = others.join(" ");
        variable(
            &mut file,
            specification,
            &dimensions,
            &shape,
            &others,
            write_values,
        )?;
        let text = config::to_text(specification);
        file.finish(&[("specification", &text)])
    }

    /// Writes the coordinates along an axis of the maps, if it has any, and returns the names of its dimension and of the coordinates.
    /// Coordinates that differ from map to map depend on the dimensions of the stack, too, and their own dimension is then `row` or `column`.
    fn axis(
        &self,
        file: &mut ZarrWriter,
        axis: usize,
        stacked: usize,
    ) -> Result<(&'static str, Option<&'static str>), IoError> {
        let unnamed = ["column", "row"][axis];
        let specification = self.maps[0].specification();
        let [columns, rows] = specification.axes();
        let Some(coordinate) = [columns, rows][axis].take() else {
            return Ok((unnamed, None));
        };
        let label = coordinate.name;
        let along = |map: usize| -> Vec<f64> {
            let of = self.maps[map].specification();
            let coordinates = of.axes();
            let values = coordinates[axis].as_ref().map(|c| c.values(of.size[axis]));
            values.into_iter().flatten().collect()
        };
        let moves: Vec<bool> = (0..stacked).map(|k| self.differ(k, along)).collect();
        let name = if moves.contains(&true) {
            unnamed
        } else {
            label
        };
        let length = specification.size[axis] as usize;
        let mut dimensions = self.names(&moves);
        dimensions.push(name);
        let lengths = self.lengths().into_iter().zip(&moves);
        let lengths = lengths.filter_map(|(length, moves)| moves.then_some(length));
        let shape: Vec<usize> = lengths.chain([length]).collect();
        let about = Variable {
            name: label,
            dimensions: &dimensions,
            shape: &shape,
            values: &[],
            attributes: &[
                ("units", coordinate.unit),
                ("long_name", &coordinate.meaning),
            ],
        };
        let mut array = file.begin::<f64>(&about)?;
        for map in 0..self.maps.len() {
            let place = self.place(map);
            if place.iter().zip(&moves).all(|(k, moves)| *moves || *k == 0) {
                array.extend(&along(map))?;
            }
        }
        array.end()?;
        Ok((name, Some(label)))
    }

    /// Whether `along` gives other values for maps that only differ in their place along this dimension.
    fn differ(&self, dimension: usize, along: impl Fn(usize) -> Vec<f64>) -> bool {
        let stride: usize = self.lengths()[dimension + 1..].iter().product();
        (0..self.maps.len()).any(|map| {
            let before = self.place(map)[dimension] * stride;
            if before == 0 {
                return false;
            }
            // The maps of a sweep mostly have one rectangle.
            let [a, b] = [map, map - before].map(|n| self.maps[n].specification());
            if (a.center, a.span, a.positions) == (b.center, b.span, b.positions) {
                return false;
            }
            along(map) != along(map - before)
        })
    }

    /// Number of places along each dimension.
    fn lengths(&self) -> Vec<usize> {
        self.dimensions.iter().map(|d| d.places.len()).collect()
    }

    /// The place of a map along each dimension.
    fn place(&self, map: usize) -> Vec<usize> {
        place(map, &self.lengths())
    }

    /// The names of those dimensions that are chosen.
    fn names(&self, chosen: &[bool]) -> Vec<&str> {
        let all = self.dimensions.iter().zip(chosen);
        all.filter_map(|(d, chosen)| chosen.then_some(d.name.as_str()))
            .collect()
    }
}

/// Writes the values, which `write` writes. `others` are the names of coordinates that are not those along a dimension.
fn variable(
    file: &mut ZarrWriter,
    specification: &Specification,
    dimensions: &[&str],
    shape: &[usize],
    others: &str,
    write: impl FnOnce(&mut ZarrArray<'_>) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let quantity = specification.quantity;
    let name = quantity.name().replace('-', "_");
    let mut attributes = vec![
        ("units", quantity.unit()),
        ("long_name", quantity.array_label()),
    ];
    if !others.is_empty() {
        attributes.push(("coordinates", others));
    }
    let about = Variable {
        name: &name,
        dimensions,
        shape,
        values: &[],
        attributes: &attributes,
    };
    let mut array = quantity.value_type().begin_zarr(file, &about)?;
    write(&mut array)?;
    array.end()
}

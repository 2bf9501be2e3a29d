//! Specifications as TOML text: what `--config` and `--save-config`, Python and C read and write.

use std::fmt::Write as _;

use crate::{Given, Points, Specification, Validated};

pub use trisolar_spec::{ParseError, parse_as};

/// The meaning of each key, in the order of the file.
const MEANINGS: [(&str, &str); 18] = [
    ("size", "pixels: width, height"),
    (
        "center",
        "centre of the map along the spanned axes (length)",
    ),
    ("span", "extent of the map along the spanned axes (length)"),
    ("plane", "coordinates that the map spans: xy, xz or yz"),
    ("body", "body whose start position the grid sets: 1, 2 or 3"),
    ("masses", "of bodies 1, 2, 3 (mass)"),
    ("positions", "of bodies 1, 2, 3: [x, y, z] (length)"),
    ("velocities", "of bodies 1, 2, 3: [x, y, z] (length / time)"),
    ("g", "gravitational constant (length^3 / mass / time^2)"),
    ("softening", "(length)"),
    ("steps", "steps after which a pixel counts as never parted"),
    ("dt", "time step (time)"),
    ("shift", "shift of the grid body's twin: [x, y, z] (length)"),
    (
        "critical_distance",
        "distance up to which the twins count as together (length)",
    ),
    ("quantity", "what is computed of each pixel"),
    (
        "precision",
        "f64, fast, mixed, f32, fixed:BITS or float-float",
    ),
    ("integrator", "integrator of the trajectories"),
    (
        "start",
        "first steps of multistep integrators: euler or runge-kutta",
    ),
];

/// The keys, in the order of the file.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    MEANINGS.into_iter().map(|(key, _)| key)
}

/// Reads TOML text; keys that are missing stay open.
///
/// # Errors
/// [`ParseError`]: not TOML, a key that does not exist, or a value of another kind. Whether values can be computed
/// with is checked by [`Specification::validate`].
pub fn parse(text: &str) -> Result<Given, ParseError> {
    parse_as(text)
}

/// The specification as TOML, a comment on each line; [`parse`] gives back the same bits.
pub fn to_text(specification: &Specification) -> String {
    to_text_for(specification, None)
}

/// As [`to_text`], without the values that `points` replace.
pub fn to_text_for(specification: &Specification, points: Option<&Points>) -> String {
    let mut values = toml::Table::try_from(specification)
        .expect("a specification is plain numbers and names below 2^63");
    for key in points.map_or(&[][..], Points::replaces) {
        values.remove(*key);
    }
    let mut text =
        String::from("# A Trisolar divergence map: trisolar divergence --config THIS_FILE\n");
    for (key, meaning) in MEANINGS {
        let Some(value) = values.get(key) else {
            continue;
        };
        writeln!(text, "{key} = {value}  # {meaning}").expect("writing to a string cannot fail");
    }
    text
}

impl Validated {
    /// The values as JSON text, without those that the points replace.
    pub fn json(&self) -> String {
        json(self.specification(), self.points().map(|points| &**points))
    }
}

/// A specification as JSON text with its keys in order, without those that the points replace.
pub(crate) fn json(specification: &Specification, points: Option<&Points>) -> String {
    let text = serde_json::to_string(specification).expect("plain numbers and names");
    let Some(points) = points else {
        return text;
    };
    let values: serde_json::Value = serde_json::from_str(&text).expect("just written");
    let kept = keys().filter(|key| !points.replaces().contains(key) && values.get(key).is_some());
    let entries: Vec<String> = kept
        .map(|key| format!("\"{key}\":{}", values[key]))
        .collect();
    format!("{{{}}}", entries.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantity;

    #[test]
    fn every_key_is_written_and_read_back() {
        let specification = Specification {
            quantity: Quantity::Ftle,
            ..Specification::default()
        };
        let written = toml::Table::try_from(&specification).unwrap();
        assert_eq!(written.len(), MEANINGS.len());
        let given = parse(&to_text(&specification)).unwrap();
        assert_eq!(Specification::from(given), specification);
    }

    #[test]
    fn an_error_names_its_line() {
        let error = parse("steps = 5\n\nstep = 6\n").unwrap_err();
        assert_eq!(error.line, Some((3, "step = 6".to_owned())));
        assert!(error.message.starts_with("unknown field `step`"), "{error}");
    }
}

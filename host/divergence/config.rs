//! Specifications as TOML text, which `--config` and `--save-config`, Python and C read and write.

use std::fmt::Write as _;

use crate::{Overrides, Points, Specification, Validated};

use trisolar_spec::Parameters as _;
pub use trisolar_spec::{ParseError, parse_as};

/// The keys, in the order of the file.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    Overrides::DECLARATIONS
        .iter()
        .map(|parameter| parameter.name)
}

/// Reads TOML text; missing keys have no value.
///
/// # Errors
/// [`ParseError`]: not TOML, a key that does not exist, or a value of another kind. Whether values can be computed
/// with is checked by [`Specification::validate`].
pub fn parse(text: &str) -> Result<Overrides, ParseError> {
    parse_as(text)
}

/// The specification as TOML with a comment on each line. [`parse`] restores the same bits.
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
    for parameter in Overrides::DECLARATIONS {
        let (key, meaning) = (parameter.name, parameter.brief());
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
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Integrator, Quantity};

    #[test]
    fn every_key_is_written_and_read_back() {
        let mut written = BTreeMap::new();
        let of = |text: &str| vec![text.to_owned()];
        for (integrator, steps_per_period, map, draw, seed) in [
            (Integrator::ExplicitEuler, None, vec![], vec![], 1),
            (
                Integrator::Regularised6,
                Some(50.0),
                of("mass2=5:40"),
                of("vx1=uniform:-1:1"),
                7,
            ),
        ] {
            let specification = Specification {
                quantity: Quantity::Ftle,
                integrator,
                steps_per_period,
                map,
                draw,
                seed,
                ..Specification::default()
            };
            written.extend(toml::Table::try_from(&specification).unwrap());
            let overrides = parse(&to_text(&specification)).unwrap();
            assert_eq!(Specification::from(overrides), specification);
        }
        // The limit of errors is no part of a specification.
        let names = Overrides::DECLARATIONS
            .iter()
            .map(|parameter| parameter.name);
        let absent: Vec<&str> = names.filter(|name| !written.contains_key(*name)).collect();
        assert_eq!(absent, ["max_error"]);
    }

    #[test]
    fn an_error_names_its_line() {
        let error = parse("steps = 5\n\nstep = 6\n").unwrap_err();
        assert_eq!(error.line, Some((3, "step = 6".to_owned())));
        assert!(error.message.starts_with("unknown field `step`"), "{error}");
    }
}

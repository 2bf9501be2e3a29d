//! Reads maps of outcomes: the files of `trisolar encounters`, `planets` and `divergence`, and arrays of whole numbers of anybody.

use std::path::Path;

use kernels_gpu::encounters::Outcome;
use trisolar_encounters::pictures::{CLASSES, class_of};
use trisolar_io::npy::{self, Array};
use trisolar_io::npz::{NpzReader, OUTCOMES as NAMES};
use trisolar_io::picture::Theme;
use trisolar_planets::files::OUTCOMES;

use super::OutcomeMap;
use super::outcomes::Named;

/// The array of outcomes in the files of encounters and planetary systems.
const OUTCOME: &str = "outcome";

/// Reads the map in a `.npy` or `.npz` file: the array of this name, or the outcomes, or the only array. With limits, classes are the
/// numbers between them.
///
/// # Errors
/// The file cannot be read, has no such array or several, or its array is not a map of outcomes.
pub fn read(path: &Path, array: Option<&str>, limits: &[f64]) -> Result<OutcomeMap, String> {
    let said = |e: trisolar_io::IoError| e.to_string();
    match path.extension().and_then(|e| e.to_str()) {
        Some("npy") if array.is_none() => {
            let map = npy::read_numbers(path).map_err(said)?;
            of_array(&map, limits, |_| None)
        }
        Some("npy") => Err("a .npy file has a single array, which has no name".into()),
        Some("npz") => {
            let mut file = NpzReader::open(path).map_err(said)?;
            let names = arrays(&file.names().map_err(said)?);
            let name = chosen(&names, array)?;
            let mut map = file.numbers(&name).map_err(said)?;
            let has = |name: &str| names.iter().any(|other| other == name);
            if name != OUTCOME || !limits.is_empty() {
                return of_array(&map, limits, |_| None);
            }
            if has("body") && has("exchanges") {
                let body = file.numbers("body").map_err(said)?;
                for (outcome, body) in map.values.iter_mut().zip(body.values) {
                    // Bodies are numbered from 1 in files.
                    let class = class_of(Outcome(*outcome as u8), (body as u8).saturating_sub(1));
                    *outcome = f64::from(class);
                }
                return of_array(&map, limits, encounter);
            }
            let own: Vec<String> = match file.has(NAMES) {
                true => serde_json::from_str(&file.text(NAMES).map_err(said)?)
                    .map_err(|e| e.to_string())?,
                false => Vec::new(),
            };
            of_array(&map, limits, |value| match own.is_empty() {
                false => own_outcome(value, &own),
                true => planetary(value).filter(|_| has("megno")),
            })
        }
        _ => Err("the name must end in .npy or .npz".into()),
    }
}

/// The map of an array of two axes, rows first.
///
/// # Errors
/// The array has another number of axes, or its values are no classes.
pub fn of_array(
    array: &Array<f64>,
    limits: &[f64],
    named: impl Fn(f64) -> Option<Named>,
) -> Result<OutcomeMap, String> {
    let [rows, columns] = array.shape[..] else {
        return Err(format!(
            "a map has two axes, and the shape of the array is {:?}",
            array.shape
        ));
    };
    if limits.is_empty() {
        OutcomeMap::of_whole_numbers([columns, rows], &array.values, named)
    } else {
        OutcomeMap::between([columns, rows], &array.values, limits)
    }
}

fn encounter(class: f64) -> Option<Named> {
    let (name, colour) = CLASSES.get(class as usize)?;
    Some(((*name).to_owned(), *colour))
}

fn planetary(outcome: f64) -> Option<Named> {
    let k = OUTCOMES
        .iter()
        .position(|(number, _)| f64::from(number.0) == outcome)?;
    Some((OUTCOMES[k].1.to_owned(), Theme::Dark.colour_of_body(k)))
}

/// The outcome of a user's own equations.
fn own_outcome(outcome: f64, names: &[String]) -> Option<Named> {
    let name = match outcome as i64 {
        -2 => "stiff",
        -1 => "not finite",
        0 => "none",
        k => names.get(k as usize - 1)?,
    };
    Some((
        name.to_owned(),
        Theme::Dark.colour_of_body((outcome + 2.0) as usize),
    ))
}

/// The arrays among the members of a file.
fn arrays(names: &[String]) -> Vec<String> {
    let texts = |name: &&String| !name.ends_with(".json") && !name.ends_with(".toml");
    names.iter().filter(texts).cloned().collect()
}

/// The array that is analysed.
fn chosen(names: &[String], array: Option<&str>) -> Result<String, String> {
    let has = |name: &str| names.iter().any(|other| other == name);
    match (array, names) {
        (Some(name), _) if has(name) => Ok(name.to_owned()),
        (Some(name), _) => Err(format!(
            "there is no array {name}; it has {}",
            names.join(", ")
        )),
        (None, _) if has(OUTCOME) => Ok(OUTCOME.to_owned()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err("it has no array".into()),
        (None, _) => Err(format!(
            "--array must choose one of its arrays {}",
            names.join(", ")
        )),
    }
}

//! Start models from files. The name determines the format: `.csv`, `.npz`, `.tipsy` or `.bin`; any other name is text in the
//! format of Pacheco & Malensek (2021).

use std::path::Path;

use glam::DVec3;
use serde_json::Value;

use super::{BodyFile, Carried, FileError, tipsy};
use crate::io::npz::{NpzReader, SPECIFICATION};
use crate::io::read::{self, Limit};
use crate::{Bodies, MAX_BODIES};

/// The gravitational constant in SI units, which the texts of Pacheco & Malensek (2021) use.
const SI_G: f64 = 6.673e-11;

/// Reads bodies and the number of dimensions that the file gives them.
///
/// # Errors
/// As [`read()`].
pub fn read_bodies(path: &Path) -> Result<(Bodies, u8), FileError> {
    let file = read(path)?;
    Ok((file.bodies, file.dimensions))
}

/// Reads bodies and the other values of the file.
///
/// - text: a body on each line, `mass x y vx vy` or `mass x y z vx vy vz`, or with a name before these seven; `#` begins a comment, of
///   which `# trisolar {…}` holds [`Carried`]
/// - CSV: a line of names (`mass`, `x`, `y`, `vx`, `vy`, and `z`, `vz` for three dimensions, in any order, others are ignored),
///   then a body on each line. `name` names bodies; `g`, `softening`, `time` and `dt` are the same in every line
/// - npz: arrays `mass` (n), `position` and `velocity` (n × 3 or n × 2); `time` and `specification.json` are
///   [`Carried`]
/// - TIPSY: binary of either byte order; with gas, dark matter and stars; G = 1, the time and the softening of dark matter and
///   stars are [`Carried`]
///
/// # Errors
/// [`FileError`], with file, line and column for texts.
pub fn read(path: &Path) -> Result<BodyFile, FileError> {
    read_as(path, Lines::Any)
}

/// As [`read()`] for particles of a cluster: a text has seven numbers on each line, or a name and seven numbers, and G = 1 unless the
/// file contains another value.
///
/// # Errors
/// As [`read()`].
pub fn read_particles(path: &Path) -> Result<BodyFile, FileError> {
    let file = read_as(path, Lines::Particles)?;
    Ok(BodyFile {
        usual_g: 1.0,
        ..file
    })
}

/// The lines that a text may have.
#[derive(Clone, Copy, PartialEq)]
enum Lines {
    /// Bodies in the plane or in space, with or without names.
    Any,
    /// Bodies in space, with or without names.
    Particles,
}

fn read_as(path: &Path, lines: Lines) -> Result<BodyFile, FileError> {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "npz" => npz(path),
        "csv" => csv(path, &text(path)?),
        // Texts with commas come from the standard input, whose name says nothing.
        _ if path == Path::new(read::STANDARD_INPUT) => {
            let text = text(path)?;
            let first = text
                .lines()
                .find(|line| !line.trim().is_empty() && !line.starts_with('#'));
            match first {
                Some(line) if line.contains(',') => csv(path, &text),
                _ => textbook(path, &text, lines),
            }
        }
        "tipsy" | "bin" => {
            let bytes = read::bytes(path, Limit::SNAPSHOT)?;
            let (bodies, carried) = tipsy::read(&bytes).map_err(|reason| contents(path, reason))?;
            filled(path, bodies, 3, carried, 1.0)
        }
        _ => textbook(path, &text(path)?, lines),
    }
}

fn contents(path: &Path, reason: String) -> FileError {
    let path = path.to_owned();
    FileError::Contents { path, reason }
}

fn text(path: &Path) -> Result<String, FileError> {
    Ok(read::text(path, Limit::NUMBERS)?)
}

/// A place in a text.
struct TextPlace<'a> {
    path: &'a Path,
    line: usize,
    /// The whole line, to count columns in.
    text: &'a str,
}

impl TextPlace<'_> {
    /// An error at a part of the line.
    fn error(&self, part: &str, reason: String) -> FileError {
        let bytes = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..bytes).unwrap_or(self.text);
        FileError::Place {
            path: self.path.to_owned(),
            line: self.line,
            column: before.chars().count() + 1,
            reason,
        }
    }

    fn number(&self, word: &str, name: &str) -> Result<f64, FileError> {
        match word.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            Ok(_) => Err(self.error(
                word,
                format!("'{word}' for {name}: expected a finite number"),
            )),
            Err(_) => Err(self.error(word, format!("'{word}' for {name}: expected a number"))),
        }
    }
}

const SPACE: [&str; 7] = ["mass", "x", "y", "z", "vx", "vy", "vz"];
const NAMED: [&str; 8] = ["name", "mass", "x", "y", "z", "vx", "vy", "vz"];
const PLANE: [&str; 5] = ["mass", "x", "y", "vx", "vy"];

/// Adds a body whose numbers have these names.
fn push(bodies: &mut Bodies, names: &[&str], numbers: &[f64]) {
    let of = |name: &str| {
        names
            .iter()
            .position(|n| *n == name)
            .map_or(0.0, |k| numbers[k])
    };
    bodies.push(
        of("mass"),
        [of("x"), of("y"), of("z")],
        [of("vx"), of("vy"), of("vz")],
    );
}

fn textbook(path: &Path, text: &str, lines: Lines) -> Result<BodyFile, FileError> {
    let mut bodies = Bodies::default();
    let mut carried = Carried::default();
    let mut identities = Vec::new();
    let mut names: Option<&[&str]> = None;
    for (number, line) in text.lines().enumerate() {
        let place = TextPlace {
            path,
            line: number + 1,
            text: line,
        };
        if let Some(told) = Carried::from_comment(line) {
            carried = told.map_err(|reason| place.error(line, reason))?;
        }
        let content = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = content.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        // The first body determines the number of dimensions.
        let names = *names.get_or_insert(match words.len() {
            7 => &SPACE,
            8 => &NAMED,
            n if lines == Lines::Particles => {
                let reason = format!("must be id mass x y z vx vy vz, 8 numbers; it has {n}");
                return Err(place.error(words[0], reason));
            }
            _ => &PLANE,
        });
        let expected = || match names.len() {
            7 => "expected 7 numbers, mass x y z vx vy vz, as in the lines before".to_owned(),
            8 => "expected a name and mass x y z vx vy vz, as in the lines before".to_owned(),
            _ if bodies.is_empty() => {
                "expected 5 numbers, mass x y vx vy, or 7, mass x y z vx vy vz".to_owned()
            }
            _ => "expected 5 numbers, mass x y vx vy, as in the lines before".to_owned(),
        };
        if words.len() < names.len() {
            let end = &content[content.trim_end().len()..];
            let reason = format!(
                "the line ends after {} numbers: {}",
                words.len(),
                expected()
            );
            return Err(place.error(end, reason));
        }
        if let Some(surplus) = words.get(names.len()) {
            return Err(place.error(
                surplus,
                format!("'{surplus}' is one value too many: {}", expected()),
            ));
        }
        let (mut words, mut names) = (&words[..], names);
        if names.len() == NAMED.len() {
            identities.push(words[0].to_owned());
            (words, names) = (&words[1..], &names[1..]);
        }
        let mut numbers = [0.0; 7];
        for ((number, word), name) in numbers.iter_mut().zip(words).zip(names) {
            *number = place.number(word, name)?;
        }
        push(&mut bodies, names, &numbers);
    }
    // Consecutive numbers are not names.
    let named = identities
        .iter()
        .enumerate()
        .any(|(i, id)| *id != i.to_string());
    if named && carried.names.is_none() {
        carried.names = Some(identities);
    }
    let columns = names.map_or(SPACE.len(), <[_]>::len);
    // Files with names come from clusters.
    let usual_g = if columns == NAMED.len() { 1.0 } else { SI_G };
    let dimensions = if columns == PLANE.len() { 2 } else { 3 };
    filled(path, bodies, dimensions, carried, usual_g)
}

/// Columns of a CSV that have the same value in every line.
const COMMON: [&str; 4] = ["g", "softening", "time", "dt"];

fn csv(path: &Path, text: &str) -> Result<BodyFile, FileError> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.next() else {
        return filled(path, Bodies::default(), 3, Carried::default(), 1.0);
    };
    let place = TextPlace {
        path,
        line: 1,
        text: header,
    };
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    let spatial = columns.contains(&"z") || columns.contains(&"vz");
    let names: &[&str] = if spatial { &SPACE } else { &PLANE };
    let mut places = Vec::new();
    for name in names {
        match columns.iter().position(|c| c == name) {
            Some(at) => places.push(at),
            None => {
                let bare = columns.iter().any(|column| column.parse::<f64>().is_ok());
                let what = match bare {
                    true => "line 1 has numbers instead of the names of the columns".to_owned(),
                    false => format!("there is no column {name}"),
                };
                let names = if bare { &SPACE } else { names };
                let reason = format!("{what}: expected {} there", names.join(","));
                return Err(place.error(header, reason));
            }
        }
    }
    let of = |name: &str| columns.iter().position(|c| *c == name);
    let (common, named) = (COMMON.map(of), of("name"));
    let mut told = [None; COMMON.len()];
    let mut identities = Vec::new();
    let mut bodies = Bodies::default();
    for (number, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        let place = TextPlace {
            path,
            line: number + 1,
            text: line,
        };
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        if words.len() != columns.len() {
            let at = words.get(columns.len()).map_or(&line[line.len()..], |w| *w);
            let reason = format!(
                "the line has {} values: expected {}, one for each name in line 1",
                words.len(),
                columns.len()
            );
            return Err(place.error(at, reason));
        }
        let mut numbers = [0.0; 7];
        for ((number, at), name) in numbers.iter_mut().zip(&places).zip(names) {
            *number = place.number(words[*at], name)?;
        }
        push(&mut bodies, names, &numbers);
        for ((told, at), name) in told.iter_mut().zip(common).zip(COMMON) {
            let Some(word) = at.map(|at| words[at]) else {
                continue;
            };
            let number = place.number(word, name)?;
            if *told.get_or_insert(number) != number {
                let reason = format!("'{word}' for {name}: expected the same in every line");
                return Err(place.error(word, reason));
            }
        }
        identities.extend(named.map(|at| words[at].to_owned()));
    }
    let [g, softening, time, dt] = told;
    let carried = Carried {
        g,
        softening,
        time,
        dt,
        names: named.map(|_| identities),
        softenings: None,
    };
    filled(path, bodies, if spatial { 3 } else { 2 }, carried, 1.0)
}

/// Reads bodies from an npz with any name.
///
/// # Errors
/// As [`read()`].
pub fn npz(path: &Path) -> Result<BodyFile, FileError> {
    let mut file = NpzReader::open(path)?;
    let mass = file.array_of::<f64>("mass", MAX_BODIES)?;
    let n = mass.values.len();
    let fail = |reason: String| contents(path, reason);
    if mass.shape != [n] {
        return Err(fail(format!(
            "mass must have one dimension; its shape is {:?}",
            mass.shape
        )));
    }
    let mut vectors = |name: &str| -> Result<(Vec<DVec3>, usize), FileError> {
        let array = file.array_of::<f64>(name, 3 * n)?;
        let width = match array.shape[..] {
            [rows, width @ (2 | 3)] if rows == n => width,
            _ => {
                return Err(fail(format!(
                    "{name} must be {n} x 3 or {n} x 2, as mass has {n} values; its shape is {:?}",
                    array.shape
                )));
            }
        };
        let vector = |v: &[f64]| DVec3::new(v[0], v[1], v.get(2).copied().unwrap_or(0.0));
        Ok((
            array.values.chunks_exact(width).map(vector).collect(),
            width,
        ))
    };
    let (position, width) = vectors("position")?;
    let (velocity, other) = vectors("velocity")?;
    if width != other {
        return Err(fail(format!(
            "position has {width} columns and velocity {other}: expected the same number"
        )));
    }
    let bodies = Bodies {
        mass: mass.values,
        position,
        velocity,
    };
    let (carried, dimensions) = told_by_npz(&mut file, path)?;
    let dimensions = dimensions.unwrap_or(width as u8).min(width as u8);
    filled(path, bodies, dimensions, carried, 1.0)
}

/// The other values of an npz, and the number of dimensions.
fn told_by_npz(file: &mut NpzReader, path: &Path) -> Result<(Carried, Option<u8>), FileError> {
    let fail = |reason: String| contents(path, reason);
    let mut json = |name: &str| -> Result<Option<Value>, FileError> {
        if !file.has(name) {
            return Ok(None);
        }
        let text = file.text(name)?;
        let value = serde_json::from_str(&text);
        value.map(Some).map_err(|e| fail(format!("{name}: {e}")))
    };
    let (specification, checkpoint) = {
        let former = json("spec.json")?;
        (json(SPECIFICATION)?.or(former), json("checkpoint.json")?)
    };
    let of_checkpoint = checkpoint.as_ref().and_then(|c| c.get("specification"));
    let told = specification.as_ref().or(of_checkpoint);
    let (mut carried, dimensions) = told.map_or_else(Default::default, Carried::from_specification);
    carried.time = checkpoint.as_ref().and_then(time_of_checkpoint);
    if file.has("time.npy") {
        let time = file.array_of::<f64>("time", 1)?;
        let [time] = time.values[..] else {
            return Err(fail("time must be one number".into()));
        };
        carried.time = Some(time);
    }
    Ok((carried, dimensions))
}

/// The time of the bodies of a checkpoint.
fn time_of_checkpoint(checkpoint: &Value) -> Option<f64> {
    let specification = checkpoint.get("specification")?;
    let number = |key: &str| specification.get(key)?.as_f64();
    let step = checkpoint.get("step")?.as_u64()?;
    let start = number("start_time").unwrap_or_default();
    Some(time_of_step(start, step, number("dt")?))
}

/// The time after this many steps.
pub fn time_of_step(start: f64, step: u64, dt: f64) -> f64 {
    start + step as f64 * dt
}

fn filled(
    path: &Path,
    bodies: Bodies,
    dimensions: u8,
    carried: Carried,
    usual_g: f64,
) -> Result<BodyFile, FileError> {
    if bodies.is_empty() {
        return Err(contents(path, "it contains no bodies".into()));
    }
    let told = carried.check(bodies.len());
    told.map_err(|reason| contents(path, reason))?;
    Ok(BodyFile {
        bodies,
        dimensions,
        carried,
        usual_g,
    })
}

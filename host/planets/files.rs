//! Writes records as `.npz`, an observable as `.npy`, and maps as pictures.

use std::path::Path;

use kernels_gpu::planets::{Outcome, Record};

use super::{Integrator, Specification, Stop, Validated, YEAR};
use trisolar_io::npz::{Member, NpzReader, NpzWriter, SPECIFICATION};
use trisolar_io::picture::{self, Axis, Labels, Map, PictureStyle, Theme, YDirection};
use trisolar_io::{IoError, PictureFormat, npy};

/// The format of a file, which its extension determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An array for each column of the records.
    Npz,
    /// The observable.
    Npy,
    /// The picture of a map, as PNG, SVG or PDF.
    Picture,
}

/// The appearance of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// Background and lines.
    pub theme: Theme,
    /// The direction of the vertical axis.
    pub y: YDirection,
}

/// The outcomes with their names.
pub const OUTCOMES: [(Outcome, &str); 6] = [
    (Outcome::STABLE, "followed to the end"),
    (Outcome::CHAOTIC, "MEGNO above its limit"),
    (Outcome::ESCAPE, "escape"),
    (Outcome::ENCOUNTER, "encounter"),
    (Outcome::UNSOLVED, "unsolved"),
    (Outcome::LIMIT, "beyond a limit of --stop"),
];

impl Format {
    /// The format that the extension of a file name selects.
    ///
    /// # Errors
    /// The allowed extensions, for another extension or for a picture of systems that are not a map.
    pub fn of(path: &Path, spec: &Validated) -> Result<Self, &'static str> {
        if PictureFormat::of(path).is_some() {
            return match spec.specification().axes().len() {
                2 => Ok(Self::Picture),
                _ => Err("only a map of two axes (LOW:HIGH:N) has a picture"),
            };
        }
        match path.extension().and_then(|e| e.to_str()) {
            Some("npz") => Ok(Self::Npz),
            Some("npy") => Ok(Self::Npy),
            _ => Err("the name must end in .npz, .npy, .png, .svg or .pdf"),
        }
    }

    /// Writes a file of this format.
    ///
    /// # Errors
    /// The file cannot be written. No part of it remains.
    pub fn write(
        self,
        path: &Path,
        spec: &Validated,
        records: &[Record],
        look: &Look,
    ) -> Result<(), IoError> {
        let s = spec.specification();
        let shape = match s.size() {
            Some([columns, rows]) => vec![rows as usize, columns as usize],
            None => vec![records.len()],
        };
        match self {
            Self::Npz => npz(path, s, records, &shape),
            Self::Npy => {
                let values = records.iter().map(|r| s.observable.value(r));
                npy::write(path, &shape, &values.collect::<Vec<f64>>())
            }
            Self::Picture => picture(path, s, records, look, true),
        }
    }
}

fn npz(path: &Path, s: &Specification, records: &[Record], shape: &[usize]) -> Result<(), IoError> {
    let outcome = Member::new("outcome", shape, move || records.iter().map(|r| r.outcome));
    let steps = Member::new("steps", shape, move || records.iter().map(|r| r.steps));
    let mut members = vec![outcome, steps];
    for (name, _, value) in s.observable.reals() {
        members.push(Member::new(name, shape, move || records.iter().map(value)));
    }
    let members: Vec<Member<'_>> =
        (members.into_iter().collect::<Result<_, _>>()).map_err(|reason| IoError::Data {
            path: path.to_owned(),
            reason,
        })?;
    let mut file = NpzWriter::create(path)?;
    file.arrays(&members)?;
    file.text(SPECIFICATION, &s.json())?;
    file.finish()
}

/// Reads what [`Format::write`] has written as `.npz`.
///
/// # Errors
/// The file cannot be read, or is none of planets.
pub fn read_npz(path: &Path) -> Result<(Specification, Vec<Record>), IoError> {
    let malformed = |reason: String| IoError::Malformed {
        path: path.to_owned(),
        reason,
    };
    let mut file = NpzReader::open(path)?;
    let specification: Specification = serde_json::from_str(&file.text(SPECIFICATION)?)
        .map_err(|e| malformed(format!("its specification is none of planets: {e}")))?;
    let outcomes = file.array::<u32>("outcome")?.values;
    let steps = file.array::<u32>("steps")?.values;
    let mut columns = Vec::new();
    for (name, ..) in specification.observable.reals() {
        columns.push(file.array::<f64>(name)?.values);
    }
    let lengths = columns.iter().map(Vec::len).chain([steps.len()]);
    if lengths.into_iter().any(|length| length != outcomes.len()) {
        return Err(malformed("its arrays have different lengths".into()));
    }
    let record = |(i, outcome): (usize, u32)| Record {
        outcome,
        steps: steps[i],
        time: columns[0][i] * YEAR,
        megno: columns[1][i],
        mean_megno: columns[2][i],
        lyapunov: columns[3][i] / YEAR,
        energy_error: columns[4][i],
        observed: [5, 6].map(|k| columns.get(k).map_or(0.0, |column| column[i])),
    };
    let records = outcomes.into_iter().enumerate().map(record).collect();
    Ok((specification, records))
}

/// The unit of a number of the star or a planet, such as `a2`; empty if it has none.
pub fn unit(name: &str) -> &'static str {
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "a" | "x" | "y" | "z" => "au",
        "P" | "T" => "years",
        "vx" | "vy" | "vz" => "au / year",
        "m" | "star" => "solar masses",
        "e" => "",
        _ => "radians",
    }
}

/// The colours of a map, in which systems that ended before their time are grey, unless it shows that time.
pub fn style(s: &Specification, theme: Theme) -> PictureStyle {
    let (spacing, range) = s.observable.colours();
    PictureStyle {
        range,
        spacing,
        theme,
        missing: Some(
            match s.stop.iter().any(|stop| matches!(stop, Stop::Observed(..))) {
                true => "ended sooner",
                false => "escape or encounter",
            },
        ),
        ..PictureStyle::default()
    }
}

/// Draws a map, with axes or with one pixel for each system.
///
/// # Errors
/// [`IoError::Data`] unless the systems are a map of two axes, or an error of writing.
pub fn picture(
    path: &Path,
    s: &Specification,
    records: &[Record],
    look: &Look,
    axes: bool,
) -> Result<(), IoError> {
    let [(x, x_range, columns), (y, y_range, rows)] = &s.axes()[..] else {
        return Err(IoError::Data {
            path: path.to_owned(),
            reason: "only a map of two axes has a picture".into(),
        });
    };
    let observable = s.observable;
    let (columns, rows) = (*columns as usize, *rows as usize);
    let map = Map::mapped(records, columns, rows, move |r| observable.drawn(&r));
    let map = if look.y.is_up() {
        map.upside_down()
    } else {
        map
    };
    let style = style(s, look.theme);
    if !axes {
        return picture::bare(path, &map, &style, Some(&s.json()));
    }
    let axis = |name: &String, range: [f64; 2], count: usize| {
        Axis::around(name.clone(), unit(name).to_owned(), range, count)
    };
    let [value, value_unit] = s.observable.label();
    let labels = Labels {
        title: format!(
            "{} planets, {} years, {}",
            s.planets.len(),
            s.years,
            match s.integrator() {
                Integrator::WisdomHolman =>
                    format!("Wisdom-Holman, step {}", s.step)
                        + &s.corrector
                            .map_or(String::new(), |order| format!(", corrector {order}")),
                other => format!("{other} integrator"),
            }
        ),
        x: axis(x, *x_range, columns),
        y: axis(y, *y_range, rows),
        y_upwards: look.y.is_up(),
        value: value.into(),
        unit: value_unit.into(),
    };
    picture::plot(path, &map, &style, &labels, Some(&s.json()))
}

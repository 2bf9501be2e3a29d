//! Writes records as `.npz` and `.csv`, with the parameters in which runs differ, and maps of outcomes as pictures.

use std::io::Write as _;
use std::path::Path;

use kernels_gpu::encounters::Record;
use kernels_gpu::encounters::run::NONE;

use super::pictures::{self, Look};
use super::{Encounters, Validated};
use trisolar_ensemble::Report;
use trisolar_io::PictureFormat;
use trisolar_io::npz::{Member, NpzReader, NpzWriter, SPECIFICATION};
use trisolar_io::{IoError, atomic};

/// The format of a file, which its extension determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An array for each column of the records.
    Npz,
    /// A line for each record.
    Csv,
    /// The picture of a map, as PNG, SVG or PDF.
    Picture,
}

impl Format {
    /// The format that the extension of a file name selects.
    ///
    /// # Errors
    /// The allowed extensions, for another extension or for a picture of runs that are not a map.
    pub fn of(path: &Path, spec: &Validated) -> Result<Self, &'static str> {
        if PictureFormat::of(path).is_some() {
            return if spec.specification().size.is_some() {
                Ok(Self::Picture)
            } else {
                Err(
                    "only a map (--map) can be drawn as a picture of outcomes; --plots draws distributions",
                )
            };
        }
        match path.extension().and_then(|e| e.to_str()) {
            Some("npz") => Ok(Self::Npz),
            Some("csv") => Ok(Self::Csv),
            _ => Err("the name must end in .npz, .csv, .png, .svg or .pdf"),
        }
    }

    /// Writes a file of this format; pictures of maps look as `look` says.
    ///
    /// # Errors
    /// The file cannot be written. No part of it remains.
    pub fn write(
        self,
        path: &Path,
        spec: &Validated,
        ensemble: &Encounters,
        look: &Look,
    ) -> Result<(), IoError> {
        match self {
            Self::Npz => npz(path, spec, ensemble),
            Self::Csv => csv(path, spec, ensemble),
            Self::Picture => pictures::outcome_map(path, ensemble, look),
        }
    }
}

/// A column: its name, and its value in a record.
pub type Column<T> = (&'static str, fn(&Record) -> T);

/// Real columns of a record. Missing values are NaN.
pub const REALS: [Column<f64>; 8] = [
    ("time", |r| r.time),
    ("a", |r| r.a),
    ("e", |r| r.e),
    ("v_inf", |r| r.v_inf),
    ("least_distance", |r| r.least_distance),
    ("least_distance_time", |r| r.least_distance_time),
    ("energy_error", |r| r.energy_error),
    ("momentum_error", |r| r.momentum_error),
];

/// Integer columns of a record. Bodies are numbered from 1, pairs are 12, 23 and 13, and 0 means none.
pub const WHOLES: [Column<u32>; 7] = [
    ("outcome", |r| u32::from(r.outcome)),
    ("body", |r| {
        if r.body == NONE {
            0
        } else {
            u32::from(r.body) + 1
        }
    }),
    ("least_distance_pair", |r| {
        PAIR_NAMES
            .get(usize::from(r.least_distance_pair))
            .copied()
            .unwrap_or_default()
    }),
    ("exchanges", |r| u32::from(r.exchanges)),
    ("excursions", |r| r.excursions),
    ("jumps", |r| r.jumps),
    ("steps", |r| r.steps),
];

/// The names of the pairs of bodies.
const PAIR_NAMES: [u32; 3] = [12, 23, 13];

/// Names of the columns of the parameters in which runs differ. They begin with `start_`, as in `start_a`, to distinguish them from the
/// columns of the end.
pub fn parameter_columns(spec: &Validated) -> Vec<(usize, String)> {
    let varied = spec.specification().varied();
    varied
        .map(|(place, p, _)| (place, format!("start_{}", p.name.replace('-', "_"))))
        .collect()
}

/// Writes an array for each column, in the shape of the map if it is one, and the specification.
///
/// # Errors
/// The file cannot be written. No part of it remains.
pub fn npz(path: &Path, spec: &Validated, ensemble: &Encounters) -> Result<(), IoError> {
    let records: &[Record] = &ensemble.records;
    let shape = match spec.specification().size {
        Some([width, height]) => vec![height as usize, width as usize],
        None => vec![records.len()],
    };
    let mut members = Vec::new();
    for (name, value) in WHOLES {
        members.push(Member::new(name, &shape, move || records.iter().map(value)));
    }
    for (name, value) in REALS {
        members.push(Member::new(name, &shape, move || records.iter().map(value)));
    }
    for (place, name) in parameter_columns(spec) {
        let values = move || (0..records.len()).map(move |run| spec.value(place, run as u64));
        members.push(Member::new(&name, &shape, values));
    }
    if let Some(found) = &ensemble.certificate {
        let verdicts = || found.of_runs.iter().copied();
        members.push(Member::new("verdict", &shape, verdicts));
    }
    let members: Vec<Member<'_>> =
        (members.into_iter().collect::<Result<_, _>>()).map_err(|reason| IoError::Data {
            path: path.to_owned(),
            reason,
        })?;
    let mut file = NpzWriter::create(path)?;
    file.arrays(&members)?;
    file.text(SPECIFICATION, &spec.specification().json())?;
    file.finish()
}

/// Reads what [`npz`] has written, without the starts.
///
/// # Errors
/// The file cannot be read, or is none of encounters.
pub fn read_npz(path: &Path) -> Result<Encounters, IoError> {
    let malformed = |reason: String| IoError::Malformed {
        path: path.to_owned(),
        reason,
    };
    let mut file = NpzReader::open(path)?;
    let specification = serde_json::from_str(&file.text(SPECIFICATION)?)
        .map_err(|e| malformed(format!("its specification is none of encounters: {e}")))?;
    let mut records: Vec<Record> = Vec::new();
    let mut fill = |name: &str, values: Vec<f64>, put: &dyn Fn(&mut Record, f64)| {
        if records.is_empty() {
            records.resize(values.len(), Record::default());
        }
        if records.len() != values.len() {
            return Err(malformed(format!("array {name} has another length")));
        }
        let pairs = records.iter_mut().zip(values);
        pairs.for_each(|(record, value)| put(record, value));
        Ok(())
    };
    for (name, _) in WHOLES {
        let values = file.array::<u32>(name)?.values;
        let values = values.into_iter().map(f64::from).collect();
        fill(name, values, &|r, x| match name {
            "outcome" => r.outcome = x as u8,
            "body" => r.body = if x == 0.0 { NONE } else { x as u8 - 1 },
            "least_distance_pair" => {
                let pair = PAIR_NAMES.iter().position(|name| f64::from(*name) == x);
                r.least_distance_pair = pair.map_or(NONE, |pair| pair as u8);
            }
            "exchanges" => r.exchanges = x as u8,
            "excursions" => r.excursions = x as u32,
            "jumps" => r.jumps = x as u32,
            _ => r.steps = x as u32,
        })?;
    }
    for (name, _) in REALS {
        fill(name, file.array(name)?.values, &|r, x| {
            *match name {
                "time" => &mut r.time,
                "a" => &mut r.a,
                "e" => &mut r.e,
                "v_inf" => &mut r.v_inf,
                "least_distance" => &mut r.least_distance,
                "least_distance_time" => &mut r.least_distance_time,
                "energy_error" => &mut r.energy_error,
                _ => &mut r.momentum_error,
            } = x;
        })?;
    }
    Ok(Encounters {
        specification,
        records: records.into(),
        report: Report::nothing("read from a file"),
        step_check: None,
        certificate: None,
    })
}

/// Writes a line for each run.
///
/// # Errors
/// As [`npz`].
pub fn csv(path: &Path, spec: &Validated, ensemble: &Encounters) -> Result<(), IoError> {
    let parameters = parameter_columns(spec);
    atomic::write_with(path, |file| {
        let names = WHOLES.iter().map(|(name, _)| *name);
        let names = names.chain(REALS.iter().map(|(name, _)| *name));
        let names = names.chain(parameters.iter().map(|(_, name)| name.as_str()));
        let verdicts = ensemble.certificate.as_ref().map(|found| &found.of_runs);
        let names = names.chain(verdicts.map(|_| "verdict"));
        let mut line = String::from("run");
        for name in names {
            line.push(',');
            line.push_str(name);
        }
        writeln!(file, "{line}").map_err(|e| file.error(e))?;
        for (run, record) in ensemble.records.iter().enumerate() {
            line = run.to_string();
            let wholes = WHOLES.iter().map(|(_, value)| value(record).to_string());
            let reals = REALS.iter().map(|(_, value)| real(value(record)));
            let starts = parameters
                .iter()
                .map(|(place, _)| real(spec.value(*place, run as u64)));
            let verdict = verdicts.map(|all| all[run].to_string());
            for cell in wholes.chain(reals).chain(starts).chain(verdict) {
                line.push(',');
                line.push_str(&cell);
            }
            writeln!(file, "{line}").map_err(|e| file.error(e))?;
        }
        Ok(())
    })
}

/// A number with as many digits as its bits need, or an empty text for a missing value.
fn real(x: f64) -> String {
    if x.is_nan() {
        String::new()
    } else if x == 0.0 || (1e-4..1e15).contains(&x.abs()) {
        x.to_string()
    } else {
        format!("{x:e}")
    }
}

/// Whether two records have the same bits, including those of missing numbers.
pub fn same_bits(a: &Record, b: &Record) -> bool {
    let bits = |r: &Record| {
        let reals = REALS.map(|(_, value)| value(r).to_bits());
        let wholes = WHOLES.map(|(_, value)| value(r));
        (reals, wholes)
    };
    bits(a) == bits(b)
}

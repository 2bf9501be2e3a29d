//! Writes bodies, diagnostics and positions of a run to files. Numbers in texts have enough digits to be read back with the same
//! bits.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::super::{Diagnostics, Energies, Snapshot, Specification};
use trisolar_bodies::files::{BodyFormat, write};
use trisolar_bodies::{DVec3, Tracks, numbers};
use trisolar_io::IoError;
use trisolar_io::atomic::write_with;
use trisolar_io::npz::{NpzWriter, SPECIFICATION};
use trisolar_io::rows::Rows;

/// Writes bodies in the format of the name. An npz holds `mass` (n), `position` and `velocity` (n × 3), `time` (1) and
/// `specification.json`; texts have time, G, softening and time step in a comment, CSV files in columns. [`read`](super::read()) can read
/// all of them.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn write_bodies(
    path: &Path,
    format: BodyFormat,
    snapshot: &Snapshot,
    specification: &Specification,
) -> Result<(), IoError> {
    write(
        path,
        format,
        &snapshot.bodies,
        snapshot.time,
        &json(specification),
    )
}

fn json(specification: &Specification) -> String {
    serde_json::to_string(specification).expect("a specification is plain numbers and names")
}

/// The diagnostics at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Steps taken.
    pub step: u64,
    /// The time.
    pub time: f64,
    /// The diagnostics.
    pub diagnostics: Diagnostics,
}

/// Names of the numbers of a [`Moment`] after its time.
const COLUMNS: [&str; Moment::NUMBERS - 2] = [
    "kinetic",
    "potential",
    "total",
    "momentum_x",
    "momentum_y",
    "momentum_z",
    "angular_momentum_x",
    "angular_momentum_y",
    "angular_momentum_z",
    "centre_x",
    "centre_y",
    "centre_z",
    "virial_ratio",
    "lagrange_10",
    "lagrange_25",
    "lagrange_50",
    "lagrange_75",
    "lagrange_90",
    "internal",
];

impl Moment {
    /// Numbers of a moment: its step, its time and the diagnostics.
    pub(super) const NUMBERS: usize = 21;

    fn numbers(&self) -> [f64; Self::NUMBERS] {
        let d = &self.diagnostics;
        let ([px, py, pz], [lx, ly, lz]) = (d.momentum, d.angular_momentum);
        let ([x, y, z], [r10, r25, r50, r75, r90]) = (d.centre_of_mass, d.lagrange);
        [
            // Exact, because there are fewer than 2⁵³ steps.
            self.step as f64,
            self.time,
            d.kinetic,
            d.potential,
            d.total,
            px,
            py,
            pz,
            lx,
            ly,
            lz,
            x,
            y,
            z,
            d.virial_ratio,
            r10,
            r25,
            r50,
            r75,
            r90,
            d.internal,
        ]
    }

    /// The opposite of [`numbers`](Self::numbers).
    fn from_numbers(n: &[f64]) -> Self {
        let three = |at: usize| [n[at], n[at + 1], n[at + 2]];
        Self {
            step: n[0] as u64,
            time: n[1],
            diagnostics: Diagnostics {
                kinetic: n[2],
                potential: n[3],
                total: n[4],
                momentum: three(5),
                angular_momentum: three(8),
                centre_of_mass: three(11),
                virial_ratio: n[14],
                lagrange: [n[15], n[16], n[17], n[18], n[19]],
                internal: n[20],
            },
        }
    }
}

/// The records of a run so far, which need not fit into memory.
#[derive(Debug, Default, PartialEq)]
pub struct History {
    /// The numbers of moments, if diagnostics are recorded.
    pub(super) moments: Rows,
    /// Times, each with the positions of all bodies, if they are recorded.
    pub(super) positions: Rows,
    /// States of the bodies whose paths are drawn.
    pub tracks: Tracks,
}

impl History {
    /// No records yet. Those that do not stay in memory will be in this folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            moments: Rows::in_folder(folder),
            positions: Rows::in_folder(folder),
            tracks: Tracks::default(),
        }
    }

    /// The number of recorded moments or, if there are more, of positions.
    pub fn len(&self) -> usize {
        self.moments.len().max(self.positions.len())
    }

    /// Whether neither moments nor positions are recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records diagnostics.
    ///
    /// # Errors
    /// [`IoError`] if they cannot be kept in the folder.
    pub fn add_moment(&mut self, moment: &Moment) -> Result<(), IoError> {
        self.moments.push(&moment.numbers())
    }

    /// Records positions.
    ///
    /// # Errors
    /// [`IoError`] if they cannot be kept in the folder.
    pub fn add_positions(&mut self, time: f64, positions: &[DVec3]) -> Result<(), IoError> {
        self.positions.push(&[&[time], numbers(positions)].concat())
    }

    /// The last moment, if there is one.
    ///
    /// # Errors
    /// [`IoError`] if it cannot be read again.
    pub fn last_moment(&self) -> Result<Option<Moment>, IoError> {
        let last = self.moments.last()?;
        Ok(last.map(|numbers| Moment::from_numbers(&numbers)))
    }

    /// Shows all moments, one after the other.
    ///
    /// # Errors
    /// [`IoError`] if they cannot be read again.
    pub fn each_moment(&self, mut look: impl FnMut(&Moment)) -> Result<(), IoError> {
        self.moments.each(|numbers| {
            look(&Moment::from_numbers(numbers));
            Ok(())
        })
    }

    /// Removes the record at the end of a run that is extended beyond it.
    pub fn forget_last(&mut self) {
        self.moments.pop();
        self.positions.pop();
    }

    /// The relative error of the energy at a moment, where the first moment is the start of the run.
    fn error_of(&self) -> Result<impl Fn(&[f64]) -> f64 + use<>, IoError> {
        let first = self.moments.row(0)?;
        let start = first.map(|first| Energies::from(&Moment::from_numbers(&first).diagnostics));
        Ok(move |numbers: &[f64]| {
            start.map_or(f64::NAN, |start| {
                start.relative_error(numbers[Moment::NUMBERS - 1])
            })
        })
    }

    /// Times, and sizes of the relative errors of the energy, for a picture: of more than 2¹⁶ moments, the largest error of several each.
    ///
    /// # Errors
    /// [`IoError`] if the moments cannot be read again.
    pub fn error_sizes(&self) -> Result<[Vec<f64>; 2], IoError> {
        const MOST: usize = 1 << 16;
        let (error, each) = (self.error_of()?, self.moments.len().div_ceil(MOST));
        let [mut times, mut sizes] = [Vec::new(), Vec::new()];
        let mut seen = 0;
        self.moments.each(|numbers| {
            let (time, size) = (numbers[1], error(numbers).abs());
            if seen % each == 0 {
                times.push(time);
                sizes.push(size);
            } else if let (Some(t), Some(s)) = (times.last_mut(), sizes.last_mut())
                && s.total_cmp(&size).is_lt()
            {
                (*t, *s) = (time, size);
            }
            seen += 1;
            Ok(())
        })?;
        Ok([times, sizes])
    }

    /// The columns of the [series](Self::write_series) that are not numbers at some moment, such as the virial ratio of bodies without a
    /// potential.
    ///
    /// # Errors
    /// [`IoError`] if the moments cannot be read again.
    pub fn undefined_columns(&self) -> Result<Vec<&'static str>, IoError> {
        let mut undefined = [false; COLUMNS.len()];
        self.moments.each(|numbers| {
            for (undefined, number) in undefined.iter_mut().zip(&numbers[2..]) {
                *undefined |= !number.is_finite();
            }
            Ok(())
        })?;
        let columns = COLUMNS.iter().zip(undefined);
        Ok(columns
            .filter_map(|(name, undefined)| undefined.then_some(*name))
            .collect())
    }

    /// Writes diagnostics over time, as `.npz` (an array a column) or CSV of any other name: step, time, energies, momenta, centre,
    /// virial ratio, Lagrange radii, the energy without the motion of the centre of mass, and its error relative to the first moment.
    ///
    /// # Errors
    /// [`IoError`]; no part of the file remains.
    pub fn write_series(&self, path: &Path, spec: &Specification) -> Result<(), IoError> {
        let error = self.error_of()?;
        let names = ["step", "time"].into_iter().chain(COLUMNS);
        if path.extension().is_some_and(|e| e == "npz") {
            let mut file = NpzWriter::create(path)?;
            let shape = [self.moments.len()];
            for (k, name) in names.enumerate() {
                file.rows(name, &shape, &self.moments, |row, out| out.push(row[k]))?;
            }
            file.rows("energy_error", &shape, &self.moments, |row, out| {
                out.push(error(row));
            })?;
            file.text(SPECIFICATION, &json(spec))?;
            return file.finish();
        }
        write_with(path, |file| {
            let names: Vec<&str> = names.collect();
            let head = writeln!(file, "{},energy_error", names.join(","));
            head.map_err(|e| file.error(e))?;
            self.moments.each(|row| {
                let mut line = format!("{}", row[0]);
                for number in &row[1..] {
                    let _ = write!(line, ",{number:?}");
                }
                let written = writeln!(file, "{line},{:?}", error(row));
                written.map_err(|e| file.error(e))
            })
        })
    }

    /// Writes positions over time: `time` (k), `position` (k × n × 3), `mass` (n) and `specification.json`.
    ///
    /// # Errors
    /// [`IoError`]; no part of the file remains.
    pub fn write_trajectory(
        &self,
        path: &Path,
        mass: &[f64],
        spec: &Specification,
    ) -> Result<(), IoError> {
        let (n, times) = (mass.len(), self.positions.len());
        let mut file = NpzWriter::create(path)?;
        file.rows("time", &[times], &self.positions, |row, out| {
            out.push(row[0])
        })?;
        file.array("mass", &[n], mass)?;
        file.rows("position", &[times, n, 3], &self.positions, |row, out| {
            out.extend_from_slice(&row[1..]);
        })?;
        file.text(SPECIFICATION, &json(spec))?;
        file.finish()
    }
}

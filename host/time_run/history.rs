//! The records of a run.

use std::path::Path;

use trisolar_bodies::{DVec3, Energies, EnergyError, Tracks, numbers};
use trisolar_io::IoError;
use trisolar_io::npz::{NpzReader, NpzWriter, SPECIFICATION};
use trisolar_io::rows::Rows;

use super::Row;
use super::series;

/// The records of a run so far, which need not fit into memory.
#[derive(Debug, Default, PartialEq)]
pub struct History<R> {
    /// The numbers of rows of the series, if diagnostics are recorded.
    moments: Rows,
    /// Times, each with the positions of all bodies, if they are recorded.
    positions: Rows,
    /// States of the bodies whose paths are drawn.
    pub tracks: Tracks,
    /// A row with the columns of all rows.
    like: R,
}

impl<R: Row> History<R> {
    /// No records yet. Those that do not stay in memory will be in this folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            moments: Rows::in_folder(folder),
            positions: Rows::in_folder(folder),
            ..Self::default()
        }
    }

    /// The same records; all rows have the columns of this one.
    #[must_use]
    pub fn like(self, like: R) -> Self {
        Self { like, ..self }
    }

    /// A row with the columns of all rows.
    pub fn row(&self) -> &R {
        &self.like
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
    pub fn add_moment(&mut self, moment: &R) -> Result<(), IoError> {
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
    pub fn last_moment(&self) -> Result<Option<R>, IoError> {
        let last = self.moments.last()?;
        Ok(last.and_then(|numbers| self.like.with_numbers(&numbers)))
    }

    /// Shows all moments, one after the other.
    ///
    /// # Errors
    /// [`IoError`] if they cannot be read again.
    pub fn each_moment(&self, mut look: impl FnMut(&R)) -> Result<(), IoError> {
        self.moments.each(|numbers| {
            if let Some(moment) = self.like.with_numbers(numbers) {
                look(&moment);
            }
            Ok(())
        })
    }

    /// The number of moments.
    pub fn moments(&self) -> usize {
        self.moments.len()
    }

    /// Removes the record at the end of a run that is extended beyond it.
    pub fn forget_last(&mut self) {
        self.moments.pop();
        self.positions.pop();
    }

    /// The energy error in the moments of a run that started with these energies, or with those of the first moment.
    ///
    /// # Errors
    /// [`IoError`] if they cannot be read again.
    pub fn energy_error(&self, start: Option<Energies>) -> Result<Option<EnergyError>, IoError> {
        let mut error = start.map(EnergyError::new);
        self.each_moment(|moment| {
            let energies = moment.energies();
            let error = error.get_or_insert(EnergyError::new(energies));
            error.look(energies.internal);
        })?;
        Ok(error)
    }

    /// The relative error of the energy at a moment, where the first moment is the start of the run.
    ///
    /// # Errors
    /// [`IoError`] if it cannot be read again.
    pub fn error_of(&self) -> Result<impl Fn(&[f64]) -> f64 + use<R>, IoError> {
        let like = self.like.clone();
        let energies = move |numbers: &[f64]| Some(like.with_numbers(numbers)?.energies());
        let start = self.moments.row(0)?.and_then(|first| energies(&first));
        Ok(move |numbers: &[f64]| {
            let error = start.zip(energies(numbers));
            error.map_or(f64::NAN, |(start, now)| start.relative_error(now.internal))
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
        self.each_moment(|moment| {
            let (time, size) = (moment.time(), error(&moment.numbers()).abs());
            if seen % each == 0 {
                times.push(time);
                sizes.push(size);
            } else if let (Some(t), Some(s)) = (times.last_mut(), sizes.last_mut())
                && s.total_cmp(&size).is_lt()
            {
                (*t, *s) = (time, size);
            }
            seen += 1;
        })?;
        Ok([times, sizes])
    }

    /// The columns that are not numbers at some moment, such as the virial ratio of bodies without a potential.
    ///
    /// # Errors
    /// [`IoError`] if the moments cannot be read again.
    pub fn undefined_columns(&self) -> Result<Vec<&'static str>, IoError> {
        let mut undefined = Vec::new();
        self.each_moment(|moment| {
            moment.clone().columns(&mut |name, _, x| {
                if !x.iter().all(|x| x.is_finite()) && !undefined.contains(&name) {
                    undefined.push(name);
                }
            });
        })?;
        Ok(undefined)
    }

    /// Writes a series with these columns, see [`series::write`].
    ///
    /// # Errors
    /// [`IoError`]; no part of the file remains.
    pub fn write_columns(
        &self,
        path: &Path,
        columns: &[series::Column<'_>],
        specification: &str,
    ) -> Result<(), IoError> {
        series::write(path, &self.moments, columns, specification)
    }

    /// Writes positions over time: `time` (k), `position` (k × n × 3), `mass` (n) and `specification.json`.
    ///
    /// # Errors
    /// [`IoError`]; no part of the file remains.
    pub fn write_trajectory(
        &self,
        path: &Path,
        mass: &[f64],
        specification: &str,
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
        file.text(SPECIFICATION, specification)?;
        file.finish()
    }

    /// Adds the moments to a checkpoint, as an array of this name.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn write_moments(&self, name: &str, file: &mut NpzWriter) -> Result<(), IoError> {
        let shape = [self.moments.len(), self.like.numbers().len()];
        file.rows(name, &shape, &self.moments, |row, out| {
            out.extend_from_slice(row);
        })
    }

    /// Adds the positions of `n` bodies to a checkpoint.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn write_positions(&self, n: usize, file: &mut NpzWriter) -> Result<(), IoError> {
        let shape = [self.positions.len(), 1 + 3 * n];
        file.rows(POSITIONS, &shape, &self.positions, |row, out| {
            out.extend_from_slice(row);
        })
    }

    /// Reads moments of a checkpoint, and whether they have the columns of this history.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn read_moments(&mut self, name: &str, file: &mut NpzReader) -> Result<bool, IoError> {
        let shape = file.rows(name, &mut self.moments)?;
        let width = shape.get(1).copied().unwrap_or_default();
        let fits = width == self.like.numbers().len();
        Ok(fits || self.moments.is_empty())
    }

    /// Reads the positions of `n` bodies of a checkpoint, and whether they are as many.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn read_positions(&mut self, n: usize, file: &mut NpzReader) -> Result<bool, IoError> {
        let shape = file.rows(POSITIONS, &mut self.positions)?;
        Ok(shape == [self.positions.len(), 1 + 3 * n])
    }
}

/// The name of positions in a checkpoint.
const POSITIONS: &str = "history_position";

//! Rows of numbers that a long run adds one after the other: the latest ones are in memory, those before them in a file without a name,
//! which disappears with the process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::IoError;

/// Numbers that stay in memory: 32 MiB.
const MOST_IN_MEMORY: usize = 1 << 22;
/// Numbers that are read at a time, unless one row has more.
const PIECE: usize = 1 << 16;

/// Rows that all have the same number of numbers, and need not fit into memory.
#[derive(Debug)]
pub struct Rows {
    width: usize,
    latest: Vec<f64>,
    /// The rows before, as the bytes of their numbers, and how many numbers they have.
    file: Option<File>,
    filed: usize,
    folder: PathBuf,
    most: usize,
}

impl Default for Rows {
    fn default() -> Self {
        Self::in_folder(&std::env::temp_dir())
    }
}

impl Rows {
    /// No rows yet; the file will be in this folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self::with_most(folder, MOST_IN_MEMORY)
    }

    /// As [`in_folder`](Self::in_folder), with at most so many numbers in memory, or one row.
    pub fn with_most(folder: &Path, most: usize) -> Self {
        Self {
            width: 0,
            latest: Vec::new(),
            file: None,
            filed: 0,
            folder: folder.to_owned(),
            most,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        let numbers = self.filed + self.latest.len();
        numbers.checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn failed(&self, error: io::Error) -> IoError {
        IoError::system(&self.folder, "keep the records of the run in", error)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`IoError`] if the file cannot be written.
    ///
    /// # Panics
    /// The row is not as long as the first one.
    pub fn push(&mut self, row: &[f64]) -> Result<(), IoError> {
        if self.is_empty() {
            self.width = row.len();
        }
        assert_eq!(row.len(), self.width, "rows of different lengths");
        if self.latest.len() + row.len() > self.most && !self.latest.is_empty() {
            self.store().map_err(|e| self.failed(e))?;
        }
        self.latest.extend_from_slice(row);
        Ok(())
    }

    /// Moves the rows in memory into the file.
    fn store(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(&self.folder)?),
        };
        file.seek(SeekFrom::Start(self.filed as u64 * 8))?;
        file.write_all(bytemuck::cast_slice(&self.latest))?;
        self.filed += self.latest.len();
        self.latest.clear();
        Ok(())
    }

    /// Removes the last row, if there is one.
    pub fn pop(&mut self) {
        match self.latest.len().checked_sub(self.width) {
            Some(left) if !self.latest.is_empty() => self.latest.truncate(left),
            _ => self.filed = self.filed.saturating_sub(self.width),
        }
    }

    /// Copies the numbers from `first` on.
    fn read(&self, first: usize, numbers: &mut [f64]) -> io::Result<()> {
        let older = self.filed.saturating_sub(first).min(numbers.len());
        let (older, latest) = numbers.split_at_mut(older);
        if let (Some(mut file), false) = (self.file.as_ref(), older.is_empty()) {
            file.seek(SeekFrom::Start(first as u64 * 8))?;
            file.read_exact(bytemuck::cast_slice_mut(older))?;
        }
        let from = first.saturating_sub(self.filed);
        latest.copy_from_slice(&self.latest[from..from + latest.len()]);
        Ok(())
    }

    /// A row, if there are so many.
    ///
    /// # Errors
    /// [`IoError`] if the file cannot be read.
    pub fn row(&self, index: usize) -> Result<Option<Vec<f64>>, IoError> {
        if index >= self.len() {
            return Ok(None);
        }
        let mut row = vec![0.0; self.width];
        let read = self.read(index * self.width, &mut row);
        read.map_err(|e| self.failed(e))?;
        Ok(Some(row))
    }

    /// The last row, if there is one.
    ///
    /// # Errors
    /// [`IoError`] if the file cannot be read.
    pub fn last(&self) -> Result<Option<Vec<f64>>, IoError> {
        match self.len().checked_sub(1) {
            Some(last) => self.row(last),
            None => Ok(None),
        }
    }

    /// Shows all rows, one after the other.
    ///
    /// # Errors
    /// [`IoError`] if the file cannot be read, and what `look` returns.
    pub fn each(&self, mut look: impl FnMut(&[f64]) -> Result<(), IoError>) -> Result<(), IoError> {
        let rows = self.len();
        let at_once = PIECE.checked_div(self.width).unwrap_or(0).max(1);
        let mut piece = Vec::new();
        for first in (0..rows).step_by(at_once) {
            piece.resize(at_once.min(rows - first) * self.width, 0.0);
            let read = self.read(first * self.width, &mut piece);
            read.map_err(|e| self.failed(e))?;
            piece.chunks_exact(self.width).try_for_each(&mut look)?;
        }
        Ok(())
    }
}

/// Whether the rows are equal; rows that cannot be read equal no others.
impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        let row = |rows: &Self, k| rows.row(k).ok().flatten();
        self.len() == other.len()
            && (0..self.len()).all(|k| row(self, k).is_some_and(|a| row(other, k) == Some(a)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_in_memory_and_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let filled = |most: usize, rows: usize| {
            let mut all = Rows::with_most(folder.path(), most);
            for k in 0..rows {
                all.push(&[k as f64, 0.5, -1.0]).unwrap();
            }
            all
        };
        let seen = |rows: &Rows| {
            let mut seen = Vec::new();
            let look = |row: &[f64]| {
                seen.push(row.to_vec());
                Ok(())
            };
            rows.each(look).unwrap();
            seen
        };
        for rows in [0, 1, 2, 7, 100, 70_000] {
            let whole = filled(usize::MAX, rows);
            assert_eq!((whole.len(), seen(&whole).len()), (rows, rows));
            // One row, some rows, and not a whole number of rows in memory.
            for most in [0, 3, 9, 10, 299] {
                let mut parts = filled(most, rows);
                assert_eq!(seen(&parts), seen(&whole), "{rows} rows, {most} in memory");
                if rows <= 100 {
                    assert_eq!(parts, whole);
                }
                let last = rows.checked_sub(1).map(|k| vec![k as f64, 0.5, -1.0]);
                assert_eq!(parts.last().unwrap(), last);
                // Rows that were removed leave no gap.
                for _ in 0..rows.min(5) {
                    parts.pop();
                }
                parts.pop();
                let left = rows.saturating_sub(6);
                assert_eq!(parts.len(), left);
                for k in left..rows {
                    parts.push(&[k as f64, 0.5, -1.0]).unwrap();
                }
                assert_eq!(seen(&parts), seen(&whole));
            }
        }
        // Nothing with a name is left in the folder.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut nowhere = Rows::with_most(&folder.path().join("missing"), 0);
        nowhere.push(&[1.0]).unwrap();
        let error = nowhere.push(&[2.0]).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }
}

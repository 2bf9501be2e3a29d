//! Series: what a run records of its state at equal intervals, in columns with names and units.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use trisolar_bodies::Energies;
use trisolar_io::IoError;
use trisolar_io::atomic::write_with;
use trisolar_io::npz::{NpzWriter, SPECIFICATION};
use trisolar_io::rows::Rows;

/// The unit of columns of whole numbers.
pub const COUNT: &str = "count";
/// The unit of energies.
pub const ENERGY: &str = "mass length^2 / time^2";

/// What a run records of its state at one time: a row of its series.
pub trait Row: Clone + Default + PartialEq {
    /// Shows each column in the order of files: its name, its unit (empty for a plain number) and the numbers of this row, which `see` may
    /// change.
    fn columns(&mut self, see: &mut dyn FnMut(&'static str, &'static str, &mut [f64]));

    /// The time.
    fn time(&self) -> f64;

    /// The energies.
    fn energies(&self) -> Energies;

    /// The numbers of all columns.
    fn numbers(&self) -> Vec<f64> {
        let mut all = Vec::new();
        self.clone()
            .columns(&mut |_, _, x| all.extend_from_slice(x));
        all
    }

    /// The row with these [`numbers`](Self::numbers) and the columns of this one; `None` if there are more or fewer numbers.
    fn with_numbers(&self, numbers: &[f64]) -> Option<Self> {
        let (mut row, mut rest) = (self.clone(), Some(numbers));
        row.columns(&mut |_, _, x| {
            rest = rest.and_then(|rest| {
                let (first, others) = rest.split_at_checked(x.len())?;
                x.copy_from_slice(first);
                Some(others)
            });
        });
        rest.is_some_and(<[f64]>::is_empty).then_some(row)
    }
}

/// What computes a number from those of a row.
type OfRow<'a> = dyn Fn(&[f64]) -> f64 + 'a;

/// The numbers of a column.
pub enum Content<'a> {
    /// Those of each row at these places.
    OfRows(Range<usize>),
    /// A number that follows from those of each row.
    From(Box<OfRow<'a>>),
    /// An array of its own, which a CSV file has not.
    Array(Vec<f64>),
}

/// A column of a series, or another array of its file.
pub struct Column<'a> {
    /// Its name in files.
    pub name: &'static str,
    /// The unit of its numbers; empty for plain ones.
    pub unit: &'static str,
    /// Its numbers.
    pub content: Content<'a>,
}

/// The columns of rows such as this one.
pub fn columns<R: Row>(like: &R) -> Vec<Column<'static>> {
    let (mut columns, mut first) = (Vec::new(), 0);
    like.clone().columns(&mut |name, unit, x| {
        let places = first..first + x.len();
        first = places.end;
        columns.push(Column {
            name,
            unit,
            content: Content::OfRows(places),
        });
    });
    columns
}

/// Writes columns as `.npz` (an array a column, and `specification.json`) or, in a file of any other name, as CSV.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn write(
    path: &Path,
    rows: &Rows,
    columns: &[Column<'_>],
    specification: &str,
) -> Result<(), IoError> {
    if path.extension().is_some_and(|e| e == "npz") {
        let mut file = NpzWriter::create(path)?;
        for Column { name, content, .. } in columns {
            match content {
                Content::OfRows(places) => {
                    let shape = [rows.len(), places.len()];
                    let shape = if places.len() == 1 {
                        &shape[..1]
                    } else {
                        &shape
                    };
                    file.rows(name, shape, rows, |row, out| {
                        out.extend_from_slice(&row[places.clone()]);
                    })?;
                }
                Content::From(of) => {
                    file.rows(name, &[rows.len()], rows, |row, out| out.push(of(row)))?;
                }
                Content::Array(values) => file.array(name, &[values.len()], values)?,
            }
        }
        file.text(SPECIFICATION, specification)?;
        return file.finish();
    }
    write_with(path, |file| {
        let mut names = Vec::new();
        for Column { name, content, .. } in columns {
            match content {
                Content::OfRows(places) if places.len() > 1 => {
                    names.extend((1..=places.len()).map(|k| format!("{name}_{k}")));
                }
                Content::Array(_) => {}
                _ => names.push((*name).to_owned()),
            }
        }
        writeln!(file, "{}", names.join(",")).map_err(|e| file.error(e))?;
        rows.each(|row| {
            let mut line = String::new();
            for Column { unit, content, .. } in columns {
                let numbers = match content {
                    Content::OfRows(places) => row[places.clone()].to_vec(),
                    Content::From(of) => vec![of(row)],
                    Content::Array(_) => Vec::new(),
                };
                for number in numbers {
                    let comma = if line.is_empty() { "" } else { "," };
                    let _ = match *unit {
                        COUNT => write!(line, "{comma}{number}"),
                        _ => write!(line, "{comma}{number:?}"),
                    };
                }
            }
            writeln!(file, "{line}").map_err(|e| file.error(e))
        })
    })
}

//! The columns of items.

use std::borrow::Cow;

use trisolar_ensemble::{Records, Slice};

/// The columns of all items: those of item 0 first.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The numbers.
    pub numbers: Vec<f64>,
    /// Number of columns.
    pub width: usize,
}

impl From<Table> for Records<f64> {
    fn from(table: Table) -> Self {
        Self::Memory(table.numbers)
    }
}

/// The columns of consecutive items.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The numbers.
    pub numbers: &'a [f64],
    /// Number of columns.
    pub width: usize,
}

impl<'a> Slice<'a> for Rows<'a> {
    fn count(self) -> u64 {
        (self.numbers.len() / self.width) as u64
    }

    fn le_bytes(self) -> Cow<'a, [u8]> {
        self.numbers.le_bytes()
    }
}

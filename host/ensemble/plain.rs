//! Ensembles whose values are plain records, one for each item, in memory and in files.

use std::ops::Deref;
use std::sync::Arc;

use trisolar_device::Plain;
pub use trisolar_run::partial::Layout;
use trisolar_run::partial::Mapped;

/// The records of an ensemble, one for each item, in the order of the items.
#[derive(Clone, Debug)]
pub enum Records<T> {
    /// In memory.
    Memory(Vec<T>),
    /// In a file, which the system reads on access.
    File(Arc<Mapped>),
}

impl<T> From<Vec<T>> for Records<T> {
    fn from(records: Vec<T>) -> Self {
        Self::Memory(records)
    }
}

impl<T> From<Mapped> for Records<T> {
    fn from(mapped: Mapped) -> Self {
        Self::File(Arc::new(mapped))
    }
}

impl<T: Plain> Deref for Records<T> {
    type Target = [T];

    /// # Panics
    /// If the last record of a file is incomplete, or the records are not aligned: the file has the [layout] of other records.
    fn deref(&self) -> &[T] {
        let mapped = match self {
            Self::Memory(records) => return records,
            Self::File(mapped) => mapped.bytes(),
        };
        let start = mapped.as_ptr().cast::<T>();
        assert!(mapped.len().is_multiple_of(size_of::<T>()) && start.is_aligned());
        // SAFETY: the slice has the length of the bytes and is aligned, and any bits are a plain record.
        unsafe { std::slice::from_raw_parts(start, mapped.len() / size_of::<T>()) }
    }
}

/// The layout of a file of this many records and nothing else.
pub fn layout<T: Plain>(count: u64) -> Layout {
    Layout {
        header: Vec::new(),
        item: size_of::<T>(),
        count,
        is_output: false,
        part: None,
    }
}

/// Records from their bytes, which need not be aligned; `None` if the last one is truncated.
pub fn of_bytes<T: Plain + Default>(copied: &[u8]) -> Option<Vec<T>> {
    if !copied.len().is_multiple_of(size_of::<T>()) {
        return None;
    }
    let mut values = vec![T::default(); copied.len() / size_of::<T>()];
    // SAFETY: the vector has room for this number of bytes, and any bytes make plain values.
    unsafe {
        std::ptr::copy_nonoverlapping(copied.as_ptr(), values.as_mut_ptr().cast(), copied.len());
    }
    Some(values)
}

/// Room for this many records; `None` if there is too little memory.
pub fn blank<T: Plain + Default>(count: u64) -> Option<Vec<T>> {
    let count = usize::try_from(count).ok()?;
    let mut values = Vec::new();
    values.try_reserve_exact(count).ok()?;
    values.resize(count, T::default());
    Some(values)
}

/// The parts of an implementation of [`Ensemble`](crate::Ensemble) that are the same wherever the values are plain records of this type.
#[macro_export]
macro_rules! plain_records {
    ($record:ty) => {
        type Slice<'a> = &'a [$record];
        type Values = ::std::vec::Vec<$record>;

        fn layout(&self, _: &::std::path::Path) -> $crate::plain::Layout {
            $crate::plain::layout::<$record>(self.items())
        }

        fn bytes_needed(&self) -> u64 {
            // As much memory again must be free for the buffers of the engines.
            self.items()
                .saturating_mul(2 * ::std::mem::size_of::<$record>() as u64)
        }

        fn blank(&self) -> ::std::option::Option<Self::Values> {
            $crate::plain::blank(self.items())
        }

        fn put(all: &mut Self::Values, first: usize, records: &[$record]) {
            all[first..][..records.len()].copy_from_slice(records);
        }

        fn slice(records: &Self::Values) -> &[$record] {
            records
        }

        fn of_bytes(&self, bytes: &[u8]) -> ::std::option::Option<Self::Values> {
            $crate::plain::of_bytes(bytes)
        }
    };
}

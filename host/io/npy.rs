//! Arrays as `.npy` files (format 1.0, little-endian, C order), which `numpy.load` reads.
//!
//! [`write()`] takes an array that is in memory, [`RowWriter`] one that comes row by row and need not fit there.

use std::io::{self, BufReader, Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use self::header::NpyHeader;
use super::IoError;
use super::atomic::AtomicFile;
use super::read;
use super::rows::Rows;

mod header;

/// The bytes before the values of an array of this shape.
pub fn header<T: Element>(shape: &[usize]) -> Vec<u8> {
    header::encode(T::DESCR, shape)
}

mod sealed {
    pub trait Sealed {}
}

/// A number an array can hold: `u8`, `u32`, `i32`, `f32` or `f64`.
pub trait Element: sealed::Sealed + bytemuck::Pod + Send + Sync {
    #[doc(hidden)]
    const DESCR: &'static str;
    /// numpy's name of the type, for messages.
    const NAME: &'static str;
    #[doc(hidden)]
    fn swapped(self) -> Self;
    /// The value as f64, exactly.
    fn to_f64(self) -> f64;
}

macro_rules! element {
    ($($t:ty, $descr:literal, $name:literal, $swap:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DESCR: &'static str = $descr;
            const NAME: &'static str = $name;
            fn swapped(self) -> Self { $swap(self) }
            fn to_f64(self) -> f64 { f64::from(self) }
        }
    )*};
}
element! {
    u8, "|u1", "uint8", std::convert::identity;
    u32, "<u4", "uint32", u32::swap_bytes;
    i32, "<i4", "int32", i32::swap_bytes;
    f32, "<f4", "float32", |x: f32| f32::from_bits(x.to_bits().swap_bytes());
    f64, "<f8", "float64", |x: f64| f64::from_bits(x.to_bits().swap_bytes());
}

/// An array that was read: `values` in C order (the last index runs fastest).
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T> {
    /// Length along each axis.
    pub shape: Vec<usize>,
    /// The product of `shape` values.
    pub values: Vec<T>,
}

/// Writes an array of any rank to `path`.
///
/// # Errors
/// [`IoError::Data`] if the number of `values` is not that of `shape`, and all of [`AtomicFile`].
pub fn write<T: Element>(
    path: impl AsRef<Path>,
    shape: &[usize],
    values: &[T],
) -> Result<(), IoError> {
    let path = path.as_ref();
    check_count(shape, values.len()).map_err(|reason| data_error(path, reason))?;
    let mut file = RowWriter::create(path, shape)?;
    file.push(values)?;
    file.finish()
}

/// Writes an array whose values come in pieces, in C order: the shape is known, the values need not be in memory.
#[derive(Debug)]
pub struct RowWriter<T> {
    file: AtomicFile,
    shape: Vec<usize>,
    missing: usize,
    element: PhantomData<T>,
}

impl<T: Element> RowWriter<T> {
    /// Begins the file with its header.
    ///
    /// # Errors
    /// [`IoError::Data`] if `shape` has more than 64 axes or more values than memory can address, and all of [`AtomicFile::create`].
    pub fn create(path: impl AsRef<Path>, shape: &[usize]) -> Result<Self, IoError> {
        let path = path.as_ref();
        let missing = count(shape)
            .ok_or_else(|| data_error(path, format!("an array of shape {shape:?} is too large")))?;
        let mut file = AtomicFile::create(path)?;
        write_header::<T>(&mut file, shape).map_err(|e| file.error(e))?;
        Ok(Self {
            file,
            shape: shape.to_owned(),
            missing,
            element: PhantomData,
        })
    }

    /// Appends values: a row, several, or any other number.
    ///
    /// # Errors
    /// [`IoError::Data`] for more values than the shape holds, or a failed write.
    pub fn push(&mut self, values: &[T]) -> Result<(), IoError> {
        self.missing = self.missing.checked_sub(values.len()).ok_or_else(|| {
            data_error(
                self.file.path(),
                format!(
                    "{} values more than the shape {:?} holds",
                    values.len() - self.missing,
                    self.shape
                ),
            )
        })?;
        write_values(&mut self.file, values).map_err(|e| self.file.error(e))
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// [`IoError::Data`] if values are missing, and those of [`AtomicFile::commit`]. No part of the file remains.
    pub fn finish(self) -> Result<(), IoError> {
        if self.missing > 0 {
            let reason = format!("{} values of {:?} are missing", self.missing, self.shape);
            return Err(data_error(self.file.path(), reason));
        }
        self.file.commit()
    }
}

/// Reads an array of a known type.
///
/// # Errors
/// [`IoError::Malformed`] if the file is no npy file, holds another type or Fortran order, or has too few or too many
/// bytes; the errors of the system otherwise.
pub fn read<T: Element>(path: impl AsRef<Path>) -> Result<Array<T>, IoError> {
    let path = path.as_ref();
    let file = read::stream(path)?;
    read_from(BufReader::new(file), path, usize::MAX).map_err(|e| e.of_file(path))
}

/// Reads an array of booleans, integers or real numbers of any size, as f64.
///
/// # Errors
/// As [`read`](fn@read), and [`IoError::Malformed`] for an integer that f64 cannot represent.
pub fn read_numbers(path: impl AsRef<Path>) -> Result<Array<f64>, IoError> {
    let path = path.as_ref();
    let file = read::stream(path)?;
    read_numbers_from(BufReader::new(file), path).map_err(|e| e.of_file(path))
}

/// The reason why [`read_from`] failed; the caller adds the path.
#[derive(Debug)]
pub(super) enum ReadError {
    System(io::Error),
    Malformed(String),
    Refused(IoError),
}

impl ReadError {
    fn of_file(self, path: &Path) -> IoError {
        match self {
            Self::System(e) => IoError::system(path, "read", e),
            Self::Malformed(reason) => IoError::Malformed {
                path: path.to_owned(),
                reason,
            },
            Self::Refused(error) => error,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(e: io::Error) -> Self {
        use io::ErrorKind as K;
        match e.kind() {
            K::InvalidData | K::InvalidInput | K::UnexpectedEof => {
                Self::Malformed(format!("not a complete npy file ({e})"))
            }
            _ => Self::System(e),
        }
    }
}

/// Reads an array of up to `most` values from the file at `path`, or a member of it.
pub(super) fn read_from<T: Element>(
    mut reader: impl Read,
    path: &Path,
    most: usize,
) -> Result<Array<T>, ReadError> {
    let (shape, n) = read_header::<T>(&mut reader)?;
    if n > most {
        let path = path.to_owned();
        let reason = format!("an array of shape {shape:?} has more than {most} values");
        return Err(ReadError::Refused(IoError::TooLarge { path, reason }));
    }
    let bytes = n as u64 * size_of::<T>() as u64;
    let values = read_values(&mut reader, n, || read::check_memory(path, bytes))?;
    at_end(reader, n)?;
    Ok(Array { shape, values })
}

/// Reads an array of numbers of any type from the file at `path`, or a member of it.
pub(super) fn read_numbers_from(
    mut reader: impl Read,
    path: &Path,
) -> Result<Array<f64>, ReadError> {
    const INTEGERS_BEYOND_F64: &str = "it holds integers that 64-bit real numbers cannot represent";
    let header = NpyHeader::read(&mut reader)?;
    let (shape, n) = shape_of(&header)?;
    // Whole numbers from here on are not all real numbers.
    let exact = |x: i128| x.unsigned_abs() <= 1 << 53;
    macro_rules! numbers {
        ($($descr:literal, $t:ty, $fits:expr;)*) => {
            match &*header.descr {
                $($descr => converted(reader, path, n, |bytes| {
                    let x = <$t>::from_le_bytes(bytes);
                    $fits(x).then_some(x as f64)
                })
                .and_then(|values| {
                    values.ok_or_else(|| ReadError::Malformed(INTEGERS_BEYOND_F64.to_owned()))
                }),)*
                other => Err(ReadError::Malformed(format!(
                    "it holds {other}; booleans, integers and real numbers in little-endian order can be read"
                ))),
            }
        };
    }
    let values = numbers! {
        "|b1", u8, |_| true;
        "|u1", u8, |_| true;
        "|i1", i8, |_| true;
        "<u2", u16, |_| true;
        "<i2", i16, |_| true;
        "<u4", u32, |_| true;
        "<i4", i32, |_| true;
        "<u8", u64, |x| exact(i128::from(x));
        "<i8", i64, |x| exact(i128::from(x));
        "<f4", f32, |_| true;
        "<f8", f64, |_| true;
    }?;
    Ok(Array { shape, values })
}

/// Reads `n` values of `N` bytes in pieces; `None` if one of them has no conversion.
fn converted<const N: usize>(
    mut reader: impl Read,
    path: &Path,
    n: usize,
    convert: impl Fn([u8; N]) -> Option<f64>,
) -> Result<Option<Vec<f64>>, ReadError> {
    const VALUES_PER_READ: usize = 1 << 17;
    let mut values = Vec::new();
    let mut piece = vec![0; n.min(VALUES_PER_READ) * N];
    while values.len() < n {
        let count = (n - values.len()).min(VALUES_PER_READ);
        let bytes = &mut piece[..count * N];
        reader.read_exact(bytes)?;
        // A header with a wrong length has failed by now.
        if values.capacity() < n {
            read::check_memory(path, n as u64 * 8).map_err(ReadError::Refused)?;
            let refused = |_| ReadError::System(io::ErrorKind::OutOfMemory.into());
            values.try_reserve_exact(n).map_err(refused)?;
        }
        for bytes in bytes.as_chunks().0 {
            let Some(value) = convert(*bytes) else {
                return Ok(None);
            };
            values.push(value);
        }
    }
    at_end(reader, n)?;
    Ok(Some(values))
}

/// Reads an array of numbers from the file at `path`, or a member of it, into rows.
pub(super) fn read_rows(
    mut reader: impl Read,
    path: &Path,
    rows: &mut Rows,
) -> Result<Vec<usize>, ReadError> {
    let (shape, n) = read_header::<f64>(&mut reader)?;
    let width = n
        .checked_div(shape.first().copied().unwrap_or(1))
        .unwrap_or(0);
    for _ in 0..n.checked_div(width).unwrap_or(0) {
        let fits = || read::check_memory(path, width as u64 * 8);
        let row = read_values::<f64>(&mut reader, width, fits)?;
        rows.push(&row).map_err(ReadError::Refused)?;
    }
    at_end(reader, n)?;
    Ok(shape)
}

/// The shape of an array of this type, and the number of its values.
fn read_header<T: Element>(reader: impl Read) -> Result<(Vec<usize>, usize), ReadError> {
    let header = NpyHeader::read(reader)?;
    if header.descr != T::DESCR {
        return Err(ReadError::Malformed(format!(
            "it holds {} where {} ({}) was expected",
            header.descr,
            T::DESCR,
            T::NAME
        )));
    }
    shape_of(&header)
}

/// The shape that a header claims, and the number of its values.
fn shape_of(header: &NpyHeader) -> Result<(Vec<usize>, usize), ReadError> {
    let shape = header.shape.clone();
    let n = count(&shape)
        .ok_or_else(|| ReadError::Malformed(format!("its shape {shape:?} is too large")))?;
    if header.fortran_order && shape.iter().filter(|&&n| n > 1).count() > 1 {
        return Err(ReadError::Malformed(
            "it is in Fortran order; save it with numpy.ascontiguousarray".to_owned(),
        ));
    }
    Ok((shape, n))
}

/// Reads in pieces, so that a header with a wrong length costs no memory. After the first piece `fits` checks whether all values fit
/// into memory.
fn read_values<T: Element>(
    mut reader: impl Read,
    n: usize,
    fits: impl FnOnce() -> Result<(), IoError>,
) -> Result<Vec<T>, ReadError> {
    const BYTES_PER_READ: usize = 1 << 20;
    let mut values: Vec<T> = Vec::new();
    let mut fits = Some(fits);
    while values.len() < n {
        let begin = values.len();
        let mut expected = n.min(BYTES_PER_READ);
        if begin > 0 {
            if let Some(fits) = fits.take() {
                fits().map_err(ReadError::Refused)?;
            }
            expected = n;
        }
        // Reserved memory is not used before it is written; a growing vector would be copied.
        let refused = |_| ReadError::System(io::ErrorKind::OutOfMemory.into());
        values
            .try_reserve_exact(expected - begin)
            .map_err(refused)?;
        values.resize(n.min(begin + BYTES_PER_READ), T::zeroed());
        reader.read_exact(bytemuck::cast_slice_mut(&mut values[begin..]))?;
    }
    if cfg!(target_endian = "big") {
        values.iter_mut().for_each(|v| *v = v.swapped());
    }
    Ok(values)
}

fn at_end(mut reader: impl Read, n: usize) -> Result<(), ReadError> {
    match reader.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(ReadError::Malformed(format!(
            "it has more bytes than the {n} values of its shape"
        ))),
    }
}

/// Header and values, for a file or a member of an archive.
pub(super) fn write_to<T: Element>(
    mut w: impl Write,
    shape: &[usize],
    values: &[T],
) -> io::Result<()> {
    write_header::<T>(&mut w, shape)?;
    write_values(&mut w, values)
}

fn write_header<T: Element>(w: &mut impl Write, shape: &[usize]) -> io::Result<()> {
    w.write_all(&header::encode(T::DESCR, shape))
}

pub(super) fn write_values<T: Element>(w: &mut impl Write, values: &[T]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return w.write_all(bytemuck::cast_slice(values));
    }
    for piece in values.chunks(1 << 14) {
        let swapped: Vec<T> = piece.iter().map(|v| v.swapped()).collect();
        w.write_all(bytemuck::cast_slice(&swapped))?;
    }
    Ok(())
}

/// The product of a shape, if it and its bytes can be counted and numpy allows so many axes (64).
fn count(shape: &[usize]) -> Option<usize> {
    if shape.len() > 64 {
        return None;
    }
    let n = shape
        .iter()
        .try_fold(1_usize, |n, &len| n.checked_mul(len))?;
    n.checked_mul(size_of::<f64>()).map(|_| n)
}

pub(super) fn check_count(shape: &[usize], values: usize) -> Result<(), String> {
    match count(shape) {
        Some(n) if n == values => Ok(()),
        Some(n) => Err(format!(
            "an array of shape {shape:?} holds {n} values, {values} were given"
        )),
        None => Err(format!("an array of shape {shape:?} is too large")),
    }
}

pub(super) fn data_error(path: &Path, reason: String) -> IoError {
    let path: PathBuf = path.to_owned();
    IoError::Data { path, reason }
}

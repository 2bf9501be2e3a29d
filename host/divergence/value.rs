//! The values of pixels. Their type is static where they are computed and where they are used; in between (queue, sinks, files,
//! messages) it is a [`ValueType`] that accompanies them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use cuda_std::Plain;

use trisolar_io::zarr::{ArrayWriter, Variable, ZarrWriter};
use trisolar_io::{IoError, npy};

/// The value of a pixel: a number that files, devices and messages can hold.
pub trait Value: npy::Element + Plain + Default + fmt::Debug + PartialEq + Sized {
    /// Its type.
    const TYPE: ValueType;

    /// Wraps a slice of values of this type.
    fn slice(values: &[Self]) -> ValueSlice<'_>;

    /// The same, owned.
    fn vec(values: Vec<Self>) -> ValueVec;

    /// The slice inside, if its values are of this type.
    fn among(values: ValueSlice<'_>) -> Option<&[Self]>;

    /// The same, owned.
    fn among_owned(values: ValueVec) -> Option<Vec<Self>>;
}

macro_rules! value_types {
    ($($name:ident $t:ident,)*) => {
        /// The type of a map's values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ValueType {
            $(
                #[doc = concat!("`", stringify!($t), "`.")]
                $name,
            )*
        }

        /// Values of one of the types, borrowed.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum ValueSlice<'a> {
            $(
                #[doc = concat!("`", stringify!($t), "`.")]
                $name(&'a [$t]),
            )*
        }

        /// Values of one of the types.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ValueVec {
            $(
                #[doc = concat!("`", stringify!($t), "`.")]
                $name(Vec<$t>),
            )*
        }

        $(impl Value for $t {
            const TYPE: ValueType = ValueType::$name;

            fn slice(values: &[Self]) -> ValueSlice<'_> {
                ValueSlice::$name(values)
            }

            fn vec(values: Vec<Self>) -> ValueVec {
                ValueVec::$name(values)
            }

            #[allow(unreachable_patterns)]
            fn among(values: ValueSlice<'_>) -> Option<&[Self]> {
                match values {
                    ValueSlice::$name(values) => Some(values),
                    _ => None,
                }
            }

            #[allow(unreachable_patterns)]
            fn among_owned(values: ValueVec) -> Option<Vec<Self>> {
                match values {
                    ValueVec::$name(values) => Some(values),
                    _ => None,
                }
            }
        })*

        /// Evaluates an expression with `$v`, the slice in any of the types.
        macro_rules! each_type {
            ($values:expr, $v:ident => $result:expr) => {
                match $values { $(ValueSlice::$name($v) => $result,)* }
            };
        }

        impl ValueType {
            /// All types.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Bytes of a value.
            pub const fn size(self) -> usize {
                match self { $(Self::$name => size_of::<$t>(),)* }
            }

            /// The header of an npy file with such values.
            pub fn npy_header(self, shape: &[usize]) -> Vec<u8> {
                match self { $(Self::$name => npy::header::<$t>(shape),)* }
            }

            /// The type in NumPy's array interface, in the byte order of this machine.
            pub fn numpy_type(self) -> &'static str {
                let big = cfg!(target_endian = "big");
                match self { $(Self::$name => {
                    const LITTLE: &str = <$t as npy::Element>::DESCR;
                    if big { concat_big(LITTLE) } else { LITTLE }
                })* }
            }

            /// The array of an npy file: its shape and its values.
            ///
            /// # Errors
            /// As [`npy::read`].
            pub fn read_npy(
                self,
                path: &std::path::Path,
            ) -> Result<(Vec<usize>, ValueVec), IoError> {
                Ok(match self { $(Self::$name => {
                    let array = npy::read::<$t>(path)?;
                    (array.shape, ValueVec::$name(array.values))
                })* })
            }

            /// An array of an npz file: its shape and its values.
            ///
            /// # Errors
            /// As [`NpzReader::array`](trisolar_io::npz::NpzReader::array).
            pub fn read_npz(
                self,
                file: &mut trisolar_io::npz::NpzReader,
                name: &str,
            ) -> Result<(Vec<usize>, ValueVec), IoError> {
                Ok(match self { $(Self::$name => {
                    let array = file.array::<$t>(name)?;
                    (array.shape, ValueVec::$name(array.values))
                })* })
            }

            /// This many values, all 0; `None` if there is not enough memory.
            pub fn zeroed(self, length: usize) -> Option<ValueVec> {
                match self { $(Self::$name => {
                    let mut values: Vec<$t> = Vec::new();
                    values.try_reserve_exact(length).ok()?;
                    values.resize(length, <$t>::default());
                    Some(ValueVec::$name(values))
                })* }
            }

            /// Values from their little-endian bytes; `None` if the last value is incomplete.
            pub fn from_le_bytes(self, bytes: &[u8]) -> Option<ValueVec> {
                match self { $(Self::$name => {
                    const SIZE: usize = size_of::<$t>();
                    let (values, rest) = bytes.as_chunks::<SIZE>();
                    let values = values.iter().map(|v| <$t>::from_le_bytes(*v)).collect();
                    rest.is_empty().then_some(ValueVec::$name(values))
                })* }
            }

            /// Values in memory, in the byte order of this machine.
            ///
            /// # Panics
            /// If the last value is incomplete, or the bytes are not aligned.
            pub fn cast(self, bytes: &[u8]) -> ValueSlice<'_> {
                match self { $(Self::$name => ValueSlice::$name(bytemuck::cast_slice(bytes)),)* }
            }
        }

        /// An array of a Zarr store with values of one of the types, which come in pieces.
        pub(crate) enum ZarrArray<'a> {
            $($name(ArrayWriter<'a, $t>),)*
        }

        impl ZarrArray<'_> {
            /// Adds values at the end.
            ///
            /// # Errors
            /// As [`ArrayWriter::extend`].
            ///
            /// # Panics
            /// If they are of another type.
            pub(crate) fn extend(&mut self, values: ValueSlice<'_>) -> Result<(), IoError> {
                match (self, values) {
                    $((Self::$name(all), ValueSlice::$name(values)) => all.extend(values),)*
                    #[allow(unreachable_patterns)]
                    _ => panic!("values of another type"),
                }
            }

            /// Ends the array.
            ///
            /// # Errors
            /// As [`ArrayWriter::end`].
            pub(crate) fn end(self) -> Result<(), IoError> {
                match self { $(Self::$name(all) => all.end(),)* }
            }
        }

        impl ValueType {
            /// Begins an array of a Zarr store.
            ///
            /// # Errors
            /// As [`ZarrWriter::begin`].
            pub(crate) fn begin_zarr<'a>(
                self,
                file: &'a mut ZarrWriter,
                about: &Variable<'_, ()>,
            ) -> Result<ZarrArray<'a>, IoError> {
                Ok(match self { $(Self::$name => ZarrArray::$name(file.begin(about)?),)* })
            }
        }

        impl ValueVec {
            /// Borrowed.
            pub fn as_slice(&self) -> ValueSlice<'_> {
                match self { $(Self::$name(values) => ValueSlice::$name(values),)* }
            }

            /// Stores values at consecutive places from `first` on.
            ///
            /// # Panics
            /// If they are of another type, or too many.
            pub fn put(&mut self, first: usize, values: ValueSlice<'_>) {
                match (self, values) {
                    $((Self::$name(all), ValueSlice::$name(values)) => {
                        all[first..][..values.len()].copy_from_slice(values);
                    })*
                    #[allow(unreachable_patterns)]
                    _ => panic!("values of another type"),
                }
            }

            /// Adds values at the end.
            ///
            /// # Panics
            /// If they are of another type.
            pub fn extend(&mut self, values: ValueSlice<'_>) {
                match (self, values) {
                    $((Self::$name(all), ValueSlice::$name(values)) => all.extend(values),)*
                    #[allow(unreachable_patterns)]
                    _ => panic!("values of another type"),
                }
            }
        }
    };
}
value_types! {
    U32 u32,
    F64 f64,
}

/// NumPy's name of a type in big-endian order.
fn concat_big(little: &'static str) -> &'static str {
    match little {
        "<u4" => ">u4",
        "<f8" => ">f8",
        other => other,
    }
}

impl ValueVec {
    /// Counts of steps, of a map of divergence.
    ///
    /// # Panics
    /// If the values are of another type.
    pub fn steps_together(&self) -> &[u32] {
        let counts = self.of();
        counts.expect("the values of this quantity are not counts of steps")
    }
}

impl<'a> ValueSlice<'a> {
    /// Their type.
    pub fn value_type(self) -> ValueType {
        fn of<T: Value>(_: &[T]) -> ValueType {
            T::TYPE
        }
        each_type!(self, v => of(v))
    }

    /// Number of values.
    pub fn len(self) -> usize {
        each_type!(self, v => v.len())
    }

    /// Whether there are no values.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// A part of the values.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[must_use]
    pub fn range(self, range: Range<usize>) -> Self {
        each_type!(self, v => Value::slice(&v[range]))
    }

    /// The values, if they are of this type.
    pub fn of<T: Value>(self) -> Option<&'a [T]> {
        T::among(self)
    }

    /// A value as f64, exactly.
    pub fn get(self, place: usize) -> f64 {
        each_type!(self, v => npy::Element::to_f64(v[place]))
    }

    /// The values as f64, exactly.
    pub fn numbers(self) -> impl Iterator<Item = f64> + 'a {
        (0..self.len()).map(move |place| self.get(place))
    }

    /// A copy.
    pub fn to_vec(self) -> ValueVec {
        each_type!(self, v => Value::vec(v.to_vec()))
    }

    /// The bytes in memory, in the byte order of this machine.
    pub fn bytes(self) -> &'a [u8] {
        each_type!(self, v => bytemuck::cast_slice(v))
    }

    /// Little-endian bytes.
    pub fn le_bytes(self) -> Cow<'a, [u8]> {
        if cfg!(target_endian = "little") {
            return Cow::Borrowed(self.bytes());
        }
        let mut bytes = Vec::new();
        each_type!(self, v => v.iter().for_each(|x| bytes.extend(x.to_le_bytes())));
        Cow::Owned(bytes)
    }

    /// The file of an array of this shape.
    ///
    /// # Errors
    /// As [`npy::write`].
    pub fn write_npy(
        self,
        path: impl AsRef<std::path::Path>,
        shape: &[usize],
    ) -> Result<(), IoError> {
        each_type!(self, v => npy::write(path, shape, v))
    }

    /// An array of an npz file.
    ///
    /// # Errors
    /// As [`NpzWriter::array`](trisolar_io::npz::NpzWriter::array).
    pub fn write_npz(
        self,
        file: &mut trisolar_io::npz::NpzWriter,
        name: &str,
        shape: &[usize],
    ) -> Result<(), IoError> {
        each_type!(self, v => file.array(name, shape, v).map(drop))
    }
}

impl ValueVec {
    /// The values, if they are of this type.
    pub fn of<T: Value>(&self) -> Option<&[T]> {
        T::among(self.as_slice())
    }

    /// The values, if they are of this type.
    pub fn into<T: Value>(self) -> Option<Vec<T>> {
        T::among_owned(self)
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_give_back_the_same_bits() {
        let floats = [0.1, -0.0, f64::NAN, f64::INFINITY, 5e-324];
        let numbers = [0, u32::MAX, 7];
        for values in [ValueSlice::F64(&floats), ValueSlice::U32(&numbers)] {
            let bytes = values.le_bytes();
            assert_eq!(bytes.len(), values.len() * values.value_type().size());
            let back = values.value_type().from_le_bytes(&bytes).expect("whole");
            assert_eq!(back.as_slice().bytes(), values.bytes());
            let cut = &bytes[..bytes.len() - 1];
            assert_eq!(values.value_type().from_le_bytes(cut), None);
        }
    }

    #[test]
    fn values_are_put_where_they_belong() {
        let mut all = ValueType::F64.zeroed(5).expect("memory");
        all.put(1, ValueSlice::F64(&[1.0, 2.0]));
        all.put(4, ValueSlice::F64(&[5.0]));
        assert_eq!(all, ValueVec::F64(vec![0.0, 1.0, 2.0, 0.0, 5.0]));
        assert_eq!(
            all.as_slice().range(1..3).of::<f64>(),
            Some(&[1.0, 2.0][..])
        );
        assert_eq!(all.of::<u32>(), None);
        assert_eq!(ValueType::F64.numpy_type(), "<f8");
    }
}

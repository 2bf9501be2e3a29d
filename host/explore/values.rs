//! Values of pixels, and their type.

/// Values of pixels, row by row, in the type in which the engine computes them.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts, such as steps.
    U32(Vec<u32>),
    /// Quantities with a unit.
    F64(Vec<f64>),
    /// Numbers of classes, each with a quantity.
    Pairs(Vec<[f64; 2]>),
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Pairs(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// No values of this type.
    pub fn none(kind: ValueKind) -> Self {
        Self::zeros(kind, 0)
    }

    /// Adds values of the same type at the end.
    ///
    /// # Panics
    /// If they have another type.
    pub fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::U32(values), Self::U32(more)) => values.extend(more),
            (Self::F64(values), Self::F64(more)) => values.extend(more),
            (Self::Pairs(values), Self::Pairs(more)) => values.extend(more),
            _ => panic!("a quantity has one type"),
        }
    }

    /// Zeros of the same type.
    pub(crate) fn zeros(kind: ValueKind, len: usize) -> Self {
        match kind {
            ValueKind::U32 => Self::U32(vec![0; len]),
            ValueKind::F64 => Self::F64(vec![0.0; len]),
            ValueKind::Pair => Self::Pairs(vec![[0.0; 2]; len]),
        }
    }

    /// The type.
    pub fn kind(&self) -> ValueKind {
        match self {
            Self::U32(_) => ValueKind::U32,
            Self::F64(_) => ValueKind::F64,
            Self::Pairs(_) => ValueKind::Pair,
        }
    }

    /// Little-endian bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::U32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::Pairs(values) => values
                .iter()
                .flatten()
                .flat_map(|v| v.to_le_bytes())
                .collect(),
        }
    }

    /// From little-endian bytes; `None` if their number is not a multiple of the type's size.
    pub(crate) fn from_bytes(kind: ValueKind, bytes: &[u8]) -> Option<Self> {
        let rest = bytes.len() % kind.size();
        (rest == 0).then(|| match kind {
            ValueKind::U32 => {
                let each = bytes.chunks_exact(4);
                Self::U32(
                    each.map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes")))
                        .collect(),
                )
            }
            ValueKind::F64 => Self::F64(numbers(bytes).collect()),
            ValueKind::Pair => {
                let numbers: Vec<f64> = numbers(bytes).collect();
                Self::Pairs(numbers.as_chunks::<2>().0.to_vec())
            }
        })
    }

    /// Copies one value of `from`, which has the same type.
    pub(crate) fn copy(&mut self, to: usize, from: &Self, at: usize) {
        match (self, from) {
            (Self::U32(to_values), Self::U32(values)) => to_values[to] = values[at],
            (Self::F64(to_values), Self::F64(values)) => to_values[to] = values[at],
            (Self::Pairs(to_values), Self::Pairs(values)) => to_values[to] = values[at],
            _ => unreachable!("a quantity has one type"),
        }
    }
}

/// The numbers whose little-endian bytes these are.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = f64> {
    let (each, _) = bytes.as_chunks::<8>();
    each.iter().map(|b| f64::from_le_bytes(*b))
}

/// The type of [`Values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Unsigned 32-bit integers.
    U32,
    /// 64-bit floating-point numbers.
    F64,
    /// Two 64-bit floating-point numbers: the number of a class, and a quantity.
    Pair,
}

impl ValueKind {
    /// The number by which tiles are marked.
    pub fn tag(self) -> u8 {
        match self {
            Self::U32 => 1,
            Self::F64 => 2,
            Self::Pair => 3,
        }
    }

    /// The type that a tag marks.
    pub(crate) fn of_tag(tag: u8) -> Option<Self> {
        [Self::U32, Self::F64, Self::Pair]
            .into_iter()
            .find(|kind| kind.tag() == tag)
    }

    /// Bytes of a value.
    pub fn size(self) -> usize {
        match self {
            Self::U32 => 4,
            Self::F64 => 8,
            Self::Pair => 16,
        }
    }
}

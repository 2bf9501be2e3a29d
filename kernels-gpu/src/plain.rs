//! The types that kernels and host exchange byte by byte.

use cuda_std::Plain;

use crate::device::Body;
use crate::device::fetch::Tile;
use crate::device::steps::Operation;
use crate::encounters::step::Stage;
use crate::encounters::{BodiesStart, Plan, Record};
use crate::number::{DoubleDouble, FastF32, FloatFloat};
use crate::planets;

// SAFETY: the type is repr(C) and consists of integers without padding.
unsafe impl Plain for Tile {}
// SAFETY: the type is repr(transparent).
unsafe impl Plain for FastF32 {}
// SAFETY: the type is repr(C) and consists of two numbers without padding.
unsafe impl Plain for FloatFloat<f32> {}
// SAFETY: as above.
unsafe impl Plain for DoubleDouble<f64> {}
// SAFETY: the type is repr(C) and consists of numbers without padding.
unsafe impl<S: Plain> Plain for Body<S> {}
// SAFETY: as above; its unused field is also a number.
unsafe impl<S: Plain> Plain for Operation<S> {}
// SAFETY: the type is repr(C) and consists of numbers for which every bit pattern is valid.
unsafe impl Plain for Record {}
// SAFETY: as above.
unsafe impl Plain for BodiesStart {}
// SAFETY: as above.
unsafe impl Plain for Plan {}
// SAFETY: the type is repr(C) and consists of two numbers without padding.
unsafe impl Plain for Stage {}
// SAFETY: as above.
unsafe impl Plain for planets::Record {}
// SAFETY: as above.
unsafe impl Plain for planets::Plan {}
// SAFETY: the type is repr(C) and consists of `f64` numbers.
unsafe impl<const N: usize> Plain for planets::System<f64, N> {}
// SAFETY: as above.
unsafe impl Plain for planets::Notes<f64> {}

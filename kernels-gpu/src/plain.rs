//! What kernels and host exchange byte by byte.

use cuda_std::Plain;

use crate::device::Body;
use crate::device::fetch::Tile;
use crate::device::steps::Operation;
use crate::encounters::{BodiesStart, Plan, Record};
use crate::integrator::ExplicitEuler;
use crate::lanes::Item;
use crate::number::{FastF32, FloatFloat};
use crate::quantity::{Divergence, Quantity};

// SAFETY: repr(C) of integers without padding.
unsafe impl Plain for Tile {}
// SAFETY: repr(C) of 24 f64 and two u32 without padding; any bits of them are numbers.
unsafe impl Plain for Item<<Divergence as Quantity>::State<f64, ExplicitEuler>> {}
// SAFETY: repr(transparent).
unsafe impl Plain for FastF32 {}
// SAFETY: repr(C) of two numbers, without padding.
unsafe impl Plain for FloatFloat<f32> {}
// SAFETY: repr(C) of numbers, without padding.
unsafe impl<S: Plain> Plain for Body<S> {}
// SAFETY: as above; its unused field is a number too.
unsafe impl<S: Plain> Plain for Operation<S> {}
// SAFETY: repr(C) of numbers of which every bit pattern is a value.
unsafe impl Plain for Record {}
// SAFETY: as above.
unsafe impl Plain for BodiesStart {}
// SAFETY: as above.
unsafe impl Plain for Plan {}

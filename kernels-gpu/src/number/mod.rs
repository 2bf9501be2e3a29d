//! The numbers that physics is computed in: one trait, [`Real`], and a file for each number that implements it.
//!
//! | precision | number | state | r⁻³ | CPU and GPU |
//! |---|---|---|---|---|
//! | `f64` | `f64` | `f64` | `f64`, [`inv_cube`] | equal bits |
//! | `fast` | [`Fast`] | `f64` | `f64`, seeded by the GPU's approximate reciprocal root | equal to within rounding |
//! | `mixed` | [`Mixed`] | `f64` | `f32` | equal bits |
//! | `f32` of maps | `f32` | `f32` | `f32` | equal bits |
//! | `f32` of N-body runs on GPUs | [`FastF32`] | `f32` | the GPU's approximate reciprocal root | equal to within rounding |
//! | `fixed` | [`Fixed`] | 64-bit integers | `f64` | equal bits |
//! | `float-float` | [`FloatFloat`] | a sum of two `f32` | float-float, seeded in `f32` | equal bits |
//!
//! The CPU's vectors of `f64` and `f32` implement the trait too. They live with the instruction sets of the host; the wrappers above
//! are generic over them.

use core::ops::{Add, Mul, Neg, Sub};

mod f32;
mod f64;
mod fast;
mod fast_f32;
mod fixed;
mod float_float;
pub mod inv_cube;
mod mixed;

pub use self::f32::{GUESS, Single, fma_f32};
pub use self::f64::fma;
pub use fast::Fast;
pub use fast_f32::FastF32;
pub use fixed::{FRACTION_BITS, Fixed};
pub use float_float::FloatFloat;
pub use mixed::Mixed;

/// Data of several lanes side by side. What belongs to one lane can be taken out and replaced.
pub trait PerLane: Copy {
    /// The same data of a single lane.
    type One: Copy;

    /// The same data in every lane.
    fn spread(one: &Self::One) -> Self;
    /// The data of one lane.
    fn lane(&self, lane: usize) -> Self::One;
    /// Replaces one lane by the same lane of `from`.
    fn set_lane(&mut self, lane: usize, from: &Self);
}

impl<T: PerLane, const N: usize> PerLane for [T; N] {
    type One = [T::One; N];

    #[inline(always)]
    fn spread(one: &Self::One) -> Self {
        one.each_ref().map(T::spread)
    }

    #[inline(always)]
    fn lane(&self, lane: usize) -> Self::One {
        self.each_ref().map(|x| x.lane(lane))
    }

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: &Self) {
        let mut i = 0;
        while i < N {
            self[i].set_lane(lane, &from[i]);
            i += 1;
        }
    }
}

/// A real number, or several that go through the same operations side by side, one in each lane.
///
/// Every operation is correctly rounded IEEE arithmetic or made of such operations in a fixed order, so that a computation has the
/// same bits wherever it runs. ([`Fast`] and [`FastF32`] are the exceptions, on GPUs.)
pub trait Real:
    PerLane<One = <Self as Real>::Lane>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// The number of a single lane.
    type Lane: Real;

    /// How many numbers there are side by side.
    const LANES: usize;

    /// Whether the inverse cubes of several numbers are cheaper computed together than one after the other.
    const TOGETHER: bool;

    /// Whether all-pairs sums put a [floor](crate::nbody::scalar::softening_floor_f32) under the softening length, so that r² = 0 does
    /// not occur in them.
    const HAS_SOFTENING_FLOOR: bool;

    /// The answer of a comparison: a `bool`, or one for each lane.
    type Mask: Mask;

    /// The nearest number to `x`, in every lane.
    fn from_f64(x: f64) -> Self;

    /// The nearest `f64` to the number in a lane.
    fn to_f64(self, lane: usize) -> f64;

    /// +0.
    #[inline(always)]
    fn zero() -> Self {
        Self::from_f64(0.0)
    }

    /// The number itself, computed here rather than later: on a GPU a postponed sum keeps both of its terms in
    /// registers.
    #[inline(always)]
    fn now(self) -> Self {
        self
    }

    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// `self <= other`; false where either is NaN.
    fn at_most(self, other: Self) -> Self::Mask;

    /// `yes` in the lanes where `mask` holds, `no` in the others.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// r⁻³ for `self` = r². The documentation of each number says which range and accuracy it has.
    fn inv_cube(self) -> Self;

    /// [`inv_cube`](Self::inv_cube) of several numbers, which are tested together for needing a slow path.
    #[inline(always)]
    fn inv_cubes<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut w = r2;
        each!(K, |k| w[k] = r2[k].inv_cube());
        w
    }

    /// r⁻³ for `self` = r², but 0 for r² = 0: neither a body nor two bodies in the same place pull themselves or each other.
    fn inv_cube_or_zero(self) -> Self;

    /// [`inv_cube_or_zero`](Self::inv_cube_or_zero) of several numbers, which are tested together for needing a slow path.
    #[inline(always)]
    fn inv_cubes_or_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut w = r2;
        each!(K, |k| w[k] = r2[k].inv_cube_or_zero());
        w
    }
}

/// The answer of a comparison, lane by lane.
pub trait Mask: Copy {
    /// Whether it holds in every lane.
    fn all(self) -> bool;
    /// Whether it holds in `lane`.
    fn lane(self, lane: usize) -> bool;
}

impl Mask for bool {
    #[inline(always)]
    fn all(self) -> bool {
        self
    }
    #[inline(always)]
    fn lane(self, _lane: usize) -> bool {
        self
    }
}

/// The most numbers that functions of several numbers can be given.
pub const MOST_TOGETHER: usize = 8;

/// Evaluates an expression for each number below a constant, which is at most [`MOST_TOGETHER`]. The repetitions are written out, so
/// that arrays indexed by the number stay in a GPU's registers whether or not LLVM unrolls loops. (A closure would not do: it might not
/// be inlined into a function with a CPU's vector instructions.)
macro_rules! each {
    ($count:expr, |$k:ident| $what:expr) => {
        const { assert!($count <= $crate::number::MOST_TOGETHER) };
        $crate::number::each!(@ $count, $k, $what, 0 1 2 3 4 5 6 7);
    };
    (@ $count:expr, $k:ident, $what:expr, $($number:literal)*) => {$(
        if $count > $number {
            let $k: usize = $number;
            $what;
        }
    )*};
}
pub(crate) use each;

/// [`PerLane`] of a number that is alone in its type.
macro_rules! single_lane {
    ($($name:ty),*) => {$(
        impl $crate::number::PerLane for $name {
            type One = Self;
            #[inline(always)]
            fn spread(one: &Self) -> Self {
                *one
            }
            #[inline(always)]
            fn lane(&self, _lane: usize) -> Self {
                *self
            }
            #[inline(always)]
            fn set_lane(&mut self, _lane: usize, from: &Self) {
                *self = *from;
            }
        }
    )*};
}
use single_lane;

/// Sums, products and the sign of a wrapper, by those of the number it wraps.
macro_rules! forward {
    ($name:ident $(<$v:ident: $bound:path>)?) => {
        impl$(<$v: $bound>)? core::ops::Add for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                Self(self.0 + o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Sub for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                Self(self.0 - o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Mul for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                Self(self.0 * o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Neg for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
    };
}
use forward;

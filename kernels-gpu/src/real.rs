//! The scalar of the physics: one trait that a GPU thread's `f64`, a CPU vector of them, or a number of another
//! precision can be.

use core::ops::{Add, Mul, Neg, Sub};

use crate::inv_cube;

/// A real number, or several that go through the same operations side by side ([`Lanes`]).
///
/// Every operation is correctly rounded IEEE arithmetic or made of such operations in a fixed order, so that a
/// computation has the same bits wherever it runs.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// The answer of a comparison: a `bool`, or one for each lane.
    type Mask: Mask;

    /// The nearest number to `x`, in every lane.
    fn from_f64(x: f64) -> Self;

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

    /// r⁻³ for `self` = r². See [`crate::inv_cube`] for range and accuracy.
    fn inv_cube(self) -> Self;

    /// [`inv_cube`](Self::inv_cube) of two numbers: the test for values that need the slow path is made once for both.
    #[inline(always)]
    fn inv_cube_two(r2: [Self; 2]) -> [Self; 2] {
        [r2[0].inv_cube(), r2[1].inv_cube()]
    }

    /// [`inv_cube`](Self::inv_cube) of the squared distances of twin three-body systems: the test for values that
    /// need the slow path is made once for all six.
    #[inline(always)]
    fn inv_cubes(r2: [Self; 6]) -> [Self; 6] {
        // Spelled out: an iterator would put the numbers into a GPU's local memory.
        let [a, b, c, d, e, f] = r2;
        [
            a.inv_cube(),
            b.inv_cube(),
            c.inv_cube(),
            d.inv_cube(),
            e.inv_cube(),
            f.inv_cube(),
        ]
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

/// A [`Real`] of a fixed number of lanes, each of which can be replaced.
pub trait Lanes: Real {
    /// How many numbers there are side by side.
    const COUNT: usize;
    /// Replaces one lane by the same lane of `from`.
    fn set_lane(&mut self, lane: usize, from: Self);
}

impl Real for f64 {
    type Mask = bool;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn now(self) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let mut x = self;
            // SAFETY: no instruction at all; the register only has to hold the number at this point.
            unsafe { core::arch::asm!("/* {0} */", inout(reg64) x, options(nomem, nostack)) };
            x
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self
        }
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma(self, a, b)
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self <= other
    }

    #[inline(always)]
    fn inv_cube(self) -> Self {
        inv_cube::inv_cube(self)
    }

    #[inline(always)]
    fn inv_cube_two(r2: [Self; 2]) -> [Self; 2] {
        inv_cube::inv_cube_two(r2)
    }

    #[inline(always)]
    fn inv_cubes(r2: [Self; 6]) -> [Self; 6] {
        inv_cube::inv_cubes(r2)
    }
}

impl Lanes for f64 {
    const COUNT: usize = 1;

    #[inline(always)]
    fn set_lane(&mut self, _lane: usize, from: Self) {
        *self = from;
    }
}

/// `a · b + c` rounded once: fma.rn.f64 on a GPU, the FMA instruction or its software equivalent on a CPU.
#[inline(always)]
pub fn fma(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f64::math::mul_add(a, b, c)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        f64::mul_add(a, b, c)
    }
}

/// [`fma`] of `f32`.
#[inline(always)]
pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f32::math::mul_add(a, b, c)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        f32::mul_add(a, b, c)
    }
}

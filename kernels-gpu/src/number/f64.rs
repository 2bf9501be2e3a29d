//! `f64` as a [`Real`], the default arithmetic, which has the same bits on every machine.

use super::inv_cube::{self, Seeded};
use super::{Bits, Precision, Real, Single, each, one_lane, single_lane};

single_lane!(f64);

impl Real for f64 {
    const TOGETHER: bool = true;
    const HAS_SOFTENING_FLOOR: bool = false;
    one_lane!();

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn to_f64(self, _lane: usize) -> f64 {
        self
    }

    #[inline(always)]
    fn now(self) -> Self {
        super::known_here!(reg64, self)
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma(self, a, b)
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self <= other
    }

    /// See [`inv_cube`](mod@super::inv_cube) for range and accuracy.
    #[inline(always)]
    fn inv_cube(self) -> Self {
        inv_cube::inv_cube(self)
    }

    #[inline(always)]
    fn step_root(self) -> f64 {
        self.reciprocal_root()
    }

    #[inline(always)]
    fn step_quotient(self, h: f64) -> f64 {
        self.divides(h)
    }

    #[inline(always)]
    fn over_root_exponent(self, h: f64) -> f64 {
        let j = (self.to_bits() >> 53).wrapping_sub(511) << 52;
        f64::from_bits(h.to_bits().wrapping_sub(j))
    }

    #[inline(always)]
    fn inv_cubes<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut w = r2;
        if Self::all_ordinary(&r2) {
            each!(K, |k| w[k] = inv_cube::ordinary(r2[k]));
        } else {
            each!(K, |k| w[k] = inv_cube::inv_cube(r2[k]));
        }
        w
    }

    #[inline(always)]
    fn inv_cubes_if_ordinary<const K: usize>(r2: [Self; K], ranges: &mut u32) -> [Self; K] {
        let mut w = r2;
        each!(K, |k| {
            *ranges |= inv_cube::range(r2[k]);
            w[k] = inv_cube::ordinary(r2[k]);
        });
        w
    }

    #[inline(always)]
    fn were_ordinary(ranges: u32) -> bool {
        inv_cube::are_ordinary(ranges)
    }

    #[inline(always)]
    fn inv_cube_or_zero(self) -> Self {
        inv_cube::inv_cube_or_zero(self)
    }

    #[inline(always)]
    fn inv_cubes_or_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut w = r2;
        let ordinary = Self::all_ordinary(&r2);
        let mut k = 0;
        if ordinary {
            while k < K {
                w[k] = inv_cube::ordinary(r2[k]);
                k += 1;
            }
        } else {
            while k < K {
                w[k] = inv_cube::inv_cube_or_zero(r2[k]);
                k += 1;
            }
        }
        w
    }
}

impl Precision for f64 {
    const NAME: &'static str = "f64";
    const HELP: &'static str = "64 bits, IEEE; the reference";
    const FORMER_NAMES: &'static [&'static str] = &["exact"];
    type OnLanes<D: Seeded, S: Single> = D;
}

/// The square root, correctly rounded.
#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f64::math::sqrt(x)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        x.sqrt()
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

/// a/b, correctly rounded. On a GPU it is one function instead of a copy of the division at each use.
#[cfg_attr(target_arch = "nvptx64", inline(never))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(always))]
pub fn divide(a: f64, b: f64) -> f64 {
    a / b
}

/// √x, correctly rounded. On a GPU it is one function instead of a copy of the root at each use.
#[cfg_attr(target_arch = "nvptx64", inline(never))]
#[cfg_attr(not(target_arch = "nvptx64"), inline(always))]
pub fn root(x: f64) -> f64 {
    sqrt(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_test_finds_what_the_loop_could_not_compute() {
        let ordinary = [5.5e-20, 1.0, 1.8e19];
        let mut ranges = 0;
        let found = f64::inv_cubes_if_ordinary(ordinary, &mut ranges);
        assert!(f64::were_ordinary(ranges));
        assert_eq!(found, f64::inv_cubes(ordinary));
        for other in [0.0, 5.4e-20, 1.9e19, f64::INFINITY, f64::NAN, -1.0] {
            let mut ranges = 0;
            f64::inv_cubes_if_ordinary([1.0, other], &mut ranges);
            f64::inv_cubes_if_ordinary([2.0, 3.0], &mut ranges);
            assert!(!f64::were_ordinary(ranges), "{other}");
        }
    }
}

//! State and sums in `f64` and r⁻³ in `f32`, after the single-precision square root in Badger's study.

use super::inv_cube::{Seeded, ordinary_single};
use super::{Precision, Real, Single, each, forward, per_lane};

/// `V` (`f64`, or lanes of it) with r⁻³ in the precision of `f32`, with a relative error below 3.16 · 2⁻²³. Values of r² outside the
/// ordinary range of [`inv_cube`](mod@super::inv_cube) take the slow path of `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Mixed<V>(pub V);

forward!(Mixed<V: Seeded>);

per_lane!(Mixed<V> { 0 });

impl<V: Seeded> Real for Mixed<V> {
    type Lane = Mixed<V::Alone>;
    const TOGETHER: bool = true;
    const HAS_SOFTENING_FLOOR: bool = false;
    crate::own_constants_and_forces!(as V);

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        Self(V::from_f64(x))
    }

    #[inline(always)]
    fn to_f64(self, lane: usize) -> f64 {
        self.0.to_f64(lane)
    }

    #[inline(always)]
    fn now(self) -> Self {
        Self(self.0.now())
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(self.0.mul_add(a.0, b.0))
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> V::Mask {
        self.0.at_most(other.0)
    }

    #[inline(always)]
    fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
        Self(V::select(mask, yes.0, no.0))
    }

    #[inline(always)]
    fn inv_cube(self) -> Self {
        Self::inv_cubes([self])[0]
    }

    #[inline(always)]
    fn inv_cubes<const K: usize>(r2: [Self; K]) -> [Self; K] {
        each_or_by_lane(r2, inv_cube_of_one)
    }

    #[inline(always)]
    fn inv_cube_or_zero(self) -> Self {
        Self::inv_cubes_or_zero([self])[0]
    }

    #[inline(always)]
    fn inv_cubes_or_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
        each_or_by_lane(r2, inv_cube_or_zero_of_one)
    }
}

/// r⁻³ of each number if all are ordinary; otherwise applies `slow` to each lane of each number.
#[inline(always)]
fn each_or_by_lane<V: Seeded, const K: usize>(
    r2: [Mixed<V>; K],
    slow: fn(f64) -> f64,
) -> [Mixed<V>; K] {
    let mut bare = [r2[0].0; K];
    each!(K, |k| bare[k] = r2[k].0);
    if V::all_ordinary(&bare) {
        each!(K, |k| bare[k] = ordinary_single(bare[k]));
    } else {
        bare = V::by_lane(bare, slow);
    }
    let mut w = r2;
    each!(K, |k| w[k] = Mixed(bare[k]));
    w
}

/// Each number takes the path of its own size, so that other lanes and other pairs do not affect the result.
fn inv_cube_of_one(r2: f64) -> f64 {
    if f64::all_ordinary(&[r2]) {
        ordinary_single(r2)
    } else {
        r2.inv_cube()
    }
}

/// The same as [`inv_cube_of_one`], except that the result is 0 for 0.
fn inv_cube_or_zero_of_one(r2: f64) -> f64 {
    if r2 == 0.0 { 0.0 } else { inv_cube_of_one(r2) }
}

impl Precision for Mixed<f64> {
    const NAME: &'static str = "mixed";
    const HELP: &'static str = "64 bits with a 32-bit root; 1.1 times as fast as f64 on an H200, noisy where pixels are closer than 1e-3";
    type OnLanes<D: Seeded, S: Single> = Mixed<D>;
}

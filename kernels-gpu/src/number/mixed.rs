//! State and sums in `f64`, r⁻³ in `f32`: the source document's single-precision square root.

use super::forward;
use crate::inv_cube::{Seeded, ordinary_single};
use crate::{Lanes, Real};

/// `V` (`f64`, or lanes of it) with r⁻³ of `f32` precision: to within 3 units in the 24th bit. r² outside the ordinary range
/// of [`inv_cube`](crate::inv_cube) take the slow path of exact mode.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Mixed<V>(pub V);

forward!(Mixed<V: Seeded>);

impl<V: Seeded> Real for Mixed<V> {
    type Mask = V::Mask;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        Self(V::from_f64(x))
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
    fn inv_cube(self) -> Self {
        Self::inv_cubes([self; 6])[0]
    }

    #[inline(always)]
    fn inv_cubes(r2: [Self; 6]) -> [Self; 6] {
        let [a, b, c, d, e, f] = r2;
        let r2 = [a.0, b.0, c.0, d.0, e.0, f.0];
        let [a, b, c, d, e, f] = if V::six_ordinary(&r2) {
            [
                ordinary_single(r2[0]),
                ordinary_single(r2[1]),
                ordinary_single(r2[2]),
                ordinary_single(r2[3]),
                ordinary_single(r2[4]),
                ordinary_single(r2[5]),
            ]
        } else {
            V::six_by_lane(r2, inv_cube_of_one)
        };
        [Self(a), Self(b), Self(c), Self(d), Self(e), Self(f)]
    }
}

/// Each number goes its own way: what is in other lanes, or in other pairs, does not show.
fn inv_cube_of_one(r2: f64) -> f64 {
    if f64::six_ordinary(&[r2; 6]) {
        ordinary_single(r2)
    } else {
        r2.inv_cube()
    }
}

impl<V: Seeded + Lanes> Lanes for Mixed<V> {
    const COUNT: usize = V::COUNT;

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: Self) {
        self.0.set_lane(lane, from.0);
    }
}

//! Closest approach: the least distance of any two of the three bodies at the start and at the end of every step. Bodies that coincide
//! have the distance 0. Without softening, their motion afterwards is undefined: if a coordinate becomes NaN, the pixel ends with the
//! least distance up to then.

use super::{Observable, Scale, System};
use crate::Real;
use crate::map::Masses;
use crate::number::sqrt;

/// The least distance of any two bodies (length).
#[derive(Clone, Copy, Debug)]
pub struct ClosestApproach;

impl Observable for ClosestApproach {
    const NAME: &'static str = "closest-approach";
    const LABEL: &'static str = "closest approach of two bodies";
    const UNIT: &'static str = "length";
    const SCALE: Scale = Scale::Logarithmic;
    const HELP: &'static str = "least distance of any two bodies during the run";
    type Terms<R: Real> = [R; 0];
    /// The least squared distance so far, and the current one of bodies 1 and 2, which is NaN if any coordinate is NaN.
    type Memory<R: Real> = [R; 2];

    #[inline(always)]
    fn terms<R: Real>(_: &Masses) -> [R; 0] {
        []
    }

    #[inline(always)]
    fn empty<R: Real>() -> [R; 2] {
        [R::from_f64(f64::INFINITY); 2]
    }

    #[inline(always)]
    fn observe<R: Real>([least2, present2]: &mut [R; 2], system: &impl System<R>, _: &[R; 0]) {
        let (q, zero) = (system.positions(), R::zero());
        let [a, b] = [q.a.norm2_plus(zero), q.b.norm2_plus(zero)];
        *present2 = (q.b - q.a).norm2_plus(zero);
        let least = |x: R, y: R| R::select(x.at_most(y), x, y);
        let now = least(least(a, b), *present2);
        // If a coordinate is NaN, `present2` is NaN and `least2` does not change.
        let is_finite = present2.at_most(R::from_f64(f64::INFINITY));
        *least2 = least(R::select(is_finite, now, *least2), *least2).now();
    }

    #[inline(always)]
    fn goes_on<R: Real>([_, present2]: &[R; 2]) -> R::Mask {
        present2.at_most(R::from_f64(f64::INFINITY))
    }

    #[inline(always)]
    fn value<R: Real>([least2, _]: &[R; 2], _: f64) -> f64 {
        sqrt(least2.to_f64(0))
    }
}

//! Greatest speed: that of any of the three bodies relative to their centre of mass, at the start and at the end of every step. If a
//! coordinate becomes NaN, the pixel ends with the greatest speed up to then.

use super::{Observable, Scale, System};
use crate::map::Masses;
use crate::number::sqrt;
use crate::{Real, Vec3};

/// The greatest speed of any body relative to the centre of mass (length / time).
#[derive(Clone, Copy, Debug)]
pub struct GreatestSpeed;

impl Observable for GreatestSpeed {
    const NAME: &'static str = "greatest-speed";
    const LABEL: &'static str = "greatest speed of a body";
    const UNIT: &'static str = "length / time";
    const SCALE: Scale = Scale::Logarithmic;
    const HELP: &'static str = "greatest speed of any body in the frame of the centre of mass";
    /// -m₁/M and -m₂/M.
    type Terms<R: Real> = [R; 2];
    /// The greatest squared speed so far, and the current one of the grid body, which is NaN if any coordinate is (lengths per step).
    type Memory<R: Real> = [R; 2];

    #[inline(always)]
    fn terms<R: Real>(masses: &Masses) -> [R; 2] {
        let [first, second] = masses.criterion.minus_weights;
        [R::from_f64(first), R::from_f64(second)]
    }

    #[inline(always)]
    fn empty<R: Real>() -> [R; 2] {
        [R::zero(); 2]
    }

    #[inline(always)]
    fn observe<R: Real>([greatest2, present2]: &mut [R; 2], system: &impl System<R>, m: &[R; 2]) {
        let (u, zero) = (system.steps(), R::zero());
        let grid_body = Vec3::zero().add_scaled(m[0], u.a).add_scaled(m[1], u.b);
        let (a, b) = (grid_body + u.a, grid_body + u.b);
        let [a, b] = [a.norm2_plus(zero), b.norm2_plus(zero)];
        *present2 = grid_body.norm2_plus(zero);
        // A comparison with NaN is false, so that NaN does not count.
        let greater = |x: R, y: R| R::select(y.at_most(x), x, y);
        *greatest2 = greater(greater(greater(a, b), *present2), *greatest2).now();
    }

    #[inline(always)]
    fn goes_on<R: Real>([_, present2]: &[R; 2]) -> R::Mask {
        present2.at_most(R::from_f64(f64::INFINITY))
    }

    #[inline(always)]
    fn value<R: Real>([greatest2, _]: &[R; 2], dt: f64) -> f64 {
        sqrt(greatest2.to_f64(0)) / dt
    }
}

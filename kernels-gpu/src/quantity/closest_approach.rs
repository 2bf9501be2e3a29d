//! Closest approach: the least distance of any two of the three bodies at the start and at the end of every step. Bodies that coincide
//! have the distance 0. Without softening, their motion afterwards is undefined: if a coordinate becomes NaN, the pixel ends with the
//! least distance up to then.

use super::{Quantity, Scale};
use crate::Real;
use crate::integrator::MapIntegrator;
use crate::map::{Job, Masses, Point};
use crate::number::{per_lane, sqrt};
use crate::physics::three_body::Relative;

/// The least distance of any two bodies (length).
#[derive(Clone, Copy, Debug)]
pub struct ClosestApproach;

/// A system, and the least distance of its bodies so far.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Approaching<S, R> {
    /// The system.
    pub system: S,
    /// The least squared distance of any two bodies so far.
    pub least2: R,
    /// The current squared distance of bodies 1 and 2, which is NaN if any coordinate is NaN.
    pub present2: R,
}

per_lane!(Approaching<S, R> { system, least2, present2 });

impl<S, R: Real> Approaching<S, R> {
    /// Updates the least distance with the current positions.
    #[inline(always)]
    fn observe(&mut self, q: &Relative<R>) {
        let zero = R::zero();
        let [a, b] = [q.a.norm2_plus(zero), q.b.norm2_plus(zero)];
        self.present2 = (q.b - q.a).norm2_plus(zero);
        let least = |x: R, y: R| R::select(x.at_most(y), x, y);
        let now = least(least(a, b), self.present2);
        // If a coordinate is NaN, `present2` is NaN and `least2` does not change.
        let nearer = R::select(
            self.present2.at_most(R::from_f64(f64::INFINITY)),
            now,
            self.least2,
        );
        self.least2 = least(nearer, self.least2).now();
    }
}

impl Quantity for ClosestApproach {
    const NAME: &'static str = "closest-approach";
    const LABEL: &'static str = "closest approach of two bodies";
    const UNIT: &'static str = "length";
    const SCALE: Scale = Scale::Logarithmic;
    const HELP: &'static str = "least distance of any two bodies during the run";
    type Value = f64;
    const STRIDE: u32 = 1;
    type Number<R: Real> = R;
    type Terms<R: Real> = [R; 0];
    type State<R: Real, I: MapIntegrator> = Approaching<I::State<R>, R>;

    #[inline(always)]
    fn terms<R: Real>(_: &Masses) -> [R; 0] {
        []
    }

    #[inline(always)]
    fn begin<R: Real, I: MapIntegrator>(
        point: &Point,
        job: &Job,
        masses: &I::Masses<R>,
    ) -> Self::State<R, I> {
        let start = point.start(job.dt);
        let far = R::from_f64(f64::INFINITY);
        let mut s = Approaching {
            system: I::begin(&start, masses),
            least2: far,
            present2: far,
        };
        s.observe(&start.positions);
        s
    }

    #[inline(always)]
    fn goes_on<R: Real, I: MapIntegrator>(s: &Self::State<R, I>, _: &[R; 0]) -> R::Mask {
        s.present2.at_most(R::from_f64(f64::INFINITY))
    }

    #[inline(always)]
    fn start<R: Real, I: MapIntegrator>(
        s: &mut Self::State<R, I>,
        job: &Job,
        masses: &I::Masses<R>,
    ) {
        I::start(&mut s.system, job.first_steps, masses);
        let q = I::positions(&s.system);
        s.observe(&q);
    }

    #[inline(always)]
    fn step<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, masses: &I::Masses<R>) {
        I::step([&mut s.system], masses);
        let q = I::positions(&s.system);
        s.observe(&q);
    }

    #[inline(always)]
    fn value<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        _: u32,
        _: &Job,
        _: &I::Masses<R>,
    ) -> f64 {
        sqrt(s.least2.to_f64(0))
    }
}

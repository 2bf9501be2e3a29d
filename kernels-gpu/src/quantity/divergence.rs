//! Divergence: the number of steps at whose beginning the grid bodies of twins are within the critical distance of each other.

use super::{Quantity, Scale};
use crate::integrator::MapIntegrator;
use crate::map::{DivergenceCriterion, Job, Masses, Point, Start};
use crate::physics::three_body::Relative;
use crate::{PerLane, Real};

/// The number of steps until a trajectory and that of a slightly shifted twin part; all steps if they never do.
#[derive(Clone, Copy, Debug)]
pub struct Divergence;

/// A system and its twin.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Twins<S> {
    /// The system.
    pub a: S,
    /// The system with the grid body shifted.
    pub b: S,
}

impl<S: PerLane> PerLane for Twins<S> {
    type One = Twins<S::One>;

    #[inline(always)]
    fn spread(one: &Self::One) -> Self {
        Self {
            a: S::spread(&one.a),
            b: S::spread(&one.b),
        }
    }

    #[inline(always)]
    fn lane(&self, lane: usize) -> Self::One {
        Twins {
            a: self.a.lane(lane),
            b: self.b.lane(lane),
        }
    }

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: &Self) {
        self.a.set_lane(lane, &from.a);
        self.b.set_lane(lane, &from.b);
    }
}

impl Quantity for Divergence {
    const NAME: &'static str = "divergence";
    const LABEL: &'static str = "time left when the twins part";
    const UNIT: &'static str = "steps";
    const SCALE: Scale = Scale::Linear;
    const HELP: &'static str = "steps until the system and its slightly shifted twin part";
    const COUNTS_STEPS: bool = true;
    const HAS_TWINS: bool = true;
    type Value = u32;
    // The value is a number of steps, so it does not matter what the twins do in one step more.
    const STRIDE: u32 = 2;
    type Number<R: Real> = R;
    type Terms<R: Real> = DivergenceCriterion<R>;
    type State<R: Real, I: MapIntegrator> = Twins<I::State<R>>;

    #[inline(always)]
    fn terms<R: Real>(masses: &Masses) -> DivergenceCriterion<R> {
        masses.criterion.convert()
    }

    #[inline(always)]
    fn begin<R: Real, I: MapIntegrator>(
        point: &Point,
        job: &Job,
        masses: &I::Masses<R>,
    ) -> Self::State<R, I> {
        let start = point.start(job.dt);
        let twin = Start {
            positions: Relative::from_bodies(&point.shifted(job.shift).positions).convert(),
            ..start
        };
        Twins {
            a: I::begin(&start, masses),
            b: I::begin(&twin, masses),
        }
    }

    /// Whether the two grid bodies are within the critical distance; false if either position is NaN.
    #[inline(always)]
    fn goes_on<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        terms: &DivergenceCriterion<R>,
    ) -> R::Mask {
        let (p, q) = (I::positions(&s.a), I::positions(&s.b));
        let d = terms
            .centre
            .add_scaled(terms.minus_weights[0], p.a - q.a)
            .add_scaled(terms.minus_weights[1], p.b - q.b);
        d.norm2_plus(R::from_f64(0.0)).at_most(terms.critical2)
    }

    #[inline(always)]
    fn start<R: Real, I: MapIntegrator>(
        s: &mut Self::State<R, I>,
        job: &Job,
        masses: &I::Masses<R>,
    ) {
        // Both systems share one copy of the code, which is large and rarely runs.
        let mut systems = 2;
        while systems > 0 {
            I::start(&mut s.a, job.first_steps, masses);
            core::mem::swap(&mut s.a, &mut s.b);
            systems -= 1;
        }
    }

    #[inline(always)]
    fn step<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, masses: &I::Masses<R>) {
        I::step([&mut s.a, &mut s.b], masses);
    }

    #[inline(always)]
    fn value<R: Real, I: MapIntegrator>(
        _: &Self::State<R, I>,
        counted: u32,
        _: &Job,
        _: &I::Masses<R>,
    ) -> u32 {
        counted
    }
}

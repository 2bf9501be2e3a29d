//! Divergence: the number of steps at whose beginning the grid bodies of twins are within the critical distance of each other.

use super::{ContextOf, Quantity, Scale};
use crate::Real;
use crate::integrator::{MapIntegrator, TwinState as _};
use crate::map::{DivergenceCriterion, Masses, Point};

/// The number of steps until a trajectory and that of a slightly shifted twin part; all steps if they never do.
#[derive(Clone, Copy, Debug)]
pub struct Divergence;

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
    type State<R: Real, I: MapIntegrator> = I::Twins<R>;

    #[inline(always)]
    fn terms<R: Real>(masses: &Masses) -> DivergenceCriterion<R> {
        masses.criterion.convert()
    }

    #[inline(always)]
    fn begin<R: Real, I: MapIntegrator>(
        point: &Point,
        c: ContextOf<'_, Self, I, R>,
    ) -> Self::State<R, I> {
        let [start, twin] = point.twins(c.dt(), c.shift());
        I::Twins::begin([&start, &twin], c)
    }

    /// Whether the two grid bodies are within the critical distance; false if either position is NaN.
    #[inline(always)]
    fn goes_on<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        c: ContextOf<'_, Self, I, R>,
    ) -> R::Mask {
        s.are_together(c)
    }

    #[inline(always)]
    fn start<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, c: ContextOf<'_, Self, I, R>) {
        s.start(c);
    }

    #[inline(always)]
    fn step<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, c: ContextOf<'_, Self, I, R>) {
        s.step(c);
    }

    #[inline(always)]
    fn value<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        counted: u32,
        c: ContextOf<'_, Self, I, R>,
    ) -> u32 {
        s.steps_together(counted, c)
    }
}

//! A system and its twin under way, as the divergence of a map follows them.

use core::fmt::Debug;

use super::MapIntegrator;
use crate::map::{Context, DivergenceCriterion, Start};
use crate::number::per_lane;
use crate::{PerLane, Real};

/// A system and its twin.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Twins<S> {
    /// The system.
    pub a: S,
    /// The system with the grid body shifted.
    pub b: S,
}

per_lane!(Twins<S> { a, b });

/// What a system and its twin know about their pixel, for the integrator `I`.
pub type TwinContext<'a, R, I> =
    Context<'a, <I as MapIntegrator>::Masses<R>, DivergenceCriterion<R>>;

/// A system and its twin, followed by the integrator `I`. An integrator whose steps do not depend on the state uses [`Twins`].
pub trait TwinState<R: Real, I: MapIntegrator>: PerLane + Debug {
    /// The system and its twin at their starts.
    fn begin(starts: [&Start<R>; 2], c: TwinContext<'_, R, I>) -> Self;

    /// Whether another step is needed: the two grid bodies are within the critical distance; false if either position is NaN.
    fn are_together(&self, c: TwinContext<'_, R, I>) -> R::Mask;

    /// Takes one of the first steps of a multistep method.
    fn start(&mut self, c: TwinContext<'_, R, I>);

    /// Takes a step.
    fn step(&mut self, c: TwinContext<'_, R, I>);

    /// Number of the map's steps that began with the twins together, after `counted` steps of the integrator.
    #[inline(always)]
    fn steps_together(&self, counted: u32, c: TwinContext<'_, R, I>) -> u32 {
        let _ = c;
        counted
    }
}

impl<R: Real, I: MapIntegrator> TwinState<R, I> for Twins<I::State<R>> {
    #[inline(always)]
    fn begin([a, b]: [&Start<R>; 2], c: TwinContext<'_, R, I>) -> Self {
        Self {
            a: I::begin(a, c.masses),
            b: I::begin(b, c.masses),
        }
    }

    #[inline(always)]
    fn are_together(&self, c: TwinContext<'_, R, I>) -> R::Mask {
        let criterion = c.terms;
        let (p, q) = (I::positions(&self.a), I::positions(&self.b));
        let d = criterion
            .centre
            .add_scaled(criterion.minus_weights[0], p.a - q.a)
            .add_scaled(criterion.minus_weights[1], p.b - q.b);
        d.norm2_plus(R::from_f64(0.0)).at_most(criterion.critical2)
    }

    #[inline(always)]
    fn start(&mut self, c: TwinContext<'_, R, I>) {
        // Both systems share one copy of the code, which is large and rarely runs.
        let mut systems = 2;
        while systems > 0 {
            I::start(&mut self.a, c.first_steps(), c.masses);
            core::mem::swap(&mut self.a, &mut self.b);
            systems -= 1;
        }
    }

    #[inline(always)]
    fn step(&mut self, c: TwinContext<'_, R, I>) {
        I::step([&mut self.a, &mut self.b], c.masses);
    }
}

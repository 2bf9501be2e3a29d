//! Observables: quantities of one system, seen at its start and at the end of every step.

use core::fmt::Debug;

use super::{ContextOf, Quantity, Scale};
use crate::integrator::MapIntegrator;
use crate::map::{Masses, Point, Start};
use crate::number::per_lane;
use crate::physics::three_body::Relative;
use crate::{PerLane, Real};

/// Three bodies at one time.
pub trait System<R: Real> {
    /// Positions relative to the grid body (length).
    fn positions(&self) -> Relative<R>;
    /// Velocities relative to the grid body, in lengths per step.
    fn steps(&self) -> Relative<R>;
}

impl<R: Real> System<R> for Start<R> {
    #[inline(always)]
    fn positions(&self) -> Relative<R> {
        self.positions
    }

    #[inline(always)]
    fn steps(&self) -> Relative<R> {
        self.steps
    }
}

/// A system between two steps of the integrator `I`.
struct UnderWay<'a, I: MapIntegrator, R: Real> {
    state: &'a I::State<R>,
    masses: &'a I::Masses<R>,
}

impl<I: MapIntegrator, R: Real> System<R> for UnderWay<'_, I, R> {
    #[inline(always)]
    fn positions(&self) -> Relative<R> {
        I::positions(self.state)
    }

    #[inline(always)]
    fn steps(&self) -> Relative<R> {
        I::velocities(self.state, R::constant(1.0), self.masses)
    }
}

/// A [`Quantity`] of one system that is seen at its start and at the end of every step. Its constants are those of a quantity.
#[allow(missing_docs, reason = "Quantity describes the constants")]
pub trait Observable: Copy + Debug + Send + Sync + 'static {
    const NAME: &'static str;
    const LABEL: &'static str;
    const UNIT: &'static str;
    const SCALE: Scale;
    const HELP: &'static str;

    /// The terms that it needs of the pixel's masses.
    type Terms<R: Real>: PerLane<One = Self::Terms<R::Lane>> + Debug;
    /// What it remembers of the states that it has seen.
    type Memory<R: Real>: PerLane<One = Self::Memory<R::Lane>> + Debug;

    /// The terms rounded to these numbers, in every lane.
    fn terms<R: Real>(masses: &Masses) -> Self::Terms<R>;
    /// The memory before the start has been seen.
    fn empty<R: Real>() -> Self::Memory<R>;
    /// Sees the system at its start or at the end of a step.
    fn observe<R: Real>(m: &mut Self::Memory<R>, system: &impl System<R>, terms: &Self::Terms<R>);
    /// Whether the pixel goes on with another step.
    fn goes_on<R: Real>(m: &Self::Memory<R>) -> R::Mask;
    /// The value at the end, for steps of length `dt`. `R` is the number of a single lane.
    fn value<R: Real>(m: &Self::Memory<R>, dt: f64) -> f64;
}

/// A system, and what an observable remembers of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Observed<S, M> {
    /// The system.
    pub system: S,
    /// The observable's memory.
    pub memory: M,
}

per_lane!(Observed<S, M> { system, memory });

/// Sees the system at the end of a step.
#[inline(always)]
fn observe<O: Observable, I: MapIntegrator, R: Real>(
    s: &mut Observed<I::State<R>, O::Memory<R>>,
    c: ContextOf<'_, O, I, R>,
) {
    let (state, masses) = (&s.system, c.masses);
    O::observe(&mut s.memory, &UnderWay::<I, R> { state, masses }, c.terms);
}

impl<O: Observable> Quantity for O {
    const NAME: &'static str = <O as Observable>::NAME;
    const LABEL: &'static str = <O as Observable>::LABEL;
    const UNIT: &'static str = <O as Observable>::UNIT;
    const SCALE: Scale = <O as Observable>::SCALE;
    const HELP: &'static str = <O as Observable>::HELP;
    type Value = f64;
    const STRIDE: u32 = 1;
    type Number<R: Real> = R;
    type Terms<R: Real> = <O as Observable>::Terms<R>;
    type State<R: Real, I: MapIntegrator> = Observed<I::State<R>, O::Memory<R>>;

    #[inline(always)]
    fn terms<R: Real>(masses: &Masses) -> <O as Observable>::Terms<R> {
        <O as Observable>::terms(masses)
    }

    #[inline(always)]
    fn begin<R: Real, I: MapIntegrator>(
        point: &Point,
        c: ContextOf<'_, O, I, R>,
    ) -> Self::State<R, I> {
        let start = point.start(c.dt());
        let mut memory = O::empty();
        O::observe(&mut memory, &start, c.terms);
        Observed {
            system: I::begin(&start, c.masses),
            memory,
        }
    }

    #[inline(always)]
    fn goes_on<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        _: ContextOf<'_, O, I, R>,
    ) -> R::Mask {
        <O as Observable>::goes_on(&s.memory)
    }

    #[inline(always)]
    fn start<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, c: ContextOf<'_, O, I, R>) {
        I::start(&mut s.system, c.first_steps(), c.masses);
        observe::<O, I, R>(s, c);
    }

    #[inline(always)]
    fn step<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, c: ContextOf<'_, O, I, R>) {
        I::step([&mut s.system], c.masses);
        observe::<O, I, R>(s, c);
    }

    #[inline(always)]
    fn value<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        _: u32,
        c: ContextOf<'_, O, I, R>,
    ) -> f64 {
        <O as Observable>::value(&s.memory, c.dt())
    }
}

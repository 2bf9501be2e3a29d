//! Steps of a fixed length on maps. The step is the unit of time: velocities are stored as u = v·dt (length per step) and masses as
//! G·m·dt², so that accelerations f = a·dt² have the dimension of u and no product with dt is left.

use core::fmt::Debug;

use super::{MapIntegrator, Twins};
use crate::map::{FirstSteps, Masses, Start};
use crate::number::{Numbers, each, per_lane};
use crate::physics::three_body::{MassOf, MassTerms, Relative, kick, squares};
use crate::{PerLane, Real};

/// The masses of three bodies in the numbers that belong to `R`.
pub type MassesOf<R> = MassTerms<MassOf<R>>;

/// Three bodies relative to the first, and the integrator's memory of earlier steps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct State<R, M> {
    /// Positions.
    pub q: Relative<R>,
    /// Velocities times dt.
    pub u: Relative<R>,
    /// The integrator's memory.
    pub memory: M,
}

/// The data that an integrator carries from step to step in addition to positions and velocities.
pub trait Memory<R: Real>: PerLane + Numbers<R> + Debug {
    /// The memory before the first step.
    fn empty() -> Self;
}

/// A fixed number of earlier derivatives; one-step methods have none.
impl<R: Real, const N: usize> Memory<R> for [Relative<R>; N] {
    #[inline(always)]
    fn empty() -> Self {
        [Relative::zero(); N]
    }
}

per_lane!(State<R, M> { q, u, memory });

impl<R: Real, M: Memory<R>> Numbers<R> for State<R, M> {
    #[inline(always)]
    fn for_each(&mut self, f: &mut impl FnMut(&mut R)) {
        self.q.for_each(f);
        self.u.for_each(f);
        self.memory.for_each(f);
    }
}

/// An integrator of maps with fixed steps: a [`MapIntegrator`] whose common parts are implemented here.
pub trait FixedSteps: Copy + Debug + Send + Sync + 'static {
    /// Its memory of earlier steps.
    type Memory<R: Real>: Memory<R> + PerLane<One = Self::Memory<R::Lane>>;

    /// See [`MapIntegrator::STARTS`].
    const STARTS: u32 = 0;

    /// Prepares a system for its first step.
    #[inline(always)]
    fn begin<R: Real>(s: &mut State<R, Self::Memory<R>>, masses: &MassesOf<R>) {
        let _ = (s, masses);
    }

    /// See [`MapIntegrator::start`].
    #[inline(always)]
    fn start<R: Real>(s: &mut State<R, Self::Memory<R>>, first: FirstSteps, masses: &MassesOf<R>) {
        let _ = first;
        Self::step([s], masses);
    }

    /// See [`MapIntegrator::step`].
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>);

    /// Velocities times dt at the positions' time.
    #[inline(always)]
    fn synchronised<R: Real>(s: &State<R, Self::Memory<R>>, masses: &MassesOf<R>) -> Relative<R> {
        let _ = masses;
        s.u
    }
}

impl<I: FixedSteps> MapIntegrator for I {
    type Masses<R: Real> = MassesOf<R>;
    type State<R: Real> = State<R, I::Memory<R>>;
    type Twins<R: Real> = Twins<State<R, I::Memory<R>>>;
    const STARTS: u32 = <I as FixedSteps>::STARTS;

    #[inline(always)]
    fn masses<R: Real>(masses: &Masses) -> MassesOf<R> {
        masses.in_steps.convert()
    }

    #[inline(always)]
    fn begin<R: Real>(start: &Start<R>, masses: &MassesOf<R>) -> Self::State<R> {
        let mut s = State {
            q: start.positions,
            u: start.steps,
            memory: I::Memory::empty(),
        };
        <I as FixedSteps>::begin(&mut s, masses);
        s
    }

    #[inline(always)]
    fn start<R: Real>(s: &mut Self::State<R>, first: FirstSteps, masses: &MassesOf<R>) {
        <I as FixedSteps>::start(s, first, masses);
    }

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut Self::State<R>; N], masses: &MassesOf<R>) {
        <I as FixedSteps>::step(s, masses);
    }

    #[inline(always)]
    fn positions<R: Real>(s: &Self::State<R>) -> Relative<R> {
        s.q
    }

    #[inline(always)]
    fn velocities<R: Real>(
        s: &Self::State<R>,
        rate: R::Constant,
        masses: &MassesOf<R>,
    ) -> Relative<R> {
        I::synchronised(s, masses).scaled(rate)
    }
}

/// The positions of `N` systems.
#[inline(always)]
pub fn positions<R: Real, M, const N: usize>(s: &[&mut State<R, M>; N]) -> [Relative<R>; N] {
    let mut q = [s[0].q; N];
    each!(N, |n| q[n] = s[n].q);
    q
}

/// r⁻³ of the three pairs of `N` systems, 1 or 2, all tested together for close encounters.
#[inline(always)]
pub fn inv_cubes<R: Real, const N: usize>(
    q: [Relative<R>; N],
    masses: &MassesOf<R>,
) -> [[R::Force; 3]; N] {
    const { assert!(N == 1 || N == 2, "one system or a pair of twins") };
    let s = squares(&q[0].to_force(), masses);
    let mut w = [s; N];
    if N == 1 {
        w[0] = R::Force::inv_cubes(s);
    } else {
        let t = squares(&q[N - 1].to_force(), masses);
        let [a, b, c, d, e, f] = R::Force::inv_cubes([s[0], s[1], s[2], t[0], t[1], t[2]]);
        w[0] = [a, b, c];
        w[N - 1] = [d, e, f];
    }
    w
}

/// Accelerations times dt² of `N` systems.
#[inline(always)]
pub fn accelerations<R: Real, const N: usize>(
    q: [Relative<R>; N],
    masses: &MassesOf<R>,
) -> [Relative<R>; N] {
    let w = inv_cubes(q, masses);
    let mut f = [Relative::zero(); N];
    each!(N, |n| kick(&mut f[n], &q[n].to_force(), w[n], masses));
    f
}

//! The classical Runge–Kutta method: fourth order, four evaluations per step, not symplectic (Kutta 1901, Z. Math. Phys. 46, 435).

use super::fixed_steps::{FixedSteps, MassesOf, State, accelerations, positions};
use super::system::{Combination, Pair, Target};
use super::{Integrator, System, SystemIntegrator};
use crate::Real;
use crate::map::FirstSteps;
use crate::number::each;
use crate::physics::three_body::Relative;

/// Fourth order, four evaluations per step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct RungeKutta4;

impl Integrator for RungeKutta4 {
    const NAME: &'static str = "runge-kutta-4";
    const HELP: &'static str = "order 4, costs four times as much";
    const ORDER: u32 = 4;
    const EVALUATIONS: u32 = 4;
    type OnMaps = Self;
}

impl SystemIntegrator for RungeKutta4 {
    const SAVED: usize = 2;

    #[inline(always)]
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        step_saving(s, dt, 0)
    }
}

/// Takes a step that saves the start and the weighted sum of its stages' rates in two pairs, beginning with pair `first`.
#[inline(always)]
pub(super) fn step_saving<S: System>(s: &mut S, dt: f64, first: usize) -> Result<(), S::Error> {
    let (start, sum) = (Pair::Saved(first), Pair::Saved(first + 1));
    s.combine(&[
        Combination::of(Target::Saved(first), Pair::State, &[]),
        Combination::of(Target::Saved(first + 1), Pair::Zero, &[]),
    ])?;
    for (weight, h) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
        s.accelerate()?;
        s.combine(&[
            Combination::of(Target::Saved(first + 1), sum, &[(Pair::Rates, weight)]),
            Combination::of(Target::State, start, &[(Pair::Rates, h * dt)]),
        ])?;
    }
    s.combine(&[Combination::of(Target::State, start, &[(sum, dt / 6.0)])])
}

/// On maps in the form that Nyström (1925, Acta Soc. Sci. Fenn. 50) gave for x″ = f(x), in which the stages' velocities drop out.
impl FixedSteps for RungeKutta4 {
    type Memory<R: Real> = [Relative<R>; 0];

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        let k1 = accelerations(positions(&s), masses);
        let mut sums = [Sums::new(k1[0]); N];
        each!(N, |n| sums[n] = Sums::new(k1[n]));
        let mut half = positions(&s);
        each!(N, |n| half[n] = second(s[n]));
        let k2 = accelerations(half, masses);
        each!(N, |n| sums[n].add_inner(&k2[n]));
        let mut q = half;
        each!(N, |n| q[n] = third(half[n], &k1[n]));
        let k3 = accelerations(q, masses);
        each!(N, |n| sums[n].add_inner(&k3[n]));
        each!(N, |n| q[n] = fourth(s[n], &k2[n]));
        let k4 = accelerations(q, masses);
        each!(N, |n| sums[n].finish(s[n], &k4[n]));
    }
}

/// x + u/2
#[inline(always)]
fn second<R: Real, M>(s: &State<R, M>) -> Relative<R> {
    s.q.plus_scaled(R::constant(0.5), &s.u).now()
}

/// x + u/2 + k₁/4, from the second stage's x + u/2.
#[inline(always)]
fn third<R: Real>(second: Relative<R>, k1: &Relative<R>) -> Relative<R> {
    second.plus_scaled(R::constant(0.25), k1).now()
}

/// x + u + k₂/2
#[inline(always)]
fn fourth<R: Real, M>(s: &State<R, M>, k2: &Relative<R>) -> Relative<R> {
    (s.q + s.u).plus_scaled(R::constant(0.5), k2).now()
}

/// The sums k₁ + k₂ + k₃ for the positions and k₁ + 2k₂ + 2k₃ for the velocities.
#[derive(Clone, Copy)]
struct Sums<R> {
    q: Relative<R>,
    u: Relative<R>,
}

impl<R: Real> Sums<R> {
    #[inline(always)]
    fn new(k1: Relative<R>) -> Self {
        Self { q: k1, u: k1 }
    }

    #[inline(always)]
    fn add_inner(&mut self, k: &Relative<R>) {
        self.q = (self.q + *k).now();
        self.u = self.u.plus_scaled(R::constant(2.0), k).now();
    }

    #[inline(always)]
    fn finish<M>(&self, s: &mut State<R, M>, k4: &Relative<R>) {
        let sixth = R::constant(1.0 / 6.0);
        s.q = (s.q + s.u).plus_scaled(sixth, &self.q).now();
        s.u = s.u.plus_scaled(sixth, &(self.u + *k4)).now();
    }
}

/// A step with which a multistep method starts on a map, given the accelerations at its beginning.
#[inline(always)]
pub(super) fn first_step<R: Real, M>(
    s: &mut State<R, M>,
    by: FirstSteps,
    k1: &Relative<R>,
    masses: &MassesOf<R>,
) {
    if by == FirstSteps::Euler {
        s.q = s.q + s.u;
        s.u = s.u + *k1;
        return;
    }
    let mut sums = Sums::new(*k1);
    let half = second(s);
    let [k2] = accelerations([half], masses);
    sums.add_inner(&k2);
    let [k3] = accelerations([third(half, k1)], masses);
    sums.add_inner(&k3);
    let [k4] = accelerations([fourth(s, &k2)], masses);
    sums.finish(s, &k4);
}

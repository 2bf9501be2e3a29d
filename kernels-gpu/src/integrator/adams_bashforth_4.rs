//! Four-step Adams–Bashforth, for both velocities and positions: x += dt (55 f₃ - 59 f₂ + 37 f₁ - 9 f₀)/24 (Hairer, Nørsett & Wanner
//! 1993, Solving Ordinary Differential Equations I, §III.1). It is of fourth order with a start of that order and of second order with
//! Euler's; it takes one evaluation per step and is not symplectic.
//!
//! Instead of earlier derivatives, the memory holds their contributions to the next three steps. Each derivative enters these sums
//! once by fused multiply-adds, and no history has to be moved between registers.

use super::fixed_steps::{FixedSteps, MassesOf, State, accelerations, positions};
use super::runge_kutta_4::{first_step, step_saving};
use super::system::{Combination, Pair, Target};
use super::{Integrator, System, SystemIntegrator};
use crate::Real;
use crate::map::FirstSteps;
use crate::number::each;
use crate::physics::three_body::Relative;

const C: [f64; 4] = [55.0 / 24.0, -59.0 / 24.0, 37.0 / 24.0, -9.0 / 24.0];

/// Fourth order with a Runge–Kutta start, second with Euler's; one evaluation per step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct AdamsBashforth4;

impl Integrator for AdamsBashforth4 {
    const NAME: &'static str = "adams-bashforth-4";
    const HELP: &'static str = "order 4 (in maps with --start runge-kutta), costs a little more";
    const ORDER: u32 = 4;
    const EVALUATIONS: u32 = 1;
    const IS_MULTISTEP: bool = true;
    type OnMaps = Self;
}

/// The first steps are Runge–Kutta steps.
impl SystemIntegrator for AdamsBashforth4 {
    /// The known parts of the sums for the next three steps, and the sum of the current one; in the first steps, the pairs that a
    /// Runge–Kutta step saves.
    const SAVED: usize = 5;
    const STARTS: u32 = 3;

    #[inline(always)]
    fn prepare<S: System>(s: &mut S) -> Result<(), S::Error> {
        let nothing = |n: usize| Combination::of(Target::Saved(n), Pair::Zero, &[]);
        s.combine(&[nothing(0), nothing(1), nothing(2)])
    }

    #[inline(always)]
    fn start<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.accelerate()?;
        s.combine(&[
            Combination::of(
                Target::Saved(0),
                Pair::Saved(1),
                &[(Pair::Rates, C[1] * dt)],
            ),
            Combination::of(
                Target::Saved(1),
                Pair::Saved(2),
                &[(Pair::Rates, C[2] * dt)],
            ),
            Combination::of(Target::Saved(2), Pair::Zero, &[(Pair::Rates, C[3] * dt)]),
        ])?;
        step_saving(s, dt, 3)
    }

    #[inline(always)]
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.accelerate()?;
        s.combine(&[
            Combination::of(
                Target::Saved(3),
                Pair::Saved(0),
                &[(Pair::Rates, C[0] * dt)],
            ),
            Combination::of(
                Target::Saved(0),
                Pair::Saved(1),
                &[(Pair::Rates, C[1] * dt)],
            ),
            Combination::of(
                Target::Saved(1),
                Pair::Saved(2),
                &[(Pair::Rates, C[2] * dt)],
            ),
            Combination::of(Target::Saved(2), Pair::Zero, &[(Pair::Rates, C[3] * dt)]),
            Combination::of(Target::State, Pair::State, &[(Pair::Saved(3), 1.0)]),
        ])
    }
}

/// On maps, the [first steps](FirstSteps) can be chosen.
impl FixedSteps for AdamsBashforth4 {
    /// The known parts of the sums for the next three steps: of velocities, then of accelerations.
    type Memory<R: Real> = [Relative<R>; 6];

    const STARTS: u32 = 3;

    #[inline(always)]
    fn start<R: Real>(s: &mut State<R, Self::Memory<R>>, first: FirstSteps, masses: &MassesOf<R>) {
        let [f] = accelerations([s.q], masses);
        remember(s, &f);
        first_step(s, first, &f, masses);
    }

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        let f = accelerations(positions(&s), masses);
        each!(N, |n| advance(s[n], f[n]));
    }
}

#[inline(always)]
fn advance<R: Real>(s: &mut State<R, [Relative<R>; 6]>, f: Relative<R>) {
    let c = R::constant(C[0]);
    let q = (s.q + s.memory[0].plus_scaled(c, &s.u)).now();
    let u = (s.u + s.memory[3].plus_scaled(c, &f)).now();
    remember(s, &f);
    (s.q, s.u) = (q, u);
}

/// Adds this step's derivatives to the sums for the next three steps, and moves these sums on by one step.
#[inline(always)]
fn remember<R: Real>(s: &mut State<R, [Relative<R>; 6]>, f: &Relative<R>) {
    let [c1, c2, c3] = [R::constant(C[1]), R::constant(C[2]), R::constant(C[3])];
    let m = s.memory;
    let u = &s.u;
    s.memory = [
        m[1].plus_scaled(c1, u).now(),
        m[2].plus_scaled(c2, u).now(),
        u.scaled(c3).now(),
        m[4].plus_scaled(c1, f).now(),
        m[5].plus_scaled(c2, f).now(),
        f.scaled(c3).now(),
    ];
}

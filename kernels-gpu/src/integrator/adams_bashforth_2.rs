//! Two-step Adams–Bashforth, for both velocities and positions: x += dt (3 f₁ - f₀)/2 (Hairer, Nørsett & Wanner 1993, Solving Ordinary
//! Differential Equations I, §III.1). It is of second order, takes one evaluation per step and is not symplectic.

use super::fixed_steps::{FixedSteps, MassesOf, State, accelerations, positions};
use super::runge_kutta_4::{first_step, step_saving};
use super::system::{Combination, Pair, Target};
use super::{Integrator, System, SystemIntegrator};
use crate::Real;
use crate::map::FirstSteps;
use crate::number::each;
use crate::physics::three_body::Relative;

const NEW: f64 = 1.5;
const OLD: f64 = -0.5;

/// Second order (with either start), one evaluation per step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct AdamsBashforth2;

impl Integrator for AdamsBashforth2 {
    const NAME: &'static str = "adams-bashforth-2";
    const HELP: &'static str = "order 2, costs a little more";
    const ORDER: u32 = 2;
    const EVALUATIONS: u32 = 1;
    const IS_MULTISTEP: bool = true;
    type OnMaps = Self;
}

/// The first step is a Runge–Kutta step.
impl SystemIntegrator for AdamsBashforth2 {
    /// The rates of the previous step, and a place for those of the current one; in the first step, the pairs that a Runge–Kutta step
    /// saves.
    const SAVED: usize = 3;
    const STARTS: u32 = 1;

    #[inline(always)]
    fn start<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.accelerate()?;
        s.combine(&[Combination::of(Target::Saved(0), Pair::Rates, &[])])?;
        step_saving(s, dt, 1)
    }

    #[inline(always)]
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.accelerate()?;
        s.combine(&[
            Combination::of(Target::Saved(1), Pair::Rates, &[]),
            Combination::of(
                Target::State,
                Pair::State,
                &[(Pair::Saved(0), OLD * dt), (Pair::Saved(1), NEW * dt)],
            ),
            Combination::of(Target::Saved(0), Pair::Saved(1), &[]),
        ])
    }
}

/// On maps, the [first steps](FirstSteps) can be chosen.
impl FixedSteps for AdamsBashforth2 {
    /// Velocity and acceleration of the previous step.
    type Memory<R: Real> = [Relative<R>; 2];

    const STARTS: u32 = 1;

    #[inline(always)]
    fn start<R: Real>(s: &mut State<R, Self::Memory<R>>, first: FirstSteps, masses: &MassesOf<R>) {
        let [f] = accelerations([s.q], masses);
        s.memory = [s.u, f];
        first_step(s, first, &f, masses);
    }

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        let f = accelerations(positions(&s), masses);
        each!(N, |n| advance(s[n], f[n]));
    }
}

#[inline(always)]
fn advance<R: Real>(s: &mut State<R, [Relative<R>; 2]>, f: Relative<R>) {
    let (new, old) = (R::constant(NEW), R::constant(OLD));
    let u = s.u;
    s.q =
        s.q.plus_scaled(old, &s.memory[0])
            .plus_scaled(new, &u)
            .now();
    s.u = u.plus_scaled(old, &s.memory[1]).plus_scaled(new, &f).now();
    s.memory = [u, f];
}

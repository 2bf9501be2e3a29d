//! Leapfrog, drift–kick–drift: second order, one evaluation per step, symplectic and time-reversible (Hockney & Eastwood 1988, §4-4).

use super::fixed_steps::{FixedSteps, MassesOf, State, accelerations, inv_cubes, positions};
use super::symplectic_euler::kick_and_drift;
use super::{Integrator, System, SystemIntegrator};
use crate::Real;
use crate::number::each;
use crate::physics::three_body::Relative;

/// Second order, one evaluation per step, symplectic and time-reversible.
#[derive(Clone, Copy, Debug)]
pub struct Leapfrog;

impl Integrator for Leapfrog {
    const NAME: &'static str = "leapfrog";
    const HELP: &'static str = "order 2, symplectic, the same cost";
    const ORDER: u32 = 2;
    const EVALUATIONS: u32 = 1;
    type OnMaps = Self;
}

/// The accelerations are those at the middle of the step.
impl SystemIntegrator for Leapfrog {
    #[inline(always)]
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.drift(0.5 * dt)?;
        s.accelerate()?;
        s.kick_drift(dt, 0.5 * dt)
    }
}

/// Maps use its staggered form (Störmer–Verlet; Hairer, Lubich & Wanner 2003, Acta Numerica 12, 399), with positions at whole steps
/// and velocities half a step behind. A step is that of symplectic Euler; only the start, half a kick backwards, differs. The
/// positions are those of kick–drift–kick ([`VelocityVerlet`](super::VelocityVerlet)) from the same start.
impl FixedSteps for Leapfrog {
    type Memory<R: Real> = [Relative<R>; 0];

    #[inline(always)]
    fn begin<R: Real>(s: &mut State<R, Self::Memory<R>>, masses: &MassesOf<R>) {
        let [f] = accelerations([s.q], masses);
        s.u = s.u.plus_scaled(R::constant(-0.5), &f);
    }

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        let w = inv_cubes(positions(&s), masses);
        each!(N, |n| kick_and_drift(s[n], w[n], masses));
    }

    #[inline(always)]
    fn synchronised<R: Real>(s: &State<R, Self::Memory<R>>, masses: &MassesOf<R>) -> Relative<R> {
        let [f] = accelerations([s.q], masses);
        s.u.plus_scaled(R::constant(0.5), &f)
    }
}

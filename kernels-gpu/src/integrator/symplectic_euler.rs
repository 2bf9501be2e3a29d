//! Symplectic (semi-implicit) Euler: velocities advance with the accelerations at the old positions, and positions with the new
//! velocities. It is of first order and takes one evaluation per step. NVIDIA's nbody sample uses it.

use super::fixed_steps::{FixedSteps, MassesOf, State, inv_cubes, positions};
use super::{Integrator, System, SystemIntegrator};
use crate::Real;
use crate::number::each;
use crate::physics::three_body::{Relative, kick};

/// First order, one evaluation per step, symplectic: energies oscillate instead of drifting.
#[derive(Clone, Copy, Debug)]
pub struct SymplecticEuler;

impl Integrator for SymplecticEuler {
    const NAME: &'static str = "symplectic-euler";
    const FORMER_NAMES: &'static [&'static str] = &["semi-implicit-euler"];
    const HELP: &'static str = "order 1, symplectic, the same cost";
    const ORDER: u32 = 1;
    const EVALUATIONS: u32 = 1;
    type OnMaps = Self;
}

impl SystemIntegrator for SymplecticEuler {
    #[inline(always)]
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.accelerate()?;
        s.kick_drift(dt, dt)
    }
}

/// On maps, the pulls are added to the velocities one by one instead of being summed first.
impl FixedSteps for SymplecticEuler {
    type Memory<R: Real> = [Relative<R>; 0];

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        let w = inv_cubes(positions(&s), masses);
        each!(N, |n| kick_and_drift(s[n], w[n], masses));
    }
}

/// Advances velocities, then positions.
#[inline(always)]
pub(super) fn kick_and_drift<R: Real, M>(
    s: &mut State<R, M>,
    w: [R::Force; 3],
    masses: &MassesOf<R>,
) {
    kick(&mut s.u, &s.q.to_force(), w, masses);
    s.u = s.u.now();
    s.q = (s.q + s.u).now();
}

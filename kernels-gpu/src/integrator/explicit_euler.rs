//! Explicit Euler: positions advance with the old velocities, and velocities with the accelerations at the old positions. It is of
//! first order, takes one evaluation per step and is not symplectic: orbits spiral outwards. Pacheco & Malensek (2021) and Badger's
//! study use it.

use super::fixed_steps::{FixedSteps, MassesOf, State, inv_cubes, positions};
use super::{Integrator, System, SystemIntegrator};
use crate::Real;
use crate::number::each;
use crate::physics::three_body::{Relative, kick};

/// First order, one evaluation per step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct ExplicitEuler;

impl Integrator for ExplicitEuler {
    const NAME: &'static str = "explicit-euler";
    const HELP: &'static str = "order 1, the cheapest";
    const ORDER: u32 = 1;
    const EVALUATIONS: u32 = 1;
    type OnMaps = Self;
}

impl SystemIntegrator for ExplicitEuler {
    #[inline(always)]
    fn step<S: System>(s: &mut S, dt: f64) -> Result<(), S::Error> {
        s.accelerate()?;
        s.drift(dt)?;
        s.kick(dt)
    }
}

/// On maps, the pulls are added to the velocities one by one instead of being summed first, which saves six operations.
impl FixedSteps for ExplicitEuler {
    type Memory<R: Real> = [Relative<R>; 0];

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        let w = inv_cubes(positions(&s), masses);
        each!(N, |n| advance(s[n], w[n], masses));
    }
}

/// Advances positions by the old velocities, and velocities by the accelerations at the old positions.
#[inline(always)]
fn advance<R: Real, M>(s: &mut State<R, M>, w: [R::Force; 3], masses: &MassesOf<R>) {
    let old = s.u;
    kick(&mut s.u, &s.q.to_force(), w, masses);
    // `now` is needed because postponed sums would keep both old and new velocities in registers.
    s.q = (s.q + old).now();
    s.u = s.u.now();
}

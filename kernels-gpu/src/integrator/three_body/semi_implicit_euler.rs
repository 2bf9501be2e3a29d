//! Semi-implicit (symplectic) Euler: velocities by the accelerations at the old positions, positions by the new
//! velocities. First order; one evaluation a step.

use super::{Integrator, State, inv_cubes_both};
use crate::Real;
use crate::physics::three_body::{Pulls, Relative, kick};

/// First order, one evaluation a step, symplectic: energies oscillate instead of drifting.
#[derive(Clone, Copy, Debug)]
pub struct SemiImplicitEuler;

impl<R: Real> Integrator<R> for SemiImplicitEuler {
    type Memory = [Relative<R>; 0];
    type Pulls = Pulls<R>;

    #[inline(always)]
    fn step_both(s: &mut State<R, Self::Memory>, t: &mut State<R, Self::Memory>, pulls: &Pulls<R>) {
        let [ws, wt] = inv_cubes_both(&s.q, &t.q, pulls);
        advance(s, ws, pulls);
        advance(t, wt, pulls);
    }
}

/// Kick, then drift.
#[inline(always)]
pub(super) fn advance<R: Real, M>(s: &mut State<R, M>, w: [R; 3], pulls: &Pulls<R>) {
    kick(&mut s.u, &s.q, w, pulls);
    s.u = s.u.now();
    s.q = (s.q + s.u).now();
}

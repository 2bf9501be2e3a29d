//! Explicit Euler: positions advance with the old velocities, velocities by the accelerations at the old positions.
//! First order; one evaluation a step. The source document's.

use super::{Integrator, State, inv_cubes_both};
use crate::Real;
use crate::physics::three_body::{Pulls, Relative, kick};

/// First order, one evaluation a step, not symplectic: orbits spiral outwards.
#[derive(Clone, Copy, Debug)]
pub struct ExplicitEuler;

impl<R: Real> Integrator<R> for ExplicitEuler {
    type Memory = [Relative<R>; 0];
    type Pulls = Pulls<R>;

    #[inline(always)]
    fn step_both(s: &mut State<R, Self::Memory>, t: &mut State<R, Self::Memory>, pulls: &Pulls<R>) {
        let [ws, wt] = inv_cubes_both(&s.q, &t.q, pulls);
        advance(s, ws, pulls);
        advance(t, wt, pulls);
    }
}

/// Positions by the old velocities, velocities by the accelerations at the old positions.
#[inline(always)]
fn advance<R: Real, M>(s: &mut State<R, M>, w: [R; 3], pulls: &Pulls<R>) {
    let old = s.u;
    kick(&mut s.u, &s.q, w, pulls);
    // Now: postponed, these sums would hold old and new velocities in registers.
    s.q = (s.q + old).now();
    s.u = s.u.now();
}

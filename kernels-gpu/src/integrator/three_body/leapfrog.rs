//! Leapfrog in its staggered form (Störmer–Verlet; Hairer, Lubich & Wanner 2003, Acta Numerica 12, 399): positions at
//! whole steps, velocities half a step behind. Second order at the cost of Euler.
//!
//! A step is that of semi-implicit Euler; only the start, half a kick backwards, differs. Positions are those of
//! drift–kick–drift; velocities belong to half steps and are not those of [`State`] at the positions' time.

use super::semi_implicit_euler::advance;
use super::{Integrator, State, accelerations, inv_cubes_both};
use crate::Real;
use crate::physics::three_body::{Pulls, Relative};

/// Second order, one evaluation a step, symplectic and time-reversible.
#[derive(Clone, Copy, Debug)]
pub struct Leapfrog;

impl<R: Real> Integrator<R> for Leapfrog {
    type Memory = [Relative<R>; 0];
    type Pulls = Pulls<R>;

    #[inline(always)]
    fn begin(s: &mut State<R, Self::Memory>, pulls: &Pulls<R>) {
        let f = accelerations(&s.q, pulls);
        s.u = s.u.add_scaled(R::from_f64(-0.5), &f);
    }

    #[inline(always)]
    fn step_both(s: &mut State<R, Self::Memory>, t: &mut State<R, Self::Memory>, pulls: &Pulls<R>) {
        let [ws, wt] = inv_cubes_both(&s.q, &t.q, pulls);
        advance(s, ws, pulls);
        advance(t, wt, pulls);
    }
}

//! Adams–Bashforth of two steps, on velocities and on positions: x += (3 f₁ - f₀)/2 (Hairer, Nørsett & Wanner, Solving
//! Ordinary Differential Equations I, §III.1). Second order; one evaluation a step.

use super::{Integrator, Start, State, accelerations, accelerations_both, runge_kutta_4};
use crate::Real;
use crate::physics::three_body::{Pulls, Relative};

/// Second order (with either start), one evaluation a step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct AdamsBashforth2;

impl<R: Real> Integrator<R> for AdamsBashforth2 {
    /// Velocity and acceleration of the step before.
    type Memory = [Relative<R>; 2];
    type Pulls = Pulls<R>;

    const STARTS: u32 = 1;

    #[inline(always)]
    fn start(s: &mut State<R, Self::Memory>, start: Start, pulls: &Pulls<R>) {
        let f = accelerations(&s.q, pulls);
        s.memory = [s.u, f];
        runge_kutta_4::first_step(s, start, &f, pulls);
    }

    #[inline(always)]
    fn step_both(s: &mut State<R, Self::Memory>, t: &mut State<R, Self::Memory>, pulls: &Pulls<R>) {
        let [fs, ft] = accelerations_both(&s.q, &t.q, pulls);
        advance(s, fs);
        advance(t, ft);
    }
}

#[inline(always)]
fn advance<R: Real>(s: &mut State<R, [Relative<R>; 2]>, f: Relative<R>) {
    let (new, old) = (R::from_f64(1.5), R::from_f64(-0.5));
    let u = s.u;
    s.q = s.q.add_scaled(old, &s.memory[0]).add_scaled(new, &u).now();
    s.u = u.add_scaled(old, &s.memory[1]).add_scaled(new, &f).now();
    s.memory = [u, f];
}

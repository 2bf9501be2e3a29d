//! Adams–Bashforth of four steps, on velocities and on positions: x += (55 f₃ - 59 f₂ + 37 f₁ - 9 f₀)/24 (Hairer,
//! Nørsett & Wanner, Solving Ordinary Differential Equations I, §III.1). Fourth order with a start of that order,
//! second with Euler's; one evaluation a step.
//!
//! Instead of earlier derivatives the memory holds what they add to the next three steps: each derivative enters these
//! sums once by fused multiply-adds, and no history has to be moved from register to register.

use super::{Integrator, Start, State, accelerations, accelerations_both, runge_kutta_4};
use crate::Real;
use crate::physics::three_body::{Pulls, Relative};

const C: [f64; 4] = [55.0 / 24.0, -59.0 / 24.0, 37.0 / 24.0, -9.0 / 24.0];

/// Fourth order with a Runge–Kutta start, second with Euler's; one evaluation a step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct AdamsBashforth4;

impl<R: Real> Integrator<R> for AdamsBashforth4 {
    /// What is known of the sums for the next three steps: of velocities, then of accelerations.
    type Memory = [Relative<R>; 6];
    type Pulls = Pulls<R>;

    const STARTS: u32 = 3;

    #[inline(always)]
    fn start(s: &mut State<R, Self::Memory>, start: Start, pulls: &Pulls<R>) {
        let f = accelerations(&s.q, pulls);
        remember(s, &f);
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
fn advance<R: Real>(s: &mut State<R, [Relative<R>; 6]>, f: Relative<R>) {
    let c = R::from_f64(C[0]);
    let q = (s.q + s.memory[0].add_scaled(c, &s.u)).now();
    let u = (s.u + s.memory[3].add_scaled(c, &f)).now();
    remember(s, &f);
    (s.q, s.u) = (q, u);
}

/// Adds this step's derivatives to the sums of the next three, and lets those advance by one.
#[inline(always)]
fn remember<R: Real>(s: &mut State<R, [Relative<R>; 6]>, f: &Relative<R>) {
    let c = |i: usize| R::from_f64(C[i]);
    let m = s.memory;
    let u = &s.u;
    s.memory = [
        m[1].add_scaled(c(1), u).now(),
        m[2].add_scaled(c(2), u).now(),
        u.scaled(c(3)).now(),
        m[4].add_scaled(c(1), f).now(),
        m[5].add_scaled(c(2), f).now(),
        f.scaled(c(3)).now(),
    ];
}

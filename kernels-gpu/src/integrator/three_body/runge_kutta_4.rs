//! The classical Runge–Kutta method (Kutta 1901, Z. Math. Phys. 46, 435), written for x″ = f(x) as Nyström did (1925,
//! Acta Soc. Sci. Fenn. 50): the stages' velocities drop out. Fourth order; four evaluations a step.

use super::{Integrator, Start, State, accelerations, accelerations_both};
use crate::Real;
use crate::physics::three_body::{Pulls, Relative};

/// Fourth order, four evaluations a step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct RungeKutta4;

impl<R: Real> Integrator<R> for RungeKutta4 {
    type Memory = [Relative<R>; 0];
    type Pulls = Pulls<R>;

    #[inline(always)]
    fn step_both(s: &mut State<R, Self::Memory>, t: &mut State<R, Self::Memory>, pulls: &Pulls<R>) {
        let [k1s, k1t] = accelerations_both(&s.q, &t.q, pulls);
        let (mut sums, mut sumt) = (Sums::new(k1s), Sums::new(k1t));
        let (q2s, q2t) = (second(s), second(t));
        let [k2s, k2t] = accelerations_both(&q2s, &q2t, pulls);
        sums.add_inner(&k2s);
        sumt.add_inner(&k2t);
        let [k3s, k3t] = accelerations_both(&third(q2s, &k1s), &third(q2t, &k1t), pulls);
        sums.add_inner(&k3s);
        sumt.add_inner(&k3t);
        let [k4s, k4t] = accelerations_both(&fourth(s, &k2s), &fourth(t, &k2t), pulls);
        sums.finish(s, &k4s);
        sumt.finish(t, &k4t);
    }
}

/// x + u/2
#[inline(always)]
fn second<R: Real, M>(s: &State<R, M>) -> Relative<R> {
    s.q.add_scaled(R::from_f64(0.5), &s.u).now()
}

/// x + u/2 + k₁/4, from the second stage's x + u/2.
#[inline(always)]
fn third<R: Real>(second: Relative<R>, k1: &Relative<R>) -> Relative<R> {
    second.add_scaled(R::from_f64(0.25), k1).now()
}

/// x + u + k₂/2
#[inline(always)]
fn fourth<R: Real, M>(s: &State<R, M>, k2: &Relative<R>) -> Relative<R> {
    (s.q + s.u).add_scaled(R::from_f64(0.5), k2).now()
}

/// k₁ + k₂ + k₃ for the positions, k₁ + 2k₂ + 2k₃ for the velocities.
#[derive(Clone, Copy)]
struct Sums<R> {
    q: Relative<R>,
    u: Relative<R>,
}

impl<R: Real> Sums<R> {
    #[inline(always)]
    fn new(k1: Relative<R>) -> Self {
        Self { q: k1, u: k1 }
    }

    #[inline(always)]
    fn add_inner(&mut self, k: &Relative<R>) {
        self.q = (self.q + *k).now();
        self.u = self.u.add_scaled(R::from_f64(2.0), k).now();
    }

    #[inline(always)]
    fn finish<M>(&self, s: &mut State<R, M>, k4: &Relative<R>) {
        let sixth = R::from_f64(1.0 / 6.0);
        s.q = (s.q + s.u).add_scaled(sixth, &self.q).now();
        s.u = s.u.add_scaled(sixth, &(self.u + *k4)).now();
    }
}

/// A step by which a multistep method starts, given the accelerations at its beginning.
#[inline(always)]
pub(super) fn first_step<R: Real, M>(
    s: &mut State<R, M>,
    start: Start,
    k1: &Relative<R>,
    pulls: &Pulls<R>,
) {
    if start == Start::Euler {
        s.q = s.q + s.u;
        s.u = s.u + *k1;
        return;
    }
    let mut sums = Sums::new(*k1);
    let q2 = second(s);
    let k2 = accelerations(&q2, pulls);
    sums.add_inner(&k2);
    let k3 = accelerations(&third(q2, k1), pulls);
    sums.add_inner(&k3);
    let k4 = accelerations(&fourth(s, &k2), pulls);
    sums.finish(s, &k4);
}

//! Hermite's method of fourth order (Makino & Aarseth 1992, PASJ 44, 141): predict from acceleration and jerk, evaluate both there,
//! correct. One evaluation a step, of about twice the cost of an acceleration; not symplectic.
//!
//! It has no general form: N-body's kernels compute no jerks. Star clusters have it with block time steps
//! ([`hermite`](crate::physics::hermite)).

use super::Integrator;
use super::fixed_steps::{FixedSteps, MassesOf, State};
use crate::Real;
use crate::number::each;
use crate::physics::hermite::correct::in_steps;
use crate::physics::three_body::{Relative, accelerations_and_jerks, squares};

/// Fourth order, one evaluation of accelerations and jerks a step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct Hermite4;

impl Integrator for Hermite4 {
    const NAME: &'static str = "hermite-4";
    const ORDER: u32 = 4;
    const EVALUATIONS: u32 = 1;
    type OnMaps = Self;
}

impl FixedSteps for Hermite4 {
    /// Accelerations (times dt²) and jerks (times dt³) at the state.
    type Memory<R: Real> = [Relative<R>; 2];

    #[inline(always)]
    fn begin<R: Real>(s: &mut State<R, Self::Memory<R>>, masses: &MassesOf<R>) {
        let ([r2], [w]) = squares_and_inv_cubes(&[s.q], masses);
        s.memory = rates(&s.q, &s.u, r2, w, masses);
    }

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        let (mut q, mut u) = ([s[0].q; N], [s[0].u; N]);
        each!(N, |n| (q[n], u[n]) = predict(s[n]));
        let (r2, w) = squares_and_inv_cubes(&q, masses);
        // One system after the other: the rates of both at once do not fit into a CPU's registers.
        each!(N, |n| correct(
            s[n],
            rates(&q[n], &u[n], r2[n], w[n], masses)
        ));
    }
}

/// Squared distances of the pairs of `N` systems, 1 or 2, and r⁻³ of them.
#[inline(always)]
fn squares_and_inv_cubes<R: Real, const N: usize>(
    q: &[Relative<R>; N],
    masses: &MassesOf<R>,
) -> ([[R::Force; 3]; N], [[R::Force; 3]; N]) {
    const { assert!(N == 1 || N == 2, "one system, or twins") };
    let s = squares(&q[0].to_force(), masses);
    let mut r2 = [s; N];
    let mut w = r2;
    if N == 1 {
        w[0] = R::Force::inv_cubes(s);
    } else {
        let t = squares(&q[N - 1].to_force(), masses);
        let [a, b, c, d, e, f] = R::Force::inv_cubes([s[0], s[1], s[2], t[0], t[1], t[2]]);
        (r2[N - 1], w[0], w[N - 1]) = (t, [a, b, c], [d, e, f]);
    }
    (r2, w)
}

/// Accelerations and jerks of a system, given its squared distances and r⁻³.
#[inline(always)]
fn rates<R: Real>(
    q: &Relative<R>,
    u: &Relative<R>,
    r2: [R::Force; 3],
    w: [R::Force; 3],
    masses: &MassesOf<R>,
) -> [Relative<R>; 2] {
    accelerations_and_jerks(&q.to_force(), &u.to_force(), r2, w, masses)
}

/// Taylor series up to the jerk.
#[inline(always)]
fn predict<R: Real>(s: &State<R, [Relative<R>; 2]>) -> (Relative<R>, Relative<R>) {
    let [f, j] = &s.memory;
    let (half, sixth) = (R::constant(0.5), R::constant(1.0 / 6.0));
    let q = (s.q + s.u).plus_scaled(half, f).plus_scaled(sixth, j);
    let u = (s.u + *f).plus_scaled(half, j);
    (q.now(), u.now())
}

/// Hermite interpolation between the accelerations and jerks of both ends.
#[inline(always)]
fn correct<R: Real>(s: &mut State<R, [Relative<R>; 2]>, [f1, j1]: [Relative<R>; 2]) {
    let [f0, j0] = s.memory;
    let u0 = s.u;
    s.u = in_steps(u0, [f0, f1], [j0, j1]).now();
    s.q = in_steps(s.q, [u0, s.u], [f0, f1]).now();
    s.memory = [f1, j1];
}

//! Hermite's method of fourth order (Makino & Aarseth 1992, PASJ 44, 141): predict from acceleration and jerk, evaluate both at the
//! prediction, correct. One evaluation per step costs about twice as much as an acceleration; the method is not symplectic.
//!
//! It has no general form, because the kernels of N-body runs compute no jerks. Star clusters use it with block time steps
//! ([`hermite`](crate::physics::hermite)).

use super::Integrator;
use super::fixed_steps::{FixedSteps, MassesOf, State, inv_cubes};
use crate::Real;
use crate::number::each;
use crate::physics::hermite::correct::in_steps;
use crate::physics::three_body::{Relative, accelerations_and_jerks, squares};

/// Fourth order, one evaluation of accelerations and jerks per step, not symplectic.
#[derive(Clone, Copy, Debug)]
pub struct Hermite4;

impl Integrator for Hermite4 {
    const NAME: &'static str = "hermite-4";
    const HELP: &'static str = "order 4, costs twice as much";
    const ORDER: u32 = 4;
    const EVALUATIONS: u32 = 1;
    type OnMaps = Self;
}

impl FixedSteps for Hermite4 {
    /// Accelerations (times dt²) and jerks (times dt³) at the current state.
    type Memory<R: Real> = [Relative<R>; 2];

    #[inline(always)]
    fn begin<R: Real>(s: &mut State<R, Self::Memory<R>>, masses: &MassesOf<R>) {
        [s.memory] = rates([s.q], [s.u], masses);
    }

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut State<R, Self::Memory<R>>; N], masses: &MassesOf<R>) {
        let (mut q, mut u) = ([s[0].q; N], [s[0].u; N]);
        each!(N, |n| (q[n], u[n]) = predict(s[n]));
        let end = rates(q, u, masses);
        each!(N, |n| correct(s[n], end[n]));
    }
}

/// Accelerations and jerks of `N` systems, 1 or 2.
#[inline(always)]
fn rates<R: Real, const N: usize>(
    q: [Relative<R>; N],
    u: [Relative<R>; N],
    masses: &MassesOf<R>,
) -> [[Relative<R>; 2]; N] {
    let w = inv_cubes(q, masses);
    let mut rates = [[Relative::zero(); 2]; N];
    each!(N, |n| {
        let (q, u) = (q[n].to_force(), u[n].to_force());
        // The compiler takes the squares from `inv_cubes`.
        rates[n] = accelerations_and_jerks(&q, &u, squares(&q, masses), w[n], masses);
    });
    rates
}

/// Predicts positions and velocities by their Taylor series up to the jerk.
#[inline(always)]
fn predict<R: Real>(s: &State<R, [Relative<R>; 2]>) -> (Relative<R>, Relative<R>) {
    let [f, j] = &s.memory;
    let (half, sixth) = (R::constant(0.5), R::constant(1.0 / 6.0));
    let q = (s.q + s.u).plus_scaled(half, f).plus_scaled(sixth, j);
    let u = (s.u + *f).plus_scaled(half, j);
    (q.now(), u.now())
}

/// Corrects by the Hermite interpolation between the accelerations and jerks at both ends.
#[inline(always)]
fn correct<R: Real>(s: &mut State<R, [Relative<R>; 2]>, [f1, j1]: [Relative<R>; 2]) {
    let [f0, j0] = s.memory;
    let u0 = s.u;
    s.u = in_steps(u0, [f0, f1], [j0, j1]).now();
    s.q = in_steps(s.q, [u0, s.u], [f0, f1]).now();
    s.memory = [f1, j1];
}
